#include "store/rocks/btree_memtable.h"

#include <gtest/gtest.h>
#include <rocksdb/comparator.h>
#include <rocksdb/db.h>
#include <rocksdb/merge_operator.h>
#include <rocksdb/options.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "store/testing/key_shapes.h"
#include "tests/support/temp_directory.h"

namespace cairn::store::rocks {
namespace {

using store::testing::MixedKey;
using store::testing::Rng;

// Joins operands with commas, so that reads have to ask the memtable for more than one entry.
class Joining final : public ::rocksdb::AssociativeMergeOperator {
 public:
  bool Merge(const ::rocksdb::Slice& /*key*/, const ::rocksdb::Slice* existing,
             const ::rocksdb::Slice& operand, std::string* merged,
             ::rocksdb::Logger* /*logger*/) const override {
    if (existing != nullptr) *merged = existing->ToString() + ",";
    merged->append(operand.data(), operand.size());
    return true;
  }
  const char* Name() const override { return "Joining"; }
};

class RocksOnBTreeMemTable : public ::testing::Test {
 protected:
  RocksOnBTreeMemTable() {
    options_.create_if_missing = true;
    options_.memtable_factory = std::make_shared<BTreeMemTableFactory>();
    options_.allow_concurrent_memtable_write = false;
    options_.write_buffer_size = 64 << 10;
    options_.merge_operator = std::make_shared<Joining>();
    Open();
  }
  void Open() {
    db_.reset();
    ::rocksdb::DB* db = nullptr;
    const auto status = ::rocksdb::DB::Open(options_, directory_.path(), &db);
    ASSERT_TRUE(status.ok()) << status.ToString();
    db_.reset(db);
  }

  using Rows = std::map<std::string, std::string>;

  void ExpectRows(const Rows& rows, const ::rocksdb::Snapshot* snapshot) {
    ::rocksdb::ReadOptions options;
    options.snapshot = snapshot;
    std::unique_ptr<::rocksdb::Iterator> it(db_->NewIterator(options));
    auto row = rows.begin();
    for (it->SeekToFirst(); it->Valid(); it->Next(), ++row) {
      ASSERT_NE(row, rows.end());
      ASSERT_EQ(it->key().ToString(), row->first);
      ASSERT_EQ(it->value().ToString(), row->second);
    }
    ASSERT_EQ(row, rows.end());
    auto last = rows.rbegin();
    for (it->SeekToLast(); it->Valid(); it->Prev(), ++last) {
      ASSERT_NE(last, rows.rend());
      ASSERT_EQ(it->key().ToString(), last->first);
    }
    ASSERT_EQ(last, rows.rend());
  }

  void ExpectRow(const Rows& rows, const std::string& key, const ::rocksdb::Snapshot* snapshot) {
    ::rocksdb::ReadOptions options;
    options.snapshot = snapshot;
    std::string value;
    const auto status = db_->Get(options, key, &value);
    const auto row = rows.find(key);
    if (row == rows.end()) {
      ASSERT_TRUE(status.IsNotFound()) << status.ToString();
    } else {
      ASSERT_TRUE(status.ok()) << status.ToString();
      ASSERT_EQ(value, row->second);
    }
    std::unique_ptr<::rocksdb::Iterator> it(db_->NewIterator(options));
    const auto expect_at = [&](Rows::const_iterator expected) {
      ASSERT_EQ(it->Valid(), expected != rows.end());
      if (it->Valid()) {
        ASSERT_EQ(it->key().ToString(), expected->first);
      }
    };
    it->Seek(key);
    ASSERT_NO_FATAL_FAILURE(expect_at(rows.lower_bound(key)));
    it->SeekForPrev(key);
    const auto after = rows.upper_bound(key);
    expect_at(after == rows.begin() ? rows.end() : std::prev(after));
  }

