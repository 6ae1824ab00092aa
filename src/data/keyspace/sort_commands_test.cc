#include <gtest/gtest.h>

#include <string>

#include "data/testing/script.h"

namespace cairn::data {
namespace {

using testing::DataServer;

class SortCommandsTest : public ::testing::Test {
 protected:
  ~SortCommandsTest() override { server_.CheckConsistency(); }

  DataServer server_;
};

TEST_F(SortCommandsTest, NumbersAndTexts) {
  server_.Play(R"(
    RPUSH l 3 1 2 10
    SORT l                    => ["1", "2", "3", "10"]
    SORT_RO l DESC            => ["10", "3", "2", "1"]
    SORT l ALPHA              => ["1", "10", "2", "3"]
    SORT l DESC ASC           => ["1", "2", "3", "10"]
    SADD s b a c
    SORT s ALPHA DESC         => ["c", "b", "a"]
    ZADD z 3 1 2 2 1 3
    SORT z                    => ["1", "2", "3"]
    RPUSH dup 1 1.0 01
    SORT dup                  => ["01", "1", "1.0"]
    SORT dup DESC             => ["1.0", "1", "01"]
    RPUSH odd "" " 5" 0x10 inf -inf
    SORT odd                  => ["-inf", "", " 5", "0x10", "inf"]
    SORT nosuch               => []
  )");
}

TEST_F(SortCommandsTest, LimitsAreBroughtIntoTheList) {
  server_.Play(R"(
    RPUSH l 3 1 2 10
    SORT l LIMIT 1 2          => ["2", "3"]
    SORT l LIMIT -1 2         => ["1", "2"]
    SORT l LIMIT 2 -5         => ["3", "10"]
    SORT l LIMIT 1 0          => []
    SORT l LIMIT 100 2        => []
    SORT l LIMIT 3 9223372036854775807 => ["10"]
    SORT l DESC LIMIT 0 1     => ["10"]
  )");
}

TEST_F(SortCommandsTest, PatternsReadStringsAndFields) {
  server_.Play(R"(
    RPUSH l 3 1 2 10
    MSET w_1 9 w_2 3 w_3 5 o_1 a o_2 b o_3 c
    HSET h_1 f 9
    HSET h_2 f 3
    HSET h_3:x f 5
    SORT l BY w_* GET # GET o_* GET nostar => ["10", (nil), (nil), "2", "b", (nil), "3", "c", (nil), "1", "a", (nil)]
    SORT l BY h_*->f DESC     => ["1", "2", "3", "10"]
    SORT l GET h_*->f LIMIT 0 2 => ["9", "3"]
    SORT l GET h_*:x->f LIMIT 2 1 => ["5"]
    SORT l BY o_* ALPHA GET o_* => [(nil), "a", "b", "c"]
    SORT l BY o_* ALPHA DESC GET o_* => ["c", "b", "a", (nil)]
    SORT l BY h_*->f GET o_*->f LIMIT 0 1 => [(nil)]
    SORT l GET h_*            => [(nil), (nil), (nil), (nil)]
    SET h_1-> arrow
    SORT l GET h_*-> LIMIT 0 1 => ["arrow"]
    SORT l BY o_*             => (error) ERR One or more scores can't be converted into double
  )");
  // Long strings are in segments.
  const std::string large(100'000, 'x');
  server_.Run({"SET", "o_1", large});
  server_.Play("SORT l LIMIT 0 1 GET o_* STORE q => (integer) 1");
  EXPECT_EQ(server_.Connect().RunValue({"LINDEX", "q", "0"}).text, large);
}

TEST_F(SortCommandsTest, TheOrderOfListsAndSortedSetsCanBeKept) {
  server_.Play(R"(
    RPUSH l 3 1 2 10
    SORT l BY nosort          => ["3", "1", "2", "10"]
    SORT l BY nosort DESC     => ["10", "2", "1", "3"]
    SORT l BY nosort LIMIT 1 2 => ["1", "2"]
    SORT l BY nosort DESC LIMIT 1 2 => ["2", "1"]
    SORT l BY nosort LIMIT 9 2 => []
    SORT l BY nosort BY w_*   => ["3", "1", "2", "10"]
    SORT l BY w_* BY nosort DESC => ["10", "2", "1", "3"]
    ZADD z 3 a 1 c 2 b
    SORT z BY nosort          => ["c", "b", "a"]
    SORT z BY nosort DESC LIMIT 0 2 => ["a", "b"]
    SORT z BY nosort LIMIT 1 1 => ["b"]
    SORT z BY nosort LIMIT 2 5 GET # => ["a"]
  )");
}

TEST_F(SortCommandsTest, ResultsCanBeStored) {
  server_.Play(R"--(
    RPUSH l 3 1 2 10
    MSET o_1 a o_2 b o_3 c
    SET q other EX 100
    SORT l STORE q            => (integer) 4
    LRANGE q 0 -1             => ["1", "2", "3", "10"]
    TTL q                     => (integer) -1
    SORT l GET o_* STORE q    => (integer) 4
    LRANGE q 0 -1             => ["a", "b", "c", ""]
    SORT l DESC STORE l       => (integer) 4
    LRANGE l 0 -1             => ["10", "3", "2", "1"]
    SORT nosuch STORE q       => (integer) 0
    EXISTS q                  => (integer) 0
    SORT l LIMIT 0 0 STORE l  => (integer) 0
    EXISTS l                  => (integer) 0
    SADD s 3 1 2 b a
    SORT s BY nosort DESC STORE q => (integer) 5
    LRANGE q 0 -1             => ["b", "a", "3", "2", "1"]
    MULTI
    SORT q ALPHA BY o_* GET o_* STORE r => QUEUED
    EXEC                      => [(integer) 5]
    LRANGE r 0 -1             => ["", "", "a", "b", "c"]
    EVAL "return redis.call('sort', KEYS[1], 'by', 'o_*', 'alpha', 'store', KEYS[2])" 2 s r => (integer) 5
  )--");
}

TEST_F(SortCommandsTest, StoringTells) {
  server_.Play("CONFIG SET notify-keyspace-events AK => OK\nRPUSH l 2 1");
  auto listener = server_.Connect();
  listener.Run({"SUBSCRIBE", "__keyspace@0__:q"});
  server_.Play(R"(
    SORT l STORE q            => (integer) 2
    SORT nosuch STORE q       => (integer) 0
    SORT nosuch STORE q       => (integer) 0
  )");
  EXPECT_EQ(listener.Receive(), R"(["message", "__keyspace@0__:q", "sortstore"])");
  EXPECT_EQ(listener.Receive(), R"(["message", "__keyspace@0__:q", "del"])");
  EXPECT_EQ(listener.Run({"PING"}), R"(["pong", ""])");
}

TEST_F(SortCommandsTest, MistakesChangeNothing) {
  server_.Play(R"(
    SET text x
    RPUSH l a b
    RPUSH q kept
    SORT l                    => (error) ERR One or more scores can't be converted into double
    SORT l STORE q            => (error) ERR One or more scores can't be converted into double
    SORT text                 => (error) WRONGTYPE Operation against a key holding the wrong kind of value
    SORT text STORE q         => (error) WRONGTYPE Operation against a key holding the wrong kind of value
    SORT text FOO             => (error) ERR syntax error
    SORT l LIMIT 1            => (error) ERR syntax error
    SORT l LIMIT a 2          => (error) ERR value is not an integer or out of range
    SORT l LIMIT 1 b          => (error) ERR value is not an integer or out of range
    SORT l STORE              => (error) ERR syntax error
    SORT l BY                 => (error) ERR syntax error
    SORT l GET                => (error) ERR syntax error
    SORT_RO l STORE q         => (error) ERR syntax error
    LRANGE q 0 -1             => ["kept"]
  )");
}

TEST_F(SortCommandsTest, KeysAreFoundBehindTheOptions) {
  server_.Play(R"(
    COMMAND GETKEYS SORT a BY store GET x STORE b STORE c => ["a", "c"]
    COMMAND GETKEYS SORT a LIMIT store store STORE b => ["a", "b"]
    COMMAND GETKEYS SORT a STORE => ["a"]
    COMMAND GETKEYS SORT_RO a STORE b => ["a"]
  )");
}

TEST_F(SortCommandsTest, PatternsAreForThoseWhoMayReadAllKeys) {
  server_.Play(R"(
    RPUSH l 2 1
    ACL SETUSER some on nopass ~l +@all
    ACL SETUSER reader on nopass %R~* ~l +@all
  )");
  auto some = server_.Connect();
  DataServer::Play(some, R"(
    AUTH some x
    SORT l BY nosort          => ["2", "1"]
    SORT l BY w_*             => (error) ERR BY option of SORT denied due to insufficient ACL permissions.
    SORT_RO l GET w_*         => (error) ERR GET option of SORT denied due to insufficient ACL permissions.
    SORT l STORE q            => (error) NOPERM this user has no permissions to access one of the keys used as arguments
  )");
  auto reader = server_.Connect();
  DataServer::Play(reader, R"(
    AUTH reader x
    SORT l BY w_* GET w_*     => [(nil), (nil)]
  )");
}

}  // namespace
}  // namespace cairn::data
