#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "data/keyspace/random_key.h"
#include "data/testing/script.h"

namespace cairn::data {
namespace {

using doors::testing::TestClient;
using testing::DataServer;

class ScanCommandsTest : public ::testing::Test {
 protected:
  ~ScanCommandsTest() override { server_.CheckConsistency(); }

  void Fill(int count) {
    TestClient client = server_.Connect();
    for (int i = 0; i < count; ++i) {
      ASSERT_TRUE(client.raw().Send({"SET", "key:" + std::to_string(i), "v"}).ok());
    }
    for (int i = 0; i < count; ++i) client.Receive();
  }

  // One step: the next cursor, and what was found.
  std::string Step(TestClient& client, const std::string& cursor, std::set<std::string>& found,
                   std::string_view count = "10") {
    const net::RespValue reply =
        client.RunValue({"SCAN", cursor, "MATCH", "key:*", "COUNT", count});
    for (const net::RespValue& key : reply.items[1].items) found.insert(key.text);
    return reply.items[0].text;
  }

  DataServer server_;
};

TEST_F(ScanCommandsTest, KeysMatchesAPattern) {
  server_.Play(R"(
    MSET user:1 a user:2 b users c other d
    KEYS user:*               => ["user:1", "user:2"]
    KEYS *                    => ["other", "user:1", "user:2", "users"]
    KEYS user?1               => ["user:1"]
    KEYS user:[^1]            => ["user:2"]
    KEYS nosuch               => []
    SELECT 1
    KEYS *                    => []
  )");
}

TEST_F(ScanCommandsTest, ScanReturnsEachKeyThatIsThereThroughout) {
  Fill(500);
  TestClient client = server_.Connect();
  std::set<std::string> found;
  std::string cursor = "0";
  int steps = 0;
  do {
    cursor = Step(client, cursor, found);
    // What comes and goes meanwhile may be seen or not.
    client.Run({"SET", "key:new" + std::to_string(steps), "v"});
    client.Run({"DEL", "key:new" + std::to_string(steps / 2)});
    client.Run({"DEL", "key:" + std::to_string(499 - steps % 20)});
    ++steps;
  } while (cursor != "0");
  EXPECT_GE(steps, 40);
  for (int i = 0; i < 479; ++i) EXPECT_TRUE(found.contains("key:" + std::to_string(i))) << i;
}

TEST_F(ScanCommandsTest, ACursorCanBeUsedAgain) {
  Fill(50);
  TestClient client = server_.Connect();
  std::set<std::string> first;
  const std::string cursor = Step(client, "0", first);
  std::set<std::string> once;
  std::set<std::string> twice;
  Step(client, cursor, once);
  Step(client, cursor, twice);
  EXPECT_EQ(once, twice);
}

TEST_F(ScanCommandsTest, AnUnknownCursorStartsOver) {
  Fill(30);
  TestClient client = server_.Connect();
  std::set<std::string> found;
  const std::string cursor = Step(client, "0", found);
  server_.Restart();
  TestClient again = server_.Connect();
  std::set<std::string> all;
  EXPECT_EQ(Step(again, cursor, all, "100"), "0");
  EXPECT_EQ(all.size(), 30U);
}

TEST_F(ScanCommandsTest, ScanOptions) {
  server_.Play(R"(
    MSET a 1 b 2 c 3
    SCAN 0                    => ["0", ["a", "b", "c"]]
    SCAN 0 MATCH b            => ["0", ["b"]]
    SCAN 0 TYPE string        => ["0", ["a", "b", "c"]]
    SCAN 0 TYPE list          => ["0", []]
    SCAN 0 COUNT 3            => ["0", ["a", "b", "c"]]
    SCAN x                    => (error) ERR invalid cursor
    SCAN 0 COUNT 0            => (error) ERR syntax error
    SCAN 0 COUNT x            => (error) ERR value is not an integer or out of range
    SCAN 0 MATCH              => (error) ERR syntax error
    SCAN 99999999999999999999 => (error) ERR invalid cursor
  )");
}

TEST_F(ScanCommandsTest, FlushRemovesEverythingOfOneDatabaseOrAll) {
  server_.Play(R"(
    MSET a 1 b 2
    EXPIRE a 100
    SELECT 1
    MSET a 1 c 3
    FLUSHDB                   => OK
    DBSIZE                    => (integer) 0
    SET d 4
    SELECT 0
    DBSIZE                    => (integer) 2
    FLUSHALL ASYNC            => OK
    DBSIZE                    => (integer) 0
    SELECT 1
    DBSIZE                    => (integer) 0
    FLUSHALL foo              => (error) ERR syntax error
    FLUSHDB SYNC foo          => (error) ERR syntax error
  )");
}

TEST_F(ScanCommandsTest, ALargeDatabaseIsFlushedToo) {
  std::vector<std::string> command = {"MSET"};
  for (int i = 0; i < 10'001; ++i) {
    command.push_back("key:" + std::to_string(i));
    command.emplace_back("v");
  }
  server_.Run(command);
  server_.Run({"SET", "segmented", std::string(10'000, 'x')});
  server_.Play(R"(
    DBSIZE                    => (integer) 10002
    FLUSHDB                   => OK
    DBSIZE                    => (integer) 0
    KEYS *                    => []
    SET new 1                 => OK
    KEYS *                    => ["new"]
  )");
}

TEST_F(ScanCommandsTest, RandomKeyReachesEveryKey) {
  server_.Play("MSET a 1 ab 2 abc 3 b 4 user:1 5 user:2 6 user:20 7 zzz 8");
  server_.Play("SET \"\" empty");
  TestClient client = server_.Connect();
  std::map<std::string, int> seen;
  for (int i = 0; i < 2000; ++i) ++seen[client.RunValue({"RANDOMKEY"}).text];
  EXPECT_EQ(seen.size(), 9U);
  for (const auto& [key, times] : seen) EXPECT_GT(times, 5) << key;
}

TEST_F(ScanCommandsTest, RandomKeyIsEvenForNumbersOfEqualLength) {
  TestClient client = server_.Connect();
  for (int i = 1000; i < 1200; ++i) client.Run({"SET", "key:" + std::to_string(i), "v"});
  std::map<std::string, int> seen;
  for (int i = 0; i < 4000; ++i) ++seen[client.RunValue({"RANDOMKEY"}).text];
  EXPECT_EQ(seen.size(), 200U);
}

TEST_F(ScanCommandsTest, RandomKeySkipsWhatHasExpired) {
  server_.Play("SET live v");
  for (int i = 0; i < 100; ++i) server_.Play("SET gone:" + std::to_string(i) + " v PX 10");
  server_.clock().AdvanceMillis(10);
  for (int i = 0; i < 10; ++i) server_.Play("RANDOMKEY => \"live\"");
}

}  // namespace
}  // namespace cairn::data
