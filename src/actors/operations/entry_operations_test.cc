// What actors keep: small operations, lists, batches. Each defect that users of actors know from
// elsewhere has a test here that shows it absent.

#include "actors/operations/entry_operations.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "actors/testing/actor_store.h"

namespace cairn::actors {
namespace {

using namespace std::string_literals;
using testing::ActorStore;
using Kind = BatchChange::Kind;

// A value of which every part differs.
Bytes Value(size_t size, char seed = 'a') {
  Bytes value(size, '\0');
  for (size_t i = 0; i < size; ++i) value[i] = static_cast<char>(seed + i * 7 + i / 251);
  return value;
}

class EntriesTest : public ::testing::Test {
 protected:
  ~EntriesTest() override { actors_.ExpectSound(); }

  uint64_t Put(const Bytes& key, const Bytes& value) { return actors_.Put(id_, key, value); }
  std::vector<Bytes> Keys(ListRequest request) {
    request.actor = actor_;
    return actors_.Keys(request);
  }
  BatchRequest Batch(std::vector<BatchChange> changes) {
    return {.actor = actor_, .changes = std::move(changes)};
  }

  ActorStore actors_;
  const ActorId id_ = actors_.Create();
  const ActorRef actor_{.id = id_};
};

// --- Single entries ------------------------------------------------------------------------------

TEST_F(EntriesTest, ValuesOfAllSizesComeBack) {
  for (const size_t size : {0U, 1U, 9'999U, 10'000U, 10'001U, 20'000U, 25'000U, 131'072U}) {
    Put("k", Value(size));
    EXPECT_EQ(actors_.Get(id_, "k"), Value(size)) << size;
    EXPECT_EQ(actors_.State(id_).bytes, size + 1) << size;
  }
  Put("k", "short");  // what replaces a long value leaves nothing of it
  EXPECT_EQ(actors_.Get(id_, "k"), "short");
}

TEST_F(EntriesTest, EmptyKeysAndEmptyValuesAreNotAbsent) {
  EXPECT_EQ(actors_.Get(id_, ""), std::nullopt);
  Put("", "");
  EXPECT_EQ(actors_.Get(id_, ""), "");
  EXPECT_EQ(Keys({}), (std::vector<Bytes>{""}));
}

TEST_F(EntriesTest, GetAnswersInTheOrderOfTheKeys) {
  Put("a", "1");
  Put("b", "2");
  const auto found =
      actors_.Must(operations::kGet, KeysRequest{.actor = actor_, .keys = {"b", "x", "a", "a"}});
  ASSERT_EQ(found.size(), 4U);
  EXPECT_EQ(found[0]->value, "2");
  EXPECT_EQ(found[1], std::nullopt);
  EXPECT_EQ(found[2]->value, "1");
  EXPECT_EQ(found[3]->value, "1");
}

TEST_F(EntriesTest, ARevisionIsThatOfTheLastWrite) {
  const uint64_t first = Put("a", "1");
  const uint64_t second = Put("b", "1");
  EXPECT_EQ(second, first + 1);
  actors_.clock().AdvanceMillis(1'000);
  const uint64_t third = Put("a", "2");
  const auto found =
      actors_.Must(operations::kGet, KeysRequest{.actor = actor_, .keys = {"a", "b"}});
  EXPECT_EQ(found[0]->meta.revision, third);
  EXPECT_EQ(found[0]->meta.updated_ms, actors_.clock().Now().millis());
  EXPECT_EQ(found[1]->meta.revision, second);
}

TEST_F(EntriesTest, OfOneKeyTwiceTheLastCounts) {
  actors_.Must(operations::kPut,
               PutRequest{.actor = actor_, .entries = {{"k", Value(30'000)}, {"k", "last"}}});
  EXPECT_EQ(actors_.Get(id_, "k"), "last");
  EXPECT_EQ(actors_.State(id_).entries, 1U);
  EXPECT_EQ(actors_.State(id_).bytes, 5U);
}

TEST_F(EntriesTest, ADeletedEntryIsGoneWithAllItsChunks) {
  Put("a", Value(25'000));
  Put("b", "1");
  actors_.Must(operations::kDelete, KeysRequest{.actor = actor_, .keys = {"a", "absent", "a"}});
  EXPECT_EQ(Keys({}), (std::vector<Bytes>{"b"}));
  EXPECT_EQ(actors_.State(id_).bytes, 2U);
}

TEST_F(EntriesTest, ActorsDoNotSeeEachOther) {
  const ActorId other = actors_.Create("b");
  Put("k", "mine");
  actors_.Put(other, "k", "theirs");
  actors_.Must(operations::kDrop, ActorRef{.id = other});
  EXPECT_EQ(actors_.Get(id_, "k"), "mine");
}

// --- Limits --------------------------------------------------------------------------------------

TEST_F(EntriesTest, KeysAreBoundedEverywhere) {
  const Bytes longest(kMaxEntryKeyBytes, 'k');
  const Bytes longer(kMaxEntryKeyBytes + 1, 'k');
  Put(longest, "v");
  Put(Bytes(kMaxEntryKeyBytes, '\0'), "v");  // doubled on disk
  EXPECT_EQ(actors_.Get(id_, longest), "v");
  const std::string refusal = "KEY_TOO_LONG [limit=2046,size=2047]";
  const KeysRequest keys{.actor = actor_, .keys = {longer}};
  EXPECT_EQ(actors_.Refusal(operations::kGet, keys), refusal);
  EXPECT_EQ(actors_.Refusal(operations::kDelete, keys), refusal);
  EXPECT_EQ(
      actors_.Refusal(operations::kPut, PutRequest{.actor = actor_, .entries = {{longer, "v"}}}),
      refusal);
  EXPECT_EQ(actors_.Refusal(operations::kDeleteRange, RangeRequest{actor_, "", longer}), refusal);
  EXPECT_EQ(actors_.Refusal(operations::kBatch, Batch({{.key = longer}})), refusal);
  EXPECT_EQ(actors_.Refusal(operations::kBatch,
                            BatchRequest{.actor = actor_, .conditions = {{.key = longer}}}),
            refusal);
  EXPECT_EQ(actors_.Refusal(operations::kList, ListRequest{.actor = actor_, .prefix = longer}),
            refusal);
  EXPECT_EQ(actors_.Refusal(operations::kList, ListRequest{.actor = actor_, .end = longer}),
            refusal);
}

TEST_F(EntriesTest, OperationsAreBoundedAndSaySo) {
  KeysRequest keys{.actor = actor_, .keys = std::vector<Bytes>(128, "k")};
  actors_.Must(operations::kGet, keys);
  keys.keys.emplace_back("k");
  EXPECT_EQ(actors_.Refusal(operations::kGet, keys), "TOO_MANY_KEYS [limit=128,size=129]");
  EXPECT_EQ(actors_.Refusal(operations::kDelete, keys), "TOO_MANY_KEYS [limit=128,size=129]");
  PutRequest put{.actor = actor_, .entries = {{"k", Bytes(131'072, 'v')}}};
  actors_.Must(operations::kPut, put);
  put.entries[0].value.push_back('v');
  EXPECT_EQ(actors_.Refusal(operations::kPut, put), "VALUE_TOO_LARGE [limit=131072,size=131073]");
  // 976 KiB with two bytes for each key.
  put.entries.clear();
  for (int i = 0; i < 7; ++i) put.entries.push_back({fmt::format("{}", i), Bytes(131'072, 'v')});
  put.entries.push_back({"7", Bytes(999'424 - 7 * 131'072 - 8 * 3, 'v')});
  actors_.Must(operations::kPut, put);
  put.entries.back().value.push_back('v');
  EXPECT_EQ(actors_.Refusal(operations::kPut, put), "PAYLOAD_TOO_LARGE [limit=999424,size=999425]");
  EXPECT_EQ(actors_.Refusal(operations::kList, ListRequest{.actor = actor_, .limit = 16'385}),
            "BAD_REQUEST");
  EXPECT_EQ(actors_.Refusal(operations::kList, ListRequest{.actor = actor_, .bytes = 0}),
            "BAD_REQUEST");
}

// Elsewhere a batch of more than 128 entries or 976 KiB falls apart into several.
TEST_F(EntriesTest, ABatchHasNoSuchLimitsAndIsWhole) {
  std::vector<BatchChange> changes;
  for (int i = 0; i < 1'000; ++i) {
    changes.push_back({.key = fmt::format("page{:04}", i), .value = Value(4'096)});
  }
  changes.push_back({.key = "large", .value = Value(3'000'000)});
  const BatchAnswer answer = actors_.Must(operations::kBatch, Batch(changes));
  EXPECT_EQ(answer.revision, 1U);
  EXPECT_EQ(actors_.State(id_).entries, 1'001U);
  EXPECT_EQ(actors_.Get(id_, "large"), Value(3'000'000));
}

TEST_F(EntriesTest, TheQuotaBoundsTheResultingSize) {
  actors_.SetQuota(100'000);
  Put("k", Bytes(90'000, 'v'));
  // Elsewhere the bytes that are replaced count against the new ones.
  Put("k", Bytes(99'999, 'w'));
  EXPECT_EQ(actors_.State(id_).bytes, 100'000U);
  const PutRequest more{.actor = actor_, .entries = {{"k", Bytes(100'000, 'x')}}};
  EXPECT_EQ(actors_.Refusal(operations::kPut, more), "QUOTA_EXCEEDED [limit=100000,size=100001]");
  EXPECT_EQ(actors_.Get(id_, "k"), Bytes(99'999, 'w'));  // nothing has changed
  EXPECT_EQ(actors_.State(id_).revision, 2U);
  // What a batch deletes makes room for what it writes, in whatever order.
  actors_.Must(operations::kBatch, Batch({{.key = "new", .value = Bytes(90'000, 'n')},
                                          {.kind = Kind::kDelete, .key = "k"}}));
  actors_.Must(operations::kBatch,
               Batch({{.kind = Kind::kDrop}, {.key = "again", .value = Bytes(99'995, 'n')}}));
  EXPECT_EQ(actors_.State(id_).bytes, 100'000U);
  // Above a quota that was lowered, an actor may still shrink.
  actors_.SetQuota(10);
  Put("again", Bytes(50'000, 'n'));
  EXPECT_EQ(actors_.State(id_).bytes, 50'005U);
}

// --- Lists ---------------------------------------------------------------------------------------

TEST_F(EntriesTest, ListsGoByPrefixAndRange) {
  for (const char* key : {"a", "ab", "abc", "b", "c"}) Put(key, key);
  EXPECT_EQ(Keys({}), (std::vector<Bytes>{"a", "ab", "abc", "b", "c"}));
  EXPECT_EQ(Keys({.prefix = "ab"}), (std::vector<Bytes>{"ab", "abc"}));
  EXPECT_EQ(Keys({.begin = "ab", .end = "b"}), (std::vector<Bytes>{"ab", "abc", "b"}));
  EXPECT_EQ(Keys({.begin = "ab", .end = "b", .end_exclusive = true}),
            (std::vector<Bytes>{"ab", "abc"}));
  EXPECT_EQ(Keys({.begin = "b", .end = "ab"}), std::vector<Bytes>());
  EXPECT_EQ(Keys({.begin = "b", .end = "b"}), (std::vector<Bytes>{"b"}));
  EXPECT_EQ(Keys({.begin = "b", .end = "b", .end_exclusive = true}), std::vector<Bytes>());
  EXPECT_EQ(Keys({.prefix = "a", .begin = "aa", .reverse = true}),
            (std::vector<Bytes>{"abc", "ab"}));
  EXPECT_EQ(Keys({.limit = 2}), (std::vector<Bytes>{"a", "ab"}));
  EXPECT_EQ(Keys({.reverse = true, .limit = 2}), (std::vector<Bytes>{"c", "b"}));
  EXPECT_EQ(Keys({.limit = 0}), std::vector<Bytes>());
}

// Elsewhere a reverse list has only the last chunk of a value above 10,000 bytes.
TEST_F(EntriesTest, AReverseListHasWholeValues) {
  Put("a", Value(25'000, 'x'));
  Put("b", Value(10'000, 'y'));
  Put("c", "");
  Put("d", Value(10'001, 'z'));
  const EntryPage page =
      actors_.Must(operations::kList, ListRequest{.actor = actor_, .reverse = true});
  ASSERT_EQ(page.entries.size(), 4U);
  EXPECT_EQ(page.entries[0].value, Value(10'001, 'z'));
  EXPECT_EQ(page.entries[1].value, "");
  EXPECT_EQ(page.entries[2].value, Value(10'000, 'y'));
  EXPECT_EQ(page.entries[3].value, Value(25'000, 'x'));
}

// Elsewhere a list by prefix lacks keys whose next byte is FF.
TEST_F(EntriesTest, APrefixHasKeysThatGoOnWithFF) {
  const std::vector<Bytes> keys = {"p",      "p\0"s,     "p\0\xFF"s,   "pa",
                                   "p\xFF"s, "p\xFF\0"s, "p\xFF\x01"s, "p\xFF\xFF"s};
  for (const Bytes& key : keys) Put(key, key);
  Put("o", "");
  Put("q", "");
  EXPECT_EQ(Keys({.prefix = "p"}), keys);
  EXPECT_EQ(Keys({.prefix = "p\xFF"}), std::vector<Bytes>(keys.begin() + 4, keys.end()));
  EXPECT_EQ(Keys({.prefix = "p\0"s}), (std::vector<Bytes>{"p\0"s, "p\0\xFF"s}));
  Put("\xFF\xFF", "");
  EXPECT_EQ(Keys({.prefix = "\xFF"}), (std::vector<Bytes>{"\xFF\xFF"}));
}

// Elsewhere a list of some thousand entries has no bound and its client is cut off.
TEST_F(EntriesTest, ALongListComesInPagesWithoutLosingAnyone) {
  constexpr int kEntries = 20'000;
  std::vector<BatchChange> changes;
  for (int i = 0; i < kEntries; ++i) {
    changes.push_back({.key = fmt::format("{:06}", i), .value = Value(100)});
  }
  actors_.Must(operations::kBatch, Batch(std::move(changes)));
  for (const bool reverse : {false, true}) {
    ListRequest request{.actor = actor_, .reverse = reverse};
    int next = reverse ? kEntries - 1 : 0;
    int pages = 0;
    while (true) {
      const EntryPage page = actors_.Must(operations::kList, request);
      size_t bytes = 0;
      for (const Entry& entry : page.entries) {
        ASSERT_EQ(entry.key, fmt::format("{:06}", next));
        next += reverse ? -1 : 1;
        bytes += entry.key.size() + entry.value.size();
      }
      EXPECT_LE(bytes, static_cast<size_t>(kDefaultListBytes));
      ++pages;
      if (!page.more) break;
      request.after = page.entries.back().key;
    }
    EXPECT_EQ(next, reverse ? -1 : kEntries);
    EXPECT_GT(pages, 1);
  }
}

TEST_F(EntriesTest, TheByteBudgetEndsAPageButNeverBeforeItsFirstEntry) {
  for (const char* key : {"a", "b", "c"}) Put(key, Value(25'000));
  for (const bool reverse : {false, true}) {
    const ListRequest request{.actor = actor_, .reverse = reverse, .bytes = 50'002};
    const EntryPage page = actors_.Must(operations::kList, request);
    EXPECT_EQ(page.entries.size(), 2U) << reverse;
    EXPECT_TRUE(page.more);
    ListRequest small = request;
    small.bytes = 50'001;
    EXPECT_EQ(actors_.Must(operations::kList, small).entries.size(), 1U) << reverse;
    small.bytes = 1;
    const EntryPage first = actors_.Must(operations::kList, small);
    ASSERT_EQ(first.entries.size(), 1U);
    EXPECT_EQ(first.entries.front().value, Value(25'000));
    small.bytes = 1'000'000;
    EXPECT_FALSE(actors_.Must(operations::kList, small).more);
  }
}

TEST_F(EntriesTest, ACursorThatWasDeletedStillGoesOn) {
  for (const char* key : {"a", "b", "c"}) Put(key, key);
  actors_.Must(operations::kDelete, KeysRequest{.actor = actor_, .keys = {"b"}});
  EXPECT_EQ(Keys({.after = "b"}), (std::vector<Bytes>{"c"}));
  EXPECT_EQ(Keys({.reverse = true, .after = "b"}), (std::vector<Bytes>{"a"}));
  EXPECT_EQ(Keys({.after = "c"}), std::vector<Bytes>());
}

// --- Ranges --------------------------------------------------------------------------------------

TEST_F(EntriesTest, ARangeIsDeletedUpToItsEnd) {
  for (const char* key : {"a", "b", "ba", "c"}) Put(key, Value(15'000));
  actors_.Must(operations::kDeleteRange, RangeRequest{actor_, "b", "c"});
  EXPECT_EQ(Keys({}), (std::vector<Bytes>{"a", "c"}));
  EXPECT_EQ(actors_.State(id_).bytes, 30'002U);
  actors_.Must(operations::kDeleteRange, RangeRequest{actor_, "c", "a"});
  actors_.Must(operations::kDeleteRange, RangeRequest{actor_, "a", "a"});
  EXPECT_EQ(Keys({}), (std::vector<Bytes>{"a", "c"}));
}

TEST_F(EntriesTest, LargeRangesAreDeletedAndCountedToo) {
  std::vector<BatchChange> changes;
  for (int i = 0; i < 8'000; ++i) changes.push_back({.key = fmt::format("{:05}", i), .value = "v"});
  actors_.Must(operations::kBatch, Batch(changes));
  actors_.Must(operations::kDeleteRange, RangeRequest{actor_, "00001", "07999"});
  EXPECT_EQ(Keys({}), (std::vector<Bytes>{"00000", "07999"}));
  actors_.ExpectSound();
  actors_.Must(operations::kBatch, Batch(std::move(changes)));
  // A drop of many, and what the same batch writes behind it.
  actors_.Must(operations::kBatch, Batch({{.key = "before", .value = "1"},
                                          {.kind = Kind::kDrop},
                                          {.key = "00005", .value = "2"}}));
  EXPECT_EQ(Keys({}), (std::vector<Bytes>{"00005"}));
  EXPECT_EQ(actors_.State(id_).bytes, 6U);
}

// --- Batches -------------------------------------------------------------------------------------

TEST_F(EntriesTest, ChangesOfABatchComeOneAfterTheOther) {
  for (const char* key : {"a", "b", "c", "d"}) Put(key, "old");
  actors_.Must(operations::kBatch, Batch({{.key = "a", .value = "lost"},
                                          {.kind = Kind::kDeleteRange, .key = "a", .end = "c"},
                                          {.kind = Kind::kDeleteRange, .key = "b", .end = "d"},
                                          {.key = "b", .value = "new"},
                                          {.key = "e", .value = "lost"},
                                          {.kind = Kind::kDelete, .key = "e"}}));
  EXPECT_EQ(Keys({}), (std::vector<Bytes>{"b", "d"}));
  EXPECT_EQ(actors_.Get(id_, "b"), "new");
  EXPECT_EQ(actors_.State(id_).bytes, 8U);
}

TEST_F(EntriesTest, PreconditionsHoldOrNothingIsDone) {
  const uint64_t revision = Put("a", "1");
  BatchRequest request = Batch({{.key = "b", .value = "1"}});
  request.conditions = {{.key = "a", .revision = revision}, {.key = "b"}};
  actors_.Must(operations::kBatch, request);
  EXPECT_EQ(actors_.Refusal(operations::kBatch, request),
            fmt::format("PRECONDITION_FAILED [condition=1,revision={}]", revision + 1));
  request.conditions = {{.key = "absent", .revision = 1}};
  EXPECT_EQ(actors_.Refusal(operations::kBatch, request),
            "PRECONDITION_FAILED [condition=0,revision=0]");
  EXPECT_EQ(actors_.State(id_).revision, revision + 1);
}

TEST_F(EntriesTest, ConditionsAreOfTheStateBeforeTheBatch) {
  BatchRequest request = Batch({{.key = "a", .value = "1"}});
  request.conditions = {{.key = "a"}};
  actors_.Must(operations::kBatch, request);
  // One that only asks writes nothing.
  const BatchRequest asks{.actor = actor_, .conditions = {{.key = "a", .revision = 1}}};
  EXPECT_EQ(actors_.Must(operations::kBatch, asks).revision, 1U);
}

TEST_F(EntriesTest, ABatchWithAnIdIsDoneOnce) {
  BatchRequest request = Batch({{.key = "a", .value = "1"}});
  request.conditions = {{.key = "a"}};
  request.idempotency_id = "id-1";
  const BatchAnswer first = actors_.Must(operations::kBatch, request);
  EXPECT_FALSE(first.repeated);
  Put("a", "2");
  actors_.Reopen();
  const BatchAnswer second = actors_.Must(operations::kBatch, request);
  EXPECT_TRUE(second.repeated);
  EXPECT_EQ(second.revision, first.revision);
  EXPECT_EQ(actors_.Get(id_, "a"), "2");
  request.changes[0].value = "other";
  EXPECT_EQ(actors_.Refusal(operations::kBatch, request), "IDEMPOTENCY_CONFLICT [revision=1]");
  // A refused batch has not used its id.
  request.idempotency_id = "id-2";
  EXPECT_EQ(actors_.Refusal(operations::kBatch, request),
            "PRECONDITION_FAILED [condition=0,revision=2]");
  request.conditions.clear();
  EXPECT_FALSE(actors_.Must(operations::kBatch, request).repeated);
  request.idempotency_id = Bytes(kMaxIdempotencyBytes + 1, 'i');
  EXPECT_EQ(actors_.Refusal(operations::kBatch, request), "BAD_REQUEST [limit=128,size=129]");
}

TEST_F(EntriesTest, IdempotencyIdsAreForgottenAfterADay) {
  BatchRequest request = Batch({{.key = "a", .value = "1"}});
  for (int i = 0; i < 20; ++i) {
    request.idempotency_id = fmt::format("old-{}", i);
    actors_.Must(operations::kBatch, request);
  }
  EXPECT_EQ(actors_.State(id_).tokens, 20U);
  actors_.clock().AdvanceMillis(kIdempotencyKeptMs);
  for (int i = 0; i < 3; ++i) {
    request.idempotency_id = fmt::format("new-{}", i);
    EXPECT_FALSE(actors_.Must(operations::kBatch, request).repeated);
    actors_.ExpectSound();
  }
  EXPECT_EQ(actors_.State(id_).tokens, 3U);
}

TEST_F(EntriesTest, TheLimitsCanBeAskedFor) {
  SeededRandom random(1);
  EXPECT_NE(LimitsJson({.random = random})
                .find(R"("key_bytes":2046,"value_bytes":131072,"keys_per_operation":128)"),
            std::string::npos);
}

}  // namespace
}  // namespace cairn::actors
