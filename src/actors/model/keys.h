#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "actors/model/actor_id.h"
#include "base/bytes.h"
#include "store/scopes.h"
#include "store/space.h"

// The keys of space `actors`. Each is a tuple (tuple.h); ID stands for the 18 bytes of an id as a
// byte string, names and keys of actors are texts, other keys byte strings. (1, …) are the rows of
// this layer; the entries of all actors are below (0, 3, 72).
//
//   key                                   value
//   ───────────────────────────────────   ─────────────────────────────────────────────────────────
//   (1, 1, ID)                            what was said when it was made (ActorRecord)
//   (1, 2, ID)                            what changes with each write (ActorState)
//   (1, 3, NAMESPACE, NAME, KEY)          ID bytes:18       the directory
//   (1, 4, ID)                            the input, as it was given; missing: there was none
//   (1, 5, ID, TOKEN)                     an idempotency id: revision:8 at_ms:8 fingerprint:8
//   (1, 6, ID, at_ms, TOKEN)              -                 the same, the oldest first
//   (1, 7, ID)                            due_ms:8          destroyed; a timer removes its rows
//   (1, 8)                                count:8           actors that there are (a counter)
//   (1, 9)                                bytes:8           of all their entries (a counter)
//
//   (0, 3, 72, ID, (KEY), 4, index)       up to 10,000 bytes of an entry's value
//   (0, 3, 72, ID, (KEY), 44)             01 revision:8 updated_ms:8 size:4 checksum:4 (EntryMeta)
//
// (KEY) is a nested tuple of one byte string. The chunks of an entry stand before its metadata; an
// empty value has no chunk. Entries are in the order of their keys as bytes.
//
// In space `timers`:  kind kTimerPurge   owner ID bytes:18    rows of a destroyed actor to remove
namespace cairn::actors {

// Stored: never renumber. store/timers.h has those of the layers below.
inline constexpr uint8_t kTimerPurge = 96;

Bytes RecordKey(const ActorId& id);
Bytes StateKey(const ActorId& id);
// What directory rows of a namespace, or of a name in it, begin with, and one row.
Bytes NamespacePrefix(std::string_view name_space);
Bytes NamePrefix(std::string_view name_space, std::string_view name);
Bytes DirectoryKey(std::string_view name_space, std::string_view name, std::string_view key);
Bytes InputKey(const ActorId& id);
Bytes TokenKey(const ActorId& id, std::string_view token);
Bytes TokenPrefix(const ActorId& id);
Bytes TokenAgeKey(const ActorId& id, int64_t at_ms, std::string_view token);
Bytes TokenAgePrefix(const ActorId& id);
Bytes PurgeKey(const ActorId& id);
Bytes ActorCountKey();
Bytes ByteCountKey();

// What all records, directory rows, … begin with, for scans.
Bytes RecordsPrefix();
Bytes StatesPrefix();
Bytes DirectoryPrefix();
Bytes PurgesPrefix();

struct DirectoryEntry {
  std::string name_space;
  std::string name;
  std::string key;
  friend bool operator==(const DirectoryEntry&, const DirectoryEntry&) = default;
};
// nullopt for a key of another family, as in all decoders.
std::optional<DirectoryEntry> DecodeDirectoryKey(BytesView key);
// Of (1, 1, ID), (1, 2, ID), (1, 4, ID) and (1, 7, ID).
std::optional<ActorId> DecodeIdKey(BytesView prefix, BytesView key);

struct TokenAge {
  int64_t at_ms = 0;
  std::string token;
  friend bool operator==(const TokenAge&, const TokenAge&) = default;
};
std::optional<TokenAge> DecodeTokenAgeKey(BytesView key);

// --- Entries -------------------------------------------------------------------------------------

// What the rows of all actors' entries begin with, and those of one.
Bytes EntriesPrefix();
Bytes EntriesPrefix(const ActorId& id);
// The id behind EntriesPrefix(); nullopt if there is none.
std::optional<ActorId> DecodeEntriesId(BytesView key);

// Builds the keys of one actor's rows and reads them.
class EntryKeys {
 public:
  explicit EntryKeys(const ActorId& id) : prefix_(EntriesPrefix(id)) {}

  Bytes Metadata(BytesView key) const;
  Bytes Chunk(BytesView key, uint64_t index) const;

  store::Range All() const { return store::Range::Prefix(store::Space::kActors, prefix_); }
  // The rows of every entry whose key begins so, whatever byte comes next.
  store::Range Prefix(BytesView prefix) const;
  // From `begin` on, up to `end` or including it; empty if they are the wrong way round.
  store::Range Between(BytesView begin, BytesView end, bool inclusive) const;
  store::Range From(BytesView begin) const;
  // The part of a range that is behind the entry `key`, or before it.
  store::Range After(store::Range range, BytesView key) const;
  store::Range Before(store::Range range, BytesView key) const;

  struct Row {
    Bytes key;
    std::optional<uint64_t> chunk;  // nullopt: it is the metadata
    friend bool operator==(const Row&, const Row&) = default;
  };
  // nullopt for a row that is not of this actor's entries.
  std::optional<Row> Decode(BytesView row) const;

 private:
  Bytes Wrapped(BytesView key) const;

  const Bytes prefix_;
};

// --- Scopes --------------------------------------------------------------------------------------

// Of all rows of one actor, and of one row of the directory.
void AddActorScope(const ActorId& id, store::Scopes& scopes);
void AddDirectoryScope(const DirectoryEntry& entry, store::Scopes& scopes);

// The key as the store takes it; borrows.
inline store::Key InActors(BytesView key) { return {store::Space::kActors, key}; }

}  // namespace cairn::actors
