#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/random.h"
#include "data/testing/script.h"
#include "data/value/collection.h"
#include "data/value/fields.h"
#include "data/value/keys.h"
#include "data/value/member_order.h"

// The order in which clients see the members of small collections: as in Redis.
namespace cairn::data {
namespace {

using testing::DataServer;
using Texts = std::vector<std::string>;

class OrderTest : public ::testing::Test {
 protected:
  ~OrderTest() override { server_.CheckConsistency(); }

  Texts Strings(const Texts& command) {
    doors::testing::TestClient client = server_.Connect();
    const Result<net::RespValue> reply = client.raw().Command(command);
    Texts strings;
    if (!reply.ok()) return {"no reply"};
    for (const net::RespValue& item : reply->items) strings.push_back(item.text);
    return strings;
  }

  // Fields from `first` on, in an order that is not theirs by any measure.
  Texts AddFields(int first, int count) {
    Texts added;
    Texts command = {"HSET", "h"};
    for (int i = first; i < first + count; ++i) {
      added.push_back("field:" + std::to_string(i * 7919 % 10'007));
      command.push_back(added.back());
      command.push_back("v" + std::to_string(i));
    }
    server_.Run(command);
    return added;
  }

  DataServer server_;
};

TEST_F(OrderTest, FieldsOfASmallHashAreInTheOrderInWhichTheyWereAdded) {
  server_.Play(R"(
    HSET h z 1 a 2 m 3
    HSET h a 22 b 4
    HGETALL h                 => ["z", "1", "a", "22", "m", "3", "b", "4"]
    HDEL h z
    HSET h z 5
    HKEYS h                   => ["a", "m", "b", "z"]
    HVALS h                   => ["22", "3", "4", "5"]
    HSCAN h 0 COUNT 1         => ["0", ["a", "22", "m", "3", "b", "4", "z", "5"]]
    HINCRBY h m 1
    HKEYS h                   => ["a", "m", "b", "z"]
    COPY h copy
    HKEYS copy                => ["a", "m", "b", "z"]
  )");
}

TEST_F(OrderTest, FieldsInRowsKeepTheirOrderUpToTheLimit) {
  Texts fields = AddFields(0, 300);
  EXPECT_EQ(Strings({"HKEYS", "h"}), fields);
  server_.Run({"HDEL", "h", fields[0], fields[120]});
  fields.erase(fields.begin() + 120);
  fields.erase(fields.begin());
  server_.Run({"HSET", "h", fields[50], "changed"});
  const Texts more = AddFields(300, 214);
  fields.insert(fields.end(), more.begin(), more.end());
  ASSERT_EQ(fields.size(), MemberOrder::kMaxMembers);
  EXPECT_EQ(Strings({"HKEYS", "h"}), fields);
  server_.Play(R"(
    OBJECT ENCODING h         => "listpack"
    COPY h copy               => (integer) 1
    RENAME h renamed          => OK
  )");
  EXPECT_EQ(Strings({"HKEYS", "copy"}), fields);
  server_.Restart();
  EXPECT_EQ(Strings({"HKEYS", "renamed"}), fields);
  const std::string dump = server_.Connect().RunValue({"DUMP", "renamed"}).text;
  server_.Connect().RunValue({"RESTORE", "h", "0", dump});
  EXPECT_EQ(Strings({"HKEYS", "h"}), fields);
}

TEST_F(OrderTest, AHashThatHadTooManyFieldsHasNoOrder) {
  const Texts fields = AddFields(0, 513);
  server_.Play("OBJECT ENCODING h => \"hashtable\"");
  server_.Run({"HDEL", "h", fields[1], fields[2], fields[3]});
  server_.Play(R"(
    HLEN h                    => (integer) 510
    OBJECT ENCODING h         => "hashtable"
    HSET h new 1              => (integer) 1
  )");
  EXPECT_EQ(Strings({"HKEYS", "h"}).size(), 511U);
}

TEST_F(OrderTest, LargeValuesDoNotChangeTheOrder) {
  server_.Run({"HSET", "h", "z", std::string(70'000, 'x'), "a", "1", "m", std::string(8'000, 'y')});
  EXPECT_EQ(Strings({"HKEYS", "h"}), (Texts{"z", "a", "m"}));
  server_.Play("OBJECT ENCODING h => \"hashtable\"");
}

TEST_F(OrderTest, AHashOfAnEarlierFormatIsReadInTheOrderItHas) {
  // In rows, without a row for the order.
  const auto written =
      server_.store().Run({}, [&](store::Transaction& transaction) -> Result<void> {
        CAIRN_ASSIGN_OR_RETURN(Collection hash,
                               Collection::Load(transaction, 0, "h", ValueType::kHash));
        hash.elements().Begin();
        hash.elements().WriteOrder(std::nullopt);
        for (const char* field : {"a", "b", "c"}) hash.elements().Put(EncodeField(field), "1");
        hash.Save(3);
        return {};
      });
  ASSERT_TRUE(written.ok());
  server_.Play(R"(
    HLEN h                    => (integer) 3
    OBJECT ENCODING h         => "hashtable"
    HSET h d 1                => (integer) 1
    HDEL h a                  => (integer) 1
  )");
  Texts fields = Strings({"HKEYS", "h"});
  std::ranges::sort(fields);
  EXPECT_EQ(fields, (Texts{"b", "c", "d"}));
}

TEST_F(OrderTest, ASetOfIntegersIsSorted) {
  server_.Play(R"(
    SADD s 30 -5 100 7 -40
    SMEMBERS s                => ["-40", "-5", "7", "30", "100"]
    SSCAN s 0 COUNT 2         => ["0", ["-40", "-5", "7", "30", "100"]]
    SADD t 7 8 100 -40
    SINTER s t                => ["-40", "7", "100"]
    SUNION s t                => ["-40", "-5", "7", "8", "30", "100"]
    SDIFF s t                 => ["-5", "30"]
    SADD s x
    SREM s x
    SMEMBERS s                => ["-40", "-5", "7", "30", "100"]
  )");
}

TEST_F(OrderTest, IntegersInRowsAreSortedUpToTheLimit) {
  Texts command = {"SADD", "s"};
  for (int i = 0; i < 512; ++i) command.push_back(std::to_string(i * 7919 % 10'007));
  server_.Run(command);
  Texts sorted(command.begin() + 2, command.end());
  std::ranges::sort(sorted, {}, [](const std::string& text) { return std::stoi(text); });
  EXPECT_EQ(Strings({"SMEMBERS", "s"}), sorted);
  server_.Play("OBJECT ENCODING s => \"intset\"");
  server_.Run({"SADD", "s", "20000"});
  server_.Play("OBJECT ENCODING s => \"hashtable\"");
  EXPECT_EQ(Strings({"SMEMBERS", "s"}).size(), 513U);
}

TEST_F(OrderTest, ASmallSetOfStringsIsInTheOrderInWhichTheyWereAdded) {
  server_.Play(R"(
    SADD s z a m 5
    SADD s a b
    SMEMBERS s                => ["z", "a", "m", "5", "b"]
  )");
}

TEST_F(OrderTest, ASmallSortedSetIsScannedInTheOrderOfScores) {
  server_.Play(R"(
    ZADD z 3 a 1 z 2 m
    ZSCAN z 0 COUNT 1         => ["0", ["z", "1", "m", "2", "a", "3"]]
  )");
}

// Random additions and removals against a list, across the change to rows and back below it.
TEST_F(OrderTest, AgreesWithAList) {
  SeededRandom random(7);
  Texts model;
  for (int i = 0; i < 600; ++i) {
    const std::string field = "f" + std::to_string(random.Below(200));
    const auto found = std::ranges::find(model, field);
    if (random.Below(3) == 0) {
      server_.Run({"HDEL", "h", field});
      if (found != model.end()) model.erase(found);
    } else {
      server_.Run({"HSET", "h", field, std::to_string(i)});
      if (found == model.end()) model.push_back(field);
    }
    if (i % 20 == 0) {
      EXPECT_EQ(Strings({"HKEYS", "h"}), model) << i;
    }
  }
  EXPECT_EQ(Strings({"HKEYS", "h"}), model);
}

}  // namespace
}  // namespace cairn::data
