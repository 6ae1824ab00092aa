#include "doors/resp/dispatcher.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "doors/testing/test_server.h"
#include "tests/support/await.h"
#include "tests/support/test_store.h"

namespace cairn::doors {
namespace {

using testing::TestClient;
using testing::TestServer;

// Rows of the simplest kind: one stored value per key.
Bytes StoredKey(BytesView key) { return "test/" + Bytes(key); }

Result<void> Put(CommandContext& context) {
  context.transaction.Put({store::Space::kSystem, StoredKey(context.args[1])}, context.args[2]);
  context.reply.Ok();
  return {};
}

Result<void> Get(CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(
      const std::optional<Bytes> value,
      context.transaction.Get({store::Space::kSystem, StoredKey(context.args[1])}));
  if (!value) return context.Fail("ERR nothing there");
  context.reply.Bulk(*value);
  return {};
}

class DispatcherTest : public ::testing::Test {
 protected:
  static Command Row(std::string_view name, int arity, uint32_t flags, RunHandler run) {
    return {.name = name,
            .arity = arity,
            .flags = flags,
            .keys = {{1, 1, 1, "RW"}},
            .group = "test",
            .since = "1.0.0",
            .summary = "For tests.",
            .run = std::move(run)};
  }

  // A handler that finds its answer on disk: it cannot run on the loop.
  static RunHandler OnDisk(RunHandler run) {
    auto on_loop = std::make_shared<std::atomic<bool>>(true);
    return [on_loop, run = std::move(run)](CommandContext& context) -> Result<void> {
      // On other engines no body ever runs on the loop.
      if (cairn::testing::OnRocks() && on_loop->exchange(!*on_loop))
        return Error{ErrorCode::kWouldBlock, "on disk"};
      return run(context);
    };
  }

  void AddCommands(Instance& instance) {
    CommandTable& table = instance.commands();
    table.Add(Row("t.put", 3, kWrite, Put));
    table.Add(Row("t.get", 2, kReadOnly, Get));
    table.Add(Row("t.diskput", 3, kWrite, OnDisk(Put)));
    table.Add(Row("t.diskget", 2, kReadOnly, OnDisk(Get)));
    table.Add(Row("t.wait", 2, kReadOnly, OnDisk([this](CommandContext& context) -> Result<void> {
                    go_.get_future().wait();
                    context.reply.Ok();
                    return {};
                  })));
    table.Add(Row("t.broken", 2, kReadOnly, [](CommandContext&) -> Result<void> {
      return Error{ErrorCode::kCorruption, "file 7 is damaged"};
    }));
    // It may write; whether it does, only a thread that waits for the disk can be told.
    Command maybe = Row("t.maybe", 3, kWrite, Get);
    maybe.never_writes = [on_loop = std::make_shared<std::atomic<bool>>(true)](
                             store::Transaction&, Args args) -> Result<bool> {
      if (cairn::testing::OnRocks() && on_loop->exchange(!*on_loop))
        return Error{ErrorCode::kWouldBlock, "on disk"};
      if (args[2] == "broken") return Error{ErrorCode::kCorruption, "file 8 is damaged"};
      return args[2] == "reads";
    };
    table.Add(maybe);
    // Writes to the key that is named by its key, which it has to read first.
    table.Add(Row("t.follow", 3, kWrite, [this](CommandContext& context) -> Result<void> {
      ++runs_;
      CAIRN_ASSIGN_OR_RETURN(
          const std::optional<Bytes> other,
          context.transaction.Get({store::Space::kSystem, StoredKey(context.args[1])}));
      if (!other) return context.Fail("ERR nothing there");
      store::Scopes scopes;
      Bytes scratch;
      AddKeyScope(context.db(), *other, scopes, scratch);
      CAIRN_RETURN_IF_ERROR(context.Require(scopes));
      EXPECT_FALSE(context.held.exclusive);
      context.transaction.Put({store::Space::kSystem, StoredKey(*other)}, context.args[2]);
      context.reply.Ok();
      return {};
    }));
    // Never has enough.
    table.Add(Row("t.greedy", 2, kWrite, [this](CommandContext& context) -> Result<void> {
      store::Scopes scopes;
      Bytes scratch;
      AddKeyScope(context.db(), std::to_string(++runs_), scopes, scratch);
      CAIRN_RETURN_IF_ERROR(context.Require(scopes));
      context.reply.Integer(context.held.exclusive ? 1 : 0);
      return {};
    }));
    Command all = Row("t.all", 2, kReadOnly, Get);
    all.scopes = ScopeRule::kEverything;
    table.Add(all);
    Command slow = Row("t.long", 2, kReadOnly, Get);
    slow.long_running = true;
    table.Add(slow);
  }

