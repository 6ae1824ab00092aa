#include "data/sorted_set.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace cairn::data {
namespace {

std::vector<double> ScoresInOrder() {
  using Limits = std::numeric_limits<double>;
  return {-Limits::infinity(),
          -Limits::max(),
          -1e100,
          -2,
          -1.5,
          -1,
          -Limits::min(),
          -Limits::denorm_min(),
          0,
          Limits::denorm_min(),
          Limits::min(),
          1,
          1.5,
          2,
          1e100,
          Limits::max(),
          Limits::infinity()};
}

TEST(SortedSetKeysTest, ScoresRoundTrip) {
  for (const double score : ScoresInOrder()) EXPECT_EQ(DecodeScore(EncodeScore(score)), score);
  EXPECT_FALSE(std::signbit(*DecodeScore(EncodeScore(-0.0))));
}

TEST(SortedSetKeysTest, EncodedOrderIsTheOrderOfScores) {
  const std::vector<double> scores = ScoresInOrder();
  for (size_t i = 1; i < scores.size(); ++i) {
    EXPECT_LT(EncodeScore(scores[i - 1]), EncodeScore(scores[i])) << scores[i];
    EXPECT_LT(OrderKey(scores[i - 1], "zzz"), OrderKey(scores[i], "")) << scores[i];
  }
}

TEST(SortedSetKeysTest, GoldenBytes) {
  EXPECT_EQ(HexEncode(EncodeScore(0)), "8000000000000000");
  EXPECT_EQ(HexEncode(EncodeScore(1)), "bff0000000000000");
  EXPECT_EQ(HexEncode(EncodeScore(-1)), "400fffffffffffff");
  EXPECT_EQ(HexEncode(OrderSuffix(OrderKey(1, "ab"))), "73bff00000000000006162");
  EXPECT_EQ(HexEncode(MemberSuffix("ab")), "6d6162");
  EXPECT_EQ(OrderKeyOf(OrderSuffix("key")), "key");
}

TEST(SortedSetKeysTest, TruncatedScoresAreRejected) {
  const Bytes score = EncodeScore(1);
  for (size_t size = 0; size < score.size(); ++size) {
    EXPECT_FALSE(DecodeScore(BytesView(score).substr(0, size)).has_value());
  }
  EXPECT_FALSE(DecodeScore(score + "x").has_value());
}

TEST(SortedSetKeysTest, RangesOfScoresLeaveOutWhatIsExcluded) {
  const auto contains = [](const OrderRange& range, double score) {
    const Bytes key = OrderKey(score, "m");
    return key >= range.begin && (!range.end || key < *range.end);
  };
  const OrderRange closed = ScoreRange({1, false}, {2, false});
  EXPECT_TRUE(contains(closed, 1) && contains(closed, 2));
  EXPECT_FALSE(contains(closed, 0.999) || contains(closed, 2.001));
  const OrderRange open = ScoreRange({1, true}, {2, true});
  EXPECT_FALSE(contains(open, 1) || contains(open, 2));
  EXPECT_TRUE(contains(open, 1.5));
  EXPECT_TRUE(ScoreRange({2, false}, {1, false}).empty());
  EXPECT_TRUE(ScoreRange({1, true}, {1, false}).empty());
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(contains(ScoreRange({-kInfinity, false}, {kInfinity, false}), kInfinity));
}

}  // namespace
}  // namespace cairn::data
