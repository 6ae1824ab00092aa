#include "data/json/text.h"

#include <gtest/gtest.h>

#include <string>

#include "data/value/limits.h"

namespace cairn::data {
namespace {

std::string Reprinted(std::string_view text) {
  const Result<JsonValue> value = ParseJson(text);
  return value.ok() ? PrintJson(*value) : value.error().message;
}

TEST(JsonTextTest, ValuesComeBackCompact) {
  EXPECT_EQ(Reprinted(" { \"b\" : [ 1 , 2.50 , true ] ,\n\"a\":null, \"c\" :{} ,\"d\":[]} "),
            R"({"b":[1,2.5,true],"a":null,"c":{},"d":[]})");
  EXPECT_EQ(Reprinted("false"), "false");
  EXPECT_EQ(Reprinted(R"("x")"), R"("x")");
}

TEST(JsonTextTest, MembersKeepTheirOrderAndTheLastOfTheSameNameCounts) {
  EXPECT_EQ(Reprinted(R"({"z":1,"a":2,"z":3})"), R"({"z":3,"a":2})");
  std::string many = "{";
  for (int i = 100; i > 0; --i) many += "\"k" + std::to_string(i) + "\":" + std::to_string(i) + ",";
  const std::string once = many + "\"end\":0}";
  EXPECT_EQ(Reprinted(once), once);
  EXPECT_EQ(Reprinted(many + "\"k7\":7,\"end\":0}"), once);
}

TEST(JsonTextTest, IntegersStayExactUpTo64Bits) {
  for (const char* text : {"0", "-1", "9223372036854775807", "-9223372036854775808",
                           "9223372036854775808", "18446744073709551615"}) {
    EXPECT_EQ(Reprinted(text), text);
  }
  EXPECT_EQ(Reprinted("18446744073709551616"), "1.8446744073709552e19");
  EXPECT_EQ(Reprinted("-9223372036854775809"), "-9.223372036854776e18");
  EXPECT_EQ(Reprinted("-0"), "-0.0");
}

TEST(JsonTextTest, DoublesHaveTheFewestDigitsAndAPoint) {
  EXPECT_EQ(Reprinted("1.0"), "1.0");
  EXPECT_EQ(Reprinted("1e2"), "100.0");
  EXPECT_EQ(Reprinted("0.1"), "0.1");
  EXPECT_EQ(Reprinted("1512060373.222988"), "1512060373.222988");
  EXPECT_EQ(Reprinted("1e15"), "1000000000000000.0");
  EXPECT_EQ(Reprinted("1e16"), "1e16");
  EXPECT_EQ(Reprinted("1.6350000000001313e+308"), "1.6350000000001313e308");
  EXPECT_EQ(Reprinted("0.00001"), "0.00001");
  EXPECT_EQ(Reprinted("0.000001"), "1e-6");
  EXPECT_EQ(Reprinted("1e-400"), "0.0");
  EXPECT_EQ(Reprinted("1e400"), "number out of range at line 1 column 5");
}

TEST(JsonTextTest, StringsAreEscapedOnlyWhereTheyMust) {
  EXPECT_EQ(Reprinted(R"("\u00e9\ud83d\ude00\/\u0001\n\"\\")"), "\"é😀/\\u0001\\n\\\"\\\\\"");
  EXPECT_EQ(Reprinted("\"\xC3\xA9\""), "\"é\"");
}

TEST(JsonTextTest, WhatIsNotJsonIsRejectedWithItsPlace) {
  EXPECT_EQ(Reprinted(""), "EOF while parsing a value at line 1 column 0");
  EXPECT_EQ(Reprinted("x"), "expected value at line 1 column 1");
  EXPECT_EQ(Reprinted("{"), "EOF while parsing an object at line 1 column 1");
  EXPECT_EQ(Reprinted("[1 2]"), "expected `,` or `]` at line 1 column 4");
  EXPECT_EQ(Reprinted("1 x"), "trailing characters at line 1 column 3");
  EXPECT_EQ(Reprinted("{a:1}"), "key must be a string at line 1 column 2");
  for (const char* text :
       {"[1,]",    "{\"a\":1,}", "{\"a\"}",     "01",           "-",
        "1.",      "1e",         ".5",          "+1",           "tru",
        "nul",     "\"\\x\"",    "\"\\u12g4\"", "\"\\ud800\"",  "\"\\udc00\"",
        "\"\n\"",  "\"a",        "'a'",         "NaN",          "[",
        "]",       "\\",         "\"\xff\"",    "\"\xc0\x80\"", "\"\xed\xa0\x80\"",
        "\"\xe9\""}) {
    EXPECT_FALSE(ParseJson(text).ok()) << text;
  }
  EXPECT_FALSE(ParseJson(std::string_view("\0", 1)).ok());
}

TEST(JsonTextTest, DeepNestingIsRejected) {
  const auto nested = [](size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_TRUE(ParseJson(nested(kMaxJsonDepth)).ok());
  EXPECT_FALSE(ParseJson(nested(kMaxJsonDepth + 1)).ok());
  EXPECT_FALSE(ParseJson(std::string(1'000'000, '[')).ok());
}

TEST(JsonTextTest, LayoutIsAddedWhereAsked) {
  const Result<JsonValue> value = ParseJson(R"({"a":[1,{}],"b":{"c":[]}})");
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(PrintJson(*value, {.indent = "  ", .newline = "\n", .space = " "}),
            "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": {\n    \"c\": []\n  }\n}");
}

}  // namespace
}  // namespace cairn::data
