#pragma once

#include <rocksdb/db.h>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "store/rocks/btree_memtable.h"
#include "store/rocks/durable_mark.h"
#include "store/rocks/log_files.h"
#include "store/rocks/open.h"
#include "store/rocks/value_cache.h"
#include "store/store.h"
#include "store/stripes.h"
#include "store/wakeups.h"
#include "store/write_room.h"

namespace cairn::store::rocks {

// Why nothing is written at the moment, if so. Safe to use from any thread.
//
//   full      there was no room for a write, which left no trace. What is written already is whole
//             and goes on becoming durable; DiskWatch lets writes go on.
//   stopped   the disk failed in a way that leaves unknown what is on it. Nothing is written, and
//             nothing becomes durable, until the process ends.
class WriteFailure {
 public:
  bool stopped() const { return state_.load(std::memory_order_acquire) == State::kStopped; }
  bool full() const { return state_.load(std::memory_order_acquire) == State::kFull; }
  std::optional<Error> get() const {
    if (state_.load(std::memory_order_acquire) == State::kNone) return std::nullopt;
    const std::lock_guard lock(mutex_);
    return error_;
  }
  // Both return what is to be told to who wanted to write. Once stopped, later failures change
  // nothing: the first one is the cause.
  Error Stop(const Error& cause) { return Set(State::kStopped, "writes are stopped", cause); }
  Error Fill(const Error& cause) {
    return Set(State::kFull, "writes are stopped until the disk has room again", cause);
  }
  // There is room. Changes nothing if writes are stopped for good.
  void Resume() {
    const std::lock_guard lock(mutex_);
    if (state_ != State::kFull) return;
    error_.reset();
    state_.store(State::kNone, std::memory_order_release);
  }

 private:
  enum class State { kNone, kFull, kStopped };

  Error Set(State state, std::string_view what, const Error& cause) {
    const std::lock_guard lock(mutex_);
    if (state_ == State::kStopped) return *error_;
    error_ = Error{ErrorCode::kUnavailable, std::string(what) + ": " + cause.message};
    state_.store(state, std::memory_order_release);
    return *error_;
  }

  std::atomic<State> state_{State::kNone};
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
  std::optional<uint64_t> WantedBound() const {
    const uint64_t last = last_.load(std::memory_order_relaxed);
    if (last < bound_) return std::nullopt;
    return last + kBlock;
  }
  // The commit that raises it was written.
  void BoundWritten(uint64_t bound) { bound_ = bound; }
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
  Engine(const Clock& store_clock, Log store_log, const MemoryBudget& memory)
      : clock(store_clock),
        log(std::move(store_log)),
        transaction_bytes(memory.transaction_bytes),
        write_room(memory.transaction_bytes / 2),
        cache(memory.value_cache_bytes) {}

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
  const size_t transaction_bytes;  // that one body may write
  WriteRoom write_room;            // of bodies on threads that may wait
  std::shared_ptr<LogFiles> log_files;
  DurableMark durable_mark;
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

  // Who is told of changed rows. `change_wanted` is read after writes_ended has grown: a commit
  // that finds it unset can be seen by every body that begins after it was set.
  std::atomic<bool> change_wanted{false};
  std::mutex change_mutex;
  Space change_space = Space::kData;
  ChangeListener change_listener;

  std::mutex timer_mutex;
  std::function<void(Timestamp)> earlier_timer;
};

}  // namespace cairn::store::rocks
