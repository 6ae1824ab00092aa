#include "doors/access/audit_log.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "doors/testing/gated_store.h"
#include "store/rocks/open.h"
#include "tests/support/temp_directory.h"
#include "tests/support/test_store.h"

namespace cairn::doors {
namespace {

TEST(AuditKeyTest, RowsStandInTheOrderOfTimeAndThenOfNumbers) {
  EXPECT_EQ(EncodeAuditKey(AuditFamily::kChanges, {0x0102030405060708}, 9),
            Bytes("audit/\x01\x02\x03\x04\x05\x06\x07\x08\0\0\0\0\0\0\0\x09", 22));
  EXPECT_EQ(EncodeAuditKey(AuditFamily::kCounted, {0x0102030405060708}, 9),
            Bytes("audit-refused/\x01\x02\x03\x04\x05\x06\x07\x08\0\0\0\0\0\0\0\x09", 30));
  for (const AuditFamily family : {AuditFamily::kChanges, AuditFamily::kCounted}) {
    EXPECT_LT(EncodeAuditKey(family, {255}, 300), EncodeAuditKey(family, {256}, 1));
    EXPECT_LT(EncodeAuditKey(family, {256}, 255), EncodeAuditKey(family, {256}, 256));
  }
}

TEST(AuditKeyTest, WhatIsNoRowIsRefused) {
  for (const AuditFamily family : {AuditFamily::kChanges, AuditFamily::kCounted}) {
    const Bytes key = EncodeAuditKey(family, {7}, 8);
    EXPECT_TRUE(DecodeAuditRow(key, "{}").ok());
    for (size_t size = 0; size < key.size(); ++size) {
      EXPECT_FALSE(DecodeAuditRow(BytesView(key).substr(0, size), "{}").ok()) << size;
    }
    EXPECT_FALSE(DecodeAuditRow(key + "x", "{}").ok());
    for (const char* value : {"", "{", "[]", "1"}) EXPECT_FALSE(DecodeAuditRow(key, value).ok());
  }
}

TEST(AuditKeyTest, ARowOfAnEarlierVersionIsOneChange) {
  const auto row = DecodeAuditRow(EncodeAuditKey(AuditFamily::kChanges, {7}, 8),
                                  R"({"principal":"p","status":403})");
  ASSERT_TRUE(row.ok());
  EXPECT_EQ(row->count, 1U);
  EXPECT_EQ(row->first, Timestamp{7});
  EXPECT_EQ(row->entry.detail, "");
}

class AuditLogTest : public ::testing::Test {
 protected:
  void SetUp() override {
    store::rocks::Options options;
    options.directory = directory_ / "data";
    options.memory = store::rocks::MemoryBudget::FromTotal(64 << 20);
    options.log_pool = false;
    options.durability = store::Durability::kOs;
    auto store = cairn::testing::OpenTestStore(options, clock_);
    ASSERT_TRUE(store.ok()) << store.error().message;
    store_ = *std::move(store);
  }

  static AuditEntry Entry(const std::string& path, const std::string& principal = "p") {
    return {.principal = principal, .role = "r", .method = "POST", .path = path, .query = {}};
  }
  // As a route refuses it: the path has what the client has made up, the kind has not.
  static AuditEntry Refusal(const std::string& path, const std::string& principal = "reader") {
    AuditEntry entry = Entry(path, principal);
    entry.status = 403;
    entry.kind = path.substr(0, path.find(':'));
    return entry;
  }

  void Append(AuditLog& log, const AuditEntry& entry) {
    const auto done = store_->Run({}, [&](store::Transaction& transaction) -> Result<void> {
      log.Append(transaction, entry);
      return {};
    });
    ASSERT_TRUE(done.ok());
  }
  void Append(AuditLog& log, const std::string& path) { Append(log, Entry(path)); }

