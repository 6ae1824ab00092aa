#include "store/rocks/value_cache.h"

#include <malloc.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

#include "base/prefetch.h"

namespace cairn::store::rocks {
namespace {

constexpr size_t kMaxShards = 64;
constexpr size_t kMinShardBytes = 64 << 10;
constexpr size_t kMinSlots = 8;
constexpr size_t kRowsAhead = 16;  // of a commit, whose entries are fetched from memory at once
constexpr size_t kAllocatorHeader = 8;  // what an allocator keeps beside a block, at most
constexpr uint32_t kNoValue = std::numeric_limits<uint32_t>::max();

}  // namespace

// One key and value in one block of memory, the bytes after the struct.
struct ValueCache::Entry {
  uint64_t number;      // of the last range erased when this was stored or last checked
  uint32_t charge;      // bytes of memory, as the allocator counts them
  uint32_t capacity;    // for key and value
  uint32_t value_size;  // kNoValue: the key is known to be absent
  uint16_t key_size;
  uint8_t space;
  bool referenced;  // asked for since the hand last came by

  char* data() { return reinterpret_cast<char*>(this + 1); }
  const char* data() const { return reinterpret_cast<const char*>(this + 1); }
  BytesView key() const { return {data(), key_size}; }
  BytesView value() const { return {data() + key_size, value_size}; }

  // Not worth it in place: the block would stay more than half empty.
  bool Suits(size_t size) const { return size <= capacity && size + kSlack >= capacity / 2; }

  void SetValue(std::optional<BytesView> value) {
    value_size = value ? static_cast<uint32_t>(value->size()) : kNoValue;
    if (value && !value->empty()) std::memcpy(data() + key_size, value->data(), value->size());
  }

  static Entry* New(uint8_t space, BytesView key, size_t value_size);
  static void Delete(Entry* entry) { std::free(entry); }

  static constexpr size_t kSlack = 32;
  static constexpr size_t kMaxKeySize = std::numeric_limits<uint16_t>::max();
};

ValueCache::Entry* ValueCache::Entry::New(uint8_t space, BytesView key, size_t value_size) {
  constexpr size_t kStep = 16;  // a value that grows a little stays in its block
  const size_t needed = sizeof(Entry) + key.size() + value_size;
  const size_t rounded = (needed + kStep - 1) / kStep * kStep;
  void* memory = std::malloc(rounded);
  if (memory == nullptr) throw std::bad_alloc();
  auto* entry = new (memory) Entry();
  entry->charge = static_cast<uint32_t>(malloc_usable_size(memory) + kAllocatorHeader);
  entry->capacity = static_cast<uint32_t>(rounded - sizeof(Entry));
  entry->key_size = static_cast<uint16_t>(key.size());
  entry->space = space;
  if (!key.empty()) std::memcpy(entry->data(), key.data(), key.size());
  return entry;
}

struct ValueCache::Slot {
  uint64_t hash;
  Entry* entry;  // nullptr: empty
};

// A hash table with linear probing. Removing moves later slots back, so that a probe may stop at
// the first empty one.
class alignas(kCacheLineBytes) ValueCache::Shard {
 public:
  explicit Shard(size_t capacity) : capacity_(capacity) {}
  ~Shard() {
    for (const Slot& slot : slots_) Entry::Delete(slot.entry);
  }
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;

  Slot* Find(uint64_t hash, uint8_t space, BytesView key) {
    if (slots_.empty()) return nullptr;
    for (size_t i = hash & mask();; i = (i + 1) & mask()) {
      Slot& slot = slots_[i];
      if (slot.entry == nullptr) return nullptr;
      if (slot.hash == hash && slot.entry->space == space && slot.entry->key() == key) return &slot;
    }
  }

  // Asks memory for the slot a hash belongs to; needs no lock, for an outdated address does no
  // harm.
  void PrefetchSlot(uint64_t hash) const {
    const size_t mask = mask_.load(std::memory_order_relaxed);
    Prefetch(first_slot_.load(std::memory_order_relaxed) + (hash & mask));
  }

  // Asks memory for the entry of that hash, if there is one.
  void PrefetchEntry(uint64_t hash) const {
    if (slots_.empty()) return;
    for (size_t i = hash & mask(); slots_[i].entry != nullptr; i = (i + 1) & mask()) {
      if (slots_[i].hash != hash) continue;
      const char* entry = reinterpret_cast<const char*>(slots_[i].entry);
      Prefetch(entry);
      Prefetch(entry + kCacheLineBytes);
      Prefetch(entry + 2 * kCacheLineBytes);
      return;
    }
  }

