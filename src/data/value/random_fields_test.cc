#include "data/value/random_fields.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "data/testing/script.h"
#include "data/value/collection.h"

namespace cairn::data {
namespace {

using doors::testing::TestClient;
using testing::DataServer;

class RandomFieldsTest : public ::testing::Test {
 protected:
  void Fill(int members) {
    std::vector<std::string> command = {"SADD", "s"};
    for (int i = 0; i < members; ++i) command.push_back(std::to_string(i));
    server_.Run(command);
  }

  // How often each member comes up.
  std::map<std::string, int> Picks(int rounds, std::string_view count) {
    TestClient client = server_.Connect();
    std::map<std::string, int> seen;
    for (int i = 0; i < rounds; ++i) {
      for (const net::RespValue& item : client.RunValue({"SRANDMEMBER", "s", count}).items) {
        ++seen[item.text];
      }
    }
    return seen;
  }

  static void ExpectEven(const std::map<std::string, int>& seen, size_t members, int least,
                         int most) {
    EXPECT_EQ(seen.size(), members);
    for (const auto& [member, times] : seen) {
      EXPECT_GE(times, least) << member;
      EXPECT_LE(times, most) << member;
    }
  }

  DataServer server_;
};

TEST_F(RandomFieldsTest, FewMembersComeUpEquallyOften) {
  Fill(20);
  ExpectEven(Picks(50, "-200"), 20, 400, 600);
  ExpectEven(Picks(1000, "10"), 20, 420, 580);
}

TEST_F(RandomFieldsTest, ManyMembersComeUpNearlyEquallyOften) {
  Fill(1000);
  // Counted off: 80 on average.
  ExpectEven(Picks(8, "-10000"), 1000, 40, 130);
  // From random places: 20 on average.
  const std::map<std::string, int> seen = Picks(1000, "-20");
  EXPECT_GT(seen.size(), 995U);
  for (const auto& [member, times] : seen) EXPECT_LT(times, 60) << member;
}

TEST_F(RandomFieldsTest, DistinctPicksAreDistinct) {
  Fill(1000);
  TestClient client = server_.Connect();
  for (const size_t count : {1, 2, 20, 31, 32, 500, 999, 1000, 2000}) {
    std::set<std::string> seen;
    const net::RespValue reply = client.RunValue({"SRANDMEMBER", "s", std::to_string(count)});
    for (const net::RespValue& item : reply.items) seen.insert(item.text);
    EXPECT_EQ(reply.items.size(), std::min<size_t>(count, 1000));
    EXPECT_EQ(seen.size(), reply.items.size());
  }
}

TEST_F(RandomFieldsTest, ValuesStayWithTheirFields) {
  std::vector<std::string> command = {"HSET", "h"};
  for (int i = 0; i < 600; ++i) {
    command.push_back("f" + std::to_string(i));
    command.push_back("v" + std::to_string(i));
  }
  server_.Run(command);
  TestClient client = server_.Connect();
  for (const char* count : {"3", "-3", "300", "-300"}) {
    const net::RespValue reply = client.RunValue({"HRANDFIELD", "h", count, "WITHVALUES"});
    ASSERT_EQ(reply.items.size() % 2, 0U);
    for (size_t i = 0; i < reply.items.size(); i += 2) {
      EXPECT_EQ(reply.items[i].text.substr(1), reply.items[i + 1].text.substr(1));
    }
  }
}

TEST_F(RandomFieldsTest, PoppingMemberByMemberEmptiesALargeSet) {
  Fill(700);
  TestClient client = server_.Connect();
  std::set<std::string> seen;
  for (int i = 0; i < 700; ++i) client.Send({"SPOP", "s"});
  for (int i = 0; i < 700; ++i) EXPECT_TRUE(seen.insert(client.Receive()).second);
  EXPECT_EQ(client.Run({"EXISTS", "s"}), "(integer) 0");
  server_.CheckConsistency();
}

// Whoever chooses members can make their hashes collide.
TEST_F(RandomFieldsTest, MembersWithTheSameHashCanStillBePicked) {
  constexpr int kMembers = 2000;
  const auto written = server_.store().Run({}, [](store::Transaction& transaction) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(Collection set, Collection::Load(transaction, 0, "s", ValueType::kSet));
    for (int i = 0; i < kMembers; ++i) set.elements().Put("hash" + std::to_string(i), "");
    set.Save(kMembers);
    return {};
  });
  ASSERT_TRUE(written.ok());
  ExpectEven(Picks(1, "60"), 60, 1, 1);
}

}  // namespace
}  // namespace cairn::data
