// Requests that ask for more than a reply, or all replies together, may be.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "data/testing/script.h"
#include "tests/support/await.h"

namespace cairn::data {
namespace {

using doors::testing::TestClient;
using testing::DataServer;
using ::testing::HasSubstr;

constexpr size_t kBuffers = 40'000'000;
constexpr size_t kReply = 10'000'000;
constexpr int kMembers = 30;

class ReplyLimitsTest : public ::testing::Test {
 protected:
  static std::string Large(int i) { return std::to_string(i) + std::string(1'000'000, 'x'); }

  void TearDown() override {
    EXPECT_EQ(server_.Run({"PING"}), "PONG");
    server_.CheckConsistency();
  }

  DataServer server_{kBuffers, kReply};
};

TEST_F(ReplyLimitsTest, AReplyPastTheLimitIsAnErrorThatNamesIt) {
  server_.Run({"SET", "k", Large(1)});
  std::vector<std::string> mget(21, "k");
  mget[0] = "MGET";
  EXPECT_THAT(server_.Run(mget), HasSubstr("TOOLARGE the reply would exceed 10000000 bytes"));
  EXPECT_THAT(server_.Run(mget), HasSubstr("limits.reply"));
  // Too large for a loop, but not for the limit.
  mget.resize(9);
  EXPECT_EQ(server_.Connect().raw().Command(mget)->items.size(), 8U);
}

TEST_F(ReplyLimitsTest, NothingRemainsOfATransactionWhoseRepliesAreTooLarge) {
  server_.Run({"SET", "k", Large(1)});
  TestClient client = server_.Connect();
  client.Run({"MULTI"});
  client.Run({"SET", "written", "1"});
  for (int i = 0; i < 20; ++i) client.Run({"GET", "k"});
  EXPECT_THAT(client.Run({"EXEC"}), HasSubstr("limits.reply"));
  EXPECT_EQ(server_.Run({"EXISTS", "written"}), "(integer) 0");
  // A smaller one, which still leaves the loop, is run once.
  client.Run({"MULTI"});
  client.Run({"INCR", "n"});
  for (int i = 0; i < 8; ++i) client.Run({"GET", "k"});
  client.Run({"CLIENT", "GETNAME"});
  EXPECT_EQ(client.RunValue({"EXEC"}).items.size(), 10U);
  EXPECT_EQ(server_.Run({"GET", "n"}), "\"1\"");
}

TEST_F(ReplyLimitsTest, NothingRemainsOfACommandWhoseReplyIsTooLarge) {
  for (int i = 0; i < kMembers; ++i) server_.Run({"RPUSH", "list", Large(i)});
  EXPECT_THAT(server_.Run({"LPOP", "list", "30"}), HasSubstr("limits.reply"));
  EXPECT_EQ(server_.Run({"LLEN", "list"}), "(integer) 30");
}

TEST_F(ReplyLimitsTest, WhateverReadsAWholeCollectionIsBounded) {
  for (int i = 0; i < kMembers; ++i) {
    const std::string member = Large(i);
    server_.Run({"SADD", i % 2 == 0 ? "even" : "odd", member});
    server_.Run({"ZADD", "sorted", "1", member});
    server_.Run({"RPUSH", "list", member});
    server_.Run({"HSET", "hash", std::to_string(i), member});
    server_.Run({"XADD", "stream", "*", "f", member});
  }
  const std::vector<std::vector<std::string>> questions = {
      {"SMEMBERS", "even"},
      {"SUNION", "even", "odd"},
      {"SDIFF", "even", "odd"},
      {"SRANDMEMBER", "odd", "15"},
      {"ZRANGE", "sorted", "0", "-1"},
      {"ZRANDMEMBER", "sorted", "-20"},
      {"LRANGE", "list", "0", "-1"},
      {"SORT", "list", "ALPHA"},
      {"HGETALL", "hash"},
      {"HVALS", "hash"},
      {"HRANDFIELD", "hash", "30", "WITHVALUES"},
      {"XRANGE", "stream", "-", "+"},
      {"XREAD", "STREAMS", "stream", "0"}};
  for (const std::vector<std::string>& question : questions) {
    EXPECT_THAT(server_.Run(question), HasSubstr("limits.")) << question[0];
  }
  // All of it is given back; the last when the pool lets go of it, just behind the reply.
  cairn::testing::Await("the buffers to be given back",
                        [&] { return server_.instance().options().buffers->used() == 0; });
}

TEST_F(ReplyLimitsTest, WhateverCopiesAWholeCollectionIsBounded) {
  for (int i = 0; i < kMembers; ++i) server_.Run({"RPUSH", "list", Large(i)});
  for (const std::vector<std::string>& request : std::vector<std::vector<std::string>>{
           {"COPY", "list", "other"}, {"MOVE", "list", "1"}, {"SWAPDB", "0", "1"}}) {
    EXPECT_THAT(server_.Run(request), HasSubstr("limits.buffers")) << request[0];
  }
  EXPECT_EQ(server_.Run({"LLEN", "list"}), "(integer) 30");
  EXPECT_EQ(server_.Run({"EXISTS", "other"}), "(integer) 0");
  server_.Run({"LTRIM", "list", "0", "9"});
  EXPECT_EQ(server_.Run({"COPY", "list", "other"}), "(integer) 1");
}

TEST_F(ReplyLimitsTest, ScansOfLargeMembersEndEarlyAndMissNone) {
  for (int i = 0; i < kMembers; ++i) {
    server_.Run({"HSET", "hash", std::to_string(i), Large(i)});
    server_.Run({"SADD", "set", Large(i)});
    server_.Run({"ZADD", "sorted", "1", Large(i)});
  }
  TestClient client = server_.Connect();
  for (const auto& [command, key] :
       {std::pair("HSCAN", "hash"), {"SSCAN", "set"}, {"ZSCAN", "sorted"}}) {
    std::set<std::string> found;
    std::string cursor = "0";
    do {
      const net::RespValue page = client.RunValue({command, key, cursor, "COUNT", "1000"});
      ASSERT_EQ(page.items.size(), 2U) << command << " " << page.ToString().substr(0, 200);
      cursor = page.items[0].text;
      EXPECT_LT(page.items[1].items.size(), 8U) << command;
      for (const net::RespValue& item : page.items[1].items) {
        if (item.text.size() > 1000) found.insert(item.text);
      }
    } while (cursor != "0");
    EXPECT_EQ(found.size(), static_cast<size_t>(kMembers)) << command;
  }
}

// A hash that is shown at once because CONFIG SET says so has no cursor to end early with.
TEST_F(ReplyLimitsTest, AScanOfAValueInOnePieceIsBounded) {
  server_.Run({"CONFIG", "SET", "hash-max-listpack-value", "2000000"});
  for (int i = 0; i < kMembers; ++i) server_.Run({"HSET", "hash", std::to_string(i), Large(i)});
  EXPECT_THAT(server_.Run({"HSCAN", "hash", "0"}), HasSubstr("limits.reply"));
}

// None of them is large, and nothing is replied.
TEST_F(ReplyLimitsTest, WhatIsCollectedFromManySmallKeysIsBounded) {
  constexpr int kKeys = 320;
  std::vector<std::string> set_union = {"SUNIONSTORE", "target"};
  std::vector<std::string> sorted_union = {"ZUNIONSTORE", "target", std::to_string(kKeys)};
  for (int i = 0; i < kKeys; ++i) {
    const std::string number = std::to_string(i);
    const std::string value = number + std::string(200'000, 'x');
    server_.Run({"SADD", "set" + number, value});
    server_.Run({"SET", "w" + number, value});
    server_.Run({"RPUSH", "numbers", number});
    set_union.push_back("set" + number);
    sorted_union.push_back("set" + number);
  }
  for (const std::vector<std::string>& request : std::vector<std::vector<std::string>>{
           set_union,
           sorted_union,
           {"SORT", "numbers", "BY", "w*", "ALPHA", "LIMIT", "0", "1", "STORE", "target"},
           {"SORT", "numbers", "BY", "nosort", "GET", "w*", "STORE", "target"}}) {
    EXPECT_THAT(server_.Run(request), HasSubstr("limits.buffers")) << request[0];
  }
  EXPECT_EQ(server_.Run({"EXISTS", "target"}), "(integer) 0");
}

TEST_F(ReplyLimitsTest, KeysAreBoundedAndScanEndsEarly) {
  for (int i = 0; i < kMembers; ++i) server_.Run({"SET", Large(i), "v"});
  EXPECT_THAT(server_.Run({"KEYS", "*"}), HasSubstr("limits.reply"));
  TestClient client = server_.Connect();
  const net::RespValue page = client.RunValue({"SCAN", "0", "COUNT", "1000"});
  EXPECT_NE(page.items[0].text, "0");
  EXPECT_LT(page.items[1].items.size(), 5U);
}

TEST_F(ReplyLimitsTest, AScriptIsBoundInWhatItCallsAndWhatItHolds) {
  server_.Run({"SET", "k", Large(1)});
  EXPECT_THAT(server_.Run({"EVAL",
                           "redis.call('SET', 'written', '1') local t = {} for i = 1, 20 do t[i] = "
                           "'k' end return #redis.call('MGET', unpack(t))",
                           "0"}),
              HasSubstr("limits.reply"));
  EXPECT_EQ(server_.Run({"EXISTS", "written"}), "(integer) 0");
  EXPECT_THAT(
      server_.Run({"EVAL",
                   "local t = {} for i = 1, 100 do t[i] = string.rep('x', 1000000) .. i end "
                   "return #t",
                   "0"}),
      HasSubstr("limits.buffers"));
}

TEST_F(ReplyLimitsTest, JsonTakesNoMoreThanThereIs) {
  std::string numbers = "[1";
  for (int i = 0; i < 500'000; ++i) numbers += ",1";
  numbers += "]";
  EXPECT_THAT(server_.Run({"JSON.SET", "doc", "$", numbers}), HasSubstr("limits.buffers"));
  EXPECT_EQ(server_.Run({"EXISTS", "doc"}), "(integer) 0");
  // It can be made in pieces; then it cannot be had in one.
  std::string piece = "[\"" + std::string(100, 'x');
  for (int i = 0; i < 20'000; ++i) piece += "\",\"" + std::string(100, 'x');
  piece += "\"]";
  EXPECT_EQ(server_.Run({"JSON.SET", "doc", "$", "[]"}), "OK");
  for (int i = 0; i < 3; ++i) server_.Run({"JSON.ARRAPPEND", "doc", "$", piece});
  EXPECT_THAT(server_.Run({"JSON.GET", "doc"}), HasSubstr("limits."));
}

TEST_F(ReplyLimitsTest, AClientWithALowOutputLimitIsClosedWhereTheReplyWouldFail) {
  server_.Run({"HSET", "hash", "f", "v"});
  server_.Run({"CONFIG", "SET", "client-output-buffer-limit", "normal 1000000 0 0"});
  TestClient client = server_.Connect();
  client.Send({"HRANDFIELD", "hash", "-999999999"});
  EXPECT_FALSE(client.raw().Receive().ok());
}

}  // namespace
}  // namespace cairn::data
