#include <gtest/gtest.h>

#include <string>

#include "data/testing/script.h"
#include "data/value/entry.h"
#include "data/value/keys.h"

namespace cairn::data {
namespace {

using testing::DataServer;

class StringCommandsTest : public ::testing::Test {
 protected:
  ~StringCommandsTest() override { server_.CheckConsistency(); }

  DataServer server_;
};

TEST_F(StringCommandsTest, SetAndGet) {
  server_.Play(R"(
    GET k                     => (nil)
    SET k v                   => OK
    GET k                     => "v"
    SET k ""                  => OK
    GET k                     => ""
    STRLEN k                  => (integer) 0
    SET k v NX                => (nil)
    SET other v NX            => OK
    SET nosuch v XX           => (nil)
    SET k w XX GET            => ""
    SET k x NX GET            => "w"
    SET new x NX GET          => (nil)
    GET new                   => "x"
    SET k v NX XX             => (error) ERR syntax error
    SET k v FOO               => (error) ERR syntax error
    SETNX k v                 => (integer) 0
    SETNX fresh v             => (integer) 1
    GETSET k y                => "w"
    GETDEL k                  => "y"
    GETDEL k                  => (nil)
    GETSET k z                => (nil)
  )");
}

TEST_F(StringCommandsTest, SetWithExpiry) {
  server_.Play(R"(
    SET k v EX 100            => OK
    TTL k                     => (integer) 100
    SET k w KEEPTTL           => OK
    TTL k                     => (integer) 100
    SET k w                   => OK
    TTL k                     => (integer) -1
    SET k v PX 1500           => OK
    PTTL k                    => (integer) 1500
    SET k v EXAT 1            => OK
    GET k                     => (nil)
    SET k v EX 10 PX 10       => (error) ERR syntax error
    SET k v EX 10 KEEPTTL     => (error) ERR syntax error
    SET k v EX 1 EX 20        => OK
    TTL k                     => (integer) 20
    SET k v EX                => (error) ERR syntax error
    SET k v EX 0              => (error) ERR invalid expire time in 'set' command
    SET k v EX x              => (error) ERR value is not an integer or out of range
    SET k v PX 9223372036854775807 => (error) ERR invalid expire time in 'set' command
    SET k v PXAT 9223372036854775807 => OK
    SETEX k 10 v              => OK
    TTL k                     => (integer) 10
    SETEX k 0 v               => (error) ERR invalid expire time in 'setex' command
    PSETEX k 10 v             => OK
    PTTL k                    => (integer) 10
    GETEX k PERSIST           => "v"
    TTL k                     => (integer) -1
    GETEX k EX 7              => "v"
    TTL k                     => (integer) 7
    GETEX k                   => "v"
    TTL k                     => (integer) 7
    GETEX k PERSIST EX 1      => (error) ERR syntax error
    GETEX k EXAT 1            => "v"
    EXISTS k                  => (integer) 0
    GETEX nosuch EX 0         => (nil)
  )");
}

TEST_F(StringCommandsTest, ManyAtOnce) {
  server_.Play(R"(
    MSET a 1 b 2 a 3          => OK
    MGET a b nosuch           => ["3", "2", (nil)]
    MSET a                    => (error) ERR wrong number of arguments for 'mset' command
    MSET a 1 b                => (error) ERR wrong number of arguments for 'mset' command
    MSETNX c 1 a 2            => (integer) 0
    EXISTS c                  => (integer) 0
    MSETNX c 1 d 2 c 3        => (integer) 1
    GET c                     => "3"
    DBSIZE                    => (integer) 4
  )");
}

TEST_F(StringCommandsTest, Parts) {
  server_.Play(R"(
    APPEND k Hello            => (integer) 5
    APPEND k " World"         => (integer) 11
    GETRANGE k 0 4            => "Hello"
    GETRANGE k -5 -1          => "World"
    GETRANGE k 0 -1           => "Hello World"
    GETRANGE k 5 3            => ""
    GETRANGE k -1 -5          => ""
    GETRANGE k -100 100       => "Hello World"
    GETRANGE k 20 30          => ""
    GETRANGE nosuch 0 -1      => ""
    SUBSTR k 0 0              => "H"
    SETRANGE k 6 Redis        => (integer) 11
    GET k                     => "Hello Redis"
    SETRANGE pad 3 x          => (integer) 4
    STRLEN pad                => (integer) 4
    SETRANGE none 0 ""        => (integer) 0
    EXISTS none               => (integer) 0
    SETRANGE k -1 x           => (error) ERR offset is out of range
    SETRANGE k 536870912 x    => (error) ERR string exceeds maximum allowed size (proto-max-bulk-len)
    SETRANGE k 9223372036854775807 x => (error) ERR string exceeds maximum allowed size (proto-max-bulk-len)
    GETRANGE k x 1            => (error) ERR value is not an integer or out of range
  )");
  EXPECT_EQ(server_.Run({"GET", "pad"}), R"("\x00\x00\x00x")");
}

TEST_F(StringCommandsTest, Counters) {
  server_.Play(R"(
    INCR n                    => (integer) 1
    DECR n                    => (integer) 0
    INCRBY n 10               => (integer) 10
    DECRBY n 15               => (integer) -5
    GET n                     => "-5"
    INCRBY n x                => (error) ERR value is not an integer or out of range
    SET n 9223372036854775807 => OK
    INCR n                    => (error) ERR increment or decrement would overflow
    SET n " 1"                => OK
    INCR n                    => (error) ERR value is not an integer or out of range
    DECRBY n -9223372036854775808 => (error) ERR decrement would overflow
    SET t 1 EX 50
    INCR t                    => (integer) 2
    TTL t                     => (integer) 50
    INCRBYFLOAT f 10.5        => "10.5"
    INCRBYFLOAT f 0.1         => "10.6"
    INCRBYFLOAT f -5          => "5.6"
    INCRBYFLOAT f x           => (error) ERR value is not a valid float
    INCRBYFLOAT f inf         => (error) ERR increment would produce NaN or Infinity
    SET f 5.0e3               => OK
    INCRBYFLOAT f 2.0e2       => "5200"
  )");
}

TEST_F(StringCommandsTest, LongestCommonSubsequence) {
  server_.Play(R"(
    MSET a ohmytext b mynewtext
    LCS a b                   => "mytext"
    LCS a b LEN               => (integer) 6
    LCS a b IDX               => ["matches", [[[(integer) 4, (integer) 7], [(integer) 5, (integer) 8]], [[(integer) 2, (integer) 3], [(integer) 0, (integer) 1]]], "len", (integer) 6]
    LCS a b IDX MINMATCHLEN 4 WITHMATCHLEN => ["matches", [[[(integer) 4, (integer) 7], [(integer) 5, (integer) 8], (integer) 4]], "len", (integer) 6]
    LCS a nosuch              => ""
    LCS a b LEN IDX           => (error) ERR If you want both the length and indexes, please just use IDX.
    LCS a b FOO               => (error) ERR syntax error
  )");
}

TEST_F(StringCommandsTest, OtherTypesAreRefused) {
  const auto written = server_.store().Run({}, [](store::Transaction& transaction) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(Entry entry, Entry::Load(transaction, 0, "h"));
    entry.Put({.type = ValueType::kHash, .payload = "x"});
    return {};
  });
  ASSERT_TRUE(written.ok());
  const std::string wrong = "(error) " + std::string(kWrongType);
  for (const char* command :
       {"GET h", "STRLEN h", "APPEND h x", "INCR h", "INCRBYFLOAT h 1", "GETRANGE h 0 1",
        "SETRANGE h 0 x", "GETSET h x", "GETDEL h", "GETEX h", "SET h x GET"}) {
    server_.Play(std::string(command) + " => " + wrong);
  }
  server_.Play(R"(
    TYPE h                    => hash
    MGET h                    => [(nil)]
    LCS h h                   => (error) ERR The specified keys must contain string values
    SCAN 0 TYPE string        => ["0", []]
    SCAN 0 TYPE HASH          => ["0", ["h"]]
    SET h x                   => OK
    TYPE h                    => string
  )");
}

TEST_F(StringCommandsTest, ValuesAreBytes) {
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  auto client = server_.Connect();
  client.Run({"SET", all, all});
  EXPECT_EQ(client.RunValue({"GET", all}).text, all);
  EXPECT_EQ(client.RunValue({"KEYS", "*"}).items[0].text, all);
  const std::string large(3'000'000, 'x');
  EXPECT_EQ(client.Run({"SET", "large", large}), "OK");
  EXPECT_EQ(client.RunValue({"GET", "large"}).text, large);
  EXPECT_EQ(client.Run({"APPEND", "large", "y"}), "(integer) 3000001");
}

}  // namespace
}  // namespace cairn::data
