#include "data/value/numbers.h"

#include <gtest/gtest.h>

namespace cairn::data {
namespace {

TEST(NumbersTest, ParsesWhatRedisTakesForAFloat) {
  EXPECT_EQ(ParseLongDouble("3.5"), 3.5L);
  EXPECT_EQ(ParseLongDouble("+1e3"), 1000.0L);
  EXPECT_EQ(ParseLongDouble("0x10"), 16.0L);
  EXPECT_TRUE(ParseLongDouble("inf").has_value());
  for (const char* text : {"", " 1", "1 ", "1x", "nan", "abc", "1e5000", "1e-5000"}) {
    EXPECT_EQ(ParseLongDouble(text), std::nullopt) << text;
  }
  EXPECT_EQ(ParseLongDouble(std::string(6000, '1')), std::nullopt);
}

TEST(NumbersTest, FormatsWithoutExponentOrTrailingZeros) {
  EXPECT_EQ(FormatLongDouble(3.0L), "3");
  EXPECT_EQ(FormatLongDouble(0.1L), "0.1");
  EXPECT_EQ(FormatLongDouble(-0.0L), "0");
  EXPECT_EQ(FormatLongDouble(100.0L), "100");
  EXPECT_EQ(FormatLongDouble(1e21L), "1000000000000000000000");
  EXPECT_EQ(FormatLongDouble(1.0L / 3), "0.33333333333333333");
}

}  // namespace
}  // namespace cairn::data
