#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/lua/lua_state.h"
#include "data/value/limits.h"
#include "net/resp/writer.h"

namespace cairn::data {
namespace {

// Answers every command with OK and stops a script after so many steps.
class TestHost final : public ScriptHost {
 public:
  bool Call(std::span<const std::string_view> /*args*/, int protocol, std::string& reply) override {
    if (stop_in_call) return false;
    net::RespWriter(reply, protocol).Ok();
    return true;
  }
  bool Step() override {
    return --steps_left > 0 && (!deadline || std::chrono::steady_clock::now() < *deadline);
  }
  std::optional<bool> MayCall(std::span<const std::string_view> /*args*/) override { return true; }
  void Log(int /*level*/, std::string_view /*text*/) override {}

  bool Grow(size_t bytes) override { return bytes <= most_bytes; }

  int steps_left = 100'000;
  std::optional<std::chrono::steady_clock::time_point> deadline;
  size_t most_bytes = kMaxScriptMemory;
  bool stop_in_call = false;
};

class LuaSandboxTest : public ::testing::Test {
 protected:
  ScriptEnd Run(const std::string& script) {
    reply_.clear();
    const Result<void> compiled = state_->Compile(script, script);
    if (!compiled.ok()) {
      reply_ = compiled.error().message;
      return ScriptEnd::kFailed;
    }
    net::RespWriter reply(reply_, 2);
    return state_->RunScript(script, {.name = "sha", .keys = {}, .args = {}}, host_, reply);
  }

  // That a script ends without bringing the process down, and that the next one finds all as it
  // was.
  void ExpectHarmless(const std::string& script) {
    host_.steps_left = 2'000;
    Run(script);
    if (!state_->healthy()) state_ = std::make_unique<LuaState>();  // as the pool does
    host_.steps_left = 100'000;
    EXPECT_EQ(Run("return tostring(string.len('abc')) .. type(redis.call) .. #{pcall(error)}"),
              ScriptEnd::kReplied)
        << script;
    EXPECT_EQ(reply_, "$10\r\n3function1\r\n") << script;
  }

