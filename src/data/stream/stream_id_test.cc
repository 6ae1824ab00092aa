#include "data/stream/stream_id.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cairn::data {
namespace {

constexpr uint64_t kLast = std::numeric_limits<uint64_t>::max();

TEST(StreamIdTest, ParsesWhatRedisParses) {
  EXPECT_EQ(ParseStreamId("5-1"), (StreamId{5, 1}));
  EXPECT_EQ(ParseStreamId("5"), (StreamId{5, 0}));
  EXPECT_EQ(ParseStreamId("5", 7), (StreamId{5, 7}));
  EXPECT_EQ(ParseStreamId("007-01"), (StreamId{7, 1}));
  EXPECT_EQ(ParseStreamId("18446744073709551615-18446744073709551615"), StreamId::Max());
  for (const std::string text : {"", "-", "+", "x", "5-", "-5", "5-x", "5-1-1", "5-*", "*", "1 ",
                                 "18446744073709551616", "5--1"}) {
    EXPECT_EQ(ParseStreamId(text), std::nullopt) << text;
  }
  EXPECT_EQ(ParseStreamId(std::string("5\0", 2)), std::nullopt);
  EXPECT_EQ(ParseStreamId(std::string(128, '0')), std::nullopt);
}

TEST(StreamIdTest, NeighboursStopAtTheEnds) {
  EXPECT_EQ(NextId({1, 2}), (StreamId{1, 3}));
  EXPECT_EQ(NextId({1, kLast}), (StreamId{2, 0}));
  EXPECT_EQ(NextId(StreamId::Max()), std::nullopt);
  EXPECT_EQ(PreviousId({1, 3}), (StreamId{1, 2}));
  EXPECT_EQ(PreviousId({2, 0}), (StreamId{1, kLast}));
  EXPECT_EQ(PreviousId({0, 0}), std::nullopt);
}

TEST(StreamIdTest, EncodedOrderIsLogicalOrder) {
  const std::vector<StreamId> ids = {{0, 0},         {0, 1},         {0, 255},   {0, 256},
                                     {0, 1UL << 32}, {0, kLast},     {1, 0},     {255, kLast},
                                     {256, 0},       {1UL << 32, 5}, {kLast, 0}, StreamId::Max()};
  for (size_t i = 0; i + 1 < ids.size(); ++i) {
    Bytes a;
    Bytes b;
    AppendStreamId(a, ids[i]);
    AppendStreamId(b, ids[i + 1]);
    EXPECT_LT(a, b);
    BytesReader reader(a);
    EXPECT_EQ(TakeStreamId(reader), ids[i]);
    EXPECT_TRUE(reader.AtEnd());
  }
  BytesReader cut(BytesView("123456789012345"));
  TakeStreamId(cut);
  EXPECT_FALSE(cut.ok());
}

}  // namespace
}  // namespace cairn::data
