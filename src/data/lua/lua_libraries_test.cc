#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

#include "data/lua/lua_state.h"
#include "net/resp/writer.h"

namespace cairn::data {
namespace {

class NoHost final : public ScriptHost {
 public:
  bool Call(std::span<const std::string_view> /*args*/, int /*protocol*/,
            std::string& /*reply*/) override {
    return false;
  }
  bool Step() override { return true; }
  std::optional<bool> MayCall(std::span<const std::string_view> /*args*/) override {
    return std::nullopt;
  }
  void Log(int /*level*/, std::string_view /*text*/) override {}
};

class LuaLibrariesTest : public ::testing::Test {
 protected:
  // What tostring makes of the expression, or the error it raises.
  std::string Value(const std::string& expression) {
    const std::string script = "local ok, v = pcall(function() return " + expression +
                               " end) return (ok and '' or 'error: ') .. tostring(v)";
    const Result<void> compiled = state_.Compile(script, script);
    if (!compiled.ok()) return compiled.error().message;
    std::string out;
    net::RespWriter reply(out, 2);
    state_.RunScript(script, {.name = "sha", .keys = {}, .args = {}}, host_, reply);
    const size_t begin = out.find("\r\n") + 2;
    return out.substr(begin, out.size() - begin - 2);
  }

  void Expect(std::initializer_list<std::pair<const char*, std::string_view>> cases) {
    for (const auto& [expression, value] : cases) EXPECT_EQ(Value(expression), value) << expression;
  }

