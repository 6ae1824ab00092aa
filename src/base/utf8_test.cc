#include "base/utf8.h"

#include <gtest/gtest.h>

namespace cairn {
namespace {

TEST(Utf8Test, KnowsWellFormedText) {
  for (const char* text : {"", "plain", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"}) {
    EXPECT_TRUE(IsUtf8(text)) << text;
  }
  // A lone continuation, a cut sequence, an overlong one, a surrogate, past the last character.
  for (const char* text : {"\x80", "a\xc3", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80"}) {
    EXPECT_FALSE(IsUtf8(text)) << text;
  }
}

TEST(Utf8Test, CleanTextCutsNoCharacterInTwo) {
  EXPECT_EQ(CleanText("abc", 2), "ab");
  EXPECT_EQ(CleanText("a\xc3\xa9", 2), "a");
  EXPECT_EQ(CleanText("a\xc3\xa9", 3), "a\xc3\xa9");
  EXPECT_EQ(CleanText("a\xff"
                      "b",
                      10),
            "a\xEF\xBF\xBD"
            "b");
  EXPECT_EQ(CleanText("\xff", 2), "");
}

}  // namespace
}  // namespace cairn
