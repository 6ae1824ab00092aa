#include "store/postgres/long_key.h"

#include <gtest/gtest.h>

#include <vector>

namespace cairn::store::postgres {
namespace {

TEST(LongKeyTest, OnlyKeysThatFitNowhereElseAreChanged) {
  for (const size_t size : {0, 1, 1967, 1968, 1999}) {
    EXPECT_EQ(StoredKey(Bytes(size, 'k')), Bytes(size, 'k'));
  }
  for (const size_t size : {2000, 2001, 100'000}) {
    const Bytes stored = StoredKey(Bytes(size, 'k'));
    EXPECT_EQ(stored.size(), kStoredKeyBytes);
    EXPECT_TRUE(stored.starts_with(Bytes(kStoredPrefixBytes, 'k')));
  }
  EXPECT_NE(StoredKey(Bytes(2000, 'k')), StoredKey(Bytes(2001, 'k')));
}

TEST(LongKeyTest, RowGivesKeyAndValueBack) {
  const Bytes key(3000, 'k');
  const Bytes stored = StoredValue(key, "value");
  const auto row = DecodeLongRow(stored);
  ASSERT_TRUE(row.has_value());
  EXPECT_EQ(row->first, key);
  EXPECT_EQ(row->second, "value");
  EXPECT_EQ(DecodeLongRow(BytesView(stored).substr(0, 100)), std::nullopt);
}

TEST(LongKeyTest, StoredRangeHoldsWhatTheRangeHolds) {
  const auto repeated = [](size_t count) {
    Bytes bytes;
    while (bytes.size() < count) bytes += 'm';
    return bytes;
  };
  const Bytes base = repeated(kStoredPrefixBytes);
  const std::vector<Bytes> begins = {"a", base, base + "b", repeated(3000)};
  const std::vector<Bytes> ends = {"z", base + "c", repeated(3000) + "x"};
  const std::vector<Bytes> keys = {
      "b", base, base + "b", base + "bb", repeated(2500), repeated(3000), repeated(3001), "y"};
  for (const Bytes& begin : begins) {
    for (const Bytes& end : ends) {
      const Range range{Space::kData, begin, end};
      const Range stored = StoredRange(range);
      for (const Bytes& key : keys) {
        if (!range.Contains(key)) continue;
        EXPECT_TRUE(stored.Contains(StoredKey(key)));
      }
    }
  }
}

}  // namespace
}  // namespace cairn::store::postgres
