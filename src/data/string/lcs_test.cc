#include "data/string/lcs.h"

#include <gtest/gtest.h>

#include <string>

#include "base/random.h"

namespace cairn::data {
namespace {

bool IsSubsequence(std::string_view part, std::string_view whole) {
  size_t at = 0;
  for (const char c : whole) {
    if (at < part.size() && part[at] == c) ++at;
  }
  return at == part.size();
}

// By trying all; for short strings.
size_t SlowLength(std::string_view a, std::string_view b) {
  if (a.empty() || b.empty()) return 0;
  if (a.back() == b.back()) {
    return 1 + SlowLength(a.substr(0, a.size() - 1), b.substr(0, b.size() - 1));
  }
  return std::max(SlowLength(a.substr(0, a.size() - 1), b),
                  SlowLength(a, b.substr(0, b.size() - 1)));
}

TEST(LcsTest, FindsTheLongestAndWhereItIs) {
  const Lcs lcs = FindLcs("ohmytext", "mynewtext");
  EXPECT_EQ(lcs.text, "mytext");
  EXPECT_EQ(lcs.length, 6U);
  ASSERT_EQ(lcs.matches.size(), 2U);
  EXPECT_EQ(lcs.matches[0].a, 4U);
  EXPECT_EQ(lcs.matches[0].b, 5U);
  EXPECT_EQ(lcs.matches[0].length, 4U);
  EXPECT_EQ(lcs.matches[1].a, 2U);
  EXPECT_EQ(lcs.matches[1].b, 0U);
  EXPECT_EQ(lcs.matches[1].length, 2U);
}

TEST(LcsTest, NothingInCommon) {
  EXPECT_EQ(FindLcs("abc", "xyz").text, "");
  EXPECT_EQ(FindLcs("", "xyz").length, 0U);
}

TEST(LcsTest, AgreesWithTryingAll) {
  SeededRandom random(1);
  for (int i = 0; i < 300; ++i) {
    std::string a;
    std::string b;
    for (uint64_t n = random.Below(9); n > 0; --n) a += static_cast<char>('a' + random.Below(3));
    for (uint64_t n = random.Below(9); n > 0; --n) b += static_cast<char>('a' + random.Below(3));
    const Lcs lcs = FindLcs(a, b);
    EXPECT_EQ(lcs.length, SlowLength(a, b)) << a << " " << b;
    EXPECT_EQ(lcs.text.size(), lcs.length);
    EXPECT_TRUE(IsSubsequence(lcs.text, a) && IsSubsequence(lcs.text, b));
    for (const Lcs::Match& match : lcs.matches) {
      EXPECT_EQ(a.substr(match.a, match.length), b.substr(match.b, match.length));
    }
  }
}

}  // namespace
}  // namespace cairn::data
