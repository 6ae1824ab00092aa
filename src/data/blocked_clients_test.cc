#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "data/testing/script.h"
#include "tests/support/await.h"
#include "tests/support/test_store.h"

namespace cairn::data {
namespace {

using doors::testing::TestClient;
using testing::DataServer;
using ::testing::ElementsAre;

// What becomes of a client that waits for a key when the key becomes something else.
class BlockedClientsTest : public ::testing::Test {
 protected:
  // Sends it and returns when it waits.
  void Block(std::initializer_list<std::string_view> args) {
    const size_t before = server_.instance().traffic().waiters.count();
    waiting_.Send(args);
    cairn::testing::Await("the client to wait",
                          [&] { return server_.instance().traffic().waiters.count() != before; });
  }

  DataServer server_;
  TestClient waiting_ = server_.Connect();
};

TEST_F(BlockedClientsTest, AListThatBecameAStringInTheSameCommitWakesNobody) {
  for (const auto& command : std::initializer_list<std::initializer_list<std::string_view>>{
           {"BLPOP", "k", "0"},
           {"BRPOP", "other", "k", "0"},
           {"BLMPOP", "0", "1", "k", "LEFT"},
           {"BLMOVE", "k", "target", "LEFT", "LEFT", "0"}}) {
    Block(command);
    server_.Play(R"(
      MULTI
      LPUSH k a
      DEL k
      SET k string
      EXEC
      DEL k
      RPUSH k b               => (integer) 1
    )");
    EXPECT_NE(waiting_.Receive().find("\"b\""), std::string::npos) << *command.begin();
    EXPECT_EQ(server_.instance().traffic().waiters.count(), 0U);
    server_.Play("DEL k target");
  }
}

TEST_F(BlockedClientsTest, TheSameForSortedSetsAndStreams) {
  Block({"BZPOPMIN", "k", "0"});
  server_.Play("MULTI\nZADD k 1 a\nDEL k\nSADD k x\nEXEC\nDEL k\nZADD k 2 b");
  EXPECT_EQ(waiting_.Receive(), R"(["k", "b", "2"])");
  Block({"XREAD", "BLOCK", "0", "STREAMS", "s", "$"});
  server_.Play("MULTI\nXADD s 5-1 f v\nDEL s\nLPUSH s x\nEXEC\nDEL s\nXADD s 6-1 f w");
  EXPECT_EQ(waiting_.Receive(), R"([["s", [["6-1", ["f", "w"]]]]])");
}

TEST_F(BlockedClientsTest, AReaderOfAGroupLearnsThatItsStreamIsGone) {
  const std::string gone = "(error) UNBLOCKED the stream key no longer exists";
  for (const std::string end :
       {"DEL s", "SET s x", "FLUSHDB", "FLUSHALL", "SWAPDB 0 1", "RENAME s t", "MOVE s 2"}) {
    server_.Play("FLUSHALL\nXGROUP CREATE s g $ MKSTREAM");
    Block({"XREADGROUP", "GROUP", "g", "c", "BLOCK", "0", "STREAMS", "s", ">"});
    server_.Play(end);
    EXPECT_EQ(waiting_.Receive(), gone) << end;
  }
  server_.Play("FLUSHALL\nXGROUP CREATE s g $ MKSTREAM");
  Block({"XREADGROUP", "GROUP", "g", "c", "BLOCK", "0", "STREAMS", "s", ">"});
  server_.Play("XGROUP DESTROY s g");
  EXPECT_EQ(waiting_.Receive(),
            "(error) NOGROUP the consumer group this client was blocked on no longer exists");
}

TEST_F(BlockedClientsTest, ClearingADatabaseReachesEveryReaderOfAGroup) {
  server_.Play("XGROUP CREATE s g $ MKSTREAM\nXGROUP CREATE t g $ MKSTREAM");
  TestClient other = server_.Connect();
  Block({"XREADGROUP", "GROUP", "g", "c", "BLOCK", "0", "STREAMS", "s", ">"});
  other.Send({"XREADGROUP", "GROUP", "g", "c", "BLOCK", "0", "STREAMS", "t", ">"});
  cairn::testing::Await("both clients to wait",
                        [&] { return server_.instance().traffic().waiters.count() == 2; });
  server_.Play("FLUSHDB");
  EXPECT_EQ(waiting_.Receive(), "(error) UNBLOCKED the stream key no longer exists");
  EXPECT_EQ(other.Receive(), "(error) UNBLOCKED the stream key no longer exists");
}

// Whoever waits is served before the next request is executed, whatever it was that woke it.
class ServedAtOnceTest : public ::testing::TestWithParam<size_t> {
 protected:
  void SetUp() override {
    CAIRN_TEST_ROCKS_ONLY("waiting clients served in the group that wakes them");
    // Loops take connections in turn.
    for (size_t i = 0; i < GetParam(); ++i) on_each_loop_.push_back(server_.Connect());
  }