  std::unique_ptr<LuaState> state_ = std::make_unique<LuaState>();
  TestHost host_;
  std::string reply_;
};

TEST_F(LuaSandboxTest, HasNothingDangerous) {
  for (const char* name : {"io", "debug", "package", "require", "dofile", "loadfile", "print",
                           "module", "getfenv", "setfenv", "newproxy", "jit", "ffi"}) {
    EXPECT_EQ(Run(std::string("return rawget(_G,'") + name + "') == nil"), ScriptEnd::kReplied);
    EXPECT_EQ(reply_, ":1\r\n") << name;
  }
  Run("local r = {} for k in pairs(os) do r[#r + 1] = k end return r");
  EXPECT_EQ(reply_, "*1\r\n$5\r\nclock\r\n");
  Run("return type(string.dump)");
  EXPECT_EQ(reply_, "$3\r\nnil\r\n");
}

TEST_F(LuaSandboxTest, EscapesAreHarmless) {
  const std::vector<std::string> kScripts = {
      "getmetatable('').__index = nil",
      "getmetatable('').__index.len = nil",
      "getmetatable('').len = 1",
      "setmetatable(_G, nil)",
      "getmetatable(_G).__newindex = nil",
      "rawset(string, 'len', nil)",
      "rawset(_G, 'redis', nil)",
      "table.insert(string, 1)",
      "table.insert(_G, 1)",
      "table.remove(string)",
      "table.sort(string)",
      "local _, t = pairs(string) t.len = nil",
      "local _, t = pairs(_G) rawset(t, 'redis', nil)",
      "for k in pairs(_G) do rawset(_G, k, nil) end",
      "for k, v in pairs(string) do string[k] = nil end",
      "redis.call = nil",
      "_G.pcall = nil",
      "pcall = nil",
      "return loadstring('\\27LJ\\2\\0')()",
      "return load(function() return '\\27LJ' end)()",
      "return loadstring('\\27Lua')",
      "return string.rep('x', 1e10)",
      "local s = 'x' while true do s = s .. s end",
      "local t = {} while true do t[#t + 1] = string.rep('x', 1000000) .. #t end",
      "local function f() return 1 + f() end return f()",
      "local function f() return f() end return f()",
      "local function f() return pcall(f) end return f()",
      "local function f() pcall(f) f() end f()",
      "local function f() return (('x'):gsub('.', f)) end return f()",
      "local function f() return coroutine.wrap(f)() end return f()",
      "local function f() return coroutine.resume(coroutine.create(f)) end return f()",
      "local function f() table.sort({1, 2, 3}, f) end return f()",
      std::string("local t t = setmetatable({}, {__tostring = function(s) ") +
          "return string.format('%s', s) end}) return tostring(t)",
      "local t t = setmetatable({}, {__index = function(s, k) return s[k] end}) return t.x",
      "local t = {} t[1] = t return t",
      "local t = {} t[1] = t return cjson.encode(t)",
      "local t = {} t[1] = t return cmsgpack.pack(t)",
      "return cmsgpack.unpack(string.rep('\\145', 100000))",
      "cjson.decode_max_depth(1000000) return cjson.decode(string.rep('[', 1000000))",
      "return struct.unpack(string.rep('c1', 1000), 'x')",
      "return struct.pack('c2000000000', 'x')",
      "return unpack({}, 1, 1e8)",
      "return string.format('%' .. string.rep('9', 100) .. 'd', 1)",
      "collectgarbage('stop')",
      "cjson.encode_number_precision(1)",
      "return 1LL",
      "local x = 1ULL return tostring(x) .. type(getmetatable(x))",
      "error(setmetatable({}, {__index = function() error('x') end}))",
      "error(coroutine.create(function() end))",
      "return coroutine.yield(1)",
      "goto nowhere",
      "string.gsub('x', '.', nil)",
  };
  for (const std::string& script : kScripts) ExpectHarmless(script);
}

TEST_F(LuaSandboxTest, NothingCatchesAStop) {
  const std::vector<std::string> kScripts = {
      "while true do end",
      "while true do pcall(function() while true do end end) end",
      std::string("while true do xpcall(function() while true do end end, ") +
          "function() while true do end end) end",
      "local c = coroutine.wrap(function() while true do end end) while true do pcall(c) end",
      "while true do coroutine.resume(coroutine.create(function() while true do end end)) end",
      "while true do redis.pcall('get') end",
      "local function f() while true do pcall(f) end end f()",
      "local t = setmetatable({}, {__index = function() while true do end end}) return t.x",
      "table.sort({1, 2, 3}, function() while true do end end)",
      "return (('x'):gsub('.', function() while true do end end))",
      "return loadstring('while true do end')()",
      "return load(function() while true do end end)",
  };
  for (const std::string& script : kScripts) {
    host_.steps_left = 50;
    EXPECT_EQ(Run(script), ScriptEnd::kStopped) << script;
  }
}

TEST_F(LuaSandboxTest, ACommandThatStopsIsNotCaught) {
  host_.stop_in_call = true;
  const std::vector<std::string> kScripts = {
      "redis.call('get') return 1",
      "redis.pcall('get') return 1",
      "pcall(redis.call, 'get') return 1",
      "pcall(redis.pcall, 'get') return 1",
      "xpcall(function() redis.call('get') end, function() return 1 end) return 1",
      "coroutine.resume(coroutine.create(function() redis.call('get') end)) return 1",
      "pcall(coroutine.wrap(function() redis.call('get') end)) return 1",
  };
  for (const std::string& script : kScripts) {
    EXPECT_EQ(Run(script), ScriptEnd::kStopped) << script;
  }
  host_.stop_in_call = false;
  EXPECT_EQ(Run("return redis.call('get').ok"), ScriptEnd::kReplied);
  EXPECT_EQ(reply_, "$2\r\nOK\r\n");
}

TEST_F(LuaSandboxTest, MemoryIsBounded) {
  EXPECT_EQ(
      Run("local t = {} for i = 1, 1000 do t[i] = string.rep('x', 1000000) .. i end return 1"),
      ScriptEnd::kFailed);
  EXPECT_NE(reply_.find("not enough memory"), std::string::npos) << reply_;
  EXPECT_FALSE(state_->healthy());
}

TEST_F(LuaSandboxTest, SharedTablesCanBeListed) {
  Run("local n = 0 for k in pairs(math) do n = n + 1 end return n > 20 and next(_G) ~= nil");
  EXPECT_EQ(reply_, ":1\r\n");
}

// Nothing of the interpreter works on unseen: each of these would take minutes to for ever.
TEST_F(LuaSandboxTest, EveryFunctionCanBeStopped) {
  const std::string deep =
      "local t = {} for i = 1, 60 do t = {t, t} end ";  // 2^60 values, written out
  for (const std::string& script : {
           std::string("return string.find(string.rep('a', 40), string.rep('a?', 40) .. 'b')"),
           std::string("return string.rep('a', 60):match('.-.-.-.-.-.-.-.-b')"),
           std::string("return string.rep('x', 5000):gsub('.-.-.-.-b', '')"),
           std::string("for w in string.rep('x', 5000):gmatch('.-.-.-.-b') do end"),
           std::string("pcall(string.find, string.rep('x', 5000), '.-.-.-.-b') return 1"),
           std::string("return string.find(string.rep('(', 1e6), '%b()')"),
           deep + "return cjson.encode(t)",
           deep + "while true do cmsgpack.pack(t, t, t, t) end",
           std::string("local t = {} for i = 1, 60 do t = {t, t} end return t"),
           std::string("local t = {} for i = 1, 2e5 do t[i] = i % 7 end "
                       "while true do pcall(table.sort, t, rawequal) end"),
           std::string("local t = {} for i = 1, 1e5 do t[i] = {} end "
                       "local m = {__lt = rawequal} for i = 1, 1e5 do setmetatable(t[i], m) end "
                       "while true do pcall(table.sort, t) end"),
           std::string("local s = string.rep('x', 1e7) while true do redis.sha1hex(s) end"),
           std::string("local s = string.rep('x', 1e7) while true do local t = s .. 'y' end"),
           std::string("local s, t = string.rep('x', 1e7) .. 'a', string.rep('x', 1e7) .. 'b' "
                       "while true do local less = s < t end"),
           std::string("local t = {} for i = 1, 1e6 do t[i] = i end "
                       "while true do table.insert(t, 1, 0) table.remove(t, 1) end"),
           std::string("local t = {} for i = 1, 1e6 do t[i] = '' end "
                       "while true do table.concat(t) end"),
           std::string("while true do collectgarbage() end"),
           std::string("while true do string.rep('x', 1e7) end"),
           std::string("while true do loadstring(string.rep(' ', 1e6)) end"),
       }) {
    host_.steps_left = std::numeric_limits<int>::max();
    host_.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
    EXPECT_EQ(Run(script), ScriptEnd::kStopped) << script;
    if (!state_->healthy()) state_ = std::make_unique<LuaState>();
  }
}

TEST_F(LuaSandboxTest, SortsAsBefore) {
  EXPECT_EQ(Run("local t = {3, 1, 2} table.sort(t) return t"), ScriptEnd::kReplied);
  EXPECT_EQ(reply_, "*3\r\n:1\r\n:2\r\n:3\r\n");
  Run("local t = {'b', 'a', 'B', ''} table.sort(t) return t");
  EXPECT_EQ(reply_, "*4\r\n$0\r\n\r\n$1\r\nB\r\n$1\r\na\r\n$1\r\nb\r\n");
  Run("local t = {3, 1, 2} table.sort(t, function(a, b) return a > b end) return t");
  EXPECT_EQ(reply_, "*3\r\n:3\r\n:2\r\n:1\r\n");
  Run("local m = {__lt = function(a, b) return a[1] < b[1] end} local t = {} "
      "for i = 1, 3 do t[i] = setmetatable({4 - i}, m) end table.sort(t) return t[1][1]");
  EXPECT_EQ(reply_, ":1\r\n");
  EXPECT_EQ(Run("local t = {1, 'a'} table.sort(t)"), ScriptEnd::kFailed);
  EXPECT_EQ(Run("table.sort({1, 2}, 3)"), ScriptEnd::kFailed);
}

// What a script has taken is told as it takes it, and may end it.
TEST_F(LuaSandboxTest, GrowthIsTold) {
  host_.most_bytes = 1'000'000;
  EXPECT_EQ(Run("return #string.rep('x', 100)"), ScriptEnd::kReplied);
  EXPECT_EQ(Run("return #string.rep('x', 5e6)"), ScriptEnd::kStopped);
  EXPECT_EQ(Run("pcall(function() local t = {} for i = 1, 1e6 do t[i] = i end end) return 1"),
            ScriptEnd::kStopped);
  EXPECT_EQ(Run("return 1"), ScriptEnd::kReplied);
}

}  // namespace
}  // namespace cairn::data
