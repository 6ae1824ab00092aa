#include "data/value/member_scan.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "data/testing/script.h"

namespace cairn::data {
namespace {

using doors::testing::TestClient;
using testing::DataServer;

class MemberScanTest : public ::testing::Test {
 protected:
  ~MemberScanTest() override { server_.CheckConsistency(); }

  static std::string Name(int i) { return "m" + std::to_string(i); }

  void Fill(const std::string& key, int members) {
    std::vector<std::string> command = {"SADD", key};
    for (int i = 0; i < members; ++i) command.push_back(Name(i));
    server_.Run(command);
  }

  // One step: the next cursor, and what was found.
  static std::string Step(TestClient& client, std::string_view key, const std::string& cursor,
                          std::set<std::string>& found, std::string_view count = "10") {
    const net::RespValue reply = client.RunValue({"SSCAN", key, cursor, "COUNT", count});
    for (const net::RespValue& member : reply.items.at(1).items) found.insert(member.text);
    return reply.items.at(0).text;
  }

  DataServer server_;
};

TEST_F(MemberScanTest, ReturnsEachMemberThatIsThereThroughout) {
  Fill("s", 500);
  TestClient client = server_.Connect();
  std::set<std::string> found;
  std::string cursor = "0";
  int steps = 0;
  do {
    cursor = Step(client, "s", cursor, found);
    client.Run({"SADD", "s", "new" + std::to_string(steps)});
    client.Run({"SREM", "s", Name(499 - steps % 20)});
    ++steps;
  } while (cursor != "0");
  EXPECT_GE(steps, 40);
  for (int i = 0; i < 480; ++i) EXPECT_TRUE(found.contains(Name(i))) << i;
}

// How many members a step of `command` with COUNT 2 returns; negative if there is more to come.
int FirstStep(TestClient& client, std::string_view command, std::string_view key, int strings) {
  const net::RespValue reply = client.RunValue({command, key, "0", "COUNT", "2"});
  const int members = static_cast<int>(reply.items.at(1).items.size()) / strings;
  return reply.items.at(0).text == "0" ? members : -members;
}

TEST_F(MemberScanTest, WhatRedisKeepsInOnePieceComesAtOnce) {
  const std::string longer(65, 'x');
  server_.Play(R"(
    HSET h a 1 b 2 c 3
    SADD integers 1 2 3
    ZADD z 1 a 2 b 3 c
  )");
  TestClient client = server_.Connect();
  EXPECT_EQ(FirstStep(client, "HSCAN", "h", 2), 3);
  EXPECT_EQ(FirstStep(client, "SSCAN", "integers", 1), 3);
  EXPECT_EQ(FirstStep(client, "ZSCAN", "z", 2), 3);
  // A long member is enough to be asked for COUNT, however few there are.
  client.Run({"HSET", "h", "d", longer});
  client.Run({"SADD", "integers", "x"});
  client.Run({"ZADD", "z", "4", longer});
  EXPECT_EQ(FirstStep(client, "HSCAN", "h", 2), -2);
  EXPECT_EQ(FirstStep(client, "SSCAN", "integers", 1), -2);
  EXPECT_EQ(FirstStep(client, "ZSCAN", "z", 2), -2);
}

TEST_F(MemberScanTest, TheLimitsAreThoseOfTheSettings) {
  server_.Play(R"(
    HSET h a 1 b 2 c 3
    CONFIG SET hash-max-listpack-entries 2         => OK
    OBJECT ENCODING h                              => "hashtable"
    CONFIG SET hash-max-ziplist-entries 3          => OK
    CONFIG GET hash-max-listpack-entries           => ["hash-max-listpack-entries", "3"]
    OBJECT ENCODING h                              => "listpack"
    CONFIG SET hash-max-listpack-value 0           => OK
    OBJECT ENCODING h                              => "hashtable"
    SADD s 1 2 3
    CONFIG SET set-max-intset-entries 2            => OK
    OBJECT ENCODING s                              => "hashtable"
    ZADD z 1 a 2 b
    CONFIG SET zset-max-listpack-entries 1         => OK
    OBJECT ENCODING z                              => "skiplist"
  )");
  TestClient client = server_.Connect();
  EXPECT_EQ(FirstStep(client, "HSCAN", "h", 2), -2);
}

TEST_F(MemberScanTest, AllMembersOfAPackedValueComeStepByStep) {
  server_.Play("SADD s a b c d e f g");
  TestClient client = server_.Connect();
  std::set<std::string> found;
  std::string cursor = "0";
  int steps = 0;
  do {
    cursor = Step(client, "s", cursor, found, "2");
    ++steps;
  } while (cursor != "0");
  EXPECT_EQ(found.size(), 7U);
  EXPECT_EQ(steps, 4);
}

TEST_F(MemberScanTest, ACursorOfAnotherCollectionStartsOver) {
  Fill("a", 200);
  Fill("b", 200);
  TestClient client = server_.Connect();
  std::set<std::string> found;
  const std::string cursor = Step(client, "a", "0", found, "150");
  std::set<std::string> rest;
  EXPECT_EQ(Step(client, "a", cursor, rest, "1000"), "0");
  EXPECT_EQ(rest.size(), 50U);
  std::set<std::string> of_b;
  EXPECT_EQ(Step(client, "b", cursor, of_b, "1000"), "0");
  EXPECT_EQ(of_b.size(), 200U);
  // The same key, but not the same set any more.
  client.Run({"DEL", "a"});
  Fill("a", 200);
  std::set<std::string> again;
  EXPECT_EQ(Step(client, "a", cursor, again, "1000"), "0");
  EXPECT_EQ(again.size(), 200U);
}

TEST_F(MemberScanTest, ARenamedCollectionIsScannedOn) {
  Fill("a", 200);
  TestClient client = server_.Connect();
  std::set<std::string> found;
  const std::string cursor = Step(client, "a", "0", found, "150");
  client.Run({"RENAME", "a", "b"});
  std::set<std::string> rest;
  EXPECT_EQ(Step(client, "b", cursor, rest, "1000"), "0");
  EXPECT_EQ(rest.size(), 50U);
}

TEST_F(MemberScanTest, AfterARestartACursorStartsOver) {
  Fill("s", 200);
  TestClient client = server_.Connect();
  std::set<std::string> found;
  const std::string cursor = Step(client, "s", "0", found);
  server_.Restart();
  TestClient again = server_.Connect();
  std::set<std::string> all;
  EXPECT_EQ(Step(again, "s", cursor, all, "1000"), "0");
  EXPECT_EQ(all.size(), 200U);
}

TEST_F(MemberScanTest, Options) {
  server_.Play(R"(
    HSET h apple 1 berry 2
    HSCAN h 0 MATCH a*        => ["0", ["apple", "1"]]
    HSCAN h 0 MATCH 1         => ["0", []]
    HSCAN h 0 MATCH b* COUNT 1 => ["0", ["berry", "2"]]
    HSCAN h 99 MATCH b*       => ["0", ["berry", "2"]]
    SADD s x
    SSCAN s 0                 => ["0", ["x"]]
    SSCAN s ""                => ["0", ["x"]]
    SSCAN nosuch 0            => ["0", []]
    SSCAN nosuch 0 FOO        => ["0", []]
    SSCAN nosuch x            => (error) ERR invalid cursor
    HSCAN h 0 FOO             => (error) ERR syntax error
    HSCAN h 0 MATCH           => (error) ERR syntax error
    HSCAN h 0 TYPE hash       => (error) ERR syntax error
    HSCAN h 0 COUNT 0         => (error) ERR syntax error
    HSCAN h 0 COUNT x         => (error) ERR value is not an integer or out of range
    HSCAN h 1x                => (error) ERR invalid cursor
    HSCAN h                   => (error) ERR wrong number of arguments for 'hscan' command
  )");
}

}  // namespace
}  // namespace cairn::data