  TestClient Blocked(std::initializer_list<std::string_view> args) {
    const size_t before = server_.instance().traffic().waiters.count();
    TestClient client = server_.Connect();
    client.Send(args);
    cairn::testing::Await("the client to wait",
                          [&] { return server_.instance().traffic().waiters.count() != before; });
    Settle();
    return client;
  }
  // Who has just joined a line is asked to look once more, on its own loop, and cannot be served at
  // once until it has. That is two steps from loop to loop, and each PING is behind what was posted
  // to its loop.
  void Settle() {
    for (int step = 0; step < 3; ++step) {
      for (TestClient& client : on_each_loop_) EXPECT_EQ(client.Run({"PING"}), "PONG");
    }
  }
  // In one write, so that the requests are executed in one turn.
  std::vector<std::string> Pipelined(const std::vector<std::vector<std::string>>& requests) {
    TestClient client = server_.Connect();
    std::string bytes;
    for (const auto& request : requests) {
      const std::vector<std::string_view> args(request.begin(), request.end());
      bytes += net::EncodeRequest(args);
    }
    EXPECT_TRUE(client.raw().SendRaw(bytes).ok());
    std::vector<std::string> replies;
    for (size_t i = 0; i < requests.size(); ++i) replies.push_back(client.Receive());
    return replies;
  }

