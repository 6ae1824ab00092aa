#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "data/script/function_library.h"
#include "data/testing/script.h"

namespace cairn::data {
namespace {

using testing::DataServer;

constexpr std::string_view kLibrary =
    "#!lua name=lib\n"
    "redis.register_function('f', function(keys, args) return {keys[1], args[1], #keys} end)\n"
    "redis.register_function{function_name='g', description='desc', flags={'no-writes'},\n"
    "  callback=function(keys, args) return redis.call('set', 'x', '1') end}\n"
    "redis.register_function('put', function(keys, args) return redis.call('set', keys[1], "
    "args[1]) end)\n";

class FunctionCommandsTest : public ::testing::Test {
 protected:
  ~FunctionCommandsTest() override { server_.CheckConsistency(); }

  std::string Load(std::string_view body) {
    return server_.Run({"FUNCTION", "LOAD", std::string("#!lua name=l2\n") + std::string(body)});
  }

  DataServer server_;
};

TEST_F(FunctionCommandsTest, FunctionsAreCalledByName) {
  EXPECT_EQ(server_.Run({"FUNCTION", "LOAD", kLibrary}), "\"lib\"");
  server_.Play(R"(
    FCALL f 1 k a       => ["k", "a", (integer) 1]
    FCALL put 1 k v     => OK
    GET k               => "v"
    FCALL nosuch 0      => (error) ERR Function not found
    FCALL f x           => (error) ERR Bad number of keys provided
    FCALL f -1          => (error) ERR Number of keys can't be negative
    FCALL f 3 a         => (error) ERR Number of keys can't be greater than number of args
    FCALL g 0           => (error) ERR Write commands are not allowed from read-only scripts. script: g, on @user_function:4.
    FCALL_RO f 0        => (error) ERR Can not execute a script with write flag using *_ro command.
    FUNCTION KILL       => (error) NOTBUSY No scripts in execution right now.
  )");
}

TEST_F(FunctionCommandsTest, LibrariesSurviveARestart) {
  EXPECT_EQ(server_.Run({"FUNCTION", "LOAD", kLibrary}), "\"lib\"");
  server_.Restart();
  server_.Play("FCALL f 1 k a => [\"k\", \"a\", (integer) 1]");
  server_.Play("FUNCTION DELETE lib => OK");
  server_.Restart();
  server_.Play("FCALL f 1 k a => (error) ERR Function not found");
}

TEST_F(FunctionCommandsTest, NamesBelongToOneLibrary) {
  EXPECT_EQ(server_.Run({"FUNCTION", "LOAD", kLibrary}), "\"lib\"");
  EXPECT_EQ(server_.Run({"FUNCTION", "LOAD", kLibrary}),
            "(error) ERR Library 'lib' already exists");
  EXPECT_EQ(server_.Run({"FUNCTION", "LOAD", "REPLACE", kLibrary}), "\"lib\"");
  EXPECT_EQ(Load("redis.register_function('f', function() return 1 end)"),
            "(error) ERR Function f already exists");
  EXPECT_EQ(server_.Run({"FUNCTION", "DELETE", "nosuch"}), "(error) ERR Library not found");
  EXPECT_EQ(server_.Run({"FUNCTION", "FLUSH", "foo"}),
            "(error) ERR FUNCTION FLUSH only supports SYNC|ASYNC option");
  EXPECT_EQ(server_.Run({"FUNCTION", "FLUSH"}), "OK");
  EXPECT_EQ(Load("redis.register_function('f', function() return 1 end)"), "\"l2\"");
  EXPECT_EQ(server_.Run({"FCALL", "f", "0"}), "(integer) 1");
}

TEST_F(FunctionCommandsTest, MistakesOfALibraryHaveTheirTexts) {
  const auto load = [&](std::string_view source) {
    return server_.Run({"FUNCTION", "LOAD", source});
  };
  EXPECT_EQ(load("foo"), "(error) ERR Missing library metadata");
  EXPECT_EQ(load("#!lua name=foo\n"), "(error) ERR No functions registered");
  EXPECT_EQ(load("#!lua\nx"), "(error) ERR Library name was not given");
  EXPECT_EQ(load("#!js name=foo\nx"), "(error) ERR Engine 'js' not found");
  EXPECT_EQ(load("#!lua name=a name=b\nx"),
            "(error) ERR Invalid metadata value, name argument was given multiple times");
  EXPECT_EQ(load("#!lua name=a foo=b\nx"), "(error) ERR Invalid metadata value given: foo=b");
  EXPECT_EQ(Load("x x"),
            "(error) ERR Error compiling function: user_function:2: '=' expected near 'x'");
  const std::string registering = "(error) ERR Error registering functions: ERR ";
  EXPECT_EQ(Load("redis.call('get','x')"),
            registering +
                "user_function:2: Script attempted to access nonexistent global variable 'call'");
  EXPECT_EQ(Load("redis.register_function()"),
            registering + "wrong number of arguments to redis.register_function");
  EXPECT_EQ(Load("redis.register_function('a',1)"),
            registering + "second argument to redis.register_function must be a function");
  EXPECT_EQ(Load("redis.register_function{function_name='a'}"),
            registering + "redis.register_function must get a callback argument");
  EXPECT_EQ(Load("redis.register_function{function_name='a',callback=function() end,flags={'x'}}"),
            registering + "unknown flag given");
  EXPECT_EQ(Load("redis.register_function('a',function() end) "
                 "redis.register_function('a',function() end)"),
            registering + "Function already exists in the library");
  EXPECT_EQ(Load("while true do end"), registering + "FUNCTION LOAD timeout");
}

TEST_F(FunctionCommandsTest, DumpsAreRestored) {
  EXPECT_EQ(server_.Run({"FUNCTION", "LOAD", kLibrary}), "\"lib\"");
  const std::string dump = EncodeFunctionDump({{"lib", std::string(kLibrary), {}}});
  EXPECT_EQ(server_.Run({"FUNCTION", "RESTORE", dump}), "(error) ERR Library lib already exists");
  EXPECT_EQ(server_.Run({"FUNCTION", "RESTORE", dump, "REPLACE"}), "OK");
  EXPECT_EQ(server_.Run({"FUNCTION", "FLUSH"}), "OK");
  EXPECT_EQ(server_.Run({"FUNCTION", "RESTORE", dump}), "OK");
  EXPECT_EQ(server_.Run({"FUNCTION", "RESTORE", dump, "FLUSH"}), "OK");
  EXPECT_EQ(server_.Run({"FCALL", "f", "1", "k", "a"}), "[\"k\", \"a\", (integer) 1]");
  EXPECT_EQ(server_.Run({"FUNCTION", "RESTORE", "xxx"}),
            "(error) ERR DUMP payload version or checksum are wrong");
}

TEST(FunctionDumpTest, IsRedisFormat) {
  EXPECT_EQ(EncodeFunctionDump({}), std::string("\n\x00]\x9b\\@\x0f\x7f\xa2\xda", 10));
  const std::string source = "#!lua name=l1\nredis.register_function('a',function() end)";
  const std::string expected =
      "\xf5\x39" + source + std::string("\x0a\x00\x39\xa8\xe3\xbe\x69\x12\xb1\x6b", 10);
  EXPECT_EQ(EncodeFunctionDump({{"l1", source, {}}}), expected);
  EXPECT_EQ(DecodeFunctionDump(expected), std::vector<std::string>{source});
}

TEST(FunctionDumpTest, DamageIsNoticed) {
  const std::string dump = EncodeFunctionDump({{"l", std::string(100, 'x'), {}}});
  ASSERT_TRUE(DecodeFunctionDump(dump).has_value());
  for (size_t size = 0; size < dump.size(); ++size) {
    EXPECT_FALSE(DecodeFunctionDump(dump.substr(0, size)).has_value());
    std::string damaged = dump;
    damaged[size] = static_cast<char>(damaged[size] ^ 1);
    EXPECT_FALSE(DecodeFunctionDump(damaged).has_value());
  }
}

TEST(FunctionLibraryTest, KeysRoundTrip) {
  EXPECT_EQ(EncodeLibraryKey("lib"), "fn\x02lib");
  EXPECT_EQ(DecodeLibraryKey("fn\x02lib"), "lib");
  EXPECT_EQ(DecodeLibraryKey("fn\x02"), std::nullopt);
  EXPECT_EQ(DecodeLibraryKey("fn\x01"), std::nullopt);
  EXPECT_EQ(DecodeLibraryKey(""), std::nullopt);
}

}  // namespace
}  // namespace cairn::data
