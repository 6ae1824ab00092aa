#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "data/testing/script.h"

namespace cairn::data {
namespace {

using doors::testing::TestClient;
using testing::DataServer;

// What becomes of a client that waits for a key when the key becomes something else.
class BlockedClientsTest : public ::testing::Test {
 protected:
  // Sends it and returns when it waits.
  void Block(std::initializer_list<std::string_view> args) {
    const size_t before = server_.instance().waiters().count();
    waiting_.Send(args);
    while (server_.instance().waiters().count() == before) std::this_thread::yield();
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
    EXPECT_EQ(server_.instance().waiters().count(), 0U);
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
  while (server_.instance().waiters().count() != 2) std::this_thread::yield();
  server_.Play("FLUSHDB");
  EXPECT_EQ(waiting_.Receive(), "(error) UNBLOCKED the stream key no longer exists");
  EXPECT_EQ(other.Receive(), "(error) UNBLOCKED the stream key no longer exists");
}

}  // namespace
}  // namespace cairn::data
