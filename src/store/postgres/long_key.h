#pragma once

#include <optional>
#include <utility>

#include "base/bytes.h"
#include "store/space.h"

namespace cairn::store::postgres {

// PostgreSQL indexes no key beyond some 2,700 bytes. A longer one stands under its first bytes and
// a digest, and its row's value begins with the whole key:
//
//   key of 2000 bytes or more    key:1968 sha256:32   →   length:4 key value
//   every other key              key                  →   value
//
// So a row is a long key's if and only if its stored key has 2000 bytes. Stored keys are in the
// order of the keys as far as their first 1968 bytes differ: who needs order reads all rows with
// the same 1968 bytes (a group) and sorts them.
inline constexpr size_t kStoredPrefixBytes = 1968;
inline constexpr size_t kStoredKeyBytes = 2000;

inline bool IsLong(BytesView key) { return key.size() >= kStoredKeyBytes; }
// Whether the row's place among its neighbours is not that of its key.
inline bool IsInGroup(BytesView stored_key) { return stored_key.size() >= kStoredPrefixBytes; }

Bytes StoredKey(BytesView key);
// Of a long key.
Bytes StoredValue(BytesView key, BytesView value);
// The key and the value of a long key's row; nullopt if it is damaged.
std::optional<std::pair<BytesView, BytesView>> DecodeLongRow(BytesView stored_value);

// All stored keys of keys in `range`, and perhaps some beyond it.
Range StoredRange(const Range& range);
inline bool HasLongBound(const Range& range) {
  return IsInGroup(range.begin) || (range.end && IsInGroup(*range.end));
}

}  // namespace cairn::store::postgres
