#include "data/value/member_filter.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "data/testing/script.h"
#include "data/value/fields.h"
#include "data/value/keys.h"

namespace cairn::data {
namespace {

using testing::DataServer;

uint32_t HashOf(int i) { return FieldHash(fmt::format("member:{}", i)); }

MemberFilter FilterOf(int members) {
  MemberFilter filter = MemberFilter::OfNothing();
  for (int i = 0; i < members; ++i) filter.Add(HashOf(i));
  return filter;
}

TEST(MemberFilterTest, GoldenBytes) {
  MemberFilter filter = MemberFilter::OfNothing();
  filter.Add(0x01020304);
  filter.Add(0xfffefdfc);
  filter.Add(0x01020304);
  EXPECT_EQ(HexEncode(filter.bytes()), "01020304fffefdfc");
  for (uint32_t i = 0; i < MemberFilter::kMaxHashes; ++i) filter.Add(0x01020304 + i);
  // Nearly all share the bits 4 and 32; those of the other are 1023 and 1007.
  Bytes bits(128, '\0');
  bits[0] = 0x10;
  bits[4] = 0x01;
  bits[127] = static_cast<char>(0x80);
  bits[125] = static_cast<char>(0x80);
  EXPECT_EQ(HexEncode(filter.bytes()), "0004" + HexEncode(bits));
}

TEST(MemberFilterTest, KnowsEveryMemberThatWasAdded) {
  for (const int members : {0, 1, 15, 16, 17, 100, 500, 2000}) {
    const MemberFilter filter = FilterOf(members);
    const std::optional<MemberFilter> decoded = MemberFilter::Decode(filter.bytes());
    ASSERT_TRUE(decoded.has_value()) << members;
    for (int i = 0; i < members; ++i) {
      EXPECT_TRUE(filter.MayHave(HashOf(i)) && decoded->MayHave(HashOf(i))) << members;
    }
  }
}

TEST(MemberFilterTest, SeldomTakesAStrangerForAMember) {
  const auto mistakes = [](const MemberFilter& filter) {
    int count = 0;
    for (int i = 0; i < 10'000; ++i) count += filter.MayHave(HashOf(1'000'000 + i)) ? 1 : 0;
    return count;
  };
  EXPECT_EQ(mistakes(FilterOf(0)), 0);
  EXPECT_LT(mistakes(FilterOf(16)), 2);
  EXPECT_LT(mistakes(FilterOf(100)), 600);
  EXPECT_LT(mistakes(FilterOf(300)), 3'000);
}

TEST(MemberFilterTest, IsGivenUpWhenMostBitsAreSet) {
  const MemberFilter filter = FilterOf(5'000);
  EXPECT_TRUE(filter.bytes().empty());
  EXPECT_TRUE(filter.MayHave(1));
  MemberFilter none;
  none.Add(1);
  EXPECT_TRUE(none.bytes().empty());
  EXPECT_TRUE(none.MayHave(2));
}

TEST(MemberFilterTest, OtherBytesAreRejected) {
  for (const size_t size : {1, 3, 5, 68, 129, 131}) {
    EXPECT_FALSE(MemberFilter::Decode(Bytes(size, 'x')).has_value()) << size;
  }
}

// --- Through the commands ------------------------------------------------------------------------

class FilteredValuesTest : public ::testing::Test {
 protected:
  static constexpr int kMembers = 100;

  FilteredValuesTest() {
    std::vector<std::string> hash = {"HSET", "h"};
    std::vector<std::string> set = {"SADD", "s"};
    for (int i = 0; i < kMembers; ++i) {
      hash.insert(hash.end(), {Member(i), "value"});
      set.push_back(Member(i));
    }
    server_.Run(hash);
    server_.Run(set);
  }
  ~FilteredValuesTest() override { server_.CheckConsistency(); }

  static std::string Member(int i) { return fmt::format("member:{:03}", i); }

  // As format version 2 wrote them.
  void TakeFilterAway(BytesView key) {
    const auto done = server_.store().Run({}, [&](store::Transaction& transaction) -> Result<void> {
      const Bytes record_key = EncodeRecordKey({0, key});
      CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> bytes,
                             transaction.Get({store::Space::kData, record_key}));
      Record record = *DecodeRecord(*bytes);
      EXPECT_GT(record.payload.size(), 8U);
      record.payload = record.payload.substr(0, 8);
      transaction.Put({store::Space::kData, record_key}, EncodeRecord(record));
      return {};
    });
    ASSERT_TRUE(done.ok());
  }

  DataServer server_;
};

TEST_F(FilteredValuesTest, MembersAreFoundAndCounted) {
  for (int i = 0; i < kMembers; ++i) {
    EXPECT_EQ(server_.Run({"HSET", "h", Member(i), "other"}), "(integer) 0");
    EXPECT_EQ(server_.Run({"SADD", "s", Member(i)}), "(integer) 0");
  }
  server_.Play(R"(
    HSET h new 1                        => (integer) 1
    HGET h new                          => "1"
    HDEL h new none                     => (integer) 1
    HGET h new                          => (nil)
    HSET h new 2                        => (integer) 1
    SADD s new member:007               => (integer) 1
    SMISMEMBER s new none member:099    => [(integer) 1, (integer) 0, (integer) 1]
    HLEN h                              => (integer) 101
    SCARD s                             => (integer) 101
  )");
}

TEST_F(FilteredValuesTest, CopiesAndRenamedOnesKeepTheirs) {
  server_.Play(R"(
    COPY s copy                         => (integer) 1
    RENAME s renamed                    => OK
    SADD copy new member:001            => (integer) 1
    SADD renamed other member:002       => (integer) 1
    SISMEMBER copy other                => (integer) 0
    SISMEMBER renamed new               => (integer) 0
    EXPIRE copy 100                     => (integer) 1
    SADD copy more member:003           => (integer) 1
  )");
}

TEST_F(FilteredValuesTest, RecordsWithoutAFilterAreReadAndChanged) {
  TakeFilterAway("h");
  TakeFilterAway("s");
  server_.Play(R"(
    HSET h member:001 x new 1           => (integer) 1
    HGET h member:099                   => "value"
    SADD s member:001 new               => (integer) 1
    SADD s member:001 new               => (integer) 0
    SREM s member:050                   => (integer) 1
    SCARD s                             => (integer) 100
    HLEN h                              => (integer) 101
  )");
}

}  // namespace
}  // namespace cairn::data
