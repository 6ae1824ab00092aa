#include "data/sorted_set/rank_node.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cairn::data {
namespace {

const std::vector<RankChild> kChildren = {
    {"", 1, 5}, {"f", 2, 0}, {"h\xff", 128, 127}, {std::string(300, 'k'), 0xFFFFFFFF, 1U << 14}};

TEST(RankNodeTest, NodesRoundTrip) {
  EXPECT_EQ(DecodeRankNode(EncodeRankBounds(kChildren), EncodeRankCounts(kChildren)), kChildren);
}

TEST(RankNodeTest, GoldenBytes) {
  EXPECT_EQ(HexEncode(RankBoundsSuffix(0x01020304)), "6e0102030462");
  EXPECT_EQ(HexEncode(RankCountsSuffix(0)), "6e0000000063");
  EXPECT_TRUE(RankBoundsSuffix(7).starts_with(kRankNodePrefix));
  const std::vector<RankChild> children = {{"", 0, 200}, {"ab", 300, 3}};
  EXPECT_EQ(HexEncode(EncodeRankBounds(children)), "0000026162ac02");
  EXPECT_EQ(HexEncode(EncodeRankCounts(children)), "c80103");
}

TEST(RankNodeTest, DamagedNodesAreRejected) {
  const Bytes bounds = EncodeRankBounds(kChildren);
  const Bytes counts = EncodeRankCounts(kChildren);
  for (size_t size = 0; size < bounds.size(); ++size) {
    EXPECT_FALSE(DecodeRankNode(BytesView(bounds).substr(0, size), counts)) << size;
  }
  for (size_t size = 0; size < counts.size(); ++size) {
    EXPECT_FALSE(DecodeRankNode(bounds, BytesView(counts).substr(0, size))) << size;
  }
  EXPECT_FALSE(DecodeRankNode(bounds, counts + '\1'));
  EXPECT_FALSE(DecodeRankNode(bounds + Bytes("\0\1", 2), counts + '\1')) << "a second first child";
  EXPECT_FALSE(DecodeRankNode(bounds + Bytes("\1z\xff\xff\xff\xff\x7f"), counts + '\1'))
      << "an id of five bytes";
}

TEST(RankNodeTest, AKeyBelongsToTheLastChildThatBeginsBeforeIt) {
  const Bytes bounds = EncodeRankBounds(kChildren);
  const auto find = [&](BytesView key) { return FindRankChild(bounds, key)->at; };
  EXPECT_EQ(find(""), 0U);
  EXPECT_EQ(find("e\xff"), 0U);
  EXPECT_EQ(find("f"), 1U);
  EXPECT_EQ(find("g"), 1U);
  EXPECT_EQ(find("i"), 2U);
  EXPECT_EQ(find("z"), 3U);
  EXPECT_EQ(FindRankChild(bounds, "g")->from, "f");
  EXPECT_EQ(FindRankChild(bounds, "g")->node, 2U);
  EXPECT_EQ(RankChildAt(bounds, 1)->node, 2U);
  EXPECT_EQ(RankChildAt(bounds, 1)->from, "f");
  EXPECT_FALSE(RankChildAt(bounds, 4));
  EXPECT_FALSE(FindRankChild("", "k"));
}

TEST(RankNodeTest, RanksAreFoundBySum) {
  const Bytes counts = EncodeRankCounts(kChildren);
  EXPECT_EQ(RankBefore(counts, 0), 0U);
  EXPECT_EQ(RankBefore(counts, 3), 132U);
  EXPECT_FALSE(RankBefore(counts, 5));
  EXPECT_EQ(FindRank(counts, 4)->at, 0U);
  EXPECT_EQ(FindRank(counts, 5)->at, 2U);  // past the child that has none
  EXPECT_EQ(FindRank(counts, 5)->before, 5U);
  EXPECT_EQ(FindRank(counts, 132)->at, 3U);
  EXPECT_FALSE(FindRank(counts, 132 + (1U << 14)));
}

TEST(RankNodeTest, ACountChangesInItsPlace) {
  std::vector<RankChild> children = kChildren;
  Bytes counts = EncodeRankCounts(children);
  for (const size_t at : {0U, 2U, 3U, 1U}) {
    EXPECT_EQ(ChangeRankCount(counts, at, RankChange::kAdd), ++children[at].count);
    EXPECT_EQ(counts, EncodeRankCounts(children));
  }
  for (const size_t at : {2U, 3U, 3U, 1U}) {
    EXPECT_EQ(ChangeRankCount(counts, at, RankChange::kRemove), --children[at].count);
    EXPECT_EQ(counts, EncodeRankCounts(children));
  }
  EXPECT_FALSE(ChangeRankCount(counts, 1, RankChange::kRemove)) << "below nothing";
  EXPECT_FALSE(ChangeRankCount(counts, 4, RankChange::kAdd)) << "no such child";
  EXPECT_EQ(counts, EncodeRankCounts(children));
}

}  // namespace
}  // namespace cairn::data
