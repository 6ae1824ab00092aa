#include "data/lua/lua_patterns.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <luajit-2.1/lua.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "data/lua/lua_runtime.h"

namespace cairn::data {
namespace {

class IdleHost final : public ScriptHost {
 public:
  bool Call(std::span<const std::string_view> /*args*/, int /*protocol*/,
            std::string& /*reply*/) override {
    return false;
  }
  bool Step() override { return true; }
  std::optional<bool> MayCall(std::span<const std::string_view> /*args*/) override { return true; }
  void Log(int /*level*/, std::string_view /*text*/) override {}
};

// An interpreter with its own string library as `theirs` and ours as `ours`.
class LuaPatternsTest : public ::testing::Test {
 protected:
  LuaPatternsTest() {
    runtime_.host = &host_;
    runtime_.stack_base = static_cast<const char*>(__builtin_frame_address(0));
    lua_ = lua_newstate(Allocate, &runtime_);
    luaL_openlibs(lua_);
    lua_getglobal(lua_, "string");
    lua_setglobal(lua_, "theirs");
    lua_newtable(lua_);
    SetPatternFunctions(lua_);
    lua_setglobal(lua_, "ours");
    Do(R"(
      local function text(ok, ...)
        local parts = {tostring(ok)}
        for i = 1, select('#', ...) do
          local value = select(i, ...)
          parts[#parts + 1] = type(value) .. ':' .. tostring(value)
        end
        return (table.concat(parts, '|'):gsub('^(false|string:).-:%d+: ', '%1'))
      end
      function all(lib, s, p)
        local found, n = {}, 0
        for a, b in lib.gmatch(s, p) do
          n = n + 1
          found[#found + 1] = tostring(a) .. ',' .. tostring(b)
          if n > 50 then break end
        end
        return table.concat(found, ';')
      end
      function ask(lib, s, p, r, n)
        return table.concat({
          text(pcall(lib.find, s, p)), text(pcall(lib.find, s, p, n)),
          text(pcall(lib.find, s, p, n, true)),
          text(pcall(lib.match, s, p)), text(pcall(lib.match, s, p, n)),
          text(pcall(lib.gsub, s, p, r)), text(pcall(lib.gsub, s, p, r, n)),
          text(pcall(lib.gsub, s, p, {a = 'A', ab = false, b = 7})),
          text(pcall(lib.gsub, s, p, function(x, y) return y or x end)),
          text(pcall(lib.gsub, s, p, function() return {} end)),
          text(pcall(all, lib, s, p)),
        }, '\n')
      end)");
  }
  ~LuaPatternsTest() override { lua_close(lua_); }

  static void* Allocate(void* /*data*/, void* block, size_t /*old_size*/, size_t new_size) {
    if (new_size != 0) return std::realloc(block, new_size);
    std::free(block);
    return nullptr;
  }

  void Do(const char* code) { ASSERT_EQ(luaL_dostring(lua_, code), 0) << lua_tostring(lua_, -1); }

  std::string Ask(const char* library, const std::string& subject, const std::string& pattern,
                  const std::string& replacement, int n) {
    lua_getglobal(lua_, "ask");
    lua_getglobal(lua_, library);
    for (const std::string& text : {subject, pattern, replacement}) {
      lua_pushlstring(lua_, text.data(), text.size());
    }
    lua_pushinteger(lua_, n);
    EXPECT_EQ(lua_pcall(lua_, 5, 1, 0), 0) << lua_tostring(lua_, -1);
    size_t size = 0;
    const char* text = lua_tolstring(lua_, -1, &size);
    std::string answer(text, size);
    lua_pop(lua_, 1);
    return answer;
  }

  void ExpectSame(const std::string& subject, const std::string& pattern,
                  const std::string& replacement, int n) {
    EXPECT_EQ(Ask("ours", subject, pattern, replacement, n),
              Ask("theirs", subject, pattern, replacement, n))
        << "'" << subject << "' '" << pattern << "' '" << replacement << "' " << n;
  }

  IdleHost host_;
  LuaState::Runtime runtime_;
  lua_State* lua_ = nullptr;
};

TEST_F(LuaPatternsTest, MeanWhatTheInterpretersOwnMean) {
  const std::vector<std::string> kPatterns = {
      "",         "a",           "^a",           "a$",    ".",           ".-",
      ".*",       "a*",          "a-b",          "a?b",   "a+",          "(a)(b)",
      "()a()",    "((a)b)",      "(a*(.)b)",     "%a+",   "%A",          "%w%W",
      "[ab]",     "[^ab]",       "[a-c]+",       "[]]",   "[^]]",        "[a-]",
      "[%a_]*",   "[%]]",        "%bab",         "%b()",  "%f[%a]",      "%f[%A]",
      "(a)%1",    "(.)%1",       "%z",           "%s*",   "%p",          "%x+",
      "%u",       "%l",          "%c",           "%g+",   "%%",          "%.",
      "$",        "^",           "^$",           "a$b",   "^^a",         "(",
      ")",        "(a",          "a)",           "%",     "[",           "[a",
      "[^",       "[%",          "%b",           "%ba",   "%f",          "%fa",
      "%1",       "(%1)",        "()%1",         "(a)%2", "[a-%z]",      "-a",
      "*a",       "?",           "a**",          "+",     "(((((a)))))", "%d-%d",
      "[+-]?%d+", "(%w+)=(%w+)", "^%s*(.-)%s*$",
  };
  const std::vector<std::string> kSubjects = {
      "",
      "a",
      "aaa",
      "ab",
      "abab",
      "hello world",
      "key=value; k2=v2",
      "((a)(b))",
      "  trim me ",
      "x]",
      "a-b",
      std::string("nul\0nul", 7),
      "THE (quick) fox",
      "-12+34",
      "aab%$^",
      "]]",
  };
  for (const std::string& pattern : kPatterns) {
    for (const std::string& subject : kSubjects) {
      for (const char* replacement : {"<%0>", "%1%2", "%%", "x", "%", "%a"}) {
        ExpectSame(subject, pattern, replacement, 2);
        ExpectSame(subject, pattern, replacement, -2);
      }
    }
  }
}

TEST_F(LuaPatternsTest, MeanTheSameForAnyPattern) {
  SeededRandom random(7);
  const auto any = [&](std::string_view alphabet, size_t most) {
    std::string text;
    for (size_t n = random.Next() % (most + 1); n > 0; --n) {
      text += alphabet[random.Next() % alphabet.size()];
    }
    return text;
  };
  for (int i = 0; i < 20'000 && !HasFailure(); ++i) {
    const auto n = static_cast<int>(random.Next() % 12) - 5;
    ExpectSame(any("aab()[] 1-", 12), any("ab.%()[]^$*+-?f1ws", 8), any("%01a2", 4), n);
  }
}

}  // namespace
}  // namespace cairn::data
