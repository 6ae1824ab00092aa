#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/function_ref.h"
#include "store/key_hash.h"
#include "store/space.h"

namespace cairn::store::rocks {

// Hot values in front of the engine: for some keys of all spaces the newest committed value, or the
// knowledge that there is none. Bounded in memory; may forget anything at any time. Thread-safe.
//
// Coherence. The cache must never keep a value that a commit has replaced. The store numbers its
// engine writes: a count of those begun goes up before each, a count of those ended after it.
//
//   the committing thread            a reader that missed
//   begun += 1                       remember ended, and that begun is the same: nothing is written
//   write to RocksDB                 read from RocksDB
//   EraseRange and Commit, for all   Fill(…, still_current = begun has not changed)
//     ranges and keys written
//   ended += 1
//
// Fill asks still_current under the lock that Commit for the same key needs. If the answer is yes,
// the write that would make the value stale has not begun, so its Commit comes later and corrects
// the cache; if that write has begun, the answer is no and nothing is kept. A range is erased with
// a number, and an entry carries the number of the last range erased before it was stored: an entry
// is gone as soon as a range that covers its key has a greater number. Fill takes the number before
// it asks, so a range erased after the answer has a greater one.
//
// Between the write to RocksDB and Commit the cache still serves the value before: who must not see
// that checks the two counts, as for any other read.
//
// Operation. Shards with a lock each; in a shard an open-addressing table of hashes and pointers,
// and one block of memory per entry. A hit costs two cache misses. Eviction is second chance: a
// hand goes round the table and takes what was not asked for since it last came by. Entries start
// without that mark, so keys that are only written leave first.
//
// An erased range costs nothing per entry when it is erased: entries it covers are dropped when
// they are met. The ranges are remembered until every shard was swept, one shard after each
// kRangesPerSweep erased ranges, so there are never more than about two turns of them.
class ValueCache {
 public:
  enum class Lookup { kMiss, kAbsent, kFound };

  static constexpr size_t kDefaultMaxValueBytes = 4096;

  // Keeps its memory, as the allocator counts it, within capacity_bytes; only the erased ranges it
  // remembers come on top. Values longer than max_value_bytes are not kept.
  explicit ValueCache(size_t capacity_bytes, size_t max_value_bytes = kDefaultMaxValueBytes);
  ~ValueCache();
  ValueCache(const ValueCache&) = delete;
  ValueCache& operator=(const ValueCache&) = delete;

  // kFound: *value is the value. kAbsent: the key is known not to exist. kMiss: nothing is known.
  // *value changes only with kFound. `hash` is HashOf the key.
  Lookup Get(uint8_t space, BytesView key, uint64_t hash, Bytes* value);
  Lookup Get(uint8_t space, BytesView key, Bytes* value) {
    return Get(space, key, Hash64(key, space), value);
  }

  // Get will be called for these keys: what it will read is on its way from memory when this
  // returns.
  void Expect(std::span<const Key> keys) const;

  // What becomes of a row that a commit has written if the cache does not have its key.
  enum class Unknown : uint8_t { kAdded, kIgnored };

  // What a commit has written to a key: the new value, or nullopt when deleted.
  struct Written {
    uint8_t space;
    BytesView key;
    std::optional<BytesView> value;
    Unknown unknown = Unknown::kAdded;
    std::optional<uint64_t> hash = {};  // HashOf the key, where it is known
  };

  // For every key a commit has written, after its write. Many in one call: the entries of keys to
  // come are on their way from memory while those before them are changed.
  void Commit(std::span<const Written> rows);
  void Commit(uint8_t space, BytesView key, std::optional<BytesView> value) {
    const Written row{space, key, value};
    Commit({&row, 1});
  }

  // For every range a commit has deleted, after its write and before Commit of the keys it wrote
  // on top. [begin, end), or to the end of the space when end is empty.
  void EraseRange(uint8_t space, BytesView begin, BytesView end);

  // Remembers what was read from the engine, provided still_current() is true. It is called with a
  // lock held: quick, and not back into the cache.
  void Fill(uint8_t space, BytesView key, std::optional<BytesView> value,
            FunctionRef<bool()> still_current);

  size_t bytes() const;
  uint64_t hits() const;
  uint64_t misses() const;

  static constexpr int kRangesPerSweep = 32;

 private:
  struct Entry;
  struct Slot;
  class Shard;

  // The erased ranges that some entry may be older than, each with its number. They do not overlap:
  // a newer range takes over what it shares with older ones.
  class ErasedRanges {
   public:
    void Add(uint8_t space, BytesView begin, BytesView end, uint64_t number);
    bool Covers(uint8_t space, BytesView key, uint64_t newer_than) const;
    void Forget(uint64_t up_to);

   private:
    struct Range {
      Bytes end;  // empty: to the end of the space
      uint64_t number;
    };
    using Ranges = std::map<Bytes, Range, std::less<>>;  // by begin

    void CutAt(Ranges& ranges, BytesView at);

    std::map<uint8_t, Ranges> spaces_;
  };

  Shard& ShardOf(uint64_t hash) const;
  bool IsErased(const Entry& entry, uint64_t number) const;
  void Store(Shard& shard, uint64_t hash, uint8_t space, BytesView key,
             std::optional<BytesView> value, uint64_t number, Unknown unknown);
  void Sweep(Shard& shard);

  const size_t max_value_bytes_;
  std::vector<std::unique_ptr<Shard>> shards_;

  // Locked in this order: erase_mutex_, a shard's mutex, ranges_mutex_.
  std::mutex erase_mutex_;  // over EraseRange
  mutable std::shared_mutex ranges_mutex_;
  ErasedRanges ranges_;
  std::atomic<uint64_t> last_range_{0};  // the number of the last range erased
  int ranges_since_sweep_ = 0;
  size_t next_to_sweep_ = 0;
  uint64_t turn_began_after_ = 0;  // last_range_ when shard 0 was swept
};

}  // namespace cairn::store::rocks
