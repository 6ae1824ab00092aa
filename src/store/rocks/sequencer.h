#pragma once

#include <rocksdb/write_batch.h>

#include <array>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "store/rocks/engine.h"
#include "store/rocks/value_cache.h"
#include "store/write_set.h"

namespace cairn::store::rocks {

// The one door through which every write reaches RocksDB, and so the one order of commits.
//
// Whoever finds nobody at the door writes for all who wait there: their write sets become one
// engine write and one commit number. What must follow commit order is decided here: event numbers,
// counters, the stripes' newest commit. When Submit returns, the writes are visible, the caches
// agree with them and the stripes are free; they are not durable yet.
//
// A write for which the disk has no room is refused before any of it happened, and others after it
// until there is room. Any other failed engine write stops all writing: RocksDB cannot tell how
// much of it reached the log.
class Sequencer {
 public:
  // `committed` is called with each new commit and how many bytes it wrote, `stopped` after a
  // failure that is for good; both on the writing thread, both quick.
  Sequencer(Engine& engine, std::function<void(Commit, size_t bytes)> committed,
            std::function<void()> stopped);

  // RocksDB has let the write through to its log, and nobody can see it yet. On the writing thread.
  void Logged();

  // Commits `writes`, made under `stripes`, which `owner` holds; releases them in any case.
  Result<Commit> Submit(const WriteSet& writes, std::span<const Stripes::Index> stripes,
                        Stripes::Owner owner);

 private:
  struct Entry {
    const WriteSet* writes;
    std::span<const Stripes::Index> stripes;
    Stripes::Owner owner;
    std::optional<Result<Commit>> result;
  };
  struct OwnRow {
    Space space;
    Bytes key;
    Bytes value;
  };
  struct CounterKey {
    Space space;
    Bytes key;
    friend bool operator==(const CounterKey&, const CounterKey&) = default;
  };
  struct CounterKeyHash {
    size_t operator()(const CounterKey& key) const;
  };

  // Those who wait longest: all, or as many as one engine write should hold.
  std::vector<Entry*> TakeWaiting();
  Result<Commit> WriteAll(std::span<Entry* const> entries);
  Result<void> MakeRoom();
  Result<void> Write(std::span<Entry* const> entries);
  void Written(std::span<Entry* const> entries);
  void BeginBatch(std::span<Entry* const> entries);
  Result<void> BuildBatch(std::span<Entry* const> entries);
  Result<void> SumCounters(const WriteSet& writes);
  void AddRow(Space space, BytesView key, BytesView value);
  void AddEvent(const WriteSet::Event& event);
  void AddBound(NumberSource& source, std::optional<uint64_t>& bound);
  void AnnounceRows();
  void Release(std::span<Entry* const> entries);
  void UpdateCache(std::span<Entry* const> entries);
  // Gives back what a large write took.
  void FreeSpareMemory();
  void TellChanges(std::span<Entry* const> entries, Commit commit);

  Engine& engine_;
  const std::function<void(Commit, size_t)> committed_;
  const std::function<void()> stopped_;

  std::mutex mutex_;
  std::condition_variable done_;
  std::vector<Entry*> waiting_;
  bool writing_ = false;

  // Touched only by the thread that writes.
  std::span<Entry* const> current_;  // while RocksDB writes them
  Commit commit_;                    // their number
  ::rocksdb::WriteBatch batch_;
  std::unordered_map<CounterKey, int64_t, CounterKeyHash> counters_;
  std::vector<std::pair<CounterKey, int64_t>> new_counters_;        // of the batch being written
  std::array<std::vector<BytesView>, kAllSpaces.size()> row_keys_;  // of the batch, by space
  std::vector<OwnRow> own_rows_;              // rows of the batch that no write set holds
  std::vector<ValueCache::Written> written_;  // by UpdateCache, kept for its memory
  std::deque<Bytes> event_keys_;              // of the batch, the first `events_`; likewise
  size_t events_ = 0;
  std::optional<uint64_t> stamp_bound_;  // of the batch
  std::optional<uint64_t> event_bound_;
  std::vector<Change> changes_;  // by TellChanges, kept for its memory
};

}  // namespace cairn::store::rocks
