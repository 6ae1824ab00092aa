#include "data/value/scan_cursors.h"

#include <gtest/gtest.h>

#include <string>

namespace cairn::data {
namespace {

TEST(ScanCursorsTest, RemembersPositionsPerDatabase) {
  SeededRandom random(1);
  ScanCursors cursors(random, 10, 1000);
  const uint64_t cursor = cursors.Save(3, "key");
  EXPECT_NE(cursor, 0U);
  EXPECT_LT(cursor, uint64_t{1} << 53);
  EXPECT_EQ(cursors.Find(cursor, 3), "key");
  EXPECT_EQ(cursors.Find(cursor, 3), "key");  // a client may ask again
  EXPECT_EQ(cursors.Find(cursor, 4), std::nullopt);
  EXPECT_EQ(cursors.Find(cursor + 1, 3), std::nullopt);
}

TEST(ScanCursorsTest, ForgetsTheLeastRecentlyUsedBeyondItsBounds) {
  SeededRandom random(1);
  ScanCursors cursors(random, 2, 1000);
  const uint64_t a = cursors.Save(0, "a");
  const uint64_t b = cursors.Save(0, "b");
  EXPECT_TRUE(cursors.Find(a, 0).has_value());
  cursors.Save(0, "c");
  EXPECT_TRUE(cursors.Find(a, 0).has_value());
  EXPECT_FALSE(cursors.Find(b, 0).has_value());
  EXPECT_EQ(cursors.size(), 2U);

  ScanCursors small(random, 100, 10);
  const uint64_t x = small.Save(0, "12345678");
  const uint64_t y = small.Save(0, std::string(1000, 'y'));  // alone it may exceed the bound
  EXPECT_FALSE(small.Find(x, 0).has_value());
  EXPECT_TRUE(small.Find(y, 0).has_value());
}

TEST(ScanCursorsTest, CursorsAreReadAsRedisReadsThem) {
  EXPECT_EQ(ParseCursor("0"), 0U);
  EXPECT_EQ(ParseCursor(""), 0U);
  EXPECT_EQ(ParseCursor("9007199254740991"), 9007199254740991U);
  EXPECT_EQ(ParseCursor("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(ParseCursor("-1"), UINT64_MAX);
  EXPECT_EQ(ParseCursor("18446744073709551616"), std::nullopt);
  EXPECT_EQ(ParseCursor(" 1"), std::nullopt);
  EXPECT_EQ(ParseCursor("1x"), std::nullopt);
  EXPECT_EQ(ParseCursor("x"), std::nullopt);
}

}  // namespace
}  // namespace cairn::data
