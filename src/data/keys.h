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
//   record    01 db:1 userkey…                            type:1 version:8 [expire_ms:8] payload…
//   element   02 db:1 keylen:4 userkey… version:8 …       (reserved: what collections consist of)
//   keys      03 db:1                                     count:8, a counter
//   expiring  04 db:1                                     count:8, a counter
//
// A record is a key as the user sees it. The low seven bits of `type` are a ValueType; its high bit
// says that expire_ms follows: milliseconds since 1970, from which on the key no longer exists for
// anyone, whether or not the record has been removed yet. `version` is the stamp of the transaction
// that last changed the key. The payload of a string is the string.
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
std::optional<RecordKey> DecodeRecordKey(BytesView bytes);
// The records of a database whose keys start with `prefix`.
store::Range RecordRange(uint8_t db, BytesView prefix = {});
// Everything of a database but its counters, one range per family.
store::Range ElementRange(uint8_t db);

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
  BytesView payload;

  friend bool operator==(const Record&, const Record&) = default;
};
Bytes EncodeRecord(const Record& record);
std::optional<Record> DecodeRecord(BytesView bytes);

}  // namespace cairn::data
