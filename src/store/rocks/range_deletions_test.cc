#include "store/rocks/range_deletions.h"

#include <string>

#include "store/testing/fixture.h"
#include "tests/support/await.h"

namespace cairn::store::rocks {
namespace {

using store::testing::Rows;

class RangeDeletionsTest : public store::testing::StoreTest {
 protected:
  void SetUp() override {
    CAIRN_TEST_ROCKS_ONLY("range deletions that have to be cleaned away");
    UseRest(std::chrono::milliseconds(10));
  }

  void UseRest(std::chrono::milliseconds rest) {
    options_.range_deletion_rest = rest;
    Reopen();
  }
  void DeleteRange(const Range& range) {
    Run(Scopes::Exclusive(), [&](Transaction& transaction) -> Result<void> {
      transaction.DeleteRange(range);
      return {};
    });
  }
  // The rows that a loop sees; nullopt if it must not look.
  std::optional<Rows> ScanOnLoop() {
    const auto group = store_->NewGroup();
    Rows rows;
    const auto read = group->Run(Scopes(), Access::kRead, [&](Transaction& transaction) {
      rows.clear();
      return transaction.Scan(Range::All(Space::kData), {}, [&](BytesView key, BytesView value) {
        rows.emplace_back(key, value);
        return true;
      });
    });
    if (read.ok()) return rows;
    EXPECT_EQ(read.error().code, ErrorCode::kWouldBlock);
    return std::nullopt;
  }
  Rows AwaitScanOnLoop() {
    std::optional<Rows> rows;
    cairn::testing::Await("a scan on the loop", [&] {
      rows = ScanOnLoop();
      // What a loop finds on disk only, it does not see either.
      if (!rows) ScanAll(Range::All(Space::kData));
      return rows.has_value();
    });
    return *rows;
  }
};

TEST_F(RangeDeletionsTest, LoopsScanAgainOnceTheyAreCleanedAway) {
  for (const char* key : {"a", "b", "c", "d"}) Put(key, "old");
  DeleteRange({Space::kData, "b", "d"});
  EXPECT_EQ(ScanAll(Range::All(Space::kData)), (Rows{{"a", "old"}, {"d", "old"}}));
  EXPECT_EQ(AwaitScanOnLoop(), (Rows{{"a", "old"}, {"d", "old"}}));
  Put("c", "new");
  EXPECT_EQ(AwaitScanOnLoop(), (Rows{{"a", "old"}, {"c", "new"}, {"d", "old"}}));
  DeleteRange({Space::kData, "", std::nullopt});
  EXPECT_TRUE(AwaitScanOnLoop().empty());
}

TEST_F(RangeDeletionsTest, UntilThenLoopsDoNotScan) {
  UseRest(std::chrono::hours(1));
  Put("a", "old");
  EXPECT_EQ(ScanOnLoop(), (Rows{{"a", "old"}}));
  DeleteRange({Space::kData, "b", "d"});
  EXPECT_EQ(ScanOnLoop(), std::nullopt);
}

TEST_F(RangeDeletionsTest, WhatARestartFindsIsCleanedToo) {
  UseRest(std::chrono::hours(1));
  for (const char* key : {"a", "b", "c"}) Put(key, "old");
  DeleteRange({Space::kData, "b", "c"});
  Reopen();
  EXPECT_EQ(ScanOnLoop(), std::nullopt);
  UseRest(std::chrono::milliseconds(10));
  EXPECT_EQ(AwaitScanOnLoop(), (Rows{{"a", "old"}, {"c", "old"}}));
  EXPECT_EQ(ScanAll(Range::All(Space::kData)), (Rows{{"a", "old"}, {"c", "old"}}));
}

TEST_F(RangeDeletionsTest, ThoseThatASnapshotNeedsWaitForIt) {
  for (const char* key : {"a", "b", "c"}) Put(key, "old");
  auto snapshot = store_->Read();
  ASSERT_TRUE(snapshot.ok());
  DeleteRange({Space::kData, "b", std::nullopt});
  EXPECT_EQ(ScanOnLoop(), std::nullopt) << "cleaned away under a snapshot";
  EXPECT_EQ(ScanAll(**snapshot, Range::All(Space::kData)).size(), 3U);
  snapshot->reset();
  EXPECT_EQ(AwaitScanOnLoop(), (Rows{{"a", "old"}}));
}

}  // namespace
}  // namespace cairn::store::rocks
