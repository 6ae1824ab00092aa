#pragma once

#include <rocksdb/db.h>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>

#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "store/rocks/btree_memtable.h"
#include "store/rocks/value_cache.h"
#include "store/store.h"
#include "store/stripes.h"
#include "store/wakeups.h"

namespace cairn::store::rocks {

// The first failure that stops writing, kept until the process ends. Safe to use from any thread.
class WriteFailure {
 public:
  bool happened() const { return happened_.load(std::memory_order_acquire); }
  std::optional<Error> get() const {
    if (!happened()) return std::nullopt;
    const std::lock_guard lock(mutex_);
    return error_;
  }
  // Later failures change nothing: the first one is the cause.
  void Set(const Error& cause) {
    const std::lock_guard lock(mutex_);
    if (error_) return;
    error_ = Error{ErrorCode::kUnavailable, "writes are stopped: " + cause.message};
    happened_.store(true, std::memory_order_release);
  }

 private:
  std::atomic<bool> happened_{false};
  mutable std::mutex mutex_;
  std::optional<Error> error_;
};

// Hands out numbers that are never used twice, also after a crash. A row in space `system` holds a
// bound that every number ever committed is below; the next start continues from the bound. Taking
// a number writes nothing; the sequencer raises the bound in the same engine write as the first
// transaction that needs it.
class NumberSource {
 public:
  static constexpr uint64_t kBlock = 1 << 20;

  explicit NumberSource(BytesView row_key) : row_key_(row_key) {}
  void Start(uint64_t bound) {
    bound_ = bound;
    last_ = bound;
  }
  uint64_t Next() { return Next(1); }
  // The last of as many numbers, which follow one another.
  uint64_t Next(uint32_t count) {
    return last_.fetch_add(count, std::memory_order_relaxed) + count;
  }

  // For the sequencer alone. The new bound to write with this commit, if the stored one is used up.
  std::optional<uint64_t> RaiseBound() {
    const uint64_t last = last_.load(std::memory_order_relaxed);
    if (last < bound_) return std::nullopt;
    bound_ = last + kBlock;
    return bound_;
  }
  BytesView row_key() const { return row_key_; }

 private:
  Bytes row_key_;
  std::atomic<uint64_t> last_{0};
  uint64_t bound_ = 0;
};

// What the parts of the embedded store share.
//
// Visibility. Every engine write is bracketed by writes_begun and writes_ended. While both are
// equal and stay so, the store does not change, so reads made in between are one consistent view
// without a RocksDB snapshot. Between the two the sequencer also brings the value cache up to date.
struct Engine {
  Engine(const Clock& store_clock, Log store_log, size_t value_cache_bytes)
      : clock(store_clock), log(std::move(store_log)), cache(value_cache_bytes) {}

  ::rocksdb::ColumnFamilyHandle* column(Space space) const {
    return columns[static_cast<size_t>(space)];
  }

  // Between the begin of a write that holds a range deletion and the write itself.
  void NoteRangeDeletion(Space space) {
    range_deletions[static_cast<size_t>(space)].fetch_add(1);
    range_deletion_news.fetch_add(1);
    range_deletion_news.notify_all();
  }

  const Clock& clock;
  Log log;
  std::unique_ptr<::rocksdb::DB> db;
  std::array<::rocksdb::ColumnFamilyHandle*, kAllSpaces.size()> columns{};
  std::array<std::shared_ptr<BTreeMemTableFactory>, kAllSpaces.size()> memtables;

  ValueCache cache;
  Stripes stripes;
  Wakeups wakeups;
  WriteFailure failure;
  NumberSource stamps{"number/stamp"};
  NumberSource events{"number/event"};

  std::atomic<uint64_t> writes_begun{0};
  std::atomic<uint64_t> writes_ended{0};
  std::atomic<uint64_t> visible_commit{0};
  std::atomic<uint64_t> durable_commit{0};

  // How many range deletions a space may hold; 0 is certain. RocksDB 7.8 iterators over them can
  // silently skip rows when a block cannot be read, as happens to every read that must not go to
  // the disk; so such a space is scanned only by threads that may wait, and RangeDeletions cleans
  // it. The news grow with each one, in any space.
  std::array<std::atomic<uint64_t>, kAllSpaces.size()> range_deletions{};
  std::atomic<uint64_t> range_deletion_news{0};

  // A scan on a loop met a block that is not in memory, and is on its way to a thread that may
  // wait.
  std::atomic<bool> scan_went_cold{false};

  std::atomic<uint64_t> commits{0};
  std::atomic<uint64_t> engine_writes{0};

  std::mutex timer_mutex;
  std::function<void(Timestamp)> earlier_timer;
};

}  // namespace cairn::store::rocks
