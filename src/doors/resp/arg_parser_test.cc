#include "doors/resp/arg_parser.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace cairn::doors {
namespace {

TEST(ParseIntegerTest, TakesOnlyTheShortestForm) {
  EXPECT_EQ(ParseInteger("0"), 0);
  EXPECT_EQ(ParseInteger("-1"), -1);
  EXPECT_EQ(ParseInteger("9223372036854775807"), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(ParseInteger("-9223372036854775808"), std::numeric_limits<int64_t>::min());
  for (const char* text : {"", " 1", "1 ", "+1", "01", "-0", "-", "1.0", "0x1", "00",
                           "9223372036854775808", "-9223372036854775809"}) {
    EXPECT_EQ(ParseInteger(text), std::nullopt) << text;
  }
}

TEST(ArgParserTest, ReadsInOrder) {
  const std::vector<std::string_view> args = {"cmd", "key", "5", "nx", "ch", "a", "b"};
  ArgParser parser(args);
  EXPECT_EQ(parser.Next(), "key");
  EXPECT_EQ(parser.Integer(), 5);
  EXPECT_FALSE(parser.Keyword("XX"));
  EXPECT_TRUE(parser.Keyword("NX"));
  EXPECT_EQ(parser.OneOf<int>({{"GT", 1}, {"CH", 2}}), 2);
  EXPECT_EQ(parser.Rest().size(), 2U);
  EXPECT_TRUE(parser.Finish());
}

TEST(ArgParserTest, KeepsTheFirstErrorOnly) {
  const std::vector<std::string_view> args = {"cmd", "x"};
  ArgParser parser(args);
  EXPECT_EQ(parser.Integer(), 0);
  EXPECT_EQ(parser.Next(), "");
  parser.Fail("ERR later");
  EXPECT_FALSE(parser.ok());
  EXPECT_FALSE(parser.HasNext());
  EXPECT_EQ(parser.error(), kNotAnInteger);
}

TEST(ArgParserTest, WhatIsLeftOverIsASyntaxError) {
  const std::vector<std::string_view> args = {"cmd", "x"};
  ArgParser parser(args);
  EXPECT_TRUE(parser.ok());
  EXPECT_FALSE(parser.Finish());
  EXPECT_EQ(parser.error(), kSyntaxError);
}

}  // namespace
}  // namespace cairn::doors
