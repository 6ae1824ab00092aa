#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "store/rocks/open.h"
#include "store/store.h"
#include "tests/support/temp_directory.h"
#include "tests/support/test_store.h"

namespace cairn::store::testing {

using Rows = std::vector<std::pair<Bytes, Bytes>>;

// A store in a directory of the test's own, on a clock that the test moves and the engine that
// CAIRN_TEST_ENGINE names.
class StoreTest : public ::testing::Test {
 protected:
  StoreTest() {
    options_.directory = dir_ / "data";
    options_.memory = rocks::MemoryBudget::FromTotal(64 << 20);
    options_.log_pool = false;  // has tests of its own
    options_.durability = Durability::kOs;
    Open();
  }

  void Open() {
    auto store = cairn::testing::OpenTestStore(options_, clock_);
    ASSERT_TRUE(store.ok()) << store.error().message;
    store_ = std::move(*store);
  }
  void Reopen() {
    store_.reset();
    Open();
  }

  Commit Run(const Scopes& scopes, Body body) {
    auto commit = store_->Run(scopes, body);
    EXPECT_TRUE(commit.ok()) << commit.error().message;
    return commit.ok() ? *commit : Commit{};
  }
  Commit Put(BytesView key, BytesView value, Space space = Space::kData) {
    return Run(Scope(key), [&](Transaction& txn) -> Result<void> {
      txn.Put({space, key}, value);
      return {};
    });
  }
  std::optional<Bytes> Get(BytesView key, Space space = Space::kData) {
    std::optional<Bytes> value;
    auto read = store_->RunRead(Scope(key), [&](Transaction& txn) -> Result<void> {
      CAIRN_ASSIGN_OR_RETURN(value, txn.Get({space, key}));
      return {};
    });
    EXPECT_TRUE(read.ok());
    return value;
  }
  static Scopes Scope(BytesView key) { return std::move(Scopes().Add(Space::kData, key)); }
  static Rows ScanAll(Reader& reader, const Range& range, const ScanOptions& options = {}) {
    Rows rows;
    auto scanned = reader.Scan(range, options, [&](BytesView key, BytesView value) {
      rows.emplace_back(key, value);
      return true;
    });
    EXPECT_TRUE(scanned.ok());
    return rows;
  }
  Rows ScanAll(const Range& range, const ScanOptions& options = {}) {
    auto snapshot = store_->Read();
    EXPECT_TRUE(snapshot.ok());
    return ScanAll(**snapshot, range, options);
  }

  cairn::testing::TempDirectory dir_;
  ManualClock clock_;
  rocks::Options options_;
  std::unique_ptr<Store> store_;
};

}  // namespace cairn::store::testing
