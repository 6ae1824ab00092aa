#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/script/script_cache.h"
#include "data/testing/script.h"
#include "tests/support/await.h"

namespace cairn::data {
namespace {

using doors::testing::TestClient;
using testing::DataServer;

class ScriptCommandsTest : public ::testing::Test {
 protected:
  ~ScriptCommandsTest() override { server_.CheckConsistency(); }

  std::string Eval(std::string_view script) { return server_.Run({"EVAL", script, "0"}); }

  // The error without where it happened.
  std::string Failure(std::string_view script) {
    std::string reply = Eval(script);
    reply.resize(std::min(reply.size(), reply.find(" script: ")));
    return reply;
  }

  // Returns once that many requests wait for the end of a pause.
  void AwaitHeld(size_t requests) {
    cairn::testing::Await("the requests to be held",
                          [&] { return server_.instance().traffic().held == requests; });
  }

  DataServer server_;
};

// Time that a test moves passes faster than a script is scheduled.
constexpr int64_t kNeverMs = 1'000'000'000;

TEST_F(ScriptCommandsTest, RunsCommandsOnItsKeys) {
  server_.Play(R"~(
    EVAL "return redis.call('set',KEYS[1],ARGV[1])" 1 k v          => OK
    GET k                                                          => "v"
    EVAL "return redis.call('get',KEYS[1])" 1 k                    => "v"
    EVAL "return redis.call('get',KEYS[1])" 1 nosuch               => (nil)
    EVAL "return type(redis.call('get',KEYS[1]))" 1 nosuch         => "boolean"
    EVAL "return redis.call('incrby',KEYS[1],10)" 1 n              => (integer) 10
    EVAL "return {#KEYS,#ARGV,KEYS[2],ARGV[1]}" 2 a b c  => [(integer) 2, (integer) 1, "b", "c"]
    EVAL_RO "return redis.call('get',KEYS[1])" 1 k                 => "v"
  )~");
}

TEST_F(ScriptCommandsTest, WhoMayWriteMayNotRunScriptsForThat) {
  server_.Run({"ACL", "SETUSER", "writer", "on", "nopass", "~*", "+@write", "+@read"});
  server_.Run({"ACL", "SETUSER", "reader", "on", "nopass", "~*", "+@all", "-@write"});
  for (const std::string_view command : {"EVAL", "EVALSHA", "EVAL_RO", "FCALL", "FCALL_RO"}) {
    EXPECT_NE(server_.Run({"ACL", "DRYRUN", "writer", command, "x", "0"}), "OK") << command;
    EXPECT_EQ(server_.Run({"ACL", "DRYRUN", "reader", command, "x", "0"}), "OK") << command;
  }
}

TEST_F(ScriptCommandsTest, UndeclaredKeysWork) {
  server_.Play(R"~(
    EVAL "redis.call('set','a','1') redis.call('set','b','2') return redis.call('mget','a','b')" 0 => ["1", "2"]
    EVAL "redis.call('select',3) redis.call('set','c','3') return redis.call('get','c')" 0 => "3"
    GET c                                                          => (nil)
    EVAL "return redis.call('dbsize')" 0                           => (integer) 2
  )~");
}

TEST_F(ScriptCommandsTest, CountsItsArguments) {
  server_.Play(R"(
    EVAL "return 1" x     => (error) ERR value is not an integer or out of range
    EVAL "return 1" -1    => (error) ERR Number of keys can't be negative
    EVAL "return 1" 2 a   => (error) ERR Number of keys can't be greater than number of args
    EVALSHA abc 0         => (error) NOSCRIPT No matching script. Please use EVAL.
  )");
}

TEST_F(ScriptCommandsTest, ScriptsAreFoundByTheirHash) {
  server_.Play(R"(
    SCRIPT LOAD "return 1"  => "e0e1f9fabfc9d4800c877a703b823ac0578ff8db"
    EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 0  => (integer) 1
    EVALSHA E0E1F9FABFC9D4800C877A703B823AC0578FF8DB 0  => (integer) 1
    SCRIPT EXISTS e0e1f9fabfc9d4800c877a703b823ac0578ff8db abc  => [(integer) 1, (integer) 0]
    SCRIPT FLUSH x          => (error) ERR SCRIPT FLUSH only support SYNC|ASYNC option
    SCRIPT FLUSH            => OK
    EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 0  => (error) NOSCRIPT No matching script. Please use EVAL.
    EVAL "return 1" 0       => (integer) 1
    EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 0  => (integer) 1
    SCRIPT LOAD "x x"       => (error) ERR Error compiling script (new function): user_script:1: '=' expected near 'x'
    SCRIPT KILL             => (error) NOTBUSY No scripts in execution right now.
  )");
}

TEST_F(ScriptCommandsTest, ValuesBecomeReplies) {
  server_.Play(R"~(
    EVAL "return 3.99" 0                         => (integer) 3
    EVAL "return -3.99" 0                        => (integer) -3
    EVAL "return 1e300" 0                        => (integer) -9223372036854775808
    EVAL "return {1,2,nil,4}" 0                  => [(integer) 1, (integer) 2]
    EVAL "return {true,false,'x'}" 0             => [(integer) 1, (nil), "x"]
    EVAL "return function() end" 0               => (nil)
    EVAL "return {ok='fine'}" 0                  => fine
    EVAL "return {err='MY err'}" 0               => (error) MY err
    EVAL "return {err=5}" 0                      => []
    EVAL "return {double=1.5}" 0                 => "1.5"
    EVAL "return {map={a=1}}" 0                  => ["a", (integer) 1]
    EVAL "return {set={a=true}}" 0               => ["a"]
    EVAL "return {big_number='123'}" 0           => "123"
    EVAL "return {verbatim_string={format='txt',string='abc'}}" 0  => "abc"
    EVAL "return redis.status_reply('x')" 0      => x
    EVAL "return redis.error_reply('my err')" 0  => (error) my err
    EVAL "return redis.error_reply('-MYERR x')" 0 => (error) MYERR x
    EVAL "return redis.error_reply('x')" 0       => (error) ERR x
    EVAL "return redis.error_reply()" 0          => (error) ERR wrong number or type of arguments
  )~");
}

TEST_F(ScriptCommandsTest, NumbersAreWrittenAsRedisDoes) {
  EXPECT_EQ(Eval("redis.call('set','k',0.1) return redis.call('get','k')"),
            "\"0.10000000000000001\"");
  EXPECT_EQ(Eval("redis.call('set','k',1e15) return redis.call('get','k')"),
            "\"1000000000000000\"");
  EXPECT_EQ(Eval("redis.call('set','k',1e20) return redis.call('get','k')"), "\"1e+20\"");
}

TEST_F(ScriptCommandsTest, ErrorsSayWhere) {
  EXPECT_EQ(Eval("return redis.call('nosuch')"),
            "(error) ERR Unknown Redis command called from script script: "
            "206396248e12c6e742fd7296250433c8d7343b74, on @user_script:1.");
  EXPECT_EQ(Eval("error('boom')"),
            "(error) ERR user_script:1: boom script: 82903a0434f1503e152f89c03c9acd881a0e8150, on "
            "@user_script:1.");
  EXPECT_EQ(Eval("error({err='MY err'})"),
            "(error) MY err script: 648c64a0f76d70364d8d680b48b1c2f282eb8600, on @user_script:1.");
  EXPECT_TRUE(Eval("\nlocal x = function()\n error('deep')\nend\nx()").ends_with("user_script:3."));
}

TEST_F(ScriptCommandsTest, EachMistakeHasItsText) {
  const std::pair<std::string_view, std::string_view> kCases[] = {
      {"return redis.call()", "ERR Please specify at least one argument for this redis lib call"},
      {"return redis.call('get')", "ERR Wrong number of args calling Redis command from script"},
      {"return redis.call('get',{})",
       "ERR Lua redis lib command arguments must be strings or integers"},
      {"return redis.pcall('nosuch')", "ERR Unknown Redis command called from script"},
      {"return redis.call('multi')", "ERR This Redis command is not allowed from script"},
      {"return redis.call('eval','return 1',0)",
       "ERR This Redis command is not allowed from script"},
      {"return redis.call('select',20)", "ERR DB index is out of range"},
      {"return x", "ERR user_script:1: Script attempted to access nonexistent global variable 'x'"},
      {"x=1", "ERR user_script:1: Attempt to modify a readonly table"},
      {"string.x=1", "ERR user_script:1: Attempt to modify a readonly table"},
      {"redis.call=1", "ERR user_script:1: Attempt to modify a readonly table"},
      {"rawset(_G,'x',1)", "ERR Attempt to modify a readonly table"},
      {"setmetatable(string,{})", "ERR Attempt to modify a readonly table"},
      {"return redis.sha1hex()", "ERR wrong number of arguments"},
      {"redis.log(1)", "ERR redis.log() requires two arguments or more."},
      {"redis.log('x','y')", "ERR First argument must be a number (log level)."},
      {"redis.log(10,'y')", "ERR Invalid debug level."},
      {"redis.setresp(1)", "ERR RESP version must be 2 or 3."},
      {"local a return a.b", "ERR user_script:1: attempt to index local 'a' (a nil value)"},
      {"error()", "ERR unknown error"},
      {"error({})", "ERR unknown error"},
  };
  for (const auto& [script, text] : kCases) {
    EXPECT_EQ(Failure(script), "(error) " + std::string(text)) << script;
  }
}

TEST_F(ScriptCommandsTest, CaughtErrorsGoOn) {
  server_.Play(R"(
    SET s v
    EVAL "local e = redis.pcall('incr','s') return e.err" 0     => "ERR value is not an integer or out of range"
    EVAL "local ok, e = pcall(redis.call,'incr','s') return {ok, e}" 0  => [(nil), "ERR value is not an integer or out of range"]
    EVAL "return {xpcall(function() error('q') end, function(e) return e .. '!' end)}" 0 => [(nil), "user_script:1: q!"]
  )");
}

TEST_F(ScriptCommandsTest, WritesStayWhenItFails) {
  server_.Play(R"~(
    EVAL "redis.call('set',KEYS[1],'v') return redis.pcall('nosuch')" 1 k => (error) ERR Unknown Redis command called from script
  )~");
  EXPECT_EQ(Failure("redis.call('set','l','v') error('x')"), "(error) ERR user_script:1: x");
  server_.Play("GET k => \"v\"\n GET l => \"v\"");
}

TEST_F(ScriptCommandsTest, ReadOnlyScriptsDoNotWrite) {
  const std::string refused = "(error) ERR Write commands are not allowed from read-only scripts.";
  std::string reply = server_.Run({"EVAL_RO", "return redis.call('set','k','v')", "0"});
  EXPECT_TRUE(reply.starts_with(refused)) << reply;
  reply = Eval("#!lua flags=no-writes\nreturn redis.call('set','k','v')");
  EXPECT_TRUE(reply.starts_with(refused) && reply.ends_with("on @user_script:2.")) << reply;
  // What others are told counts as written, as it does for CLIENT PAUSE WRITE.
  for (const char* call : {"redis.call('publish','c','m')", "redis.call('pfcount','h')"}) {
    reply = server_.Run({"EVAL_RO", std::string("return ") + call, "0"});
    EXPECT_TRUE(reply.starts_with(refused)) << reply;
  }
  EXPECT_EQ(server_.Run({"EVAL_RO", "#!lua\nreturn 1", "0"}),
            "(error) ERR Can not execute a script with write flag using *_ro command.");
  EXPECT_EQ(Eval("#!lua flags=nosuch\nreturn 1"),
            "(error) ERR Unexpected flag in script shebang: nosuch");
  EXPECT_EQ(Eval("#!lua flags=no-writes,\nreturn 1"),
            "(error) ERR Unexpected flag in script shebang: ");
  EXPECT_EQ(Eval("#!lua foo=bar\nreturn 1"), "(error) ERR Unknown lua shebang option: foo=bar");
  EXPECT_EQ(Eval("#!js\nreturn 1"), "(error) ERR Unexpected engine in script shebang: #!js");
  EXPECT_EQ(Eval("#!lua"), "(error) ERR Invalid script shebang");
}

TEST_F(ScriptCommandsTest, APauseOfWritesDoesNotHoldThoseThatSayTheyDoNotWrite) {
  const std::string reads = "#!lua flags=no-writes\nreturn redis.call('get','k')";
  const std::string sha = Sha1Hex(reads);
  server_.Play("SET k v\nFUNCTION FLUSH");
  EXPECT_EQ(server_.Run({"FUNCTION", "LOAD",
                         "#!lua name=lib\nredis.register_function{function_name='reads', "
                         "callback=function() return redis.call('get','k') end, "
                         "flags={'no-writes'}}"}),
            "\"lib\"");
  EXPECT_EQ(server_.Run({"CLIENT", "PAUSE", "100000", "WRITE"}), "OK");
  EXPECT_EQ(server_.Run({"EVAL", reads, "0"}), "\"v\"");
  EXPECT_EQ(server_.Run({"EVALSHA", sha, "0"}), "\"v\"");
  EXPECT_EQ(server_.Run({"FCALL", "reads", "0"}), "\"v\"");
  EXPECT_EQ(server_.Run({"MULTI"}), "OK");
  EXPECT_EQ(server_.Run({"EVALSHA", sha, "0"}), "QUEUED");
  EXPECT_EQ(server_.Run({"FCALL", "reads", "0"}), "QUEUED");
  EXPECT_EQ(server_.Run({"EXEC"}), "[\"v\", \"v\"]");
  EXPECT_EQ(server_.Run({"EVAL_RO", "return redis.call('get','k')", "0"}), "\"v\"");
  EXPECT_EQ(server_.Run({"FCALL_RO", "reads", "0"}), "\"v\"");
  TestClient held = server_.Connect();
  held.Send({"EVAL", "return redis.call('get','k')", "0"});
  AwaitHeld(1);
  EXPECT_EQ(server_.Run({"CLIENT", "UNPAUSE"}), "OK");
  EXPECT_EQ(held.Receive(), "\"v\"");
}

TEST_F(ScriptCommandsTest, RunsInsideMulti) {
  server_.Play(R"~(
    MULTI                                                       => OK
    SET k 1                                                     => QUEUED
    EVAL "return redis.call('incr',KEYS[1])" 1 k                => QUEUED
    EVAL "return redis.call('incr','other')" 0                  => QUEUED
    EXEC                                                        => [OK, (integer) 2, (integer) 1]
    GET other                                                   => "1"
  )~");
}

TEST_F(ScriptCommandsTest, LongScriptsLeaveTheLoopAndRunOnce) {
  EXPECT_EQ(Eval("redis.call('incr','n') for i=1,5000000 do end return redis.call('get','n')"),
            "\"1\"");
  EXPECT_EQ(Eval("for i=1,4000 do redis.call('incr','m') end return redis.call('get','m')"),
            "\"4000\"");
}

TEST_F(ScriptCommandsTest, Resp3ValuesAfterSetresp) {
  EXPECT_EQ(Eval("redis.setresp(3) return type(redis.call('get','nosuch'))"), "\"nil\"");
  EXPECT_EQ(Eval("return type(redis.call('get','nosuch'))"), "\"boolean\"");
}

TEST_F(ScriptCommandsTest, LateScriptRefusesOthersUntilKilled) {
  server_.instance().traffic().busy.set_limit_ms(kNeverMs);
  doors::testing::TestClient runner = server_.Connect();
  doors::testing::TestClient other = server_.Connect();
  runner.Send({"EVAL", "while true do pcall(function() while true do end end) end", "0"});
  // It is killed only once it runs where it may take long; until then there is nothing to kill.
  std::string reply;
  do {
    server_.clock().AdvanceMillis(6000);
    reply = other.Run({"GET", "k"});
  } while (!reply.starts_with("(error) BUSY"));
  EXPECT_EQ(reply,
            "(error) BUSY Redis is busy running a script. You can only call SCRIPT KILL or "
            "SHUTDOWN NOSAVE.");
  EXPECT_TRUE(other.Run({"FUNCTION", "KILL"}).starts_with("(error) BUSY"));
  EXPECT_EQ(other.Run({"SCRIPT", "KILL"}), "OK");
  EXPECT_TRUE(runner.Receive().starts_with(
      "(error) ERR Script killed by user with SCRIPT KILL... script: "));
  EXPECT_EQ(other.Run({"GET", "k"}), "(nil)");
}

TEST_F(ScriptCommandsTest, WhatHasWrittenIsNotKilled) {
  server_.instance().traffic().busy.set_limit_ms(kNeverMs);
  doors::testing::TestClient runner = server_.Connect();
  doors::testing::TestClient other = server_.Connect();
  runner.Send({"EVAL", "redis.call('set',KEYS[1],'v') while true do end", "1", "k"});
  std::string reply;
  do {
    server_.clock().AdvanceMillis(6000);
    reply = other.Run({"GET", "other"});
  } while (!reply.starts_with("(error) BUSY"));
  EXPECT_TRUE(other.Run({"SCRIPT", "KILL"}).starts_with("(error) UNKILLABLE Sorry the script"));
  server_.Restart();
  server_.Play("GET k => (nil)");
}

// A script that never ends, whatever it does, is ended at the limit, and nothing of it remains.
TEST_F(ScriptCommandsTest, TheTimeLimitEndsAndUndoesWhateverRuns) {
  EXPECT_EQ(server_.Run({"FUNCTION", "LOAD",
                         "#!lua name=f\nredis.register_function('forever', function(keys) "
                         "redis.call('set', keys[1], 'v') while true do end end)"}),
            "\"f\"");
  for (const std::vector<std::string>& request : std::vector<std::vector<std::string>>{
           {"EVAL", "redis.call('set',KEYS[1],'v') while true do end", "1", "k"},
           {"EVAL", "redis.call('set','k','v') while true do redis.call('get','k') end", "0"},
           {"EVAL", "redis.call('set',KEYS[1],'v') while true do pcall(error) end", "1", "k"},
           {"EVAL",
            "redis.call('set',KEYS[1],'v') string.find(string.rep('x',5000), '.-.-.-.-.-b')", "1",
            "k"},
           {"EVAL_RO", "while true do end", "0"},
           {"FCALL", "forever", "1", "k"}}) {
    doors::testing::TestClient runner = server_.Connect();
    server_.instance().traffic().busy.set_limit_ms(kNeverMs);
    ASSERT_TRUE(runner.raw().Send(request).ok());
    std::string reply;
    do {
      server_.clock().AdvanceMillis(6000);
      reply = server_.Run({"GET", "other"});
    } while (!reply.starts_with("(error) BUSY"));
    server_.clock().AdvanceMillis(60'000);
    server_.instance().traffic().busy.set_limit_ms(60'000);
    EXPECT_TRUE(runner.Receive().starts_with(
        "(error) UNAVAILABLE the script was ended after 60000 ms and nothing of it was kept"))
        << request[1];
    server_.Play("GET k => (nil)");
  }
}

// The loop goes on while the pool has the script, however the script spends its time.
TEST_F(ScriptCommandsTest, WhatTakesLongLeavesTheLoop) {
  for (const char* script : {
           "local s = string.rep('x', 5e6) return #s",
           "return #string.rep('a', 120):gsub('.-.-.-b', '')",
           "local t = {} for i = 1, 1e5 do t[i] = i end table.sort(t) return #t",
           "local s = string.rep('x', 1e5) for i = 1, 30 do redis.sha1hex(s) end return 1",
       }) {
    const int before = server_.store().runs_outside_groups();
    EXPECT_TRUE(server_.Run({"EVAL", script, "0"}).starts_with("(integer)")) << script;
    EXPECT_GT(server_.store().runs_outside_groups(), before) << script;
  }
  const int before = server_.store().runs_outside_groups();
  EXPECT_EQ(Eval("return ('a=b'):match('(%w+)=') .. cjson.encode({1})"), "\"a[1]\"");
  EXPECT_EQ(server_.store().runs_outside_groups(), before);
}

}  // namespace
}  // namespace cairn::data
