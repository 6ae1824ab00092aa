#pragma once

#include <compare>
#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "store/space.h"

// The keyspace of `data`: every key and value of store::Space::kData. Integers are big-endian.
//
//   family    key                                         value
//   ──────    ─────────────────────────────────────────   ───────────────────────────────────────
//   record    01 db:1 userkey…              type:1 version:8 [expire_ms:8] [generation:8] payload…
//   element   02 db:1 generation:8 suffix…  what the type makes of it
//   keys      03 db:1                       count:8, a counter
//   expiring  04 db:1                       count:8, a counter
//
// A record is a key as the user sees it. The low six bits of `type` are a ValueType. Its bit 80
// says that expire_ms follows: milliseconds since 1970, from which on the key no longer exists for
// anyone, whether or not the record has been removed yet. Its bit 40 says that generation follows:
// the value has elements besides its record. `version` is the stamp of the transaction that last
// changed the key.
//
// A generation is a number that no other value ever has, so a key that is deleted and made again
// has nothing to do with its former elements: deleting costs the record alone, and the elements go
// later, by a timer of kind kTimerReclaim whose owner is db:1 generation:8. It does not name the
// user key, so RENAME moves the record alone.
//
// The payload of a short string is the string; string_value.h draws the longer ones. Each
// collection draws its payload and its suffixes in the header of its type.
//
// Records of one database are in the byte order of their user keys. The counters `keys` and
// `expiring` hold how many records there are, and how many of them have an expire_ms.
//
// A record with an expiry has a timer (store/timers.h) of kind kTimerKeyExpiry, whose owner is the
// record's key without its first byte: db:1 userkey….
namespace cairn::data {

enum class ValueType : uint8_t {
  kString = 1,
  kHash = 2,
  kSet = 3,
  kSortedSet = 4,
  kList = 5,
  kStream = 6,
  kJson = 7,
};

// A record's key, decoded. `user_key` is a view into what was decoded.
struct RecordKey {
  uint8_t db = 0;
  BytesView user_key;

  friend auto operator<=>(const RecordKey&, const RecordKey&) = default;
};
Bytes EncodeRecordKey(RecordKey key);
void AppendRecordKey(uint8_t db, BytesView user_key, Bytes& bytes);
std::optional<RecordKey> DecodeRecordKey(BytesView bytes);
// The records of a database whose keys start with `prefix`.
store::Range RecordRange(uint8_t db, BytesView prefix = {});
// All elements of a database.
store::Range ElementRange(uint8_t db);
// What comes before the suffix of each element of one value.
Bytes EncodeElementPrefix(uint8_t db, uint64_t generation);
inline constexpr size_t kElementPrefixBytes = 10;

// The owner of a kTimerReclaim, and back.
struct Reclaimed {
  uint8_t db = 0;
  uint64_t generation = 0;
  friend bool operator==(const Reclaimed&, const Reclaimed&) = default;
};
Bytes EncodeReclaimOwner(Reclaimed owner);
std::optional<Reclaimed> DecodeReclaimOwner(BytesView owner);

// The owner of a key's timer, and back.
BytesView TimerOwner(BytesView record_key);
std::optional<RecordKey> DecodeTimerOwner(BytesView owner);

Bytes EncodeKeyCounter(uint8_t db);
Bytes EncodeExpiringCounter(uint8_t db);
// A counter's value; 0 for a counter that was never added to.
int64_t DecodeCounter(const std::optional<Bytes>& value);

// A record's value, decoded. `payload` is a view into what was decoded.
struct Record {
  ValueType type = ValueType::kString;
  uint64_t version = 0;
  std::optional<int64_t> expire_ms;
  uint64_t generation = 0;  // 0: the value has no elements
  BytesView payload;

  friend bool operator==(const Record&, const Record&) = default;
};
Bytes EncodeRecord(const Record& record);
std::optional<Record> DecodeRecord(BytesView bytes);

}  // namespace cairn::data
