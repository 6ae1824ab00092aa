#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "data/testing/script.h"
#include "data/value/entry.h"

namespace cairn::data {
namespace {

using doors::testing::TestClient;
using testing::DataServer;

class SetCommandsTest : public ::testing::Test {
 protected:
  ~SetCommandsTest() override { server_.CheckConsistency(); }

  std::vector<std::string> Sorted(std::initializer_list<std::string_view> command) {
    TestClient client = server_.Connect();
    std::vector<std::string> texts;
    for (const net::RespValue& item : client.RunValue(command).items) texts.push_back(item.text);
    std::ranges::sort(texts);
    return texts;
  }

  DataServer server_;
};

using Texts = std::vector<std::string>;

TEST_F(SetCommandsTest, MembersComeAndGo) {
  server_.Play(R"(
    SADD s a b a              => (integer) 2
    SADD s b c                => (integer) 1
    SCARD s                   => (integer) 3
    SISMEMBER s a             => (integer) 1
    SISMEMBER s z             => (integer) 0
    SMISMEMBER s a z c        => [(integer) 1, (integer) 0, (integer) 1]
    SMISMEMBER nosuch a b     => [(integer) 0, (integer) 0]
    SISMEMBER nosuch a        => (integer) 0
    SCARD nosuch              => (integer) 0
    SMEMBERS nosuch           => []
    TYPE s                    => set
  )");
  EXPECT_EQ(Sorted({"SMEMBERS", "s"}), (Texts{"a", "b", "c"}));
  server_.Play(R"(
    SREM s a z a              => (integer) 1
    SREM s b c                => (integer) 2
    EXISTS s                  => (integer) 0
    SREM s b                  => (integer) 0
    SADD s ""                 => (integer) 1
    SMEMBERS s                => [""]
  )");
}

TEST_F(SetCommandsTest, SMoveTakesFromOneSetToAnother) {
  server_.Play(R"(
    SADD a 1 2
    SMOVE a b 1               => (integer) 1
    SMEMBERS a                => ["2"]
    SMEMBERS b                => ["1"]
    SMOVE a b 9               => (integer) 0
    SMOVE a a 2               => (integer) 1
    SMOVE a a 9               => (integer) 0
    SADD b 2
    SMOVE a b 2               => (integer) 1
    EXISTS a                  => (integer) 0
    SCARD b                   => (integer) 2
    SMOVE a b 2               => (integer) 0
    SET text v
    SMOVE nosuch text 1       => (integer) 0
    SMOVE b text 1            => (error) WRONGTYPE Operation against a key holding the wrong kind of value
    SMOVE text b 1            => (error) WRONGTYPE Operation against a key holding the wrong kind of value
    SMOVE b text 9            => (error) WRONGTYPE Operation against a key holding the wrong kind of value
  )");
}

TEST_F(SetCommandsTest, SPopTakesMembersAway) {
  server_.Play(R"(
    SPOP nosuch               => (nil)
    SPOP nosuch 3             => []
    SADD s a
    SPOP s 0                  => []
    SPOP s                    => "a"
    EXISTS s                  => (integer) 0
    SADD s a
    SPOP s 10                 => ["a"]
    EXISTS s                  => (integer) 0
    SADD s a
    SPOP s x                  => (error) ERR value is out of range, must be positive
    SPOP s -1                 => (error) ERR value is out of range, must be positive
    SPOP s 1 2                => (error) ERR syntax error
    SPOP s x y                => (error) ERR syntax error
    SMEMBERS s                => ["a"]
  )");
  TestClient client = server_.Connect();
  for (int i = 0; i < 100; ++i) client.Run({"SADD", "many", std::to_string(i)});
  std::set<std::string> taken;
  for (const net::RespValue& item : client.RunValue({"SPOP", "many", "40"}).items) {
    taken.insert(item.text);
  }
  EXPECT_EQ(taken.size(), 40U);
  EXPECT_EQ(client.Run({"SCARD", "many"}), "(integer) 60");
  for (const net::RespValue& item : client.RunValue({"SMEMBERS", "many"}).items) {
    EXPECT_TRUE(taken.insert(item.text).second) << item.text;
  }
  EXPECT_EQ(taken.size(), 100U);
}

TEST_F(SetCommandsTest, SRandMemberLeavesMembersThere) {
  server_.Play(R"(
    SRANDMEMBER nosuch        => (nil)
    SRANDMEMBER nosuch 3      => []
    SRANDMEMBER nosuch -3     => []
    SADD s a
    SRANDMEMBER s             => "a"
    SRANDMEMBER s 0           => []
    SRANDMEMBER s 3           => ["a"]
    SRANDMEMBER s -3          => ["a", "a", "a"]
    SRANDMEMBER s x           => (error) ERR value is not an integer or out of range
    SRANDMEMBER s x y         => (error) ERR syntax error
    SRANDMEMBER s -9223372036854775808 => (error) ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807
    SRANDMEMBER s -9223372036854775807 => (error) ERR value is out of range
    SRANDMEMBER nosuch -9223372036854775807 => []
    SRANDMEMBER s 9223372036854775807 => ["a"]
    SCARD s                   => (integer) 1
  )");
}

TEST_F(SetCommandsTest, Resp3HasItsOwnShapes) {
  using Type = net::RespValue::Type;
  TestClient client = server_.Connect();
  client.Run({"HELLO", "3"});
  client.Run({"SADD", "s", "a", "b"});
  for (const char* command : {"SMEMBERS", "SINTER", "SUNION", "SDIFF"}) {
    EXPECT_EQ(client.RunValue({command, "s"}).type, Type::kSet) << command;
    EXPECT_EQ(client.RunValue({command, "nosuch"}).type, Type::kSet) << command;
  }
  EXPECT_EQ(client.RunValue({"SPOP", "s", "0"}).type, Type::kSet);
  EXPECT_EQ(client.RunValue({"SPOP", "s", "1"}).type, Type::kSet);
  EXPECT_EQ(client.RunValue({"SPOP", "s", "9"}).type, Type::kSet);
  EXPECT_EQ(client.RunValue({"SRANDMEMBER", "s", "1"}).type, Type::kArray);
  EXPECT_EQ(client.RunValue({"SMISMEMBER", "s", "1"}).type, Type::kArray);
}

TEST_F(SetCommandsTest, OtherTypesAreRefused) {
  server_.Play("SET text v");
  const std::string wrong = " => (error) " + std::string(kWrongType);
  for (const char* command : {"SADD text a", "SREM text a", "SMEMBERS text", "SISMEMBER text a",
                              "SMISMEMBER text a", "SCARD text", "SPOP text", "SPOP text 0",
                              "SRANDMEMBER text", "SRANDMEMBER text 0", "SSCAN text 0 foo"}) {
    server_.Play(command + wrong);
  }
  server_.Play(R"(
    SSCAN text x              => (error) ERR invalid cursor
    SADD s                    => (error) ERR wrong number of arguments for 'sadd' command
    GET text                  => "v"
  )");
}

}  // namespace
}  // namespace cairn::data
