#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "data/testing/script.h"

namespace cairn::data {
namespace {

using doors::testing::TestClient;
using ::testing::ContainsRegex;
using testing::DataServer;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// What scripts may call besides the commands about data, and on whose behalf.
class NestedCommandsTest : public ::testing::Test {
 protected:
  TestClient As(std::string_view user) {
    TestClient client = server_.Connect();
    EXPECT_EQ(client.Run({"AUTH", user, "any"}), "OK");
    return client;
  }
  static std::string Eval(TestClient& client, std::string_view script) {
    return client.Run({"EVAL", script, "0"});
  }
  std::string Eval(std::string_view script) { return server_.Run({"EVAL", script, "0"}); }
  std::string Info(std::string_view section) {
    return server_.Connect().RunValue({"INFO", section}).text;
  }

  DataServer server_;
};

TEST_F(NestedCommandsTest, ScriptsMayAskAboutTheProcess) {
  EXPECT_EQ(Eval("return redis.call('PUBSUB','NUMPAT')"), "(integer) 0");
  EXPECT_EQ(Eval("return redis.call('PUBSUB','CHANNELS')"), "[]");
  EXPECT_EQ(Eval("return redis.call('COMMAND','GETKEYS','GET','k')"), "[\"k\"]");
  EXPECT_EQ(Eval("return #redis.call('COMMAND','INFO','get','set')"), "(integer) 2");
  EXPECT_EQ(Eval("return redis.call('SLOWLOG','LEN')"), "(integer) 0");
  EXPECT_EQ(Eval("return redis.call('MEMORY','PURGE')"), "OK");
  EXPECT_EQ(Eval("return #redis.call('TIME')"), "(integer) 2");
  EXPECT_EQ(Eval("return redis.call('LASTSAVE') > 0"), "(integer) 1");
  EXPECT_THAT(Eval("return redis.call('INFO','server')"), HasSubstr("redis_version"));
  EXPECT_THAT(Eval("return redis.call('OBJECT','HELP')[1].ok"), HasSubstr("OBJECT"));
  EXPECT_THAT(Eval("return redis.call('CONFIG','GET','port')"),
              HasSubstr("not allowed from script"));
}

TEST_F(NestedCommandsTest, TheyAlsoRunInsideMulti) {
  server_.Play(R"(
    MULTI                     => OK
    PUBSUB NUMPAT             => QUEUED
    COMMAND GETKEYS GET k     => QUEUED
    EXEC                      => [(integer) 0, ["k"]]
  )");
}

TEST_F(NestedCommandsTest, AScriptMayDoWhatItsUserMay) {
  server_.Play(R"(
    SET mine 1
    SET yours 2
    ACL SETUSER al on nopass ~mine* resetchannels &news -@all +eval +get +publish
  )");
  TestClient al = As("al");
  EXPECT_EQ(Eval(al, "return redis.call('GET','mine')"), "\"1\"");
  EXPECT_THAT(Eval(al, "return redis.call('GET','yours')"),
              StartsWith("(error) ERR The user executing the script can't access at least one of "
                         "the keys mentioned in the command arguments"));
  EXPECT_THAT(Eval(al, "return redis.call('SET','mine','x')"),
              StartsWith("(error) ERR The user executing the script can't run this command or "
                         "subcommand"));
  EXPECT_THAT(Eval(al, "return redis.call('PUBLISH','other','x')"),
              StartsWith("(error) ERR The user executing the script can't publish to the channel "
                         "mentioned in the command"));
  EXPECT_EQ(Eval(al, "return redis.call('PUBLISH','news','x')"), "(integer) 0");
  // Also where the script runs again on the pool.
  EXPECT_THAT(Eval(al, "for i = 1, 5000000 do end return redis.call('DEL','mine')"),
              HasSubstr("can't run this command"));
  EXPECT_EQ(server_.Run({"GET", "mine"}), "\"1\"");
  EXPECT_THAT(server_.Run({"ACL", "LOG", "1"}), HasSubstr("\"lua\""));
}

TEST_F(NestedCommandsTest, AScriptCanAskWhatItsUserMay) {
  server_.Play("ACL SETUSER al on nopass ~mine* -@all +eval +get");
  TestClient al = As("al");
  EXPECT_EQ(Eval(al, "return redis.acl_check_cmd('get','mine')"), "(integer) 1");
  EXPECT_EQ(Eval(al, "return redis.acl_check_cmd('get','yours')"), "(nil)");
  EXPECT_EQ(Eval(al, "return redis.acl_check_cmd('set','mine','x')"), "(nil)");
  EXPECT_THAT(Eval(al, "return redis.acl_check_cmd('nosuch')"),
              HasSubstr("Invalid command passed to redis.acl_check_cmd()"));
}

TEST_F(NestedCommandsTest, SortReadsOtherKeysOnlyForWhoMayReadAll) {
  server_.Play(R"(
    RPUSH l 2 1
    ACL SETUSER al on nopass ~l -@all +sort +eval
    ACL SETUSER ann on nopass ~l %R~* -@all +sort
  )");
  TestClient al = As("al");
  EXPECT_EQ(al.Run({"SORT", "l"}), R"(["1", "2"])");
  EXPECT_EQ(al.Run({"SORT", "l", "BY", "nosort"}), R"(["2", "1"])");
  EXPECT_EQ(al.Run({"SORT", "l", "BY", "w_*"}),
            "(error) ERR BY option of SORT denied due to insufficient ACL permissions.");
  EXPECT_EQ(al.Run({"SORT", "l", "GET", "d_*"}),
            "(error) ERR GET option of SORT denied due to insufficient ACL permissions.");
  EXPECT_THAT(Eval(al, "return redis.call('SORT','l','GET','d_*')"),
              HasSubstr("denied due to insufficient ACL permissions"));
  EXPECT_EQ(As("ann").Run({"SORT", "l", "BY", "w_*", "GET", "#"}), R"(["1", "2"])");
}

TEST_F(NestedCommandsTest, AScriptSeesASetInAnOrderThatMeansSomething) {
  server_.Play("SADD s c a b d");
  EXPECT_EQ(Eval("return redis.call('SORT','s','BY','nosort')"), R"(["a", "b", "c", "d"])");
}

TEST_F(NestedCommandsTest, CommandsOfScriptsAreCountedAndMonitored) {
  TestClient monitor = server_.Connect();
  EXPECT_EQ(monitor.Run({"MONITOR"}), "OK");
  // Its key is not declared, so that it runs again, on the pool.
  EXPECT_THAT(Eval("redis.call('SET','k','v') return redis.pcall('LPUSH','k','x')"),
              StartsWith("(error) WRONGTYPE"));
  EXPECT_THAT(monitor.Receive(), HasSubstr("\"EVAL\""));
  EXPECT_THAT(monitor.Receive(), HasSubstr("[0 lua] \"SET\" \"k\" \"v\""));
  EXPECT_THAT(monitor.Receive(), HasSubstr("[0 lua] \"LPUSH\" \"k\" \"x\""));
  const std::string stats = Info("commandstats");
  EXPECT_THAT(stats, HasSubstr("cmdstat_set:calls=1,"));
  EXPECT_THAT(stats, ContainsRegex("cmdstat_lpush:calls=1,[^\n]*failed_calls=1"));
}

TEST_F(NestedCommandsTest, ScriptsCannotWait) {
  EXPECT_THAT(
      Eval("return redis.pcall('XREAD','BLOCK',0,'STREAMS','s','$')"),
      StartsWith("(error) ERR XREAD command is not allowed with BLOCK option from scripts"));
}

TEST_F(NestedCommandsTest, ManyArgumentsLeaveRoomForTheReply) {
  EXPECT_EQ(Eval("local a = {} for i = 1, 7990 do a[i] = i end "
                 "return redis.call('RPUSH', 'l', unpack(a))"),
            "(integer) 7990");
  EXPECT_EQ(Eval("return #redis.call('LRANGE', 'l', 0, -1)"), "(integer) 7990");
}

// The figures are those of Redis 7.0.
TEST_F(NestedCommandsTest, InfoCountsWhatSortAndObjectLookFor) {
  const auto counts = [&](uint64_t hits, uint64_t misses) {
    const std::string stats = Info("stats");
    EXPECT_THAT(stats, HasSubstr(fmt::format("keyspace_hits:{}\r", hits)));
    EXPECT_THAT(stats, HasSubstr(fmt::format("keyspace_misses:{}\r", misses)));
  };
  server_.Play("RPUSH l 3 1 2\nSORT nosuch");
  counts(0, 1);
  server_.Play("SORT_RO nosuch");
  counts(0, 2);
  server_.Play("SORT l\nSORT_RO l");
  counts(2, 2);
  server_.Play("SORT l BY w_* GET o_*->f");
  counts(3, 8);
  server_.Play("SORT l STORE to");
  counts(4, 8);
  server_.Play("OBJECT ENCODING nosuch\nOBJECT ENCODING l");
  counts(5, 9);
}

TEST_F(NestedCommandsTest, InfoCountsLookupsAndWhatExpired) {
  server_.Play(R"(
    SET k v PX 10
    GET k
    GET nosuch
    MGET k nosuch nosuch
    HGET nosuch f
    SETNX other v
  )");
  EXPECT_EQ(server_.Run({"EVAL_RO", "return redis.call('EXISTS','k')", "1", "k"}), "(integer) 1");
  server_.clock().AdvanceMillis(20);
  server_.FireTimers();
  const std::string stats = Info("stats");
  EXPECT_THAT(stats, HasSubstr("keyspace_hits:3"));
  EXPECT_THAT(stats, HasSubstr("keyspace_misses:4"));
  EXPECT_THAT(stats, HasSubstr("expired_keys:1"));
  server_.Play("CONFIG RESETSTAT");
  EXPECT_THAT(Info("stats"), HasSubstr("keyspace_hits:0"));
}

}  // namespace
}  // namespace cairn::data
