#pragma once

#include <cstddef>
#include <cstdint>

// The limits of this layer; docs/actors.md shows them.
namespace cairn::actors {

// Of an actor's namespace and of its name.
inline constexpr size_t kMaxNameBytes = 64;
// Of one part of an actor's key, and of the key as one text.
inline constexpr size_t kMaxKeyPartBytes = 128;
inline constexpr size_t kMaxActorKeyBytes = 1'024;
inline constexpr size_t kMaxInputBytes = 4 * 1024 * 1024;

// Of an entry, whoever writes it.
inline constexpr size_t kMaxEntryKeyBytes = 2'046;
// How a value is cut into rows.
inline constexpr size_t kChunkBytes = 10'000;

// Of the operations get, put and delete. A batch has no such limits but those below.
inline constexpr size_t kMaxValueBytes = 128 * 1024;
inline constexpr size_t kMaxKeysPerOperation = 128;
// Keys, each with 2 bytes more, and values of one put.
inline constexpr size_t kMaxPutBytes = 976 * 1024;
inline constexpr size_t kKeyWrapperBytes = 2;

// Of one value of a batch.
inline constexpr size_t kMaxBatchValueBytes = 64 * 1024 * 1024;
// Operations and preconditions of one batch.
inline constexpr size_t kMaxBatchOperations = 1'000'000;
// The body of an HTTP request for a batch; values stand in it as base64.
inline constexpr size_t kMaxBatchBodyBytes = 64 * 1024 * 1024;
inline constexpr size_t kMaxPutBodyBytes = 2 * 1024 * 1024;
inline constexpr size_t kMaxCreateBodyBytes = 6 * 1024 * 1024;

// Of a list: entries and bytes of one page.
inline constexpr int64_t kDefaultListEntries = 16'384;
inline constexpr int64_t kMaxListEntries = 16'384;
inline constexpr int64_t kDefaultListBytes = 1024 * 1024;
inline constexpr int64_t kMaxListBytes = 16 * 1024 * 1024;
// Actors of one page.
inline constexpr int64_t kDefaultActorsPage = 100;
inline constexpr int64_t kMaxActorsPage = 1'000;

// Keys and values of one actor, unless the setting actors.quota says otherwise.
inline constexpr uint64_t kDefaultQuotaBytes = 10ULL * 1024 * 1024 * 1024;
inline constexpr uint64_t kMinQuotaBytes = 1024 * 1024;
inline constexpr uint64_t kMaxQuotaBytes = 1ULL << 50;

// An idempotency id, how many an actor remembers, and how long it does at least if they are fewer.
inline constexpr size_t kMaxIdempotencyBytes = 128;
inline constexpr uint32_t kMaxIdempotencyIds = 10'000;
inline constexpr int64_t kIdempotencyKeptMs = 24 * 3'600'000;
// Expired ones that a batch with an id removes.
inline constexpr size_t kIdempotencyRemovedAtOnce = 8;

// Rows that are deleted one by one, each in its own write; more are deleted as a range.
inline constexpr size_t kMaxRowsDeletedSingly = 10'000;
// Rows of a destroyed actor that go with it; more are removed by a timer, so many at a time.
inline constexpr size_t kRowsRemovedAtOnce = 1'000;

// Tuples in tuples.
inline constexpr size_t kMaxTupleDepth = 32;

}  // namespace cairn::actors