  // Makes room and takes the entry over, or drops it when it would take too much.
  void Insert(uint64_t hash, Entry* entry) {
    if (!MakeRoom(entry->charge)) {
      Entry::Delete(entry);
      return;
    }
    Put({hash, entry});
    ++count_;
    bytes_ += entry->charge;
  }

  void Remove(Slot* slot) {
    bytes_ -= slot->entry->charge;
    --count_;
    Entry::Delete(slot->entry);
    size_t hole = static_cast<size_t>(slot - slots_.data());
    for (size_t i = (hole + 1) & mask(); slots_[i].entry != nullptr; i = (i + 1) & mask()) {
      const size_t home = slots_[i].hash & mask();
      // A slot may move back to the hole unless that is before its home.
      if (((i - home) & mask()) < ((i - hole) & mask())) continue;
      slots_[hole] = slots_[i];
      hole = i;
    }
    slots_[hole] = {};
  }

  // Removes the entries for which `unwanted` is true. It may be asked twice about one that moved.
  template <class Predicate>
  void RemoveIf(Predicate unwanted) {
    for (size_t i = 0; i < slots_.size();) {
      Prefetch(slots_[(i + kAhead) & mask()].entry);
      Slot& slot = slots_[i];
      if (slot.entry != nullptr && unwanted(*slot.entry)) {
        Remove(&slot);
      } else {
        ++i;
      }
    }
  }

  size_t bytes() const { return bytes_; }

  mutable std::mutex mutex;  // over everything here
  uint64_t hits = 0;
  uint64_t misses = 0;

 private:
  static constexpr size_t kAhead = 8;  // slots between asking memory for an entry and using it

  size_t mask() const { return slots_.size() - 1; }

  void Put(Slot slot) {
    size_t i = slot.hash & mask();
    while (slots_[i].entry != nullptr) i = (i + 1) & mask();
    slots_[i] = slot;
  }

  // The hand visits all slots in steps of the golden section, which scatter it evenly. In steps of
  // one it would empty the slots behind it while those before it fill up, and probing there would
  // take long.
  void EvictOne() {
    for (;; hand_ = (hand_ + step_) & mask()) {
      Prefetch(&slots_[(hand_ + 2 * step_) & mask()]);
      Prefetch(slots_[(hand_ + step_) & mask()].entry);
      Slot& slot = slots_[hand_];
      if (slot.entry == nullptr) continue;
      if (!slot.entry->referenced) {
        Remove(&slot);
        return;
      }
      slot.entry->referenced = false;
    }
  }

  // For one more entry, of `charge` bytes. A quarter of the slots stays empty: by more slots while
  // the memory allows it, else by eviction.
  bool MakeRoom(size_t charge) {
    if (charge > capacity_ / 2) return false;
    while (count_ > 0 && bytes_ + charge > capacity_) EvictOne();
    if (count_ + 1 > slots_.size() / 4 * 3 && !Grow(charge)) {
      if (count_ == 0) return false;
      EvictOne();
    }
    return bytes_ + charge <= capacity_;
  }

  bool Grow(size_t charge) {
    const size_t slots = std::max(slots_.size() * 2, kMinSlots);
    const size_t more = (slots - slots_.size()) * sizeof(Slot);
    if (bytes_ + charge + more > capacity_) return false;
    std::vector<Slot> old(slots);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.entry != nullptr) Put(slot);
    }
    bytes_ += more;
    mask_.store(mask(), std::memory_order_relaxed);
    first_slot_.store(slots_.data(), std::memory_order_relaxed);
    hand_ = 0;
    step_ = static_cast<size_t>(0.618034 * static_cast<double>(slots)) | 1;
    return true;
  }

  const size_t capacity_;
  size_t bytes_ = 0;
  size_t count_ = 0;
  size_t hand_ = 0;
  size_t step_ = 0;          // odd, so that it leads to every slot
  std::vector<Slot> slots_;  // as many as a power of two, or none yet
  // slots_ again, for PrefetchSlot.
  std::atomic<const Slot*> first_slot_{nullptr};
  std::atomic<size_t> mask_{0};
};

