#include "data/value/member_order.h"

#include <gtest/gtest.h>

namespace cairn::data {
namespace {

TEST(MemberOrderTest, GoldenBytes) {
  MemberOrder order;
  EXPECT_EQ(order.bytes(), "");
  order.Append(0x01020304);
  order.Append(0xfffffffe);
  EXPECT_EQ(HexEncode(order.bytes()), "01020304fffffffe");
  EXPECT_EQ(order.size(), 2U);
}

TEST(MemberOrderTest, RoundTripAndPlaces) {
  MemberOrder order;
  for (uint32_t i = 0; i < MemberOrder::kMaxMembers; ++i) order.Append(7 * i);
  const std::optional<MemberOrder> read = MemberOrder::Decode(order.bytes());
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->size(), MemberOrder::kMaxMembers);
  EXPECT_EQ(read->Places().at(0), 0U);
  EXPECT_EQ(read->Places().at(70), 10U);
}

TEST(MemberOrderTest, WhoLeavesAndComesBackIsTheLast) {
  MemberOrder order;
  for (const uint32_t hash : {5, 6, 7}) order.Append(hash);
  order.Remove(5);
  order.Remove(99);
  order.Append(5);
  EXPECT_EQ(HexEncode(order.bytes()), "000000060000000700000005");
}

TEST(MemberOrderTest, OneOfTwoThatShareAHashLeaves) {
  MemberOrder order;
  for (const uint32_t hash : {5, 6, 5}) order.Append(hash);
  order.Remove(5);
  EXPECT_EQ(HexEncode(order.bytes()), "0000000600000005");
}

TEST(MemberOrderTest, TruncatedBytesAreRejected) {
  for (const size_t size : {1, 2, 3, 5, 7}) {
    EXPECT_FALSE(MemberOrder::Decode(Bytes(size, 'x'))) << size;
  }
}

}  // namespace
}  // namespace cairn::data
