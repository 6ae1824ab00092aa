#include "data/sorted_set/sorted_set.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/sorted_set/rank_node.h"
#include "data/testing/script.h"
#include "data/value/elements.h"
#include "data/value/fields.h"
#include "data/value/keys.h"
#include "data/value/member_filter.h"

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

// The record of the sorted set z, and the rows of its index.
class SortedSetIndexTest : public ::testing::Test {
 protected:
  static constexpr int kMembers = 300;

  void SetUp() override {
    std::vector<std::string> command = {"ZADD", "z"};
    for (int i = 0; i < kMembers; ++i) {
      command.push_back(std::to_string(i));
      command.push_back(Member(i));
    }
    ASSERT_EQ(server_.Run(command), "(integer) 300");
  }

  static std::string Member(int i) { return fmt::format("m{:03}", i); }

  void InTransaction(FunctionRef<Result<void>(store::Transaction&)> body) {
    const auto done = server_.store().Run({}, body);
    ASSERT_TRUE(done.ok()) << done.error().message;
  }

  Result<Bytes> ReadRecord(store::Transaction& transaction) {
    CAIRN_ASSIGN_OR_RETURN(std::optional<Bytes> record, transaction.Get(RecordKeyOfSet()));
    EXPECT_TRUE(record && DecodeRecord(*record));
    return *std::move(record);
  }
  store::Key RecordKeyOfSet() const { return {store::Space::kData, record_key_}; }

  const Bytes record_key_ = EncodeRecordKey({0, "z"});
  testing::DataServer server_;
};

TEST_F(SortedSetIndexTest, GoldenBytes) {
  InTransaction([&](store::Transaction& transaction) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(const Bytes bytes, ReadRecord(transaction));
    const Record record = *DecodeRecord(bytes);
    // count, levels, last_node, floor, the filter's size
    EXPECT_EQ(HexEncode(record.payload.substr(0, 23)),
              "000000000000012c"
              "c1"
              "00000000"
              "0000000000000000"
              "0082");
    const auto filter = MemberFilter::Decode(record.payload.substr(23, 0x82));
    EXPECT_TRUE(filter && filter->MayHave(FieldHash(Member(7))));
    // the counts 192 and 108
    EXPECT_EQ(HexEncode(record.payload.substr(23 + 0x82)), "c0016c");
    Elements elements(transaction, 0, record.generation);
    CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> bounds, elements.Get(RankBoundsSuffix(0)));
    // the first page; the page from 192 on, which is c068 and zeros where 191 is c067e0
    EXPECT_EQ(HexEncode(bounds.value_or("")),
              "0000"
              "02c06800");
    return {};
  });
}

TEST_F(SortedSetIndexTest, TheFilterKnowsEveryMember) {
  for (int i = 0; i < kMembers; ++i) {
    EXPECT_EQ(server_.Run({"ZADD", "z", std::to_string(i), Member(i)}), "(integer) 0");
  }
  server_.Play(R"(
    ZADD z 7 new 5 m005                 => (integer) 1
    ZSCORE z none                       => (nil)
    ZREM z new none                     => (integer) 1
    ZSCORE z new                        => (nil)
    ZADD z 8 new                        => (integer) 1
    ZCARD z                             => (integer) 301
  )");
  server_.CheckConsistency();
}

TEST_F(SortedSetIndexTest, ASetWithAnIndexOfPagesIsReadAndChanged) {
  InTransaction([&](store::Transaction& transaction) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(const Bytes bytes, ReadRecord(transaction));
    Record record = *DecodeRecord(bytes);
    Elements elements(transaction, 0, record.generation);
    CAIRN_RETURN_IF_ERROR(elements.DeletePrefix(kRankNodePrefix));
    const Bytes second = OrderKey(100, Member(100));
    elements.Put(Bytes("r\1", 2), Bytes("\0\0\0\0\0\0\0\x64\0\0\0\0", 12));
    elements.Put(Bytes("r\1", 2) + second, Bytes("\0\0\0\0\0\0\0\xc8\0\0\0\0", 12));
    Bytes payload;
    AppendBig64(payload, kMembers);
    payload += Bytes("\1\0\0\0\2", 5) + Bytes(8, '\0');
    record.payload = payload;
    transaction.Put(RecordKeyOfSet(), EncodeRecord(record));
    return {};
  });
  server_.Play(R"(
    ZRANK z m099                    => (integer) 99
    ZRANK z m100                    => (integer) 100
    ZREVRANK z m299                 => (integer) 0
    ZRANGE z 280 280                => ["m280"]
    ZCOUNT z 50 149                 => (integer) 100
    ZADD z 99.5 new                 => (integer) 1
    ZRANK z m099                    => (integer) 99
    ZRANK z new                     => (integer) 100
    ZRANK z m299                    => (integer) 300
    ZREMRANGEBYRANK z 0 99          => (integer) 100
    ZRANK z m299                    => (integer) 200
  )");
  server_.CheckConsistency();
  InTransaction([&](store::Transaction& transaction) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(const Bytes bytes, ReadRecord(transaction));
    const Record record = *DecodeRecord(bytes);
    Elements elements(transaction, 0, record.generation);
    return elements.Scan(SuffixRange::Prefix("r"), {}, [](BytesView suffix, BytesView) {
      ADD_FAILURE() << "left behind: " << Printable(suffix);
      return true;
    });
  });
}

}  // namespace
}  // namespace cairn::data
