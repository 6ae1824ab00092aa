#include "net/resp/parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace cairn::net {
namespace {

using Status = RespParser::Status;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Everything a parser makes of `input`, given to it `step` bytes at a time: each request as its
// arguments, an error as one request of one argument with a "!" before it.
std::vector<std::vector<std::string>> ParseAll(std::string_view input, size_t step,
                                               const RespLimits& limits = {},
                                               bool authenticated = true) {
  RespParser parser(limits);
  parser.set_authenticated(authenticated);
  std::vector<std::vector<std::string>> requests;
  size_t begin = 0;
  size_t end = std::min(step, input.size());
  while (true) {
    // A copy that moves each time: nothing may hold on to where the input was.
    const std::string copy(input.substr(begin, end - begin));
    switch (parser.Parse(copy)) {
      case Status::kRequest:
        requests.emplace_back(parser.args().begin(), parser.args().end());
        begin += parser.consumed();
        break;
      case Status::kNeedMore:
        EXPECT_GT(parser.needed(), copy.size());
        if (end == input.size()) return requests;
        end = std::min(end + step, input.size());
        break;
      case Status::kError:
        requests.push_back({"!" + parser.error()});
        return requests;
    }
  }
}

std::vector<std::vector<std::string>> Parse(std::string_view input, const RespLimits& limits = {}) {
  auto whole = ParseAll(input, input.size(), limits);
  for (const size_t step : {1, 2, 3, 7, 100}) {
    EXPECT_EQ(ParseAll(input, step, limits), whole) << "in steps of " << step;
  }
  return whole;
}

TEST(RespParserTest, ReadsArraysOfBulkStrings) {
  EXPECT_THAT(Parse("*2\r\n$4\r\nECHO\r\n$5\r\nhello\r\n*1\r\n$4\r\nPING\r\n"),
              ElementsAre(ElementsAre("ECHO", "hello"), ElementsAre("PING")));
}

TEST(RespParserTest, ArgumentsHoldAnyByte) {
  const std::string value("\0\r\n*$\xff", 6);
  EXPECT_THAT(Parse("*2\r\n$3\r\nSET\r\n$6\r\n" + value + "\r\n"),
              ElementsAre(ElementsAre("SET", value)));
  EXPECT_THAT(Parse("*2\r\n$0\r\n\r\n$0\r\n\r\n"), ElementsAre(ElementsAre("", "")));
}

TEST(RespParserTest, EmptyRequestsHaveNoArguments) {
  EXPECT_THAT(Parse("*0\r\n*-1\r\n\r\n   \r\nPING\r\n"),
              ElementsAre(IsEmpty(), IsEmpty(), IsEmpty(), IsEmpty(), ElementsAre("PING")));
}

TEST(RespParserTest, ReadsInlineCommands) {
  EXPECT_THAT(Parse("SET key value\r\nGET key\n"),
              ElementsAre(ElementsAre("SET", "key", "value"), ElementsAre("GET", "key")));
  EXPECT_THAT(Parse("\t SET \t  key \vvalue \r\n"),
              ElementsAre(ElementsAre("SET", "key", "value")));
}

TEST(RespParserTest, UnquotesInlineArguments) {
  EXPECT_THAT(Parse(R"(ECHO "a b" 'c d')"
                    "\r\n"),
              ElementsAre(ElementsAre("ECHO", "a b", "c d")));
  EXPECT_THAT(Parse(R"(ECHO "\x41\n\r\t\b\a\"\\\q\xZ1")"
                    "\r\n"),
              ElementsAre(ElementsAre("ECHO", "A\n\r\t\b\a\"\\qxZ1")));
  EXPECT_THAT(Parse(R"(ECHO 'it\'s \n' "")"
                    "\r\n"),
              ElementsAre(ElementsAre("ECHO", "it's \\n", "")));
  EXPECT_THAT(Parse("ECHO pre\"fixed\"\r\n"), ElementsAre(ElementsAre("ECHO", "prefixed")));
}

TEST(RespParserTest, UnbalancedQuotesAreAnError) {
  for (const std::string_view line :
       {"ECHO \"a\r\n", "ECHO 'a\r\n", "ECHO \"a\"b\r\n", "ECHO 'a'b\r\n", "ECHO \"a\\\r\n"}) {
    EXPECT_THAT(Parse(line),
                ElementsAre(ElementsAre("!Protocol error: unbalanced quotes in request")))
        << line;
  }
}

TEST(RespParserTest, BadLengthsAreErrors) {
  for (const std::string_view length :
       {"", "x", "+1", "01", "-0", "1048577", "1 ", "99999999999999999999"}) {
    EXPECT_THAT(Parse("*" + std::string(length) + "\r\n"),
                ElementsAre(ElementsAre("!Protocol error: invalid multibulk length")))
        << length;
  }
  for (const std::string_view length : {"", "x", "-1", "04", "536870913", "4\nPING"}) {
    EXPECT_THAT(Parse("*1\r\n$" + std::string(length) + "\r\n"),
                ElementsAre(ElementsAre("!Protocol error: invalid bulk length")))
        << length;
  }
}

