#include "doors/turn/waiters.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "doors/resp/arg_parser.h"
#include "doors/testing/test_server.h"
#include "tests/support/await.h"

namespace cairn::doors {
namespace {

using testing::TestClient;
using testing::TestServer;
using testing::TestServerOptions;

// The simplest thing to wait for: a word per key, put by one command and taken by another.
store::Key WordKey(Bytes& key, const CommandContext& context) {
  key = fmt::format("word/{}/{}", context.db(), context.args[1]);
  return {store::Space::kSystem, key};
}

Result<void> PutWord(CommandContext& context) {
  Bytes key;
  context.transaction.Put(WordKey(key, context), context.args[2]);
  context.transaction.Wake(KeyTopic(context.db(), context.args[1]));
  context.reply.Ok();
  return {};
}

// TAKE key timeout_ms, and SEE, which leaves the word. A timeout of 0 is none.
Result<void> WaitForWord(CommandContext& context, bool takes) {
  Bytes key;
  CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> word,
                         context.transaction.Get(WordKey(key, context)));
  if (!word || (takes && context.caller.must_wait)) {
    context.reply.NullArray();
    const std::optional<int64_t> timeout_ms = ParseInteger(context.args[2]);
    Blocking blocking;
    if (*timeout_ms > 0) blocking.timeout_ms = timeout_ms;
    return context.Block(blocking);
  }
  if (takes) context.transaction.Delete(WordKey(key, context));
  context.reply.Bulk(*word);
  return {};
}

class WaitersTest : public ::testing::TestWithParam<size_t> {
 protected:
  static Command Row(std::string_view name, std::string_view group, uint32_t flags,
                     RunHandler run) {
    return {.name = name,
            .arity = 3,
            .flags = flags,
            .keys = {{1, 1, 1, "RW"}},
            .group = group,
            .since = "1.0.0",
            .summary = "For tests.",
            .run = std::move(run)};
  }

  static TestServerOptions Options() {
    TestServerOptions options;
    options.loops = GetParam();
    options.add_commands = [](Instance& instance) {
      instance.hooks().version_reader = [](store::Transaction&, uint8_t,
                                           BytesView) -> Result<uint64_t> { return 0; };
      CommandTable& table = instance.commands();
      table.Add(Row("put", "list", kWrite, PutWord));
      table.Add(Row("take", "list", kWrite | kBlocking,
                    [](CommandContext& context) { return WaitForWord(context, true); }));
      table.Add(Row("see", "stream", kReadOnly | kBlocking,
                    [](CommandContext& context) { return WaitForWord(context, false); }));
    };
    return options;
  }

  void WaitUntilWaiting(size_t count) {
    cairn::testing::Await("the clients to stand in line",
                          [&] { return server_.instance().traffic().waiters.count() == count; });
  }

  // A client that has asked and stands in line.
  TestClient Waiting(std::initializer_list<std::string_view> request) {
    const size_t before = server_.instance().traffic().waiters.count();
    TestClient client = server_.Connect();
    client.Send(request);
    WaitUntilWaiting(before + 1);
    return client;
  }

