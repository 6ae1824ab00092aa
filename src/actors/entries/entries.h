#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "actors/model/actor_id.h"
#include "actors/model/keys.h"
#include "actors/model/records.h"
#include "base/bytes.h"
#include "base/result.h"
#include "store/transaction.h"

// The entries of one actor as rows (keys.h): a value is chunks and one row of metadata, which are
// only ever written together. Nothing here counts bytes or asks who may; operations/batch.h does.
namespace cairn::actors {

struct Entry {
  Bytes key;
  Bytes value;
  EntryMeta meta;
  friend bool operator==(const Entry&, const Entry&) = default;
};

// The same, borrowed.
struct EntryView {
  BytesView key;
  BytesView value;
  EntryMeta meta;
};

// Which entries a list has: those from `begin` on whose keys begin with `prefix`, up to `end`.
struct ListQuery {
  Bytes prefix = {};
  std::optional<Bytes> begin = {};
  std::optional<Bytes> end = {};
  bool end_inclusive = true;
  bool reverse = false;
  // A page goes on behind this key, in the direction of the list.
  std::optional<Bytes> after = {};
  // A page ends before it would have more; it always has the first entry.
  size_t limit = std::numeric_limits<size_t>::max();
  size_t bytes = std::numeric_limits<size_t>::max();
};

struct EntryPage {
  std::vector<Entry> entries;
  bool more = false;  // the list goes on behind the last of them
};

// What entries of a range have together.
struct RangeSize {
  uint64_t entries = 0;
  uint64_t bytes = 0;  // keys and values
  uint64_t rows = 0;
};

// Chunks that a value of this size has.
uint64_t ChunksOf(uint64_t size);

// Reads through any reader. Rows that do not belong together are kCorruption, which names the key.
class EntryReader {
 public:
  EntryReader(store::Reader& reader, const ActorId& id) : reader_(reader), id_(id), keys_(id) {}

  Result<std::optional<EntryMeta>> Meta(BytesView key);
  // In the order of the keys; nullopt for those that are not there.
  Result<std::vector<std::optional<EntryMeta>>> Metas(std::span<const Bytes> keys);
  Result<std::optional<Entry>> Get(BytesView key);
  Result<EntryPage> List(const ListQuery& query);

  // Reads a whole range. The keys of its rows are appended to `rows` as long as there are no more
  // than `most`.
  Result<RangeSize> Measure(const store::Range& range, size_t most, std::vector<Bytes>& rows);

  const EntryKeys& keys() const { return keys_; }
  Error Damaged(BytesView key, std::string_view what) const;

 private:
  store::Reader& reader_;
  const ActorId id_;
  const EntryKeys keys_;
};

// The rows of `query` without its limits.
store::Range RangeOf(const EntryKeys& keys, const ListQuery& query);

// Writes an entry over whatever `before` says is there.
void WriteEntry(store::Transaction& transaction, const EntryKeys& keys, const EntryView& entry,
                const std::optional<EntryMeta>& before);
void EraseEntry(store::Transaction& transaction, const EntryKeys& keys, BytesView key,
                const EntryMeta& before);

}  // namespace cairn::actors
