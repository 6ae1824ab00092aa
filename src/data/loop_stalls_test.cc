#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "data/testing/script.h"
#include "tests/support/test_store.h"

namespace cairn::data {
namespace {

using testing::DataServer;

// Commands that turn out to be large leave the event loop, so that others do not wait for them.
class LoopStallsTest : public ::testing::Test {
 protected:
  static constexpr int kMembers = 20'000;

  // Fills a key by calls of `command`, each with some hundred elements that `element` appends.
  template <typename Append>
  void Fill(const char* command, const char* key, Append append) {
    for (int i = 0; i < kMembers;) {
      std::vector<std::string> request = {command, key};
      for (const int end = i + 500; i < end; ++i) append(i, request);
      ASSERT_EQ(server_.Run(request).find("error"), std::string::npos);
    }
  }

  void SetUp() override {
    CAIRN_TEST_ROCKS_ONLY("bodies on loops");
    Fill("SADD", "set", [](int i, auto& request) { request.push_back(fmt::format("m{}", i)); });
    Fill("ZADD", "zset", [](int i, auto& request) {
      request.push_back(std::to_string(i));
      request.push_back(fmt::format("m{}", i));
    });
    Fill("HSET", "hash", [](int i, auto& request) {
      request.push_back(fmt::format("f{}", i));
      request.push_back("v");
    });
    Fill("RPUSH", "list", [](int i, auto& request) {
      request.push_back(fmt::format("element number {} of the list", i));
    });
    server_.Play("SETRANGE text 8000000 x\nSETBIT bits 80000000 1");
  }

  void ExpectLeavesTheLoop(const std::vector<std::string>& request) {
    const int before = server_.store().runs_outside_groups();
    const std::string reply = server_.Run(request);
    EXPECT_EQ(reply.find("error"), std::string::npos) << request[0] << " " << reply.substr(0, 200);
    EXPECT_GT(server_.store().runs_outside_groups(), before) << request[0];
  }

  DataServer server_;
};

TEST_F(LoopStallsTest, LargeCommandsLeaveTheLoop) {
  std::string numbers = "[0";
  for (int i = 0; i < 50'000; ++i) numbers += ",1";
  numbers += "]";
  const std::vector<std::vector<std::string>> kRequests = {
      {"SUNIONSTORE", "t", "set", "set"},
      {"SINTERSTORE", "t", "set", "set"},
      {"SDIFFSTORE", "t", "set", "nosuch"},
      {"ZUNIONSTORE", "t", "1", "zset"},
      {"ZINTERSTORE", "t", "2", "zset", "set"},
      {"ZRANGESTORE", "t", "zset", "0", "-1"},
      {"COPY", "set", "copied"},
      {"COPY", "zset", "copied", "REPLACE"},
      {"COPY", "hash", "copied", "REPLACE"},
      {"SMEMBERS", "set"},
      {"HGETALL", "hash"},
      {"SORT", "set", "ALPHA", "STORE", "t"},
      {"BITOP", "NOT", "t", "text"},
      {"BITOP", "OR", "t", "bits", "text"},
      {"GETRANGE", "bits", "0", "-1"},
      {"SPOP", "set", std::to_string(kMembers - 10)},
      {"JSON.SET", "json", "$", numbers},
  };
  for (const std::vector<std::string>& request : kRequests) ExpectLeavesTheLoop(request);
}

TEST_F(LoopStallsTest, SmallOnesStay) {
  // What stands on disk by now is brought into memory first: that is done off the loop too.
  server_.Play(R"(
    GETRANGE text 7999999 -1
    SISMEMBER set m5
    ZRANGE zset 0 100
    LRANGE list 0 600
    HGET hash f7
    EXISTS k bits small
  )");
  const int before = server_.store().runs_outside_groups();
  server_.Play(R"(
    SET k v                      => OK
    SETBIT bits 7 1              => (integer) 0
    GETRANGE text 7999999 -1
    SISMEMBER set m5             => (integer) 1
    ZRANGE zset 0 100
    LRANGE list 0 600
    HGET hash f7                 => "v"
    JSON.SET small $ [1,2]       => OK
    EVAL "return 1" 0            => (integer) 1
  )");
  EXPECT_EQ(server_.store().runs_outside_groups(), before);
}

}  // namespace
}  // namespace cairn::data
