#include "data/value/fields.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "data/testing/script.h"
#include "data/value/collection.h"
#include "data/value/keys.h"

namespace cairn::data {
namespace {

using testing::DataServer;

TEST(FieldsTest, GoldenBytes) {
  EXPECT_EQ(HexEncode(EncodeField("")), "8570e254");
  EXPECT_EQ(HexEncode(EncodeField("a")), "82b19d9c61");
  EXPECT_EQ(HexEncode(EncodeField("member")), "e39e0e9b6d656d626572");
  EXPECT_EQ(HexEncode(EncodeField(Bytes("\0\xff", 2))), "5b6d356c00ff");
}

TEST(FieldsTest, RoundTrip) {
  for (const Bytes& member : {Bytes(), Bytes("a"), Bytes(1, '\0'), Bytes("\xff\xff"),
                              Bytes(255, 'x'), Bytes(256, 'x'), Bytes(65536, 'y')}) {
    const Bytes suffix = EncodeField(member);
    EXPECT_EQ(DecodeField(suffix), member);
  }
}

TEST(FieldsTest, TruncatedSuffixesAreRejected) {
  const Bytes suffix = EncodeField("");
  for (size_t size = 0; size < suffix.size(); ++size) {
    EXPECT_EQ(DecodeField(suffix.substr(0, size)), std::nullopt) << size;
  }
}

TEST(FieldsTest, TheHashSpreadsNamesThatAreAlike) {
  std::array<int, 64> buckets = {};
  constexpr int kMembers = 64'000;
  for (int i = 0; i < kMembers; ++i) ++buckets[FieldHash("user:" + std::to_string(i)) >> 26];
  for (const int members : buckets) {
    EXPECT_GT(members, 800);
    EXPECT_LT(members, 1200);
  }
}

// Puts a set of one member there whose record says otherwise.
void PutBrokenSet(DataServer& server, BytesView suffix, uint64_t count) {
  const auto written = server.store().Run({}, [&](store::Transaction& transaction) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(Collection set, Collection::Load(transaction, 0, "s", ValueType::kSet));
    set.elements().Put(suffix, "");
    set.Save(count);
    return {};
  });
  ASSERT_TRUE(written.ok());
}

TEST(FieldsTest, ACountThatDisagreesWithTheMembersIsAnError) {
  DataServer server;
  PutBrokenSet(server, EncodeField("a"), 2);
  EXPECT_TRUE(server.Run({"SMEMBERS", "s"}).starts_with("(error)"));
  EXPECT_TRUE(server.Run({"SRANDMEMBER", "s", "2"}).starts_with("(error)"));
  EXPECT_EQ(server.Run({"SISMEMBER", "s", "a"}), "(integer) 1");
}

TEST(FieldsTest, AnElementThatIsNoMemberIsAnError) {
  DataServer server;
  PutBrokenSet(server, "abc", 1);
  EXPECT_TRUE(server.Run({"SMEMBERS", "s"}).starts_with("(error)"));
  EXPECT_TRUE(server.Run({"SSCAN", "s", "0"}).starts_with("(error)"));
}

}  // namespace
}  // namespace cairn::data