  cairn::testing::TempDirectory directory_;
  ::rocksdb::Options options_;
  std::unique_ptr<::rocksdb::DB> db_;
};

TEST_F(RocksOnBTreeMemTable, DatabaseOnItMatchesAMap) {
  struct Past {
    const ::rocksdb::Snapshot* snapshot;
    Rows rows;
  };
  Rng random(5);
  Rows rows;
  std::vector<Past> pasts;
  const auto forget_pasts = [&] {
    for (const Past& past : pasts) db_->ReleaseSnapshot(past.snapshot);
    pasts.clear();
  };
  const auto expect_all = [&] {
    ASSERT_NO_FATAL_FAILURE(ExpectRows(rows, nullptr));
    for (const Past& past : pasts) ASSERT_NO_FATAL_FAILURE(ExpectRows(past.rows, past.snapshot));
  };

  for (int step = 0; step < 4000; ++step) {
    ::rocksdb::WriteBatch batch;
    for (uint64_t i = random() % 8; i > 0; --i) {
      const std::string key = MixedKey(random);
      const std::string value = std::to_string(random());
      const uint64_t action = random() % 20;
      if (action < 12) {
        batch.Put(key, value);
        rows[key] = value;
      } else if (action < 15) {
        batch.Merge(key, value);
        std::string& merged = rows[key];
        merged = merged.empty() ? value : merged + "," + value;
      } else if (action < 19) {
        batch.Delete(key);
        rows.erase(key);
      } else {
        const std::string other = MixedKey(random);
        const auto [begin, end] = std::minmax(key, other);
        batch.DeleteRange(begin, end);
        rows.erase(rows.lower_bound(begin), rows.lower_bound(end));
      }
    }
    ASSERT_TRUE(db_->Write({}, &batch).ok());
    ASSERT_NO_FATAL_FAILURE(ExpectRow(rows, MixedKey(random), nullptr));
    if (!pasts.empty()) {
      const Past& past = pasts[random() % pasts.size()];
      ASSERT_NO_FATAL_FAILURE(ExpectRow(past.rows, MixedKey(random), past.snapshot));
    }
    if (random() % 50 == 0) pasts.push_back({db_->GetSnapshot(), rows});
    if (pasts.size() > 5) forget_pasts();
    if (random() % 200 == 0) {
      ASSERT_NO_FATAL_FAILURE(expect_all());
    }
    if (random() % 300 == 0) {
      ASSERT_TRUE(db_->Flush({}).ok());
    }
    if (random() % 500 == 0) {
      forget_pasts();
      Open();
    }
  }
  ASSERT_NO_FATAL_FAILURE(expect_all());
  forget_pasts();
}

TEST_F(RocksOnBTreeMemTable, IteratorsOfADatabaseOutliveItsFlush) {
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(db_->Put({}, std::to_string(i), "old").ok());
  std::unique_ptr<::rocksdb::Iterator> it(db_->NewIterator({}));
  it->SeekToFirst();
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(db_->Put({}, std::to_string(i), "new").ok());
  ASSERT_TRUE(db_->Flush({}).ok());
  int count = 0;
  for (; it->Valid(); it->Next(), ++count) ASSERT_EQ(it->value().ToString(), "old");
  EXPECT_EQ(count, 1000);
}

TEST_F(RocksOnBTreeMemTable, SizesOfRangesInTheMemtableAreEstimated) {
  for (int i = 1000; i < 1200; ++i) ASSERT_TRUE(db_->Put({}, std::to_string(i), "value").ok());
  uint64_t count = 0;
  uint64_t bytes = 0;
  db_->GetApproximateMemTableStats({"1050", "1150"}, &count, &bytes);
  EXPECT_NEAR(static_cast<double>(count), 100, 30);
  EXPECT_GT(bytes, 0);
}

TEST_F(RocksOnBTreeMemTable, ConcurrentWritesToItAreRefused) {
  db_.reset();
  options_.allow_concurrent_memtable_write = true;
  ::rocksdb::DB* db = nullptr;
  EXPECT_TRUE(::rocksdb::DB::Open(options_, directory_.path(), &db).IsInvalidArgument());
}

TEST_F(RocksOnBTreeMemTable, AnotherOrderThanBytewiseStopsTheProcess) {
  db_.reset();
  options_.comparator = ::rocksdb::ReverseBytewiseComparator();
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  ::rocksdb::DB* db = nullptr;
  const std::string path = directory_ / "other";
  EXPECT_DEATH(static_cast<void>(::rocksdb::DB::Open(options_, path, &db)), "bytewise");
}
}  // namespace
}  // namespace cairn::store::rocks