  std::vector<AuditRow> Rows(std::optional<Timestamp> since = {},
                             std::optional<Timestamp> until = {}) {
    std::vector<AuditRow> rows;
    const auto snapshot = store_->Read();
    EXPECT_TRUE(AuditLog::Read(**snapshot, since, until, [&](const AuditRow& row) {
                  rows.push_back(row);
                  return true;
                }).ok());
    return rows;
  }
  using Names = std::vector<std::string>;
  Names Paths(std::optional<Timestamp> since = {}, std::optional<Timestamp> until = {}) {
    Names paths;
    for (const AuditRow& row : Rows(since, until)) paths.push_back(row.entry.path);
    return paths;
  }
  std::map<std::string, size_t> RowsOfEach() {
    std::map<std::string, size_t> rows;
    for (const AuditRow& row : Rows()) ++rows[row.entry.principal];
    return rows;
  }

  cairn::testing::TempDirectory directory_;
  ManualClock clock_;
  std::unique_ptr<store::Store> store_;
};

constexpr int64_t kLong = 90LL * 24 * 3600 * 1'000'000;

TEST_F(AuditLogTest, RowsAreReadNewestFirstWithinATime) {
  AuditLog log(*store_, clock_, Log::Silent());
  Append(log, "a");
  clock_.AdvanceMillis(10);
  const Timestamp middle = clock_.Now();
  Append(log, "b");
  clock_.AdvanceMillis(10);
  log.Count(Refusal("refused"));
  ASSERT_TRUE(log.Flush().ok());
  clock_.AdvanceMillis(10);
  Append(log, "c");
  EXPECT_EQ(Paths(), (Names{"c", "refused", "b", "a"}));
  EXPECT_EQ(Paths(middle), (Names{"c", "refused", "b"}));
  EXPECT_EQ(Paths({}, middle), (Names{"a"}));
}

TEST_F(AuditLogTest, AVisitorThatHasEnoughIsNotShownMore) {
  AuditLog log(*store_, clock_, Log::Silent());
  for (const char* path : {"a", "b"}) Append(log, path);
  for (const char* path : {"c", "d"}) log.Count(Refusal(path));
  ASSERT_TRUE(log.Flush().ok());
  for (size_t wanted = 1; wanted <= 4; ++wanted) {
    size_t seen = 0;
    const auto snapshot = store_->Read();
    ASSERT_TRUE(
        AuditLog::Read(**snapshot, {}, {}, [&](const AuditRow&) { return ++seen < wanted; }).ok());
    EXPECT_EQ(seen, wanted);
  }
}

TEST_F(AuditLogTest, AnyBytesAreKeptUpToALimit) {
  AuditLog log(*store_, clock_, Log::Silent());
  Append(log, "\xff\"\n");
  std::string cut;
  while (cut.size() < 1'023) cut.push_back('x');
  cut += "\xc3";
  Append(log, cut + "\xa4");
  const Names paths = Paths();
  ASSERT_EQ(paths.size(), 2U);
  EXPECT_EQ(paths[0], cut);
  EXPECT_EQ(paths[1], "\xff\"\n");
}

// --- Refusals -----------------------------------------------------------------------------------

TEST_F(AuditLogTest, RefusalsAreCountedInOneRow) {
  AuditLog log(*store_, clock_, Log::Silent());
  Append(log, "change");
  const Timestamp first = clock_.Now();
  for (int i = 0; i < 50'000; ++i) {
    log.Count(Refusal("/things:" + std::to_string(i)));
    // Written in between, as the thread does: the row grows.
    if (i % 10'000 == 0) {
      ASSERT_TRUE(log.Flush().ok());
    }
    clock_.AdvanceMillis(1);
  }
  ASSERT_TRUE(log.Flush().ok());
  const std::vector<AuditRow> rows = Rows();
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].count, 50'000U);
  EXPECT_EQ(rows[0].entry.path, "/things:49999");
  EXPECT_EQ(rows[0].first, first);
  EXPECT_EQ(rows[0].time.us, first.us + 49'999'000);
  EXPECT_EQ(rows[1].entry.path, "change");
}

TEST_F(AuditLogTest, RefusalsOfAnotherHourOrAnotherKindAreAnotherRow) {
  AuditLog log(*store_, clock_, Log::Silent());
  log.Count(Refusal("a"));
  log.Count(Refusal("b"));
  log.Count(Refusal("a", "other"));
  AuditEntry malformed = Refusal("a");
  malformed.status = 400;
  log.Count(malformed);
  ASSERT_TRUE(log.Flush().ok());
  EXPECT_EQ(Rows().size(), 4U);
  clock_.AdvanceMillis(AuditLog::kCountedForUs / 1'000);
  ASSERT_TRUE(log.Flush().ok());  // ends what was counted
  EXPECT_EQ(Rows().size(), 4U);
  log.Count(Refusal("a"));
  ASSERT_TRUE(log.Flush().ok());
  EXPECT_EQ(Rows().size(), 5U);
}

TEST_F(AuditLogTest, OneWhoTriesEverythingHasAFewRowsAndAllOfItIsCounted) {
  AuditLog log(*store_, clock_, Log::Silent());
  for (int i = 0; i < 1'000; ++i) log.Count(Refusal("kind " + std::to_string(i)));
  ASSERT_TRUE(log.Flush().ok());
  uint64_t count = 0;
  for (const AuditRow& row : Rows()) {
    EXPECT_EQ(row.entry.principal, "reader");
    count += row.count;
  }
  EXPECT_EQ(Rows().size(), AuditLog::kMaxCountedOfOne + 1);
  EXPECT_EQ(count, 1'000U);
}

TEST_F(AuditLogTest, ManyWhoTryHaveBoundedRowsAndAllOfItIsCounted) {
  AuditLog log(*store_, clock_, Log::Silent());
  for (int i = 0; i < 5'000; ++i) log.Count(Refusal("kind", "key " + std::to_string(i)));
  ASSERT_TRUE(log.Flush().ok());
  uint64_t count = 0;
  for (const AuditRow& row : Rows()) count += row.count;
  EXPECT_EQ(Rows().size(), AuditLog::kMaxCounted + 1);
  EXPECT_EQ(RowsOfEach()["*"], 1U);
  EXPECT_EQ(count, 5'000U);
}

// --- Changes that wait --------------------------------------------------------------------------

TEST_F(AuditLogTest, WhatIsKeptIsWrittenWithItsTimeAndMoreThanThatIsCounted) {
  AuditLog log(*store_, clock_, Log::Silent());
  const Timestamp begin = clock_.Now();
  for (size_t i = 0; i < AuditLog::kMaxWaiting + 10; ++i) {
    AuditEntry entry = Entry("CONFIG SET maxclients");
    entry.kind = "config|set";
    log.Keep(entry);
  }
  clock_.AdvanceMillis(1'000);
  ASSERT_TRUE(log.Flush().ok());
  uint64_t count = 0;
  for (const AuditRow& row : Rows()) {
    EXPECT_EQ(row.time, begin);
    count += row.count;
  }
  EXPECT_EQ(Rows().size(), AuditLog::kMaxWaiting + 1);
  EXPECT_EQ(count, AuditLog::kMaxWaiting + 10);
}

TEST_F(AuditLogTest, WhatWaitsIsCutAsWhatIsStored) {
  AuditLog log(*store_, clock_, Log::Silent());
  log.Keep(Entry(std::string(100'000, 'k')));
  log.Count(Refusal(std::string(100'000, 'c')));
  ASSERT_TRUE(log.Flush().ok());
  for (const AuditRow& row : Rows()) EXPECT_EQ(row.entry.path.size(), 1'024U);
}

TEST_F(AuditLogTest, TheThreadWritesWhatIsLeftWhenItStops) {
  AuditLog log(*store_, clock_, Log::Silent());
  log.Start();
  log.Count(Refusal("refused"));
  log.Keep(Entry("kept"));
  log.Stop();
  EXPECT_EQ(Rows().size(), 2U);
  log.Stop();
}

TEST_F(AuditLogTest, WhatCannotBeWrittenWaitsAndIsReported) {
  auto gated = std::make_unique<testing::GatedStore>(std::move(store_));
  testing::GatedStore& switchable = *gated;
  store_ = std::move(gated);
  AuditLog log(*store_, clock_, Log::Silent());
  switchable.SetRunsFail(true);
  log.Keep(Entry("kept"));
  log.Count(Refusal("refused"));
  const Result<void> failed = log.Flush();
  ASSERT_FALSE(failed.ok());
  log.Failed(failed.error());
  EXPECT_EQ(log.failures(), 1U);
  switchable.SetRunsFail(false);
  ASSERT_TRUE(log.Flush().ok());
  EXPECT_EQ(Rows().size(), 2U);
}

// --- Bounds -------------------------------------------------------------------------------------

TEST_F(AuditLogTest, RowsThatAreTooOldGo) {
  AuditLog log(*store_, clock_, Log::Silent(), {.bytes = 1 << 20, .kept_us = 1'000'000});
  Append(log, "a");
  log.Count(Refusal("b"));
  ASSERT_TRUE(log.Flush().ok());
  clock_.AdvanceMillis(999);
  Append(log, "c");
  ASSERT_TRUE(log.Trim().ok());
  EXPECT_EQ(Rows().size(), 3U);
  clock_.AdvanceMillis(2);
  ASSERT_TRUE(log.Trim().ok());
  EXPECT_EQ(Paths(), (Names{"c"}));
}

TEST_F(AuditLogTest, TheOldestGoWhereThereAreTooManyBytes) {
  AuditLog log(*store_, clock_, Log::Silent(), {.bytes = 16'384, .kept_us = kLong});
  for (int i = 0; i < 1'000; ++i) Append(log, std::to_string(i));
  ASSERT_TRUE(log.Trim().ok());
  const Names paths = Paths();
  EXPECT_GT(paths.size(), 20U);
  EXPECT_LT(paths.size(), 16'384U / 100);
  for (size_t i = 0; i < paths.size(); ++i) EXPECT_EQ(paths[i], std::to_string(999 - i));
}

TEST_F(AuditLogTest, RefusalsNeverPushOutChanges) {
  AuditLog log(*store_, clock_, Log::Silent(), {.bytes = 65'536, .kept_us = kLong});
  for (int i = 0; i < 100; ++i) Append(log, "change " + std::to_string(i));
  for (int hour = 0; hour < 100; ++hour) {
    for (int kind = 0; kind < 50; ++kind) log.Count(Refusal("kind " + std::to_string(kind)));
    ASSERT_TRUE(log.Flush().ok());
    clock_.AdvanceMillis(AuditLog::kCountedForUs / 1'000);
    ASSERT_TRUE(log.Flush().ok());
    ASSERT_TRUE(log.Trim().ok());
  }
  EXPECT_EQ(RowsOfEach()["p"], 100U);
  EXPECT_GT(RowsOfEach()["reader"], 10U);
  EXPECT_LT(RowsOfEach()["reader"], 100U);
}

TEST_F(AuditLogTest, NobodyPushesOutWhatOthersDid) {
  AuditLog log(*store_, clock_, Log::Silent(), {.bytes = 65'536, .kept_us = kLong});
  for (int i = 0; i < 50; ++i) Append(log, Entry("admin's", "root"));
  for (int i = 0; i < 50; ++i) Append(log, Entry("another's", "deploy"));
  // One that may change something, again and again.
  for (int i = 0; i < 2'000; ++i) {
    Append(log, Entry("pause", "operator"));
    if (i % 500 == 499) {
      ASSERT_TRUE(log.Trim().ok());
    }
  }
  const auto rows = RowsOfEach();
  EXPECT_EQ(rows.at("root"), 50U);
  EXPECT_EQ(rows.at("deploy"), 50U);
  EXPECT_GT(rows.at("operator"), 100U);
  EXPECT_LT(rows.at("operator"), 700U);
}

TEST_F(AuditLogTest, ItTrimsItselfAsItGrows) {
  AuditLog log(*store_, clock_, Log::Silent(), {.bytes = 16'384, .kept_us = kLong});
  log.Start();
  for (int i = 0; i < 1'000; ++i) Append(log, std::to_string(i));
  log.Stop();
  EXPECT_LT(Paths().size(), 16'384U / 100);
}

}  // namespace
}  // namespace cairn::doors