  DataServer server_{GetParam()};
  std::vector<TestClient> on_each_loop_;
};
INSTANTIATE_TEST_SUITE_P(Loops, ServedAtOnceTest, ::testing::Values(1, 3));

TEST_P(ServedAtOnceTest, LinkedMoves) {
  TestClient first = Blocked({"BLMOVE", "a", "b", "RIGHT", "LEFT", "0"});
  TestClient second = Blocked({"BLMOVE", "b", "c", "LEFT", "RIGHT", "0"});
  EXPECT_THAT(Pipelined({{"RPUSH", "a", "foo"},
                         {"LRANGE", "a", "0", "-1"},
                         {"LRANGE", "b", "0", "-1"},
                         {"LRANGE", "c", "0", "-1"}}),
              ElementsAre("(integer) 1", "[]", "[]", R"(["foo"])"));
  EXPECT_EQ(first.Receive(), R"("foo")");
  EXPECT_EQ(second.Receive(), R"("foo")");
}

TEST_P(ServedAtOnceTest, MovesInACircleEnd) {
  TestClient first = Blocked({"BRPOPLPUSH", "a", "b", "0"});
  TestClient second = Blocked({"BRPOPLPUSH", "b", "a", "0"});
  EXPECT_THAT(Pipelined({{"RPUSH", "a", "foo"}, {"LRANGE", "a", "0", "-1"}, {"LLEN", "b"}}),
              ElementsAre("(integer) 1", R"(["foo"])", "(integer) 0"));
  EXPECT_EQ(first.Receive(), R"("foo")");
  EXPECT_EQ(second.Receive(), R"("foo")");
}

TEST_P(ServedAtOnceTest, AfterAScriptAndAfterExec) {
  TestClient by_script = Blocked({"BZPOPMIN", "z", "0"});
  EXPECT_THAT(
      Pipelined({{"EVAL", "redis.call('ZADD', KEYS[1], 1, 'm') return redis.call('ZCARD', KEYS[1])",
                  "1", "z"},
                 {"ZCARD", "z"}}),
      ElementsAre("(integer) 1", "(integer) 0"));
  EXPECT_EQ(by_script.Receive(), R"(["z", "m", "1"])");

  TestClient first = Blocked({"BLPOP", "l", "0"});
  TestClient second = Blocked({"BRPOP", "l", "0"});
  EXPECT_THAT(
      Pipelined({{"MULTI"}, {"RPUSH", "l", "1", "2", "3"}, {"LLEN", "l"}, {"EXEC"}, {"LLEN", "l"}}),
      ElementsAre("OK", "QUEUED", "QUEUED", "[(integer) 3, (integer) 3]", "(integer) 1"));
  EXPECT_EQ(first.Receive(), R"(["l", "1"])");
  EXPECT_EQ(second.Receive(), R"(["l", "3"])");
}

TEST_P(ServedAtOnceTest, WhatItMovesIsSeenByWatch) {
  TestClient waiting = Blocked({"BRPOPLPUSH", "source", "target", "0"});
  EXPECT_THAT(
      Pipelined({{"WATCH", "target"}, {"RPUSH", "source", "x"}, {"MULTI"}, {"PING"}, {"EXEC"}}),
      ElementsAre("OK", "(integer) 1", "OK", "QUEUED", "(nil)"));
  EXPECT_EQ(waiting.Receive(), R"("x")");
}

TEST_P(ServedAtOnceTest, ItsReplyWaitsUntilTheCommitIsDurable) {
  TestClient waiting = Blocked({"BLPOP", "l", "0"});
  TestClient pushing = server_.Connect();
  server_.store().CloseGate();
  pushing.Send({"RPUSH", "l", "x"});
  cairn::testing::Await("the client to be served",
                        [&] { return server_.instance().traffic().waiters.count() == 0; });
  Settle();  // an answer that did not wait would be there now
  pollfd reply{.fd = waiting.raw().fd(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(poll(&reply, 1, 0), 0);
  server_.store().MakeDurable();
  EXPECT_EQ(pushing.Receive(), "(integer) 1");
  EXPECT_EQ(waiting.Receive(), R"(["l", "x"])");
}

// --- Served by the commit that has something for them -------------------------------------------

// Several loops, on which connections are spread, and somebody who looks for what must not be seen.
class ServedInTheCommitTest : public ::testing::Test {
 protected:
  static constexpr int kRounds = 200;

  // Sends it and returns when it waits.
  void Block(TestClient& client, std::initializer_list<std::string_view> args) {
    const size_t before = server_.instance().traffic().waiters.count();
    client.Send(args);
    cairn::testing::Await("the client to wait",
                          [&] { return server_.instance().traffic().waiters.count() != before; });
  }

  // Runs `look` on connections of its own, all the time while `rounds` runs.
  void WhileOthersLook(std::initializer_list<std::string_view> look, std::string_view expected,
                       const std::function<void()>& rounds) {
    std::atomic<bool> done = false;
    std::atomic<int> seen = 0;
    const auto run = [&] {
      TestClient client = server_.Connect();
      while (!done) {
        if (client.Run(look) != expected) ++seen;
      }
    };
    {
      const std::jthread one(run);
      const std::jthread another(run);
      rounds();
      done = true;
    }
    EXPECT_EQ(seen, 0);
  }

  DataServer server_{3};
  TestClient pusher_ = server_.Connect();
  TestClient waiter_ = server_.Connect();
  TestClient second_ = server_.Connect();
};

TEST_F(ServedInTheCommitTest, NobodySeesWhatAWaiterTakes) {
  WhileOthersLook({"LPOP", "q"}, "(nil)", [&] {
    for (int i = 0; i < kRounds; ++i) {
      Block(waiter_, {"BLPOP", "q", "0"});
      pusher_.Send({"RPUSH", "q", "x"});
      pusher_.Send({"LPOP", "q"});
      EXPECT_EQ(pusher_.Receive(), "(integer) 1");
      EXPECT_EQ(pusher_.Receive(), "(nil)");
      EXPECT_EQ(waiter_.Receive(), R"(["q", "x"])");
    }
  });
}

TEST_F(ServedInTheCommitTest, TransactionsAndScriptsServeToo) {
  WhileOthersLook({"ZPOPMIN", "z"}, "[]", [&] {
    for (int i = 0; i < kRounds; ++i) {
      Block(waiter_, {"BZPOPMIN", "other", "z", "0"});
      if (i % 2 == 0) {
        EXPECT_EQ(pusher_.Run({"MULTI"}), "OK");
        EXPECT_EQ(pusher_.Run({"ZADD", "z", "1", "m"}), "QUEUED");
        EXPECT_EQ(pusher_.Run({"EXEC"}), "[(integer) 1]");
      } else {
        // Also one that runs on the pool.
        const char* script = i % 4 == 1 ? "return redis.call('zadd', KEYS[1], 1, 'm')"
                                        : "for i = 1, 5e6 do end "
                                          "return redis.call('zadd', KEYS[1], 1, 'm')";
        EXPECT_EQ(pusher_.Run({"EVAL", script, "1", "z"}), "(integer) 1");
      }
      EXPECT_EQ(waiter_.Receive(), R"(["z", "m", "1"])");
    }
  });
}

TEST_F(ServedInTheCommitTest, AChainOfMovesIsOneCommit) {
  WhileOthersLook({"EXISTS", "a", "b"}, "(integer) 0", [&] {
    for (int i = 0; i < kRounds; ++i) {
      Block(waiter_, {"BLMOVE", "a", "b", "LEFT", "RIGHT", "0"});
      Block(second_, {"BLMOVE", "b", "c", "LEFT", "RIGHT", "0"});
      EXPECT_EQ(pusher_.Run({"RPUSH", "a", "x"}), "(integer) 1");
      EXPECT_EQ(pusher_.Run({"LPOP", "c"}), "\"x\"");
      EXPECT_EQ(waiter_.Receive(), "\"x\"");
      EXPECT_EQ(second_.Receive(), "\"x\"");
    }
  });
}

// A client that waits for two keys gets one element, however the pushes meet.
TEST_F(ServedInTheCommitTest, ServedOnceByWhoeverComesFirst) {
  TestClient other = server_.Connect();
  for (int i = 0; i < kRounds; ++i) {
    Block(waiter_, {"BLPOP", "p", "q", "0"});
    pusher_.Send({"RPUSH", "p", "x"});
    other.Send({"RPUSH", "q", "x"});
    EXPECT_EQ(pusher_.Receive(), "(integer) 1");
    EXPECT_EQ(other.Receive(), "(integer) 1");
    EXPECT_NE(waiter_.Receive().find("\"x\""), std::string::npos);
    EXPECT_EQ(server_.Run({"DEL", "p", "q"}), "(integer) 1");
  }
}

// Of those who wait the longest waiting is served, and who gives up gets its own reply.
TEST_F(ServedInTheCommitTest, TheLongestWaitingIsServedFirst) {
  TestClient third = server_.Connect();
  for (int i = 0; i < kRounds; ++i) {
    Block(waiter_, {"BLPOP", "q", "0"});
    Block(second_, {"BLPOP", "q", "0"});
    Block(third, {"BLPOP", "q", "0"});
    EXPECT_EQ(pusher_.Run({"RPUSH", "q", "1", "2", "3"}), "(integer) 3");
    EXPECT_EQ(waiter_.Receive(), R"(["q", "1"])");
    EXPECT_EQ(second_.Receive(), R"(["q", "2"])");
    EXPECT_EQ(third.Receive(), R"(["q", "3"])");
  }
}

}  // namespace
}  // namespace cairn::data
