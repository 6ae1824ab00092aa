#include "base/json_text.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace cairn {
namespace {

TEST(JsonTextTest, PlainTextStandsAsItIs) {
  EXPECT_EQ(JsonString(""), R"("")");
  EXPECT_EQ(JsonString("a/b é😀\x7f"), "\"a/b é😀\x7f\"");
}

TEST(JsonTextTest, QuotesBackslashesAndControlBytesAreEscaped) {
  EXPECT_EQ(JsonString(R"(say "\")"), R"("say \"\\\"")");
  EXPECT_EQ(JsonString("\b\f\n\r\t"), R"("\b\f\n\r\t")");
  EXPECT_EQ(JsonString(std::string_view("a\0\x01\x1f", 4)), R"("a\u0000\u0001\u001f")");
}

TEST(JsonTextTest, InvalidUtf8BecomesTheReplacementCharacter) {
  EXPECT_EQ(JsonString("a\xff\xc3\xa9\xed\xa0\x80"),
            "\"a\xEF\xBF\xBD\xc3\xa9\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"");
  EXPECT_EQ(JsonString("\xc0\x80"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\"");  // overlong
  EXPECT_EQ(JsonString("cut \xe2\x82"), "\"cut \xEF\xBF\xBD\xEF\xBF\xBD\"");
}

TEST(JsonTextTest, AppendingLeavesWhatIsThere) {
  std::string out = "[";
  AppendJsonString("a\n", out);
  out += ',';
  AppendJsonString("\n", out);
  EXPECT_EQ(out, R"(["a\n","\n")");
}

}  // namespace
}  // namespace cairn