void ValueCache::ErasedRanges::Add(uint8_t space, BytesView begin, BytesView end, uint64_t number) {
  Ranges& ranges = spaces_[space];
  CutAt(ranges, begin);
  if (!end.empty()) CutAt(ranges, end);
  ranges.erase(ranges.lower_bound(begin), end.empty() ? ranges.end() : ranges.lower_bound(end));
  ranges.emplace(begin, Range{Bytes(end), number});
}

// Splits the range that has `at` inside, if there is one.
void ValueCache::ErasedRanges::CutAt(Ranges& ranges, BytesView at) {
  auto after = ranges.lower_bound(at);
  if (after == ranges.begin()) return;
  Range& before = std::prev(after)->second;
  if (!before.end.empty() && before.end <= at) return;
  ranges.emplace_hint(after, at, before);
  before.end = at;
}

bool ValueCache::ErasedRanges::Covers(uint8_t space, BytesView key, uint64_t newer_than) const {
  const auto ranges = spaces_.find(space);
  if (ranges == spaces_.end()) return false;
  const auto after = ranges->second.upper_bound(key);
  if (after == ranges->second.begin()) return false;
  const Range& range = std::prev(after)->second;
  return range.number > newer_than && (range.end.empty() || key < range.end);
}

void ValueCache::ErasedRanges::Forget(uint64_t up_to) {
  for (auto& [space, ranges] : spaces_) {
    std::erase_if(ranges, [&](const auto& range) { return range.second.number <= up_to; });
  }
}

ValueCache::ValueCache(size_t capacity_bytes, size_t max_value_bytes)
    : max_value_bytes_(max_value_bytes) {
  const size_t shards =
      std::bit_floor(std::clamp<size_t>(capacity_bytes / kMinShardBytes, 1, kMaxShards));
  for (size_t i = 0; i < shards; ++i) {
    shards_.push_back(std::make_unique<Shard>(capacity_bytes / shards));
  }
}

ValueCache::~ValueCache() = default;

// The top bits choose the shard, the low bits the slot.
ValueCache::Shard& ValueCache::ShardOf(uint64_t hash) const {
  return *shards_[(hash >> 56) & (shards_.size() - 1)];
}

bool ValueCache::IsErased(const Entry& entry, uint64_t number) const {
  if (entry.number == number) return false;
  const std::shared_lock lock(ranges_mutex_);
  return ranges_.Covers(entry.space, entry.key(), entry.number);
}

ValueCache::Lookup ValueCache::Get(uint8_t space, BytesView key, uint64_t hash, Bytes* value) {
  Shard& shard = ShardOf(hash);
  const std::lock_guard lock(shard.mutex);
  Slot* slot = shard.Find(hash, space, key);
  if (slot != nullptr) {
    const uint64_t number = last_range_.load(std::memory_order_acquire);
    Entry& entry = *slot->entry;
    if (!IsErased(entry, number)) {
      ++shard.hits;
      entry.number = number;
      entry.referenced = true;
      if (entry.value_size == kNoValue) return Lookup::kAbsent;
      value->assign(entry.value());
      return Lookup::kFound;
    }
    shard.Remove(slot);
  }
  ++shard.misses;
  return Lookup::kMiss;
}

void ValueCache::Expect(std::span<const Key> keys) const {
  std::array<uint64_t, kRowsAhead> hashes;
  while (!keys.empty()) {
    const std::span<const Key> some = keys.first(std::min(keys.size(), hashes.size()));
    keys = keys.subspan(some.size());
    for (size_t i = 0; i < some.size(); ++i) {
      hashes[i] = HashOf(some[i]);
      ShardOf(hashes[i]).PrefetchSlot(hashes[i]);
    }
    for (size_t i = 0; i < some.size(); ++i) {
      const Shard& shard = ShardOf(hashes[i]);
      const std::lock_guard lock(shard.mutex);
      shard.PrefetchEntry(hashes[i]);
    }
  }
}

