#include "data/value/packed_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "data/testing/script.h"
#include "data/value/keys.h"

namespace cairn::data {
namespace {

using testing::DataServer;
using Pairs = std::vector<std::pair<Bytes, Bytes>>;

Pairs PairsOf(const PackedRows& rows) {
  Pairs pairs;
  rows.ForEach([&](BytesView suffix, BytesView value) {
    pairs.emplace_back(suffix, value);
    return true;
  });
  return pairs;
}

TEST(PackedRowsTest, GoldenBytes) {
  PackedRows rows;
  EXPECT_EQ(rows.bytes(), "");
  ASSERT_TRUE(rows.Put("b", "22"));
  ASSERT_TRUE(rows.Put("a", ""));
  EXPECT_EQ(HexEncode(rows.bytes()),
            "00010002623232"
            "0001000061");
  ASSERT_TRUE(rows.Put("b", "3"));
  EXPECT_EQ(HexEncode(rows.bytes()),
            "000100016233"
            "0001000061");
}

TEST(PackedRowsTest, RoundTripAtBoundaries) {
  for (const size_t suffix_size : {0, 1, 255, 256, 500}) {
    for (const size_t value_size : {0, 1, 255, 256, 500}) {
      PackedRows rows;
      ASSERT_TRUE(rows.Put(Bytes(suffix_size, 'k'), Bytes(value_size, '\xff')));
      const std::optional<PackedRows> read = PackedRows::Decode(rows.bytes());
      ASSERT_TRUE(read.has_value());
      EXPECT_EQ(PairsOf(*read), (Pairs{{Bytes(suffix_size, 'k'), Bytes(value_size, '\xff')}}));
    }
  }
}

TEST(PackedRowsTest, TruncatedBytesAreRejected) {
  PackedRows rows;
  ASSERT_TRUE(rows.Put("aa", "1"));
  ASSERT_TRUE(rows.Put("bb", "2"));
  const Bytes bytes(rows.bytes());
  const size_t first = bytes.size() / 2;
  for (size_t size = 1; size < bytes.size(); ++size) {
    if (size == first) continue;
    EXPECT_FALSE(PackedRows::Decode(bytes.substr(0, size))) << size;
  }
  EXPECT_FALSE(PackedRows::Decode(bytes + '\0'));
  PackedRows large;
  ASSERT_TRUE(large.Put("a", Bytes(kMaxPackedBytes - 5, 'x')));
  EXPECT_FALSE(PackedRows::Decode(Bytes(large.bytes()) + bytes));
}

TEST(PackedRowsTest, WhatWouldBeTooLargeChangesNothing) {
  PackedRows rows;
  ASSERT_TRUE(rows.Put("a", Bytes(kMaxPackedBytes - 5, 'x')));
  EXPECT_FALSE(rows.Put("b", ""));
  EXPECT_FALSE(rows.Put("a", Bytes(kMaxPackedBytes - 4, 'x')));
  EXPECT_EQ(rows.Get("a"), Bytes(kMaxPackedBytes - 5, 'x'));
  EXPECT_EQ(rows.Get("b"), std::nullopt);
  EXPECT_TRUE(rows.Put("a", "short now"));
  EXPECT_TRUE(rows.Put("b", ""));
}

TEST(PackedRowsTest, DoesWhatAListOfPairsDoes) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SeededRandom random(seed);
    PackedRows rows;
    Pairs model;
    for (int i = 0; i < 500; ++i) {
      const Bytes suffix(1 + random.Below(3), static_cast<char>('a' + random.Below(8)));
      const auto found = std::ranges::find(model, suffix, &Pairs::value_type::first);
      EXPECT_EQ(rows.Get(suffix),
                found == model.end() ? std::nullopt : std::optional<BytesView>(found->second));
      if (random.Below(3) == 0) {
        rows.Erase(suffix);
        if (found != model.end()) model.erase(found);
        continue;
      }
      const Bytes value(random.Below(20), static_cast<char>(random.Below(256)));
      ASSERT_TRUE(rows.Put(suffix, value));
      if (found == model.end()) {
        model.emplace_back(suffix, value);
      } else {
        found->second = value;
      }
    }
    EXPECT_EQ(PairsOf(rows), model) << "seed " << seed;
    EXPECT_TRUE(PackedRows::Decode(rows.bytes()).has_value());
  }
}

// --- Through the commands ------------------------------------------------------------------------

class SmallValuesTest : public ::testing::Test {
 protected:
  // Rows of all values.
  size_t Elements() {
    const auto snapshot = server_.store().Read();
    size_t rows = 0;
    EXPECT_TRUE(snapshot.ok());
    EXPECT_TRUE((*snapshot)
                    ->Scan(ElementRange(0), {},
                           [&](BytesView key, BytesView) {
                             const bool order = key.size() == kElementPrefixBytes;
                             if (!order) ++rows;
                             return true;
                           })
                    .ok());
    return rows;
  }

  DataServer server_;
};

TEST_F(SmallValuesTest, ASmallHashIsOneRecord) {
  server_.Play(R"(
    HSET h name Ada born 1815           => (integer) 2
    HSET h born 1816 field x            => (integer) 1
    HGET h born                         => "1816"
    HDEL h field                        => (integer) 1
    HLEN h                              => (integer) 2
    SADD s a b c                        => (integer) 3
  )");
  EXPECT_EQ(Elements(), 0U);
  server_.CheckConsistency();
}

TEST_F(SmallValuesTest, AHashThatGrowsIsStoredByMemberAndStaysSo) {
  server_.Play("HSET h a 1 b 2");
  EXPECT_EQ(Elements(), 0U);
  server_.Run({"HSET", "h", "long", std::string(kMaxPackedBytes, 'x')});
  EXPECT_EQ(Elements(), 3U);
  server_.Play(R"(
    HGET h a                            => "1"
    HDEL h long                         => (integer) 1
    HLEN h                              => (integer) 2
    HGET h b                            => "2"
  )");
  EXPECT_EQ(Elements(), 2U);
  server_.CheckConsistency();
}

TEST_F(SmallValuesTest, CopiesAndRenamedOnesGoTheirOwnWays) {
  server_.Play(R"(
    HSET h a 1
    COPY h copy                         => (integer) 1
    HSET copy a 2 b 3                   => (integer) 1
    HGET h a                            => "1"
    RENAME h renamed                    => OK
    HGET renamed a                      => "1"
    HLEN copy                           => (integer) 2
    OBJECT ENCODING renamed             => "listpack"
  )");
  EXPECT_EQ(Elements(), 0U);
  server_.CheckConsistency();
}

TEST_F(SmallValuesTest, AStoredSetReplacesALargeOneByASmallOne) {
  std::vector<std::string> add = {"SADD", "large"};
  for (int i = 0; i < 500; ++i) add.push_back("member:" + std::to_string(i));
  server_.Run(add);
  EXPECT_EQ(Elements(), 500U);
  server_.Play(R"(
    SADD small member:1 member:2        => (integer) 2
    SINTERSTORE large large small       => (integer) 2
  )");
  server_.FireTimers();
  server_.FireTimers();
  EXPECT_EQ(Elements(), 0U);
  server_.CheckConsistency();
}

}  // namespace
}  // namespace cairn::data
