#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "data/testing/script.h"
#include "data/value/entry.h"

namespace cairn::data {
namespace {

using testing::DataServer;

class HashCommandsTest : public ::testing::Test {
 protected:
  ~HashCommandsTest() override { server_.CheckConsistency(); }

  // The strings of an array, in order.
  std::vector<std::string> Sorted(std::initializer_list<std::string_view> command) {
    doors::testing::TestClient client = server_.Connect();
    std::vector<std::string> texts;
    for (const net::RespValue& item : client.RunValue(command).items) texts.push_back(item.text);
    std::ranges::sort(texts);
    return texts;
  }

  DataServer server_;
};

using Texts = std::vector<std::string>;

TEST_F(HashCommandsTest, FieldsAreWrittenAndRead) {
  server_.Play(R"(
    HSET h a 1                => (integer) 1
    HSET h a 2 b 3 c 4        => (integer) 2
    HSET h d 5 d 6            => (integer) 1
    HGET h a                  => "2"
    HGET h d                  => "6"
    HGET h z                  => (nil)
    HGET nosuch a             => (nil)
    HMGET h a z c             => ["2", (nil), "4"]
    HMGET nosuch a b          => [(nil), (nil)]
    HLEN h                    => (integer) 4
    HLEN nosuch               => (integer) 0
    HEXISTS h a               => (integer) 1
    HEXISTS h z               => (integer) 0
    HSTRLEN h a               => (integer) 1
    HSTRLEN h z               => (integer) 0
    HSET h "" ""              => (integer) 1
    HGET h ""                 => ""
    HMSET h a 7 e 8           => OK
    HGET h e                  => "8"
    HSETNX h a 9              => (integer) 0
    HSETNX h f 9              => (integer) 1
    HMGET h a f               => ["7", "9"]
    TYPE h                    => hash
  )");
}

TEST_F(HashCommandsTest, AllFieldsCanBeListed) {
  server_.Play(R"(
    HGETALL nosuch            => []
    HKEYS nosuch              => []
    HVALS nosuch              => []
    HSET one field value
    HGETALL one               => ["field", "value"]
    HSET h a 1 b 2 c 3
  )");
  EXPECT_EQ(Sorted({"HKEYS", "h"}), (Texts{"a", "b", "c"}));
  EXPECT_EQ(Sorted({"HVALS", "h"}), (Texts{"1", "2", "3"}));
  EXPECT_EQ(Sorted({"HGETALL", "h"}), (Texts{"1", "2", "3", "a", "b", "c"}));
}

TEST_F(HashCommandsTest, AHashGoesWithItsLastField) {
  server_.Play(R"(
    HSET h a 1 b 2 c 3
    HDEL h a a z              => (integer) 1
    HDEL h b c z              => (integer) 2
    EXISTS h                  => (integer) 0
    HDEL h a                  => (integer) 0
    HDEL nosuch a             => (integer) 0
    HSET h a 4                => (integer) 1
    HGETALL h                 => ["a", "4"]
  )");
}

TEST_F(HashCommandsTest, ChangesKeepTheExpiryAndDeletionForgetsTheFields) {
  server_.Play(R"(
    HSET h a 1 b 2
    PEXPIRE h 1000
    HSET h a 3
    HINCRBY h b 1
    HDEL h b
    PTTL h                    => (integer) 1000
    DEL h                     => (integer) 1
    HSET h c 3                => (integer) 1
    PTTL h                    => (integer) -1
    HGETALL h                 => ["c", "3"]
    PEXPIRE h 10
  )");
  server_.clock().AdvanceMillis(10);
  server_.Play(R"(
    HGET h c                  => (nil)
    HSET h d 4                => (integer) 1
    HGETALL h                 => ["d", "4"]
    HLEN h                    => (integer) 1
  )");
}

TEST_F(HashCommandsTest, NumbersInFields) {
  server_.Play(R"(
    HINCRBY h n 5             => (integer) 5
    HINCRBY h n -7            => (integer) -2
    HGET h n                  => "-2"
    HSET h big 9223372036854775807 text x space " 1"
    HINCRBY h big 1           => (error) ERR increment or decrement would overflow
    HINCRBY h text 1          => (error) ERR hash value is not an integer
    HINCRBY h space 1         => (error) ERR hash value is not an integer
    HINCRBY h n 1.5           => (error) ERR value is not an integer or out of range
    HINCRBYFLOAT h f 10.5     => "10.5"
    HINCRBYFLOAT h f 0.1      => "10.6"
    HINCRBYFLOAT h f -10.6    => "0"
    HINCRBYFLOAT h n 2.0      => "0"
    HINCRBYFLOAT h f 5.0e3    => "5000"
    HINCRBYFLOAT h text 1     => (error) ERR hash value is not a float
    HINCRBYFLOAT h space 1    => (error) ERR hash value is not a float
    HINCRBYFLOAT h f x        => (error) ERR value is not a valid float
    HINCRBYFLOAT h f nan      => (error) ERR value is not a valid float
    HINCRBYFLOAT h f inf      => (error) ERR value is NaN or Infinity
    HSET h f inf
    HINCRBYFLOAT h f 1        => (error) ERR increment would produce NaN or Infinity
    HINCRBY nosuch f x        => (error) ERR value is not an integer or out of range
    EXISTS nosuch             => (integer) 0
  )");
}

TEST_F(HashCommandsTest, RandomFields) {
  server_.Play(R"(
    HRANDFIELD nosuch         => (nil)
    HRANDFIELD nosuch 3       => []
    HRANDFIELD nosuch -3 WITHVALUES => []
    HSET h a 1
    HRANDFIELD h              => "a"
    HRANDFIELD h 0            => []
    HRANDFIELD h 5            => ["a"]
    HRANDFIELD h -3           => ["a", "a", "a"]
    HRANDFIELD h 5 WITHVALUES => ["a", "1"]
    HRANDFIELD h -2 withvalues => ["a", "1", "a", "1"]
    HRANDFIELD h x            => (error) ERR value is not an integer or out of range
    HRANDFIELD h 1 FOO        => (error) ERR syntax error
    HRANDFIELD h 1 WITHVALUES x => (error) ERR syntax error
    HRANDFIELD h x FOO        => (error) ERR value is not an integer or out of range
    HRANDFIELD h -9223372036854775808 => (error) ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807
    HRANDFIELD h 9223372036854775807 => ["a"]
    HRANDFIELD h 9223372036854775807 WITHVALUES => (error) ERR value is out of range
    HRANDFIELD h -9223372036854775807 => (error) ERR value is out of range
    HRANDFIELD nosuch -9223372036854775807 => []
  )");
}

TEST_F(HashCommandsTest, Resp3HasItsOwnShapes) {
  using Type = net::RespValue::Type;
  doors::testing::TestClient client = server_.Connect();
  client.Run({"HELLO", "3"});
  client.Run({"HSET", "h", "a", "1"});
  EXPECT_EQ(client.RunValue({"HGETALL", "h"}).type, Type::kMap);
  EXPECT_EQ(client.RunValue({"HGETALL", "nosuch"}).type, Type::kMap);
  EXPECT_EQ(client.RunValue({"HKEYS", "h"}).type, Type::kArray);
  EXPECT_EQ(client.Run({"HRANDFIELD", "h", "-2", "WITHVALUES"}), R"([["a", "1"], ["a", "1"]])");
  EXPECT_EQ(client.Run({"HSCAN", "h", "0"}), R"(["0", ["a", "1"]])");
}

TEST_F(HashCommandsTest, BadInput) {
  server_.Play(R"(
    HSET h a                  => (error) ERR wrong number of arguments for 'hset' command
    HSET h a 1 b              => (error) ERR wrong number of arguments for 'hset' command
    HMSET h a 1 b             => (error) ERR wrong number of arguments for 'hmset' command
    HGET h                    => (error) ERR wrong number of arguments for 'hget' command
    EXISTS h                  => (integer) 0
    SET s v
    HSET s a 1 b              => (error) ERR wrong number of arguments for 'hset' command
    HINCRBY s a x             => (error) ERR value is not an integer or out of range
    HRANDFIELD s 1 foo        => (error) ERR syntax error
    HSCAN s x                 => (error) ERR invalid cursor
  )");
  const std::string wrong = " => (error) " + std::string(kWrongType);
  for (const char* command :
       {"HSET s a 1", "HMSET s a 1", "HSETNX s a 1", "HGET s a", "HMGET s a", "HGETALL s",
        "HKEYS s", "HVALS s", "HDEL s a", "HEXISTS s a", "HLEN s", "HSTRLEN s a", "HINCRBY s a 1",
        "HINCRBYFLOAT s a 1", "HRANDFIELD s", "HRANDFIELD s 0", "HSCAN s 0 foo"}) {
    server_.Play(command + wrong);
  }
  server_.Play("GET s => \"v\"");
}

TEST_F(HashCommandsTest, FieldsAndValuesAreBytes) {
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  doors::testing::TestClient client = server_.Connect();
  client.Run({"HSET", all, all, all});
  EXPECT_EQ(client.RunValue({"HGET", all, all}).text, all);
  EXPECT_EQ(client.RunValue({"HKEYS", all}).items.at(0).text, all);
  const std::string large(2'000'000, 'x');
  EXPECT_EQ(client.Run({"HSET", "h", large, large}), "(integer) 1");
  EXPECT_EQ(client.RunValue({"HGET", "h", large}).text, large);
}

TEST_F(HashCommandsTest, EveryChangeIsSeenByWatch) {
  for (const char* change : {"HSET h a 1", "HDEL h b", "HINCRBY h n 1", "HSETNX h new 1"}) {
    server_.Play("DEL h");
    server_.Play("HSET h a 1 b 2");
    doors::testing::TestClient client = server_.Connect();
    client.Run({"WATCH", "h"});
    server_.Play(change);
    client.Run({"MULTI"});
    client.Run({"HSET", "h", "c", "1"});
    EXPECT_EQ(client.Run({"EXEC"}), "(nil)") << change;
  }
  server_.Play(R"(
    WATCH h
    HDEL h nosuch             => (integer) 0
    HSETNX h a 5              => (integer) 0
    MULTI
    HGET h a
    EXEC                      => ["1"]
  )");
}

}  // namespace
}  // namespace cairn::data
