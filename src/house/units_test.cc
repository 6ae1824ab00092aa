#include "house/units.h"

#include <gtest/gtest.h>

namespace cairn::house {
namespace {

using std::chrono::milliseconds;

TEST(UnitsTest, SizesInBothSystemsAndInBytes) {
  EXPECT_EQ(ParseSize("0"), 0U);
  EXPECT_EQ(ParseSize("1500"), 1500U);
  EXPECT_EQ(ParseSize("7B"), 7U);
  EXPECT_EQ(ParseSize("2GiB"), 2ULL << 30);
  EXPECT_EQ(ParseSize("2gib"), 2ULL << 30);
  EXPECT_EQ(ParseSize("2GB"), 2'000'000'000U);
  EXPECT_EQ(ParseSize("3TiB"), 3ULL << 40);
}

TEST(UnitsTest, WhatIsNoSizeIsRefused) {
  for (const char* text : {"", "GiB", "-1", "+1", "1.5GiB", "2 GiB", "2G", "2GiBs", " 2", "0x10",
                           "18446744073709551616", "99999999999TiB"}) {
    EXPECT_EQ(ParseSize(text), std::nullopt) << text;
  }
}

TEST(UnitsTest, FormattedSizeReadsBackAsItself) {
  for (const uint64_t bytes :
       {0ULL, 1ULL, 1023ULL, 1024ULL, 1500ULL, 1ULL << 20, (1ULL << 30) + 1, 5ULL << 40}) {
    EXPECT_EQ(ParseSize(FormatSize(bytes)), bytes) << FormatSize(bytes);
  }
  EXPECT_EQ(FormatSize(2ULL << 30), "2GiB");
}

TEST(UnitsTest, ReadableSizeIsRounded) {
  EXPECT_EQ(ReadableSize(12), "12 bytes");
  EXPECT_EQ(ReadableSize(3ULL << 29), "1.5 GiB");
}

TEST(UnitsTest, DurationsNeedAUnit) {
  EXPECT_EQ(ParseDuration("250ms"), milliseconds(250));
  EXPECT_EQ(ParseDuration("10s"), milliseconds(10'000));
  EXPECT_EQ(ParseDuration("5m"), milliseconds(300'000));
  EXPECT_EQ(ParseDuration("1h"), milliseconds(3'600'000));
  EXPECT_EQ(ParseDuration("0"), milliseconds(0));
  for (const char* text : {"", "10", "-1s", "1.5s", "10 s", "s", "1d", "99999999999999999999h",
                           "9223372036854775807s"}) {
    EXPECT_EQ(ParseDuration(text), std::nullopt) << text;
  }
}

TEST(UnitsTest, FormattedDurationReadsBackAsItself) {
  for (const int64_t ms : {0, 1, 999, 1000, 1500, 60'000, 90'000, 3'600'000}) {
    EXPECT_EQ(ParseDuration(FormatDuration(milliseconds(ms))), milliseconds(ms));
  }
  EXPECT_EQ(FormatDuration(milliseconds(90'000)), "90s");
}

}  // namespace
}  // namespace cairn::house
