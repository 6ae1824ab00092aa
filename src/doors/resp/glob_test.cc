#include "doors/resp/glob.h"

#include <gtest/gtest.h>

#include <string>

namespace cairn::doors {
namespace {

TEST(GlobTest, MatchesAsRedisDoes) {
  struct Case {
    const char* pattern;
    const char* text;
    bool matches;
  };
  const Case cases[] = {
      {"*", "anything", true},
      {"*", "", true},
      {"", "", true},
      {"", "a", false},
      {"a*c", "abbbc", true},
      {"a*c", "abbbd", false},
      {"a**c", "ac", true},
      {"?", "a", true},
      {"?", "", false},
      {"?", "ab", false},
      {"[abc]x", "bx", true},
      {"[abc]x", "dx", false},
      {"[^abc]x", "dx", true},
      {"[^abc]x", "ax", false},
      {"[a-c]", "b", true},
      {"[c-a]", "b", true},
      {"[a-c]", "d", false},
      {"[\\]]", "]", true},
      {"[a\\]", "]", true},  // not closed
      {"[a", "a", true},
      {"[a-", "-", true},
      {"[a-", "a", true},
      {"[", "[", false},
      {"[]", "]", false},
      {"[^]", "x", true},
      {"\\*", "*", true},
      {"\\*", "x", false},
      {"a\\", "a\\", true},
      {"h[a-z]llo*w?rld", "hello, big world", true},
      {"*abc*abc*", "xxabcxabx", false},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(GlobMatch(c.pattern, c.text), c.matches) << c.pattern << " on " << c.text;
  }
}

TEST(GlobTest, MatchesAnyByte) {
  const std::string zeros("a\0b", 3);
  EXPECT_TRUE(GlobMatch("a?b", zeros));
  EXPECT_TRUE(GlobMatch(zeros, zeros));
  EXPECT_TRUE(GlobMatch("[\x80-\xff]", "\xfe"));
}

TEST(GlobTest, ManyStarsStayCheap) {
  std::string pattern;
  for (int i = 0; i < 200; ++i) pattern += "a*";
  pattern += 'b';
  // 40 million steps if it is quadratic, more than the age of the universe if it is exponential.
  EXPECT_FALSE(GlobMatch(pattern, std::string(100'000, 'a')));
}

TEST(GlobTest, LiteralPrefixIsWhatEveryMatchBeginsWith) {
  EXPECT_EQ(GlobLiteralPrefix("user:*"), "user:");
  EXPECT_EQ(GlobLiteralPrefix("user:\\*"), "user:");
  EXPECT_EQ(GlobLiteralPrefix("a?b"), "a");
  EXPECT_EQ(GlobLiteralPrefix("[ab]c"), "");
  EXPECT_EQ(GlobLiteralPrefix("exact"), "exact");
}

}  // namespace
}  // namespace cairn::doors