  // Returns once the command has run that often, so that nothing depends on timing.
  void AwaitCalls(std::string_view name, uint64_t calls) {
    const Command& command = *server_.instance().commands().FindByName(name);
    cairn::testing::Await("the command to run", [&] {
      return server_.instance().dispatchers().Totals(command).calls >= calls;
    });
  }

  // Returns once that many requests wait for the end of a pause.
  void AwaitHeld(size_t requests) {
    cairn::testing::Await("the requests to be held",
                          [&] { return server_.instance().traffic().held == requests; });
  }

  // Whether something has arrived for the client after the loop has gone round once more.
  bool HasReply(TestClient& client) {
    server_.Run({"PING"});
    pollfd poll_fd{client.raw().fd(), POLLIN, 0};
    return poll(&poll_fd, 1, 0) == 1;
  }

  std::promise<void> go_;
  std::atomic<int> runs_{0};
  TestServer server_{{.add_commands = [this](Instance& instance) { AddCommands(instance); }}};
};

TEST_F(DispatcherTest, RunsCommandsInAPipelineInOrder) {
  TestClient client = server_.Connect();
  client.Send({"T.PUT", "k", "1"});
  client.Send({"t.get", "k"});
  client.Send({"PING"});
  client.Send({"t.get", "nosuch"});
  EXPECT_EQ(client.Receive(), "OK");
  EXPECT_EQ(client.Receive(), "\"1\"");
  EXPECT_EQ(client.Receive(), "PONG");
  EXPECT_EQ(client.Receive(), "(error) ERR nothing there");
}

TEST_F(DispatcherTest, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(server_.Run({"nosuch", "a", "b"}),
            "(error) ERR unknown command 'nosuch', with args beginning with: 'a' 'b' ");
  EXPECT_EQ(server_.Run({"client", "nosuch"}),
            "(error) ERR unknown subcommand 'nosuch'. Try CLIENT HELP.");
  EXPECT_EQ(server_.Run({"t.get"}), "(error) ERR wrong number of arguments for 't.get' command");
  EXPECT_EQ(server_.Run({"client", "id", "x"}),
            "(error) ERR wrong number of arguments for 'client|id' command");
}

TEST_F(DispatcherTest, AStoreErrorIsTheReply) {
  EXPECT_EQ(server_.Run({"t.broken", "k"}), "(error) CORRUPT file 7 is damaged");
  EXPECT_EQ(server_.Run({"PING"}), "PONG");
}

// --- Durability ---------------------------------------------------------------------------------

TEST_F(DispatcherTest, AWriteIsAcknowledgedWhenItIsDurable) {
  server_.store().CloseGate();
  TestClient client = server_.Connect();
  client.Send({"t.put", "k", "1"});
  AwaitCalls("t.put", 1);
  EXPECT_FALSE(HasReply(client));
  server_.store().MakeDurable();
  EXPECT_EQ(client.Receive(), "OK");
}

TEST_F(DispatcherTest, AReaderIsToldOnlyWhatIsDurable) {
  CAIRN_TEST_ROCKS_ONLY("commits that are seen before they are durable");
  server_.Run({"t.put", "old", "0"});
  server_.store().CloseGate();
  TestClient writer = server_.Connect();
  TestClient reader = server_.Connect();
  TestClient all = server_.Connect();
  writer.Send({"t.put", "k", "1"});
  AwaitCalls("t.put", 2);
  reader.Send({"t.get", "k"});
  AwaitCalls("t.get", 1);
  all.Send({"t.all", "old"});
  AwaitCalls("t.all", 1);
  EXPECT_FALSE(HasReply(reader));
  EXPECT_FALSE(HasReply(all));
  EXPECT_EQ(server_.Run({"t.get", "old"}), "\"0\"");  // waits for nobody
  server_.store().MakeDurable();
  EXPECT_EQ(writer.Receive(), "OK");
  EXPECT_EQ(reader.Receive(), "\"1\"");
  EXPECT_EQ(all.Receive(), "\"0\"");
}

TEST_F(DispatcherTest, SeveralCommitsMayBeOnTheirWay) {
  CAIRN_TEST_ROCKS_ONLY("commits that are seen before they are durable");
  server_.store().CloseGate();
  TestClient client = server_.Connect();
  for (int i = 1; i <= 3; ++i) {
    client.Send({"t.put", "k", std::to_string(i)});
    AwaitCalls("t.put", static_cast<uint64_t>(i));
  }
  EXPECT_FALSE(HasReply(client));
  server_.store().MakeDurable();
  for (int i = 1; i <= 3; ++i) EXPECT_EQ(client.Receive(), "OK");
}

TEST_F(DispatcherTest, AFailedSyncTurnsWaitingRepliesIntoErrors) {
  CAIRN_TEST_ROCKS_ONLY("commits that are seen before they are durable");
  server_.Run({"t.put", "old", "0"});
  server_.store().CloseGate();
  TestClient client = server_.Connect();
  client.Send({"t.put", "k", "1"});
  client.Send({"t.put", "k", "2"});
  AwaitCalls("t.put", 3);
  server_.store().FailSync("disk is gone");
  EXPECT_EQ(client.Receive(), "(error) IOERR writes are stopped: disk is gone");
  EXPECT_EQ(client.Receive(), "(error) IOERR writes are stopped: disk is gone");
  EXPECT_EQ(client.Run({"t.get", "old"}), "\"0\"");
}

TEST_F(DispatcherTest, AFailedCommitIsNotAcknowledged) {
  CAIRN_TEST_ROCKS_ONLY("groups that commit");
  server_.Run({"t.put", "old", "0"});
  server_.store().CloseGate();
  server_.store().FailCommits("no space");
  EXPECT_EQ(server_.Run({"t.put", "k", "1"}), "(error) IOERR writes are stopped: no space");
  TestClient reader = server_.Connect();
  EXPECT_EQ(reader.Run({"PING"}), "PONG");
}

// --- What would wait ----------------------------------------------------------------------------

TEST_F(DispatcherTest, WhatNeedsTheDiskGoesToThePoolAndKeepsItsPlace) {
  CAIRN_TEST_ROCKS_ONLY("bodies that run on the loop");
  TestClient client = server_.Connect();
  client.Send({"t.put", "k", "1"});
  client.Send({"t.diskget", "k"});  // sees the write before it
  client.Send({"t.diskput", "k", "2"});
  client.Send({"t.get", "k"});
  EXPECT_EQ(client.Receive(), "OK");
  EXPECT_EQ(client.Receive(), "\"1\"");
  EXPECT_EQ(client.Receive(), "OK");
  EXPECT_EQ(client.Receive(), "\"2\"");
  EXPECT_EQ(server_.store().runs_outside_groups(), 2);
}

TEST_F(DispatcherTest, RepliesFromThePoolWaitForDurabilityToo) {
  CAIRN_TEST_ROCKS_ONLY("commits that are seen before they are durable");
  server_.store().CloseGate();
  TestClient client = server_.Connect();
  client.Send({"t.diskput", "k", "1"});
  AwaitCalls("t.diskput", 1);
  EXPECT_FALSE(HasReply(client));
  server_.store().MakeDurable();
  EXPECT_EQ(client.Receive(), "OK");
}

TEST_F(DispatcherTest, OthersGoOnWhileOneWaits) {
  TestClient waiting = server_.Connect();
  waiting.Send({"t.wait", "k"});
  EXPECT_EQ(server_.Run({"t.put", "k", "1"}), "OK");
  EXPECT_EQ(server_.Run({"t.get", "k"}), "\"1\"");
  go_.set_value();
  EXPECT_EQ(waiting.Receive(), "OK");
}

TEST_F(DispatcherTest, AClientMayLeaveWhileItsRequestIsOnThePool) {
  TestClient leaving = server_.Connect();
  leaving.Send({"t.wait", "k"});
  cairn::testing::Await("the request to reach the pool",
                        [&] { return server_.store().runs_outside_groups() != 0; });
  leaving.raw().Close();
  EXPECT_EQ(server_.Run({"PING"}), "PONG");
  go_.set_value();
  cairn::testing::Await("the client to be forgotten",
                        [&] { return server_.instance().traffic().clients.count() <= 1; });
  EXPECT_EQ(server_.Run({"PING"}), "PONG");
}

TEST_F(DispatcherTest, LongRunningCommandsNeverRunOnTheLoop) {
  CAIRN_TEST_ROCKS_ONLY("bodies that run on the loop");
  server_.Run({"t.put", "k", "1"});
  EXPECT_EQ(server_.Run({"t.long", "k"}), "\"1\"");
  EXPECT_EQ(server_.store().runs_outside_groups(), 1);
}

// --- Needing more scopes ------------------------------------------------------------------------

TEST_F(DispatcherTest, ACommandThatFindsOutWhatElseItTouchesIsRunAgainWithThat) {
  server_.Run({"t.put", "a", "b"});
  server_.Run({"t.put", "c", "d"});
  EXPECT_EQ(server_.Run({"t.follow", "a", "1"}), "OK");
  if (cairn::testing::OnRocks()) {
    EXPECT_EQ(runs_, 2);
  }
  EXPECT_EQ(server_.Run({"MULTI"}), "OK");
  EXPECT_EQ(server_.Run({"t.follow", "a", "2"}), "QUEUED");
  EXPECT_EQ(server_.Run({"t.follow", "c", "3"}), "QUEUED");
  EXPECT_EQ(server_.Run({"t.follow", "a", "4"}), "QUEUED");
  EXPECT_EQ(server_.Run({"EXEC"}), "[OK, OK, OK]");
  EXPECT_EQ(server_.Run({"t.get", "b"}), "\"4\"");
  EXPECT_EQ(server_.Run({"t.get", "d"}), "\"3\"");
  EXPECT_EQ(server_.Run({"t.follow", "nosuch", "5"}), "(error) ERR nothing there");
}

TEST_F(DispatcherTest, WhatElseItTouchesIsWaitedForOnThePool) {
  CAIRN_TEST_ROCKS_ONLY("scopes that alone keep bodies apart");
  server_.Run({"t.put", "a", "b"});
  store::Scopes scopes;
  Bytes scratch;
  AddKeyScope(0, "b", scopes, scratch);
  TestClient client = server_.Connect();
  const auto ran = server_.store().Run(scopes, [&](store::Transaction&) -> Result<void> {
    client.Send({"t.follow", "a", "1"});
    EXPECT_FALSE(HasReply(client));
    return {};
  });
  EXPECT_TRUE(ran.ok());
  EXPECT_EQ(client.Receive(), "OK");
  EXPECT_EQ(server_.Run({"t.get", "b"}), "\"1\"");
}

TEST_F(DispatcherTest, ACommandThatNeverHasEnoughGetsEverything) {
  CAIRN_TEST_ROCKS_ONLY("scopes that alone keep bodies apart");
  EXPECT_EQ(server_.Run({"t.greedy", "k"}), "(integer) 1");
  EXPECT_LT(runs_, 30);
}

// --- Pausing clients ----------------------------------------------------------------------------

TEST_F(DispatcherTest, APauseHoldsWritesBackAndKeepsOrder) {
  TestClient client = server_.Connect();
  EXPECT_EQ(server_.Run({"CLIENT", "PAUSE", "100000", "WRITE"}), "OK");
  client.Send({"t.put", "k", "1"});
  client.Send({"t.get", "k"});
  EXPECT_EQ(server_.Run({"t.get", "k"}), "(error) ERR nothing there");
  EXPECT_FALSE(HasReply(client));
  EXPECT_EQ(server_.Run({"CLIENT", "UNPAUSE"}), "OK");
  EXPECT_EQ(client.Receive(), "OK");
  EXPECT_EQ(client.Receive(), "\"1\"");
}

TEST_F(DispatcherTest, APauseOfWritesWaitsToHearWhoDoesNotWrite) {
  TestClient client = server_.Connect();
  EXPECT_EQ(server_.Run({"t.put", "k", "1"}), "OK");
  EXPECT_EQ(server_.Run({"CLIENT", "PAUSE", "100000", "WRITE"}), "OK");
  client.Send({"t.maybe", "k", "reads"});
  client.Send({"t.maybe", "k", "writes"});
  client.Send({"t.get", "k"});
  EXPECT_EQ(client.Receive(), "\"1\"");
  AwaitHeld(1);
  EXPECT_FALSE(HasReply(client));
  EXPECT_EQ(server_.Run({"MULTI"}), "OK");
  EXPECT_EQ(server_.Run({"t.maybe", "k", "reads"}), "QUEUED");
  EXPECT_EQ(server_.Run({"EXEC"}), "[\"1\"]");
  EXPECT_EQ(server_.Run({"CLIENT", "UNPAUSE"}), "OK");
  EXPECT_EQ(client.Receive(), "\"1\"");
  EXPECT_EQ(client.Receive(), "\"1\"");
}

TEST_F(DispatcherTest, WhoCannotBeAskedDuringAPauseFailsAndSoDoesItsTransaction) {
  const std::string failure = "(error) CORRUPT file 8 is damaged";
  TestClient client = server_.Connect();
  EXPECT_EQ(client.Run({"MULTI"}), "OK");
  EXPECT_EQ(client.Run({"t.maybe", "k", "broken"}), "QUEUED");
  EXPECT_EQ(server_.Run({"CLIENT", "PAUSE", "100000", "WRITE"}), "OK");
  EXPECT_EQ(client.Run({"EXEC"}), failure);
  EXPECT_EQ(client.Run({"MULTI"}), "OK");
  EXPECT_EQ(client.Run({"t.maybe", "k", "broken"}), failure);
  EXPECT_EQ(client.Run({"EXEC"}),
            "(error) EXECABORT Transaction discarded because of previous errors.");
  EXPECT_EQ(client.Run({"PING"}), "PONG");
}

TEST_F(DispatcherTest, APauseOfEverythingCanBeEnded) {
  TestClient client = server_.Connect();
  EXPECT_EQ(server_.Run({"CLIENT", "PAUSE", "100000"}), "OK");
  client.Send({"PING"});
  EXPECT_EQ(server_.Run({"CLIENT", "UNPAUSE"}), "OK");
  EXPECT_EQ(client.Receive(), "PONG");
}

TEST_F(DispatcherTest, APauseEndsByItself) {
  TestClient client = server_.Connect();
  EXPECT_EQ(server_.Run({"CLIENT", "PAUSE", "20"}), "OK");
  client.Send({"PING"});
  client.Send({"ECHO", "x"});
  server_.clock().AdvanceMillis(20);
  EXPECT_EQ(client.Receive(), "PONG");
  EXPECT_EQ(client.Receive(), "\"x\"");
}

// --- Statistics ---------------------------------------------------------------------------------

TEST_F(DispatcherTest, CountsCallsFailuresAndRejections) {
  server_.Run({"t.put", "k", "1"});
  server_.Run({"t.get", "k"});
  server_.Run({"t.get", "nosuch"});
  server_.Run({"t.get"});
  Instance& instance = server_.instance();
  const CallTotals totals = instance.dispatchers().Totals(*instance.commands().FindByName("t.get"));
  EXPECT_EQ(totals.calls, 2U);
  EXPECT_EQ(totals.failed, 1U);
  EXPECT_EQ(totals.rejected, 1U);
}

TEST_F(DispatcherTest, LogsSlowCallsWithoutSecrets) {
  server_.instance().observed().slow_log.set_threshold_us(0);
  server_.Run({"t.put", "k", "1"});
  server_.Run({"AUTH", "hunter2"});
  const auto entries = server_.instance().observed().slow_log.Newest(2);
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].args, std::vector<std::string>{"(redacted)"});
  EXPECT_EQ(entries[1].args, (std::vector<std::string>{"t.put", "k", "1"}));
}

// --- Several loops ------------------------------------------------------------------------------

TEST(DispatcherLoopsTest, ClientsOfAllLoopsAreListedAndKilled) {
  TestServer server({.loops = 3});
  std::vector<TestClient> clients;
  for (int i = 0; i < 6; ++i) clients.push_back(server.Connect());
  for (TestClient& client : clients) EXPECT_EQ(client.Run({"PING"}), "PONG");
  const std::string list = clients[0].RunValue({"CLIENT", "LIST"}).text;
  EXPECT_EQ(std::ranges::count(list, '\n'), 6);
  EXPECT_EQ(clients[0].Run({"CLIENT", "KILL", "TYPE", "normal"}), "(integer) 5");
  for (size_t i = 1; i < clients.size(); ++i) {
    EXPECT_FALSE(clients[i].raw().Receive().ok());
  }
  EXPECT_EQ(clients[0].Run({"PING"}), "PONG");
}

}  // namespace
}  // namespace cairn::doors