  LuaState state_;
  NoHost host_;
};

TEST_F(LuaLibrariesTest, JsonIsWritten) {
  Expect({
      {"cjson.encode({})", "{}"},
      {"cjson.encode({1,2,3})", "[1,2,3]"},
      {"cjson.encode({[1]=1,[3]=3})", "[1,null,3]"},
      {"cjson.encode({a=1})", R"({"a":1})"},
      {"cjson.encode({[1.5]=1})", R"({"1.5":1})"},
      {"cjson.encode({cjson.null,true,false,1.5,1e20,0.1,1/3,-0.0})",
       "[null,true,false,1.5,1e+20,0.1,0.33333333333333,-0]"},
      {"cjson.encode('a\"\\\\/\\b\\f\\n\\r\\t\\0\\1\\127')",
       R"("a\"\\\/\b\f\n\r\t\u0000\u0001\u007f")"},
      {"cjson.encode({[1]=1,[100]=3})",
       "error: user_script:1: Cannot serialise table: excessively sparse array"},
      {"cjson.encode({[true]=1})",
       "error: user_script:1: Cannot serialise boolean: table key must be a number or string"},
      {"cjson.encode(0/0)",
       "error: user_script:1: Cannot serialise number: must not be NaN or Inf"},
      {"cjson.encode(function() end)",
       "error: user_script:1: Cannot serialise function: type not supported"},
      {"(function() local t = {} t[1] = t return cjson.encode(t) end)()",
       "error: user_script:1: Cannot serialise, excessive nesting (1001)"},
  });
}

TEST_F(LuaLibrariesTest, JsonIsRead) {
  Expect({
      {"cjson.decode('[1,2,{\"a\":null}]')[2]", "2"},
      {"cjson.decode('null') == cjson.null", "true"},
      {"cjson.decode('\"\\\\ud83d\\\\ude00\"')", "\xf0\x9f\x98\x80"},
      {"cjson.decode('1e5')", "100000"},
      {"cjson.decode('0x10')", "16"},
      {"cjson.decode('')", "error: user_script:1: Expected value but found T_END at character 1"},
      {"cjson.decode('[1 2]')",
       "error: user_script:1: Expected comma or array end but found T_NUMBER at character 4"},
      {"cjson.decode('{a:1}')",
       "error: user_script:1: Expected object key string but found invalid token at character 2"},
      {"cjson.decode('\"abc')",
       "error: user_script:1: Expected value but found unexpected end of string at character 5"},
      {"cjson.decode('\"\\\\x\"')",
       "error: user_script:1: Expected value but found invalid escape code at character 2"},
      {"cjson.decode('1 2')",
       "error: user_script:1: Expected the end but found T_NUMBER at character 3"},
      {"cjson.decode(string.rep('[',1001))",
       "error: user_script:1: Found too many nested data structures (1001) at character 1001"},
      {"#cjson.decode(string.rep('[',1000) .. string.rep(']',1000))", "1"},
  });
}

TEST_F(LuaLibrariesTest, JsonOptionsLastForOneScript) {
  EXPECT_EQ(Value("cjson.encode_number_precision(3) and cjson.encode(3.14159)"), "3.14");
  EXPECT_EQ(Value("cjson.encode(3.14159)"), "3.14159");
  EXPECT_EQ(Value("cjson.encode_sparse_array(true) and cjson.encode({[100]=3})"), R"({"100":3})");
}

TEST_F(LuaLibrariesTest, MessagePackIsWrittenAndRead) {
  Expect({
      {"cmsgpack.pack(1,-1,128,-33,256,65536,-129)",
       std::string_view("\x01\xff\xcc\x80\xd0\xdf\xcd\x01\x00\xce\x00\x01\x00\x00\xd1\xff\x7f",
                        17)},
      {"cmsgpack.pack(1.5,'a',true,false,nil)", std::string_view("\xca\x3f\xc0\x00\x00\xa1"
                                                                 "a\xc3\xc2\xc0",
                                                                 10)},
      {"cmsgpack.pack({1,2,3},{a=1},{})",
       "\x93\x01\x02\x03\x81\xa1"
       "a\x01\x90"},
      {"cmsgpack.unpack(cmsgpack.pack({1,{x='y'}}))[2].x", "y"},
      {"cmsgpack.unpack(cmsgpack.pack(-3000000000))", "-3000000000"},
      {"cmsgpack.unpack(cmsgpack.pack(0.1))", "0.1"},
      {"table.concat({cmsgpack.unpack_one('\\1\\2\\3',1)},' ')", "2 2"},
      {"table.concat({cmsgpack.unpack_limit('\\1\\2\\3',2,1)},' ')", "-1 2 3"},
      {"cmsgpack.unpack('\\129')", "error: user_script:1: Missing bytes in input."},
      {"cmsgpack.unpack('\\193')", "error: user_script:1: Bad data format in input."},
      {"cmsgpack.unpack_one('\\1\\2\\3',5)",
       "error: user_script:1: Start offset 5 greater than input length 3."},
  });
}

TEST_F(LuaLibrariesTest, StructsArePackedAndUnpacked) {
  Expect({
      {"struct.pack('>Hhbs',1,2,3,'abc')", std::string_view("\x00\x01\x00\x02\x03"
                                                            "abc\x00",
                                                            9)},
      {"struct.unpack('<i4','\\1\\0\\0\\0')", "1"},
      {"struct.unpack('b','\\255')", "-1"},
      {"struct.unpack('Bc0','\\2abc')", "ab"},
      {"struct.unpack('s','abc\\0def')", "abc"},
      {"struct.unpack('f',struct.pack('f',1.5))", "1.5"},
      {"struct.unpack('>d',struct.pack('>d',-0.1))", "-0.1"},
      {"struct.size('!8bd')", "16"},
      {"struct.size('bd')", "9"},
      {"struct.unpack('s','abc')", "error: user_script:1: unfinished string in data"},
      {"struct.pack('i40',1)", "error: user_script:1: integral size 40 is larger than limit of 32"},
      {"struct.pack('!3i',1)", "error: user_script:1: alignment 3 is not a power of 2"},
  });
}

TEST_F(LuaLibrariesTest, BitsAndHashes) {
  Expect({
      {"bit.bor(1,2,4)", "7"},
      {"bit.tohex(255,-4)", "00FF"},
      {"bit.tohex(65535,-2147483648)", "0000FFFF"},
      {"redis.sha1hex('')", "da39a3ee5e6b4b0d3255bfef95601890afd80709"},
      {"redis.REDIS_VERSION_NUM", "458767"},
      {"math.mod(7,4)", "3"},
  });
}

}  // namespace
}  // namespace cairn::data