TEST(RespParserTest, WhatIsNoBulkStringIsNamed) {
  EXPECT_THAT(Parse("*1\r\n:1\r\n"),
              ElementsAre(ElementsAre("!Protocol error: expected '$', got ':'")));
  EXPECT_THAT(Parse("*1\r\n\r\n"),
              ElementsAre(ElementsAre("!Protocol error: expected '$', got ' '")));
}

TEST(RespParserTest, ErrorsComeAfterTheRequestsBeforeThem) {
  EXPECT_THAT(Parse("PING\r\n*1\r\n$4\r\nPING\r\n*1\r\nx\r\n"),
              ElementsAre(ElementsAre("PING"), ElementsAre("PING"),
                          ElementsAre("!Protocol error: expected '$', got 'x'")));
}

TEST(RespParserTest, LinesAreBoundedHoweverTheyArrive) {
  RespLimits limits;
  limits.line_bytes = 100;
  const std::string fits(100, 'a');
  const std::string too_long(101, 'a');
  EXPECT_THAT(Parse(fits + "\n", limits), ElementsAre(ElementsAre(fits)));
  EXPECT_THAT(Parse(fits, limits), IsEmpty());
  EXPECT_THAT(Parse(too_long, limits),
              ElementsAre(ElementsAre("!Protocol error: too big inline request")));
  EXPECT_THAT(Parse(too_long + "\n", limits),
              ElementsAre(ElementsAre("!Protocol error: too big inline request")));
  EXPECT_THAT(Parse("*" + too_long, limits),
              ElementsAre(ElementsAre("!Protocol error: too big mbulk count string")));
  EXPECT_THAT(Parse("*1\r\n$" + too_long, limits),
              ElementsAre(ElementsAre("!Protocol error: too big bulk count string")));
}

TEST(RespParserTest, LimitsAreInclusive) {
  RespLimits limits;
  limits.arguments = 2;
  limits.bulk_bytes = 3;
  EXPECT_THAT(Parse("*2\r\n$3\r\nabc\r\n$3\r\ndef\r\n", limits),
              ElementsAre(ElementsAre("abc", "def")));
  EXPECT_THAT(Parse("*3\r\n", limits),
              ElementsAre(ElementsAre("!Protocol error: invalid multibulk length")));
  EXPECT_THAT(Parse("*1\r\n$4\r\n", limits),
              ElementsAre(ElementsAre("!Protocol error: invalid bulk length")));
}

TEST(RespParserTest, WhoHasNotAuthenticatedMaySendLittle) {
  EXPECT_THAT(ParseAll("*11\r\n", 5, {}, false),
              ElementsAre(ElementsAre("!Protocol error: unauthenticated multibulk length")));
  EXPECT_THAT(ParseAll("*1\r\n$16385\r\n", 64, {}, false),
              ElementsAre(ElementsAre("!Protocol error: unauthenticated bulk length")));
  EXPECT_THAT(ParseAll("*2\r\n$4\r\nAUTH\r\n$1\r\nx\r\n", 64, {}, false),
              ElementsAre(ElementsAre("AUTH", "x")));
}

TEST(RespParserTest, TellsHowMuchALargeArgumentNeeds) {
  RespParser parser;
  const std::string head = "*2\r\n$3\r\nSET\r\n$1000000\r\n";
  ASSERT_EQ(parser.Parse(head), Status::kNeedMore);
  EXPECT_EQ(parser.needed(), head.size() + 1'000'000 + 2);
  const std::string whole = head + std::string(1'000'000, 'v') + "\r\n";
  ASSERT_EQ(parser.Parse(whole), Status::kRequest);
  EXPECT_EQ(parser.needed(), 0U);
  EXPECT_EQ(parser.consumed(), whole.size());
}

TEST(RespParserTest, ALargeRequestInSmallPiecesIsNotReadAgainAndAgain) {
  // 200,000 arguments of which one more arrives each time: quadratic work would be 20 billion
  // steps.
  constexpr int kArguments = 200'000;
  std::string input = "*" + std::to_string(kArguments) + "\r\n";
  const size_t head = input.size();
  const std::string argument = "$1\r\na\r\n";
  for (int i = 0; i < kArguments; ++i) input += argument;
  RespParser parser;
  const std::string_view all = input;
  for (size_t end = head; end < all.size(); end += argument.size()) {
    ASSERT_EQ(parser.Parse(all.substr(0, end)), Status::kNeedMore);
  }
  ASSERT_EQ(parser.Parse(all), Status::kRequest);
  EXPECT_EQ(parser.args().size(), static_cast<size_t>(kArguments));
}

}  // namespace
}  // namespace cairn::net
