// What Verify finds: each test leaves the rows as no command does, by hand.
#include "data/verify.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/random.h"
#include "data/sorted_set/rank_node.h"
#include "data/sorted_set/sorted_set.h"
#include "data/stream/stream_id.h"
#include "data/testing/script.h"
#include "data/value/fields.h"
#include "data/value/keys.h"
#include "data/value/member_order.h"
#include "store/timers.h"

namespace cairn::data {
namespace {

using house::Verification;
using store::Space;
using store::Transaction;
using testing::DataServer;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

using Sentences = std::vector<std::string>;
using Row = std::pair<Bytes, Bytes>;

class VerifyTest : public ::testing::Test {
 protected:
  Sentences Problems() {
    Verification verification;
    const Result<void> verified = Verify(server_.store(), verification);
    EXPECT_TRUE(verified.ok()) << verified.error().message;
    return verification.problems();
  }

  void Change(const std::function<void(Transaction&)>& body) {
    const auto commit = server_.store().Run(store::Scopes::Exclusive(),
                                            [&](Transaction& transaction) -> Result<void> {
                                              body(transaction);
                                              return {};
                                            });
    ASSERT_TRUE(commit.ok()) << commit.error().message;
  }
  void Put(Space space, BytesView key, BytesView value) {
    Change([&](Transaction& transaction) { transaction.Put({space, key}, value); });
  }
  void Delete(Space space, BytesView key) {
    Change([&](Transaction& transaction) { transaction.Delete({space, key}); });
  }
  void Add(const Bytes& counter, int64_t delta) {
    Change([&](Transaction& transaction) { transaction.Add({Space::kData, counter}, delta); });
  }

  Bytes Get(Space space, BytesView key) {
    const auto snapshot = server_.store().Read();
    const auto value = (*snapshot)->Get({space, key});
    EXPECT_TRUE(value.ok() && *value) << Printable(key);
    return value.ok() ? value->value_or("") : "";
  }
  std::vector<Row> Rows(const store::Range& range) {
    std::vector<Row> rows;
    const auto snapshot = server_.store().Read();
    const auto scanned = (*snapshot)->Scan(range, {}, [&](BytesView key, BytesView value) {
      rows.emplace_back(key, value);
      return true;
    });
    EXPECT_TRUE(scanned.ok());
    return rows;
  }

  static Bytes RecordKeyOf(BytesView key) { return EncodeRecordKey({0, key}); }
  Bytes RecordOf(BytesView key) { return Get(Space::kData, RecordKeyOf(key)); }
  void ChangeRecord(BytesView key, const std::function<void(Record&)>& change) {
    const Bytes bytes = RecordOf(key);
    std::optional<Record> record = DecodeRecord(bytes);
    ASSERT_TRUE(record.has_value());
    change(*record);
    Put(Space::kData, RecordKeyOf(key), EncodeRecord(*record));
  }
  // As if the collection had `delta` members more.
  void ChangeCount(BytesView key, int64_t delta) {
    Bytes payload;
    ChangeRecord(key, [&](Record& record) {
      const uint64_t count = BytesReader(record.payload).Big64();
      AppendBig64(payload, count + static_cast<uint64_t>(delta));
      payload += record.payload.substr(8);
      record.payload = payload;
    });
  }
  Bytes ElementKey(BytesView key, BytesView suffix) {
    const Bytes bytes = RecordOf(key);
    const std::optional<Record> record = DecodeRecord(bytes);
    EXPECT_TRUE(record && record->generation != 0) << key << " has no elements";
    return EncodeElementPrefix(0, record ? record->generation : 0) + Bytes(suffix);
  }
  void PutElement(BytesView key, BytesView suffix, BytesView value) {
    Put(Space::kData, ElementKey(key, suffix), value);
  }
  void DeleteElement(BytesView key, BytesView suffix) {
    Delete(Space::kData, ElementKey(key, suffix));
  }

  // A command with a thousand arguments, say.
  void RunMany(std::vector<std::string> command, int count,
               const std::function<Sentences(int)>& arguments) {
    for (int i = 0; i < count; ++i) {
      for (std::string& argument : arguments(i)) command.push_back(std::move(argument));
    }
    EXPECT_THAT(server_.Run(command), Not(::testing::StartsWith("(error)")));
  }
  static Sentences Field(int i) { return {fmt::format("field{}", i), std::string(60, 'v')}; }
  static Sentences Element(int i) { return {fmt::format("element{}", i)}; }
  static Sentences Scored(int i) { return {fmt::format("{}", i), fmt::format("member{}", i)}; }

