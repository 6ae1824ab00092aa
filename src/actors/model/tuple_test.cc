#include "actors/model/tuple.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "actors/model/limits.h"
#include "base/random.h"

namespace cairn::actors {
namespace {

using namespace std::string_literals;

std::string Hex(const Tuple& tuple) { return HexEncode(PackTuple(tuple)); }
TupleElement Int(int64_t value) { return {TupleInteger::Of(value)}; }
TupleElement Data(std::string bytes) { return {TupleBytes{std::move(bytes)}}; }
TupleElement Text(std::string text) { return {TupleText{std::move(text)}}; }

// Those that the specification of the encoding shows.
TEST(TupleTest, PublishedVectors) {
  EXPECT_EQ(Hex({{TupleNull()}}), "00");
  EXPECT_EQ(Hex({Data("foo\0bar"s)}), "01666f6f00ff62617200");
  EXPECT_EQ(Hex({Text("F\u00d4O\0bar"s)}), "0246c3944f00ff62617200");
  EXPECT_EQ(Hex({{Tuple{Data("foo\0bar"s), {TupleNull()}, {Tuple()}}}}),
            "0501666f6f00ff6261720000ff050000");
  EXPECT_EQ(Hex({Int(-5551212)}), "11ab4b93");
  EXPECT_EQ(HexEncode(TuplePacker().Float(-42.0F).bytes()), "203dd7ffff");
}

TEST(TupleTest, IntegersTakeAsFewBytesAsTheyNeed) {
  EXPECT_EQ(Hex({Int(0)}), "14");
  EXPECT_EQ(Hex({Int(1)}), "1501");
  EXPECT_EQ(Hex({Int(-1)}), "13fe");
  EXPECT_EQ(Hex({Int(255)}), "15ff");
  EXPECT_EQ(Hex({Int(256)}), "160100");
  EXPECT_EQ(Hex({Int(-255)}), "1300");
  EXPECT_EQ(Hex({Int(-256)}), "12feff");
  EXPECT_EQ(Hex({Int(std::numeric_limits<int64_t>::max())}), "1c7fffffffffffffff");
  EXPECT_EQ(Hex({Int(std::numeric_limits<int64_t>::min())}), "0c7fffffffffffffff");
  EXPECT_EQ(Hex({{TupleInteger{~0ULL, false}}}), "1cffffffffffffffff");
  EXPECT_EQ(Hex({{TupleInteger{~0ULL, true}}}), "0c0000000000000000");
}

TEST(TupleTest, OtherTypes) {
  EXPECT_EQ(Hex({{false}, {true}}), "2627");
  EXPECT_EQ(HexEncode(TuplePacker().Double(1.0).bytes()), "21bff0000000000000");
  TupleUuid uuid;
  uuid.bytes.fill(0xAB);
  EXPECT_EQ(Hex({{uuid}}), "30abababababababababababababababab");
  TupleVersionstamp stamp;
  stamp.bytes.fill(1);
  EXPECT_EQ(Hex({{stamp}}), "33010101010101010101010101");
}

TEST(TupleTest, WhatIsPackedIsUnpacked) {
  const Tuple tuple = {Int(7),
                       Int(-1),
                       Data("\0\xFF\0"s),
                       Text("name"),
                       {TupleNull()},
                       {Tuple{Int(0), {TupleNull()}, {Tuple{Text("")}}}},
                       {TupleDouble{0x7FF8000000000001}},
                       {TupleFloat{0x80000000}},
                       {true},
                       {TupleUuid{}},
                       {TupleVersionstamp{}},
                       {TupleInteger{~0ULL, true}}};
  EXPECT_EQ(UnpackTuple(PackTuple(tuple)), tuple);
  EXPECT_EQ(UnpackTuple(""), Tuple());
}

TEST(TupleTest, TheOrderOfBytesIsTheOrderOfValues) {
  const std::vector<Tuple> ordered = {
      {},
      {{TupleNull()}},
      {Data("")},
      {Data("\0"s)},
      {Data("\0\0"s)},
      {Data("\0\xFF"s)},
      {Data("\x01")},
      {Data("a")},
      {Data("a"), {TupleNull()}},
      {Data("a"), Int(1)},
      {Data("a\0"s)},
      {Data("ab")},
      {Text("")},
      {Text("a")},
      {{Tuple()}},
      {{Tuple{{TupleNull()}}}},
      {{Tuple{Data("a")}}},
      {{TupleInteger{~0ULL, true}}},
      {Int(std::numeric_limits<int64_t>::min())},
      {Int(-65536)},
      {Int(-65535)},
      {Int(-256)},
      {Int(-255)},
      {Int(-1)},
      {Int(0)},
      {Int(1)},
      {Int(255)},
      {Int(256)},
      {Int(65535)},
      {Int(65536)},
      {Int(std::numeric_limits<int64_t>::max())},
      {{TupleInteger{~0ULL, false}}},
      {{false}},
      {{true}},
  };
  for (size_t i = 1; i < ordered.size(); ++i) {
    EXPECT_LT(PackTuple(ordered[i - 1]), PackTuple(ordered[i])) << i;
  }
  const double numbers[] = {-HUGE_VAL, -1e300, -1.5, -0.0, 0.0, 1e-300, 1.5, HUGE_VAL};
  for (size_t i = 1; i < std::size(numbers); ++i) {
    EXPECT_LT(TuplePacker().Double(numbers[i - 1]).bytes(),
              TuplePacker().Double(numbers[i]).bytes());
    EXPECT_LE(TuplePacker().Float(static_cast<float>(numbers[i - 1])).bytes(),
              TuplePacker().Float(static_cast<float>(numbers[i])).bytes());
  }
}

TEST(TupleTest, WhatIsCutOffIsNoTuple) {
  const Tuple tuple = {Text("a"), {Tuple{Int(300)}}};
  const Bytes packed = PackTuple(tuple);
  // After the first element there is a tuple of one.
  for (size_t size = 1; size < packed.size(); ++size) {
    EXPECT_EQ(UnpackTuple(packed.substr(0, size)).has_value(), size == 3) << size;
  }
  EXPECT_EQ(UnpackTuple(Bytes(8, '\x21')), std::nullopt);
  EXPECT_EQ(UnpackTuple(Bytes(16, '\x30')), std::nullopt);
  EXPECT_EQ(UnpackTuple(Bytes(12, '\x33')), std::nullopt);
}

TEST(TupleTest, OneValueHasOneEncoding) {
  EXPECT_EQ(UnpackTuple("\x16\x00\x01"s), std::nullopt);  // 1 in two bytes
  EXPECT_EQ(UnpackTuple("\x15\x00"s), std::nullopt);      // 0 in one
  EXPECT_EQ(UnpackTuple("\x13\xFF"s), std::nullopt);      // minus 0
  EXPECT_EQ(UnpackTuple("\x12\xFF\xFE"s), std::nullopt);  // -1 in two
  EXPECT_EQ(UnpackTuple("\x02\xC3\0"s), std::nullopt);    // no text
  EXPECT_EQ(UnpackTuple("\x1D"s), std::nullopt);          // more than eight bytes
  EXPECT_EQ(UnpackTuple("\xFF"s), std::nullopt);
}

TEST(TupleTest, DepthIsBounded) {
  TuplePacker deepest;
  for (size_t i = 0; i < kMaxTupleDepth; ++i) deepest.Begin();
  for (size_t i = 0; i < kMaxTupleDepth; ++i) deepest.End();
  EXPECT_TRUE(UnpackTuple(deepest.bytes()));
  EXPECT_EQ(UnpackTuple("\x05" + deepest.bytes() + "\0"s), std::nullopt);
  EXPECT_EQ(UnpackTuple(Bytes(100'000, '\x05')), std::nullopt);
}

TEST(TupleTest, IntegersBeyond64BitsHaveNoValue) {
  EXPECT_EQ(TupleInteger::Of(-5).value(), -5);
  EXPECT_EQ(TupleInteger::Of(std::numeric_limits<int64_t>::min()).value(),
            std::numeric_limits<int64_t>::min());
  EXPECT_EQ((TupleInteger{1ULL << 63, false}).value(), std::nullopt);
  EXPECT_EQ((TupleInteger{(1ULL << 63) + 1, true}).value(), std::nullopt);
}

}  // namespace
}  // namespace cairn::actors
