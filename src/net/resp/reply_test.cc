#include "net/resp/reply.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cairn::net {
namespace {

using Type = RespValue::Type;

// All replies in `bytes`, fed `step` at a time; the error's message last, if there is one.
std::vector<std::string> Replies(std::string_view bytes, size_t step) {
  RespReplyParser parser;
  std::vector<std::string> replies;
  while (true) {
    auto next = parser.Next();
    if (!next.ok()) {
      replies.push_back(next.error().message);
      return replies;
    }
    if (next->has_value()) {
      replies.push_back((*next)->ToString());
      continue;
    }
    if (bytes.empty()) return replies;
    parser.Feed(bytes.substr(0, step));
    bytes.remove_prefix(std::min(step, bytes.size()));
  }
}

std::vector<std::string> Replies(std::string_view bytes) {
  auto whole = Replies(bytes, std::max<size_t>(bytes.size(), 1));
  for (const size_t step : {1, 2, 5}) EXPECT_EQ(Replies(bytes, step), whole);
  return whole;
}

using Texts = std::vector<std::string>;

TEST(RespReplyParserTest, ReadsResp2) {
  EXPECT_EQ(Replies("+OK\r\n-ERR no\r\n:-7\r\n$2\r\nab\r\n$-1\r\n*-1\r\n$0\r\n\r\n"),
            (Texts{"OK", "(error) ERR no", "(integer) -7", "\"ab\"", "(nil)", "(nil)", "\"\""}));
  EXPECT_EQ(Replies("*3\r\n:1\r\n*0\r\n*1\r\n$1\r\nx\r\n"), (Texts{"[(integer) 1, [], [\"x\"]]"}));
}

TEST(RespReplyParserTest, ReadsResp3) {
  EXPECT_EQ(Replies("_\r\n#t\r\n#f\r\n,1.5\r\n,inf\r\n(12345678901234567890\r\n=6\r\ntxt:hi\r\n"),
            (Texts{"(nil)", "(true)", "(false)", "1.5", "inf", "12345678901234567890", "hi"}));
  EXPECT_EQ(
      Replies("%1\r\n+a\r\n:1\r\n~1\r\n+b\r\n>1\r\n+c\r\n|1\r\n+d\r\n:2\r\n!3\r\nERR\r\n"),
      (Texts{"{a, (integer) 1}", "set[b]", "push[c]", "attribute{d, (integer) 2}", "(error) ERR"}));
}

TEST(RespReplyParserTest, KeepsTypesAndBytes) {
  RespReplyParser parser;
  parser.Feed(std::string_view(",2.25\r\n$3\r\n\0\r\n\r\n", 16));
  const auto number = parser.Next();
  ASSERT_TRUE(number.ok() && number->has_value());
  EXPECT_EQ((*number)->type, Type::kDouble);
  EXPECT_EQ((*number)->number, 2.25);
  const auto bytes = parser.Next();
  ASSERT_TRUE(bytes.ok() && bytes->has_value());
  EXPECT_EQ((*bytes)->text, std::string_view("\0\r\n", 3));
  EXPECT_EQ(parser.buffered(), 0U);
}

TEST(RespReplyParserTest, RefusesWhatIsNoResp) {
  for (const std::string_view bytes :
       {"\r\n", "?1\r\n", ":x\r\n", ":\r\n", "$x\r\n", "$-2\r\n", "*-2\r\n", "#x\r\n", "_x\r\n",
        ",x\r\n", ",\r\n", "$1\r\nabc", "=2\r\nab\r\n", "*99999999999999999999\r\n"}) {
    const auto replies = Replies(bytes);
    ASSERT_EQ(replies.size(), 1U) << bytes;
    EXPECT_TRUE(replies[0].starts_with("malformed reply")) << bytes;
  }
}

TEST(RespReplyParserTest, NestingIsBounded) {
  std::string deep;
  for (size_t i = 0; i < RespReplyParser::kMaxDepth; ++i) deep += "*1\r\n";
  EXPECT_TRUE(Replies(deep + ":1\r\n").at(0).starts_with("[[["));
  EXPECT_TRUE(Replies("*1\r\n" + deep + ":1\r\n").at(0).starts_with("malformed reply"));
}

TEST(RespReplyParserTest, AHugeCountCostsNothingUntilItsItemsArrive) {
  EXPECT_TRUE(Replies("*4000000000000000000\r\n:1\r\n").empty());
  EXPECT_TRUE(Replies("$4000000000000000000\r\nabc").empty());
}

}  // namespace
}  // namespace cairn::net