  // So many that the rank index of a sorted set has nodes below its root.
  static constexpr int kRankedMembers = 30'000;

  void AddHash() { RunMany({"HSET", "h"}, 40, Field); }
  void AddSortedSet() { RunMany({"ZADD", "z"}, 20, Scored); }
  void AddStream() {
    server_.Play(R"(
      XADD s 1-1 f v
      XADD s 2-1 f v
      XGROUP CREATE s g 0
      XREADGROUP GROUP g alice COUNT 1 STREAMS s >
      XREADGROUP GROUP g bob COUNT 1 STREAMS s >
    )");
  }
  void AddJson() {
    std::string text = R"({"list":[0)";
    for (int i = 1; i < 600; ++i) text += fmt::format(",{}", i);
    text += R"(],"object":{"a":1)";
    for (int i = 0; i < 100; ++i) text += fmt::format(R"(,"member{}":"value{}")", i, i);
    EXPECT_EQ(server_.Run({"JSON.SET", "j", "$", text + "}}"}), "OK");
  }
  // Every type in each of its forms.
  void AddEverything() {
    server_.Play(R"(
      SET short v
      SET expiring v EX 100
      SET never v PXAT 9223372036854775807
      SETRANGE long 20000 end
      HSET small f v g w
      SADD smallset a b c
      RPUSH smalllist a b
      JSON.SET smalljson $ {"a":[1,2]}
      GEOADD places 13.36 38.11 Palermo
      PFADD hll a b c
      XGROUP CREATE empty g $ MKSTREAM
      SCRIPT LOAD "return 1"
    )");
    const std::string library =
        "#!lua name=lib\nredis.register_function('f', function() return 1 end)";
    EXPECT_EQ(server_.Run({"FUNCTION", "LOAD", library}), "\"lib\"");
    AddHash();
    AddSortedSet();
    AddStream();
    AddJson();
    RunMany({"SADD", "set"}, 1000, Element);
    RunMany({"RPUSH", "list"}, 100, Element);
    RunMany({"LPUSH", "list"}, 3, [](int) { return Sentences{std::string(200, 'x')}; });
    RunMany({"ZADD", "ranked"}, kRankedMembers, Scored);
    RunMany({"HSET", "removed"}, 40, Field);
    server_.Play(R"(
      EXPIRE h 100
      DEL removed
      SELECT 3
      SET other v EX 100
    )");
  }

