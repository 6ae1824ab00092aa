#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "data/testing/script.h"
#include "tests/support/await.h"

namespace cairn::data {
namespace {

using doors::testing::TestClient;
using testing::DataServer;

class TransactionsTest : public ::testing::Test {
 protected:
  ~TransactionsTest() override { server_.CheckConsistency(); }

  DataServer server_;
  TestClient a_ = server_.Connect();
  TestClient b_ = server_.Connect();
};

TEST_F(TransactionsTest, QueuedCommandsRunTogether) {
  DataServer::Play(a_, R"(
    MULTI                     => OK
    SET k 1                   => QUEUED
    INCR k                    => QUEUED
    GET k                     => QUEUED
  )");
  EXPECT_EQ(b_.Run({"GET", "k"}), "(nil)");
  EXPECT_EQ(a_.Run({"EXEC"}), "[OK, (integer) 2, \"2\"]");
  EXPECT_EQ(b_.Run({"GET", "k"}), "\"2\"");
}

TEST_F(TransactionsTest, HelloInTheQueueChangesTheProtocolOfWhatComesBehindIt) {
  DataServer::Play(a_, R"(
    HSET h f v                => (integer) 1
    MULTI                     => OK
    HGETALL h                 => QUEUED
    HELLO 3                   => QUEUED
    HGETALL h                 => QUEUED
    HELLO 4                   => QUEUED
    HGETALL h                 => QUEUED
    HELLO 2 SETNAME "no name" => QUEUED
    HGETALL h                 => QUEUED
  )");
  const net::RespValue replies = a_.RunValue({"EXEC"});
  ASSERT_EQ(replies.items.size(), 7U);
  using Type = net::RespValue::Type;
  EXPECT_EQ(replies.items[0].type, Type::kArray);
  EXPECT_EQ(replies.items[1].type, Type::kMap);
  EXPECT_EQ(replies.items[2].type, Type::kMap);
  EXPECT_EQ(replies.items[3].text, "NOPROTO unsupported protocol version");
  EXPECT_EQ(replies.items[4].type, Type::kMap);
  EXPECT_TRUE(replies.items[5].is_error());
  EXPECT_EQ(replies.items[6].type, Type::kMap);
  EXPECT_EQ(a_.RunValue({"HGETALL", "h"}).type, Type::kMap);
}

TEST_F(TransactionsTest, AnEmptyTransactionIsEmpty) {
  DataServer::Play(a_, R"(
    MULTI                     => OK
    EXEC                      => []
    EXEC                      => (error) ERR EXEC without MULTI
    DISCARD                   => (error) ERR DISCARD without MULTI
  )");
}

TEST_F(TransactionsTest, ACommandThatFailsDoesNotUndoTheOthers) {
  DataServer::Play(a_, R"(
    SET s text
    MULTI
    SET a 1
    INCR s
    SET b 2
    EXEC                      => [OK, (error) ERR value is not an integer or out of range, OK]
    MGET a b                  => ["1", "2"]
  )");
}

TEST_F(TransactionsTest, ACommandThatIsRefusedRefusesTheWhole) {
  DataServer::Play(a_, R"(
    MULTI
    SET a 1                   => QUEUED
    SET a                     => (error) ERR wrong number of arguments for 'set' command
    SET b 1                   => QUEUED
    EXEC                      => (error) EXECABORT Transaction discarded because of previous errors.
    EXISTS a b                => (integer) 0
    MULTI
    NOSUCH                    => (error) ERR unknown command 'NOSUCH', with args beginning with:
    EXEC                      => (error) EXECABORT Transaction discarded because of previous errors.
    MULTI
    SAVE                      => (error) ERR Command not allowed inside a transaction
    EXEC                      => (error) EXECABORT Transaction discarded because of previous errors.
    MULTI
    EXEC now                  => (error) EXECABORT Transaction discarded because of: wrong number of arguments for 'exec' command
    EXEC                      => (error) ERR EXEC without MULTI
  )");
}

TEST_F(TransactionsTest, NestingAndWatchingInsideAreRefusedButBreakNothing) {
  DataServer::Play(a_, R"(
    MULTI
    MULTI                     => (error) ERR MULTI calls can not be nested
    WATCH k                   => (error) ERR WATCH inside MULTI is not allowed
    SET k 1                   => QUEUED
    EXEC                      => [OK]
  )");
}

TEST_F(TransactionsTest, DiscardForgetsTheQueueAndTheWatches) {
  DataServer::Play(a_, R"(
    WATCH k
    MULTI
    SET k 1
    DISCARD                   => OK
  )");
  b_.Run({"SET", "k", "2"});
  DataServer::Play(a_, R"(
    MULTI
    GET k
    EXEC                      => ["2"]
  )");
}

TEST_F(TransactionsTest, ConnectionCommandsKeepTheirPlace) {
  DataServer::Play(a_, R"(
    MULTI
    SET k zero
    PING
    SELECT 1
    SET k one
    ECHO x
    SELECT 99
    GET k
    EXEC  => [OK, PONG, OK, OK, "x", (error) ERR DB index is out of range, "one"]
    GET k                     => "one"
    SELECT 0
    GET k                     => "zero"
  )");
}

TEST_F(TransactionsTest, CommandsThatSeeEverythingWorkInside) {
  DataServer::Play(a_, R"(
    MULTI
    MSET a 1 b 2
    KEYS *
    DBSIZE
    FLUSHALL
    DBSIZE
    SET c 3
    EXEC => [OK, ["a", "b"], (integer) 2, OK, (integer) 0, OK]
    KEYS *                    => ["c"]
  )");
}

// --- WATCH --------------------------------------------------------------------------------------

TEST_F(TransactionsTest, AKeyThatWasMadeAndRemovedAgainHasChanged) {
  for (const std::string made : {"SET k 1", "LPUSH k 1", "COPY other k", "RENAME other k"}) {
    DataServer::Play(a_, "SET other 1\nDEL k\nWATCH k");
    DataServer::Play(b_, made + "\nDEL k");
    DataServer::Play(a_, "MULTI\nPING\nEXEC => (nil)");
  }
  DataServer::Play(a_, "DEL k\nWATCH k");
  DataServer::Play(b_, "SET other 2\nGET k");
  DataServer::Play(a_, "MULTI\nPING\nEXEC => [PONG]");
}

TEST_F(TransactionsTest, AChangedKeyMakesExecDoNothing) {
  a_.Run({"SET", "k", "1"});
  DataServer::Play(a_, R"(
    WATCH k                   => OK
    MULTI
    SET k mine
  )");
  b_.Run({"SET", "k", "theirs"});
  EXPECT_EQ(a_.Run({"EXEC"}), "(nil)");
  EXPECT_EQ(a_.Run({"GET", "k"}), "\"theirs\"");
  // EXEC has ended the watch.
  DataServer::Play(a_, R"(
    MULTI
    SET k mine
    EXEC                      => [OK]
  )");
}

TEST_F(TransactionsTest, AnUnchangedKeyLetsItRun) {
  a_.Run({"SET", "k", "1"});
  DataServer::Play(a_, R"(
    WATCH k other             => OK
    MULTI
    INCR k
  )");
  b_.Run({"SET", "unrelated", "x"});
  b_.Run({"GET", "k"});
  EXPECT_EQ(a_.Run({"EXEC"}), "[(integer) 2]");
}

TEST_F(TransactionsTest, ChangingBackIsNoticed) {
  a_.Run({"SET", "k", "1"});
  a_.Run({"WATCH", "k"});
  b_.Run({"SET", "k", "2"});
  b_.Run({"SET", "k", "1"});
  DataServer::Play(a_, R"(
    MULTI
    EXEC                      => (nil)
  )");
}

TEST_F(TransactionsTest, EveryKindOfChangeIsNoticed) {
  for (const char* change :
       {"DEL k", "EXPIRE k 100", "PERSIST t", "RENAME k x", "APPEND k x", "FLUSHALL",
        "RENAME other k", "MOVE k 5", "SET new 1", "PEXPIRE k -1", "COPY other k REPLACE"}) {
    DataServer::Play(b_, "FLUSHALL");
    DataServer::Play(b_, "MSET k 1 other 2");
    DataServer::Play(b_, "SET t 1 EX 1000");
    DataServer::Play(a_, "WATCH k t new");
    DataServer::Play(b_, change);
    DataServer::Play(a_, "MULTI");
    EXPECT_EQ(a_.Run({"EXEC"}), "(nil)") << change;
  }
}

TEST_F(TransactionsTest, AnOwnChangeCountsToo) {
  DataServer::Play(a_, R"(
    SET k 1
    WATCH k
    SET k 2
    MULTI
    EXEC                      => (nil)
  )");
}

TEST_F(TransactionsTest, WatchingAgainDoesNotForgetAChange) {
  a_.Run({"SET", "k", "1"});
  a_.Run({"WATCH", "k"});
  b_.Run({"SET", "k", "2"});
  a_.Run({"WATCH", "k"});
  a_.Run({"MULTI"});
  EXPECT_EQ(a_.Run({"EXEC"}), "(nil)");
}

TEST_F(TransactionsTest, UnwatchForgets) {
  a_.Run({"WATCH", "k"});
  b_.Run({"SET", "k", "2"});
  DataServer::Play(a_, R"(
    UNWATCH                   => OK
    MULTI
    GET k
    EXEC                      => ["2"]
  )");
}

TEST_F(TransactionsTest, WatchIsPerDatabase) {
  a_.Run({"WATCH", "k"});
  b_.Run({"SELECT", "1"});
  b_.Run({"SET", "k", "2"});
  DataServer::Play(a_, R"(
    MULTI
    EXEC                      => []
  )");
}

TEST_F(TransactionsTest, AKeyThatExpiresUnderWatchHasChanged) {
  a_.Run({"SET", "k", "1", "PX", "10"});
  a_.Run({"WATCH", "k"});
  server_.clock().AdvanceMillis(10);
  a_.Run({"MULTI"});
  EXPECT_EQ(a_.Run({"EXEC"}), "(nil)");
  // One that had expired before has not.
  a_.Run({"WATCH", "k"});
  server_.FireTimers();
  a_.Run({"MULTI"});
  EXPECT_EQ(a_.Run({"EXEC"}), "[]");
}

TEST_F(TransactionsTest, AReplyWaitsForTheOneCommit) {
  server_.store().CloseGate();
  a_.Send({"MULTI"});
  a_.Send({"SET", "a", "1"});
  a_.Send({"SET", "b", "2"});
  a_.Send({"EXEC"});
  const doors::Command& set = *server_.instance().commands().FindByName("set");
  cairn::testing::Await("both SETs to run",
                        [&] { return server_.instance().dispatchers().Totals(set).calls >= 2; });
  cairn::testing::Await("the commit", [&] { return server_.store().stats().commits != 0; });
  EXPECT_EQ(server_.store().stats().commits, 1U);
  server_.store().MakeDurable();
  EXPECT_EQ(a_.Receive(), "OK");
  EXPECT_EQ(a_.Receive(), "QUEUED");
  EXPECT_EQ(a_.Receive(), "QUEUED");
  EXPECT_EQ(a_.Receive(), "[OK, OK]");
}

// Clients of several loops add to the same counter through WATCH: no addition may get lost.
TEST(TransactionsRaceTest, OptimisticIncrementsLoseNothing) {
  DataServer server(3);
  constexpr int kThreads = 4;
  constexpr int kEach = 50;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&server] {
      TestClient client = server.Connect();
      for (int done = 0; done < kEach;) {
        client.Run({"WATCH", "n"});
        const net::RespValue old = client.RunValue({"GET", "n"});
        const int64_t n = old.is_null() ? 0 : std::stoll(old.text);
        client.Run({"MULTI"});
        client.Run({"SET", "n", std::to_string(n + 1)});
        if (client.Run({"EXEC"}) == "[OK]") ++done;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(server.Run({"GET", "n"}), "\"" + std::to_string(kThreads * kEach) + "\"");
  server.CheckConsistency();
}

}  // namespace
}  // namespace cairn::data