  TestServer server_{Options()};
};
INSTANTIATE_TEST_SUITE_P(Loops, WaitersTest, ::testing::Values(1, 3));

TEST_P(WaitersTest, WhatIsThereIsTakenAtOnce) {
  EXPECT_EQ(server_.Run({"PUT", "k", "word"}), "OK");
  EXPECT_EQ(server_.Run({"TAKE", "k", "0"}), "\"word\"");
  EXPECT_EQ(server_.instance().traffic().waiters.count(), 0U);
}

TEST_P(WaitersTest, ACommitServesWhoWaits) {
  TestClient waiting = Waiting({"TAKE", "k", "0"});
  EXPECT_EQ(server_.Run({"PUT", "k", "word"}), "OK");
  EXPECT_EQ(waiting.Receive(), "\"word\"");
  WaitUntilWaiting(0);
  EXPECT_EQ(waiting.Run({"PING"}), "PONG");
}

TEST_P(WaitersTest, TheLongestWaitingIsServedFirst) {
  std::vector<TestClient> clients;
  for (int i = 0; i < 8; ++i) clients.push_back(Waiting({"TAKE", "k", "0"}));
  for (int i = 0; i < 8; ++i) {
    const std::string word = "word" + std::to_string(i);
    EXPECT_EQ(server_.Run({"PUT", "k", word}), "OK");
    EXPECT_EQ(clients[static_cast<size_t>(i)].Receive(), "\"" + word + "\"");
  }
}

TEST_P(WaitersTest, WhoComesLaterDoesNotOvertake) {
  TestClient first = Waiting({"TAKE", "k", "0"});
  TestClient second = server_.Connect();
  // In one turn of the loop, before the first can have been asked.
  second.Send({"PUT", "k", "word"});
  second.Send({"TAKE", "k", "0"});
  EXPECT_EQ(second.Receive(), "OK");
  EXPECT_EQ(first.Receive(), "\"word\"");
  EXPECT_EQ(server_.Run({"PUT", "k", "next"}), "OK");
  EXPECT_EQ(second.Receive(), "\"next\"");
}

TEST_P(WaitersTest, AllWhoOnlyReadAreServed) {
  TestClient see1 = Waiting({"SEE", "k", "0"});
  TestClient see2 = Waiting({"SEE", "k", "0"});
  EXPECT_EQ(server_.Run({"PUT", "k", "word"}), "OK");
  EXPECT_EQ(see1.Receive(), "\"word\"");
  EXPECT_EQ(see2.Receive(), "\"word\"");
}

TEST_P(WaitersTest, OnePutServesOneWhoTakes) {
  TestClient take1 = Waiting({"TAKE", "k", "0"});
  TestClient take2 = Waiting({"TAKE", "k", "0"});
  EXPECT_EQ(server_.Run({"PUT", "k", "word"}), "OK");
  EXPECT_EQ(take1.Receive(), "\"word\"");
  WaitUntilWaiting(1);
  EXPECT_EQ(server_.Run({"PUT", "k", "more"}), "OK");
  EXPECT_EQ(take2.Receive(), "\"more\"");
}

TEST_P(WaitersTest, DatabasesAreApart) {
  TestClient in_one = server_.Connect();
  EXPECT_EQ(in_one.Run({"SELECT", "1"}), "OK");
  in_one.Send({"TAKE", "k", "0"});
  WaitUntilWaiting(1);
  EXPECT_EQ(server_.Run({"PUT", "k", "zero"}), "OK");
  TestClient other = server_.Connect();
  EXPECT_EQ(other.Run({"SELECT", "1"}), "OK");
  EXPECT_EQ(other.Run({"PUT", "k", "one"}), "OK");
  EXPECT_EQ(in_one.Receive(), "\"one\"");
  EXPECT_EQ(server_.Run({"TAKE", "k", "0"}), "\"zero\"");
}

TEST_P(WaitersTest, TimeRunsOut) {
  TestClient client = server_.Connect();
  EXPECT_EQ(client.Run({"TAKE", "k", "1"}), "(nil)");
  EXPECT_EQ(client.Run({"PING"}), "PONG");
  EXPECT_EQ(server_.instance().traffic().waiters.count(), 0U);
}

TEST_P(WaitersTest, InsideMultiNobodyWaits) {
  TestClient client = server_.Connect();
  EXPECT_EQ(client.Run({"MULTI"}), "OK");
  EXPECT_EQ(client.Run({"TAKE", "k", "0"}), "QUEUED");
  EXPECT_EQ(client.Run({"PUT", "k", "word"}), "QUEUED");
  EXPECT_EQ(client.Run({"TAKE", "k", "0"}), "QUEUED");
  EXPECT_EQ(client.Run({"EXEC"}), "[(nil), OK, \"word\"]");
}

TEST_P(WaitersTest, WhoWasServedGoesOnWithItsNextRequests) {
  TestClient client = server_.Connect();
  client.Send({"TAKE", "k", "0"});
  client.Send({"PING"});
  client.Send({"TAKE", "k", "0"});
  WaitUntilWaiting(1);
  EXPECT_EQ(server_.Run({"PUT", "k", "a"}), "OK");
  EXPECT_EQ(client.Receive(), "\"a\"");
  EXPECT_EQ(client.Receive(), "PONG");
  EXPECT_EQ(server_.Run({"PUT", "k", "b"}), "OK");
  EXPECT_EQ(client.Receive(), "\"b\"");
}

TEST_P(WaitersTest, WhoHangsUpLeavesTheLine) {
  {
    const TestClient gone = Waiting({"TAKE", "k", "0"});
    EXPECT_EQ(server_.instance().traffic().waiters.count(), 1U);
  }
  WaitUntilWaiting(0);
  TestClient waiting = Waiting({"TAKE", "k", "0"});
  EXPECT_EQ(server_.Run({"PUT", "k", "word"}), "OK");
  EXPECT_EQ(waiting.Receive(), "\"word\"");
}

TEST_P(WaitersTest, ClientUnblockEndsAWait) {
  for (const auto& [reason, reply] :
       {std::pair<std::string, std::string>{"TIMEOUT", "(nil)"},
        {"ERROR", "(error) UNBLOCKED client unblocked via CLIENT UNBLOCK"}}) {
    TestClient client = server_.Connect();
    const std::string id = client.Run({"CLIENT", "ID"}).substr(std::string("(integer) ").size());
    EXPECT_EQ(server_.Run({"CLIENT", "UNBLOCK", id, reason}), "(integer) 0");
    client.Send({"TAKE", "k", "0"});
    WaitUntilWaiting(1);
    EXPECT_EQ(server_.Run({"CLIENT", "UNBLOCK", id, reason}), "(integer) 1");
    EXPECT_EQ(client.Receive(), reply);
    EXPECT_EQ(client.Run({"PING"}), "PONG");
  }
  EXPECT_EQ(server_.Run({"CLIENT", "UNBLOCK", "1", "SOON"}),
            "(error) ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR");
}

TEST_P(WaitersTest, ManyProducersAndConsumersLoseNothing) {
  constexpr int kClients = 4;
  constexpr int kWords = 50;
  std::vector<std::thread> threads;
  std::vector<std::vector<std::string>> taken(kClients);
  for (int i = 0; i < kClients; ++i) {
    threads.emplace_back([this, i, &taken] {
      TestClient client = server_.Connect();
      for (int n = 0; n < kWords; ++n) {
        taken[static_cast<size_t>(i)].push_back(client.Run({"TAKE", "k" + std::to_string(i), "0"}));
      }
    });
    threads.emplace_back([this, i] {
      TestClient client = server_.Connect();
      const std::string key = "k" + std::to_string(i);
      for (int n = 0; n < kWords; ++n) {
        client.Run({"PUT", key, std::to_string(n)});
        // A word is put over one that nobody took yet: wait until it is gone.
        cairn::testing::Await("the word to be taken", [&] {
          return client.Run({"SEE", key, "1"}) == "(nil)";
        });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& words : taken) {
    for (int n = 0; n < kWords; ++n) {
      EXPECT_EQ(words[static_cast<size_t>(n)], "\"" + std::to_string(n) + "\"");
    }
  }
}

}  // namespace
}  // namespace cairn::doors