  DataServer server_;
};

TEST_F(VerifyTest, AHealthyStoreIsSoundAndItsRowsAreCounted) {
  EXPECT_THAT(Problems(), IsEmpty());
  AddEverything();
  const size_t rows = Rows(store::Range::All(Space::kData)).size();
  const size_t timers = Rows(store::Range::All(Space::kTimers)).size();
  EXPECT_EQ(timers, 4U);  // of `expiring`, `h`, `other` and the elements of `removed`
  Verification verification;
  ASSERT_TRUE(Verify(server_.store(), verification).ok());
  EXPECT_THAT(verification.problems(), IsEmpty());
  EXPECT_FALSE(verification.abandoned());
  EXPECT_EQ(verification.rows(), rows + timers);

  server_.FireTimers();
  EXPECT_THAT(Problems(), IsEmpty());
  server_.Play("FLUSHALL");
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(VerifyTest, TimersOfOtherLayersAreLeftAlone) {
  constexpr uint8_t kOfAnotherLayer = 33;
  Put(Space::kTimers, store::EncodeTimerKey(server_.clock().Now(), kOfAnotherLayer, ""), "");
  Verification verification;
  ASSERT_TRUE(Verify(server_.store(), verification).ok());
  EXPECT_TRUE(verification.sound());
  EXPECT_EQ(verification.rows(), 0U);
}

TEST_F(VerifyTest, AnAbandonedVerificationEndsEarly) {
  constexpr size_t kKeys = Verification::kReportRows + 1000;
  // Without counters, which would be a problem if all were read.
  Change([&](Transaction& transaction) {
    for (size_t i = 0; i < kKeys; ++i) {
      transaction.Put({Space::kData, RecordKeyOf(fmt::format("key{}", i))}, EncodeRecord({}));
    }
  });
  uint64_t told = 0;
  Verification verification([&](uint64_t rows) {
    told = rows;
    return false;
  });
  ASSERT_TRUE(Verify(server_.store(), verification).ok());
  EXPECT_TRUE(verification.abandoned());
  EXPECT_EQ(told, Verification::kReportRows);
  EXPECT_EQ(verification.rows(), Verification::kReportRows);
  EXPECT_THAT(verification.problems(), IsEmpty());
}

TEST_F(VerifyTest, AVerificationAbandonedAmongElementsEndsEarly) {
  AddHash();
  Change([&](Transaction& transaction) {
    const Bytes prefix = ElementKey("h", "");
    for (size_t i = 0; i < Verification::kReportRows + 1000; ++i) {
      transaction.Put({Space::kData, prefix + EncodeField(fmt::format("more{}", i))}, "v");
    }
  });
  Verification verification([](uint64_t) { return false; });
  ASSERT_TRUE(Verify(server_.store(), verification).ok());
  EXPECT_TRUE(verification.abandoned());
  EXPECT_LE(verification.rows(), Verification::kReportRows + 1);
  EXPECT_THAT(verification.problems(), IsEmpty());
}

// Whatever is damaged, there is a sentence about it and nothing worse.
TEST_F(VerifyTest, DamagedRowsNeverStopTheVerification) {
  server_.Play(R"(
    SET k v EX 100
    SETRANGE long 20000 end
    HSET small f v g w
    RPUSH smalllist a b
    JSON.SET smalljson $ {"a":[1,2]}
  )");
  AddHash();
  AddSortedSet();
  AddStream();
  AddJson();
  RunMany({"RPUSH", "list"}, 100, Element);
  RunMany({"ZADD", "ranked"}, 300, Scored);
  std::vector<Row> rows = Rows(store::Range::All(Space::kData));
  const Bytes first_counter = EncodeKeyCounter(0);
  std::erase_if(rows, [&](const Row& row) { return row.first >= first_counter; });
  for (uint64_t seed = 0; seed < 50; ++seed) {
    SeededRandom random(seed);
    Change([&](Transaction& transaction) {
      for (const auto& [key, value] : rows) {
        Bytes damaged = value;
        const uint64_t dice = random.Below(4);
        if (dice == 1) damaged.resize(random.Below(damaged.size() + 1));
        if (dice == 2 && !damaged.empty()) damaged[random.Below(damaged.size())] ^= 0x41;
        if (dice == 3) damaged += random.NextBytes(1 + random.Below(8));
        transaction.Put({Space::kData, key}, damaged);
        const Bytes other_key = key.substr(0, random.Below(key.size() + 1));
        if (random.Below(20) == 0) transaction.Put({Space::kData, other_key}, value);
        if (random.Below(20) == 0) transaction.Put({Space::kTimers, other_key}, "");
      }
    });
    EXPECT_THAT(Problems(), Not(IsEmpty())) << "seed " << seed;
  }
}

// --- Keys ----------------------------------------------------------------------------------------

TEST_F(VerifyTest, FindsCountersThatAreOff) {
  server_.Play("SET k v");
  Add(EncodeKeyCounter(0), 1);
  Add(EncodeExpiringCounter(7), -1);
  EXPECT_THAT(Problems(), ElementsAre("database 0 counts 2 keys but has 1",
                                      "database 7 counts -1 expiring keys but has 0"));
}

TEST_F(VerifyTest, FindsARecordThatCannotBeRead) {
  server_.Play("SET k\x01 v");
  Put(Space::kData, RecordKeyOf("k\x01"), "\xff");
  EXPECT_THAT(Problems(), ElementsAre(R"(key "k\x01" in database 0 has a record that cannot be )"
                                      "read"));
}

TEST_F(VerifyTest, FindsAPayloadThatCannotBeRead) {
  AddHash();
  ChangeRecord("h", [](Record& record) { record.payload = "short"; });
  EXPECT_THAT(Problems(),
              ElementsAre(R"(hash "h" in database 0 has a record that cannot be read)"));
}

TEST_F(VerifyTest, FindsAMissingExpiryTimer) {
  server_.Play(R"(
    SET k v EX 100
    SET l v EX 100
    PERSIST l
  )");
  EXPECT_THAT(Problems(), IsEmpty());
  const std::vector<Row> timers = Rows(store::Range::All(Space::kTimers));
  ASSERT_EQ(timers.size(), 1U);
  Delete(Space::kTimers, timers[0].first);
  EXPECT_THAT(Problems(), ElementsAre(R"(string "k" in database 0 expires but has no timer)"));
}

TEST_F(VerifyTest, FindsAnImpossibleExpiry) {
  server_.Play("SET k v");
  ChangeRecord("k", [](Record& record) { record.expire_ms = -1; });
  Add(EncodeExpiringCounter(0), 1);
  EXPECT_THAT(Problems(), ElementsAre(R"(string "k" in database 0 expires before 1970)"));
}

TEST_F(VerifyTest, FindsRowsThatBelongToNothing) {
  Put(Space::kData, "", "");
  Put(Space::kData, EncodeRecordKey({200, "k"}), EncodeRecord({}));
  Put(Space::kData, EncodeElementPrefix(0, 1).substr(0, 5), "");
  Put(Space::kData, EncodeKeyCounter(0) + "more", "");
  Put(Space::kData, "\x05", "");
  EXPECT_THAT(Problems(), ElementsAre(R"(the row \x02\x00\x00\x00\x00 is not a row of any key)",
                                      R"(the row  is not a row of any key)",
                                      R"(the row \x01\xc8k is not a row of any key)",
                                      R"(the row \x03\x00more is not a row of any key)",
                                      R"(the row \x05 is not a row of any key)"));
}

TEST_F(VerifyTest, FindsTimersThatCannotBeRead) {
  Put(Space::kTimers, "\x01", "");
  Put(Space::kTimers, store::EncodeTimerKey({}, store::kTimerReclaim, "x"), "");
  EXPECT_THAT(Problems(),
              ElementsAre(R"(the timer \x00\x00\x00\x00\x00\x00\x00\x00\x02x cannot be read)",
                          R"(the timer \x01 cannot be read)"));
}

// --- Who has which elements ----------------------------------------------------------------------

TEST_F(VerifyTest, FindsElementsWithoutARecord) {
  AddHash();
  const Bytes prefix = ElementKey("h", "");
  Delete(Space::kData, RecordKeyOf("h"));
  Add(EncodeKeyCounter(0), -1);
  const uint64_t generation = BytesReader(BytesView(prefix).substr(2)).Big64();
  EXPECT_THAT(Problems(),
              ElementsAre(fmt::format("the elements of generation {} in database 0 (rows {}...) "
                                      "belong to no key and are not about to be reclaimed",
                                      generation, Printable(prefix))));
  Put(Space::kTimers,
      store::EncodeTimerKey(server_.clock().Now(), store::kTimerReclaim,
                            EncodeReclaimOwner({0, generation})),
      "");
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(VerifyTest, FindsElementsOfAKeyThatAreAboutToBeReclaimed) {
  AddHash();
  const uint64_t generation = BytesReader(BytesView(ElementKey("h", "")).substr(2)).Big64();
  Put(Space::kTimers,
      store::EncodeTimerKey(server_.clock().Now(), store::kTimerReclaim,
                            EncodeReclaimOwner({0, generation})),
      "");
  EXPECT_THAT(Problems(),
              ElementsAre(R"(hash "h" in database 0 has elements that are about to be reclaimed)"));
}

TEST_F(VerifyTest, FindsKeysThatShareTheirElements) {
  AddHash();
  Put(Space::kData, RecordKeyOf("i"), RecordOf("h"));
  Add(EncodeKeyCounter(0), 1);
  EXPECT_THAT(Problems(),
              ElementsAre(R"(hash "i" in database 0 shares its elements with another key)"));
}

// --- Hashes and sets -----------------------------------------------------------------------------

TEST_F(VerifyTest, FindsAHashThatCountsOneMemberTooMany) {
  AddHash();
  ChangeCount("h", 1);
  EXPECT_THAT(Problems(), ElementsAre(R"(hash "h" in database 0 counts 41 members but has 40)"));
}

TEST_F(VerifyTest, FindsAPackedValueThatLies) {
  server_.Play(R"(
    HSET h f v
    SADD s a b
  )");
  ChangeCount("h", 1);
  ChangeCount("s", -1);
  EXPECT_THAT(Problems(), ElementsAre(R"(hash "h" in database 0 counts 2 members but has 1)",
                                      R"(set "s" in database 0 counts 1 member but has 2)"));
}

TEST_F(VerifyTest, FindsAPackedValueWithoutMembers) {
  server_.Play("SADD s a");
  ChangeRecord("s", [](Record& record) { record.payload = BytesView("\0\0\0\0\0\0\0\0", 8); });
  EXPECT_THAT(Problems(), ElementsAre(R"(set "s" in database 0 has no members)"));
}

TEST_F(VerifyTest, FindsAMemberUnderAnotherHash) {
  AddHash();
  DeleteElement("h", EncodeField("field7"));
  PutElement("h",
             "\x01\x02\x03\x04"
             "field7",
             "v");
  EXPECT_THAT(Problems(),
              ElementsAre(R"(hash "h" in database 0 has 1 invalid row)",
                          R"(hash "h" in database 0 has an order with 1 field that it does not )"
                          "have"));
}

TEST_F(VerifyTest, FindsAMemberThatTheFilterDoesNotKnow) {
  server_.Run({"SADD", "s", std::string(1000, 'a'), std::string(1000, 'b')});
  PutElement("s", EncodeField("c"), "");
  ChangeCount("s", 1);
  EXPECT_THAT(Problems(),
              ElementsAre(R"(set "s" in database 0 has 1 member unknown to its filter)"));
}

TEST_F(VerifyTest, FindsAnOrderThatIsNotOfTheFields) {
  AddHash();
  MemberOrder order;
  for (const std::string_view field : {"field1", "gone", "field2", "field2"}) {
    order.Append(FieldHash(field));
  }
  PutElement("h", "", order.bytes());
  EXPECT_THAT(
      Problems(),
      ElementsAre(R"(hash "h" in database 0 has an order with 2 fields that it does not have)"));
  PutElement("h", "", "odd");
  EXPECT_THAT(Problems(), ElementsAre(R"(hash "h" in database 0 has 1 invalid row)"));
}

// --- Sorted sets ---------------------------------------------------------------------------------

TEST_F(VerifyTest, FindsASortedSetWhoseOrderLacksAMember) {
  AddSortedSet();
  DeleteElement("z", OrderSuffix(OrderKey(7, "member7")));
  EXPECT_THAT(Problems(),
              ElementsAre(R"(sorted set "z" in database 0 has 20 members but 19 in its order)"));
  PutElement("z", OrderSuffix(OrderKey(8, "member7")), "");
  EXPECT_THAT(Problems(), ElementsAre(R"(sorted set "z" in database 0 has a member whose score )"
                                      "differs from the one in its order"));
}

TEST_F(VerifyTest, FindsAMemberBelowTheLowestScore) {
  AddSortedSet();
  server_.Play("ZPOPMIN z 5");
  PutElement("z", MemberSuffix("member0"), EncodeScore(0));
  PutElement("z", OrderSuffix(OrderKey(0, "member0")), "");
  ChangeCount("z", 1);
  EXPECT_THAT(Problems(), ElementsAre(R"(sorted set "z" in database 0 has 1 member below the )"
                                      "lowest score in its record"));
}

TEST_F(VerifyTest, FindsARankIndexThatCountsWrong) {
  RunMany({"ZADD", "z"}, kRankedMembers, Scored);
  EXPECT_THAT(Problems(), IsEmpty());
  // The counts of some node below the root.
  const Bytes prefix = ElementKey("z", "");
  Bytes counts;
  for (const auto& [key, value] : Rows(store::Range::Prefix(Space::kData, prefix + "n"))) {
    if (key.ends_with('c')) counts = key.substr(prefix.size());
  }
  ASSERT_FALSE(counts.empty());
  Bytes changed = Get(Space::kData, ElementKey("z", counts));
  ASSERT_TRUE(ChangeRankCount(changed, 0, RankChange::kAdd));
  PutElement("z", counts, changed);
  EXPECT_THAT(Problems(), ElementsAre(R"(sorted set "z" in database 0 has a rank index that )"
                                      "counts its members wrong"));
  DeleteElement("z", counts);
  EXPECT_THAT(Problems(), ElementsAre(R"(sorted set "z" in database 0 has a rank index that )"
                                      "cannot be read"));
}

// --- Lists, streams, strings, JSON ---------------------------------------------------------------

TEST_F(VerifyTest, FindsAListThatLacksAPage) {
  RunMany({"RPUSH", "l"}, 20, Element);
  Bytes page = "p";
  AppendBig64(page, (uint64_t{1} << 63) / 8);
  const Bytes bytes = Get(Space::kData, ElementKey("l", page));
  DeleteElement("l", page);
  EXPECT_THAT(Problems(), ElementsAre(R"(list "l" in database 0 counts 20 elements but has 12)"));
  Bytes elsewhere = "p";
  AppendBig64(elsewhere, 1);
  PutElement("l", elsewhere, bytes);
  EXPECT_THAT(Problems(), ElementsAre(R"(list "l" in database 0 has 1 invalid row)"));
}

TEST_F(VerifyTest, FindsAShortListThatCountsWrong) {
  server_.Play("RPUSH l a b");
  ChangeCount("l", -1);
  EXPECT_THAT(Problems(), ElementsAre(R"(list "l" in database 0 counts 1 element but has 2)"));
}

TEST_F(VerifyTest, FindsAStreamThatLacksItsFirstEntry) {
  AddStream();
  Bytes entry = "e";
  AppendStreamId(entry, {1, 1});
  DeleteElement("s", entry);
  EXPECT_THAT(Problems(),
              ElementsAre(R"(stream "s" in database 0 counts 2 entries but has 1)",
                          R"(stream "s" in database 0 begins with entry 2-1, but its record says )"
                          "1-1"));
}

TEST_F(VerifyTest, FindsAGroupThatLacksAConsumer) {
  AddStream();
  const std::vector<Row> rows = Rows(store::Range::Prefix(Space::kData, ElementKey("s", "c")));
  ASSERT_EQ(rows.size(), 2U);
  Delete(Space::kData, rows[0].first);
  EXPECT_THAT(Problems(), ElementsAre(R"(stream "s" in database 0 has a group "g" with 1 )"
                                      "consumer, not 2",
                                      R"(stream "s" in database 0 has a group "g" whose )"
                                      "consumers count 1 pending entry, not 2"));
}

TEST_F(VerifyTest, FindsAGroupThatLacksAPendingEntry) {
  AddStream();
  const std::vector<Row> rows = Rows(store::Range::Prefix(Space::kData, ElementKey("s", "p")));
  ASSERT_EQ(rows.size(), 2U);
  Delete(Space::kData, rows[0].first);
  EXPECT_THAT(Problems(), ElementsAre(R"(stream "s" in database 0 has a group "g" with 1 )"
                                      "pending entry, not 2",
                                      R"(stream "s" in database 0 has a group "g" whose )"
                                      "consumers count 2 pending entries, not 1",
                                      R"(stream "s" in database 0 has a group "g" whose )"
                                      "consumers own 2 pending entries, not 1"));
}

TEST_F(VerifyTest, FindsAStreamWithoutItsGroup) {
  server_.Play(R"(
    XADD s 1-1 f v
    XGROUP CREATE s g 0
  )");
  DeleteElement("s", "gg");
  EXPECT_THAT(Problems(), ElementsAre(R"(stream "s" in database 0 counts 1 group but has 0)"));
}

TEST_F(VerifyTest, FindsASegmentBeyondTheEndOfItsString) {
  server_.Play("SETRANGE k 20000 end");
  Bytes payload;
  AppendBig64(payload, 20'000);
  ChangeRecord("k", [&](Record& record) { record.payload = payload; });
  EXPECT_THAT(Problems(), ElementsAre(R"(string "k" in database 0 has 1 invalid row)"));
}

TEST_F(VerifyTest, FindsAJsonContainerThatLacksAMember) {
  AddJson();
  const std::vector<Row> rows = Rows(store::Range::Prefix(Space::kData, ElementKey("j", "c")));
  // The last container is the object with 101 members.
  Delete(Space::kData, rows.back().first);
  EXPECT_THAT(Problems(),
              ElementsAre(R"(JSON document "j" in database 0 has 100 rows in container 2, which )"
                          "counts 101",
                          R"(JSON document "j" in database 0 has 100 rows in container 2 but )"
                          "101 names"));
}

TEST_F(VerifyTest, FindsAJsonDocumentWithoutItsRoot) {
  AddJson();
  Bytes header = "n";
  AppendBig64(header, 0);
  DeleteElement("j", header);
  EXPECT_THAT(Problems(),
              ElementsAre(R"(JSON document "j" in database 0 has a container 0 without a header)"));
}

}  // namespace
}  // namespace cairn::data