void ValueCache::Commit(std::span<const Written> rows) {
  std::array<uint64_t, kRowsAhead> hashes;
  while (!rows.empty()) {
    const std::span<const Written> some = rows.first(std::min(rows.size(), hashes.size()));
    rows = rows.subspan(some.size());
    for (size_t i = 0; i < some.size(); ++i) {
      hashes[i] = some[i].hash ? *some[i].hash : Hash64(some[i].key, some[i].space);
      ShardOf(hashes[i]).PrefetchSlot(hashes[i]);
    }
    for (size_t i = 0; i < some.size(); ++i) {
      if (some[i].unknown == Unknown::kIgnored) continue;  // most are not there
      Shard& shard = ShardOf(hashes[i]);
      const std::lock_guard lock(shard.mutex);
      shard.PrefetchEntry(hashes[i]);
    }
    for (size_t i = 0; i < some.size(); ++i) {
      Shard& shard = ShardOf(hashes[i]);
      const std::lock_guard lock(shard.mutex);
      Store(shard, hashes[i], some[i].space, some[i].key, some[i].value,
            last_range_.load(std::memory_order_acquire), some[i].unknown);
    }
  }
}

void ValueCache::Fill(uint8_t space, BytesView key, std::optional<BytesView> value,
                      FunctionRef<bool()> still_current) {
  const uint64_t hash = Hash64(key, space);
  Shard& shard = ShardOf(hash);
  const std::lock_guard lock(shard.mutex);
  // Before the question, as the class comment says.
  const uint64_t number = last_range_.load(std::memory_order_acquire);
  if (still_current()) Store(shard, hash, space, key, value, number, Unknown::kAdded);
}

void ValueCache::Store(Shard& shard, uint64_t hash, uint8_t space, BytesView key,
                       std::optional<BytesView> value, uint64_t number, Unknown unknown) {
  const size_t value_size = value ? value->size() : 0;
  const bool fits = key.size() <= Entry::kMaxKeySize && value_size <= max_value_bytes_;
  Slot* slot = shard.Find(hash, space, key);
  if (slot == nullptr && unknown == Unknown::kIgnored) return;
  if (slot != nullptr && fits && slot->entry->Suits(key.size() + value_size)) {
    slot->entry->SetValue(value);
    slot->entry->number = number;
    return;
  }
  if (slot != nullptr) shard.Remove(slot);
  if (!fits) return;
  Entry* entry = Entry::New(space, key, value_size);
  entry->SetValue(value);
  entry->number = number;
  shard.Insert(hash, entry);
}

void ValueCache::EraseRange(uint8_t space, BytesView begin, BytesView end) {
  if (!end.empty() && begin >= end) return;
  const std::lock_guard erasing(erase_mutex_);
  {
    const std::lock_guard lock(ranges_mutex_);
    const uint64_t number = last_range_.load(std::memory_order_relaxed) + 1;
    ranges_.Add(space, begin, end, number);
    last_range_.store(number, std::memory_order_release);
  }
  if (++ranges_since_sweep_ < kRangesPerSweep) return;
  ranges_since_sweep_ = 0;
  if (next_to_sweep_ == 0) turn_began_after_ = last_range_.load(std::memory_order_relaxed);
  Sweep(*shards_[next_to_sweep_]);
  next_to_sweep_ = (next_to_sweep_ + 1) % shards_.size();
  if (next_to_sweep_ != 0) return;
  // No entry is older than the turn now.
  const std::lock_guard lock(ranges_mutex_);
  ranges_.Forget(turn_began_after_);
}

void ValueCache::Sweep(Shard& shard) {
  const std::lock_guard lock(shard.mutex);
  const std::shared_lock ranges_lock(ranges_mutex_);
  const uint64_t number = last_range_.load(std::memory_order_acquire);
  shard.RemoveIf([&](Entry& entry) {
    if (ranges_.Covers(entry.space, entry.key(), entry.number)) return true;
    entry.number = number;
    return false;
  });
}

size_t ValueCache::bytes() const {
  size_t sum = 0;
  for (const auto& shard : shards_) {
    const std::lock_guard lock(shard->mutex);
    sum += shard->bytes();
  }
  return sum;
}

uint64_t ValueCache::hits() const {
  uint64_t sum = 0;
  for (const auto& shard : shards_) {
    const std::lock_guard lock(shard->mutex);
    sum += shard->hits;
  }
  return sum;
}

uint64_t ValueCache::misses() const {
  uint64_t sum = 0;
  for (const auto& shard : shards_) {
    const std::lock_guard lock(shard->mutex);
    sum += shard->misses;
  }
  return sum;
}

}  // namespace cairn::store::rocks
