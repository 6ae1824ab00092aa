#include "data/keyspace/random_key.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "data/value/entry.h"
#include "data/value/keys.h"

// Keys are ordered, not numbered, so a random one is found by descending: among the keys that share
// a prefix, take a random next byte between that of the first and that of the last, lengthen the
// prefix to the next key that has it, and so on until one key is left. Where the bytes in use lie
// close together, as in decimal numbers, that is nearly even.
namespace cairn::data {
namespace {

constexpr int kAttempts = 16;
constexpr int kMaxDepth = 256;

struct Found {
  Bytes user_key;
  bool live = false;
};

enum class End { kFirst, kSecond, kLast };

// The first, second or last record of the range.
Result<std::optional<Found>> At(store::Transaction& transaction, const store::Range& range,
                                End end) {
  std::optional<Found> found;
  bool skip = end == End::kSecond;
  const auto visit = [&](BytesView key, BytesView value) {
    const std::optional<RecordKey> record_key = DecodeRecordKey(key);
    const std::optional<Record> record = DecodeRecord(value);
    const bool live = record && IsLive(*record, transaction.now());
    if (record_key && !skip) found = Found{Bytes(record_key->user_key), live};
    return std::exchange(skip, false);
  };
  CAIRN_RETURN_IF_ERROR(transaction.Scan(range, {.reverse = end == End::kLast, .limit = 2}, visit));
  return found;
}

Result<std::optional<Found>> Descend(store::Transaction& transaction, uint8_t db, Random& random) {
  Bytes prefix;
  std::optional<Found> chosen;
  for (int depth = 0; depth < kMaxDepth; ++depth) {
    const store::Range range = RecordRange(db, prefix);
    CAIRN_ASSIGN_OR_RETURN(std::optional<Found> first, At(transaction, range, End::kFirst));
    CAIRN_ASSIGN_OR_RETURN(const std::optional<Found> last, At(transaction, range, End::kLast));
    if (!first || !last || first->user_key == last->user_key) return first;
    const auto difference = std::ranges::mismatch(first->user_key, last->user_key);
    const auto shared = static_cast<size_t>(difference.in1 - first->user_key.begin());
    const uint64_t high = static_cast<uint8_t>(last->user_key[shared]);
    // The first key may end where the others go on.
    if (shared == first->user_key.size()) {
      CAIRN_ASSIGN_OR_RETURN(std::optional<Found> second, At(transaction, range, End::kSecond));
      CAIRN_CHECK(second.has_value());  // last differs from first, so there are two
      const uint64_t low = static_cast<uint8_t>(second->user_key[shared]);
      if (random.Below(high - low + 2) == 0) return first;
      first = std::move(second);
    }
    const uint64_t low = static_cast<uint8_t>(first->user_key[shared]);
    const uint64_t byte = low + random.Below(high - low + 1);
    prefix.assign(first->user_key, 0, shared);
    prefix += static_cast<char>(byte);
    store::Range from = RecordRange(db);
    from.begin = EncodeRecordKey({db, prefix});
    CAIRN_ASSIGN_OR_RETURN(chosen, At(transaction, from, End::kFirst));
    if (!chosen) return chosen;
    prefix = chosen->user_key.substr(0, shared + 1);
  }
  return chosen;
}

Result<std::optional<Bytes>> FirstLive(store::Transaction& transaction, uint8_t db) {
  std::optional<Bytes> first;
  CAIRN_RETURN_IF_ERROR(
      ScanRecords(transaction, RecordRange(db), [&](const RecordKey& key, const Record&) {
        first = key.user_key;
        return false;
      }));
  return first;
}

}  // namespace

Result<std::optional<Bytes>> PickRandomKey(store::Transaction& transaction, uint8_t db,
                                           Random& random) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    CAIRN_ASSIGN_OR_RETURN(std::optional<Found> found, Descend(transaction, db, random));
    if (!found) return std::optional<Bytes>();
    if (found->live) return std::optional(std::move(found->user_key));
  }
  return FirstLive(transaction, db);
}

}  // namespace cairn::data
