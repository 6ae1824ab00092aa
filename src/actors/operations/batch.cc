#include "actors/operations/batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "actors/entries/entries.h"
#include "actors/model/keys.h"
#include "actors/model/limits.h"
#include "actors/model/refusal.h"

namespace cairn::actors {
namespace {

using Kind = BatchChange::Kind;

Result<void> CheckKey(const Bytes& key) {
  if (key.size() <= kMaxEntryKeyBytes) return {};
  return Refuse(Reason::kKeyTooLong, TooLarge{.subject = "the key of an entry",
                                              .unit = "bytes",
                                              .size = key.size(),
                                              .limit = kMaxEntryKeyBytes});
}

Result<void> CheckSizes(const BatchRequest& request) {
  const size_t operations = request.conditions.size() + request.changes.size();
  if (operations > kMaxBatchOperations) {
    return Refuse(Reason::kTooManyKeys, TooLarge{.subject = "a batch",
                                                 .unit = "changes and preconditions",
                                                 .size = operations,
                                                 .limit = kMaxBatchOperations});
  }
  if (request.idempotency_id.size() > kMaxIdempotencyBytes) {
    return Refuse(Reason::kBadRequest, TooLarge{.subject = "an idempotency id",
                                                .unit = "bytes",
                                                .size = request.idempotency_id.size(),
                                                .limit = kMaxIdempotencyBytes});
  }
  for (const Precondition& condition : request.conditions) {
    CAIRN_RETURN_IF_ERROR(CheckKey(condition.key));
  }
  for (const BatchChange& change : request.changes) {
    CAIRN_RETURN_IF_ERROR(CheckKey(change.key));
    CAIRN_RETURN_IF_ERROR(CheckKey(change.end));
    if (change.value.size() > kMaxBatchValueBytes) {
      return Refuse(Reason::kValueTooLarge, TooLarge{.subject = "a value",
                                                     .unit = "bytes",
                                                     .size = change.value.size(),
                                                     .limit = kMaxBatchValueBytes});
    }
  }
  return {};
}

// --- Idempotency ---------------------------------------------------------------------------------

void AppendPiece(Bytes& out, BytesView piece) {
  AppendBig64(out, piece.size());
  AppendBig32(out, ChecksumOf(piece));
}

// Tells batches apart that somebody sends with one id by mistake; not a proof against intent.
uint64_t FingerprintOf(const BatchRequest& request) {
  Bytes pieces;
  for (const Precondition& condition : request.conditions) {
    AppendPiece(pieces, condition.key);
    AppendBig64(pieces, condition.revision);
  }
  size_t total = 0;
  for (const BatchChange& change : request.changes) {
    pieces.push_back(static_cast<char>(change.kind));
    for (const BytesView piece :
         {BytesView(change.key), BytesView(change.value), BytesView(change.end)}) {
      AppendPiece(pieces, piece);
      total += piece.size();
    }
  }
  return static_cast<uint64_t>(ChecksumOf(pieces)) << 32 |
         (static_cast<uint32_t>(total) ^ static_cast<uint32_t>(pieces.size()));
}

// The answer of the batch that had the id before; nullopt if none had.
Result<std::optional<BatchAnswer>> FindRepeated(store::Transaction& transaction,
                                                const BatchRequest& request) {
  if (request.idempotency_id.empty()) return std::optional<BatchAnswer>();
  const Bytes key = TokenKey(request.actor.id, request.idempotency_id);
  CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> value, transaction.Get(InActors(key)));
  if (!value) return std::optional<BatchAnswer>();
  const std::optional<TokenRow> row = DecodeTokenRow(*value);
  if (!row) return Error{ErrorCode::kCorruption, "the row of an idempotency id is damaged"};
  if (row->fingerprint == FingerprintOf(request)) {
    return std::optional(BatchAnswer{.revision = row->revision, .repeated = true});
  }
  return Refuse(Reason::kIdempotencyConflict, {{"revision", fmt::to_string(row->revision)}},
                fmt::format("'{}' was the idempotency id of another batch",
                            Printable(request.idempotency_id)));
}

// Remembers the id, and forgets those that are too old or too many.
Result<void> Remember(store::Transaction& transaction, const BatchRequest& request,
                      ActorState& state) {
  const ActorId& id = request.actor.id;
  const int64_t now_ms = transaction.now().millis();
  std::vector<Bytes> forgotten;
  CAIRN_RETURN_IF_ERROR(transaction.Scan(
      store::Range::Prefix(store::Space::kActors, TokenAgePrefix(id)),
      {.limit = kIdempotencyRemovedAtOnce}, [&](BytesView key, BytesView /*value*/) {
        const std::optional<TokenAge> age = DecodeTokenAgeKey(key);
        const bool too_many = state.tokens - forgotten.size() >= kMaxIdempotencyIds;
        if (!age || (!too_many && age->at_ms > now_ms - kIdempotencyKeptMs)) return false;
        forgotten.emplace_back(key);
        return true;
      }));
  for (const Bytes& key : forgotten) {
    const std::optional<TokenAge> age = DecodeTokenAgeKey(key);
    transaction.Delete(InActors(key));
    transaction.Delete(InActors(TokenKey(id, age->token)));
  }
  state.tokens += 1 - static_cast<uint32_t>(forgotten.size());
  const TokenRow row{state.revision, now_ms, FingerprintOf(request)};
  transaction.Put(InActors(TokenKey(id, request.idempotency_id)), EncodeTokenRow(row));
  transaction.Put(InActors(TokenAgeKey(id, now_ms, request.idempotency_id)), {});
  return {};
}

Result<void> CheckConditions(EntryReader& entries, const BatchRequest& request) {
  std::vector<Bytes> keys;
  keys.reserve(request.conditions.size());
  for (const Precondition& condition : request.conditions) keys.push_back(condition.key);
  CAIRN_ASSIGN_OR_RETURN(const auto metas, entries.Metas(keys));
  for (size_t i = 0; i < metas.size(); ++i) {
    const uint64_t revision = metas[i] ? metas[i]->revision : 0;
    const uint64_t wanted = request.conditions[i].revision;
    if (revision == wanted) continue;
    const auto state = [](uint64_t of) {
      return of == 0 ? std::string("absent") : fmt::format("of revision {}", of);
    };
    return Refuse(Reason::kPreconditionFailed,
                  {{"condition", fmt::to_string(i)}, {"revision", fmt::to_string(revision)}},
                  fmt::format("entry '{}' is {}, not {}", Printable(keys[i]), state(revision),
                              state(wanted)));
  }
  return {};
}

// --- What a batch comes to -----------------------------------------------------------------------

// The changes one after the other have one outcome: some ranges are emptied, some keys outside them
// deleted, some keys have a new value at the end. It is worked out before the first write, so that
// a batch above the quota writes nothing.
class Plan {
 public:
  explicit Plan(const BatchRequest& request) {
    for (const BatchChange& change : request.changes) Add(change);
    MergeRanges();
  }

  // Reads what is there, and counts.
  Result<void> Measure(EntryReader& entries, const ActorState& before) {
    after_ = before;
    if (dropped_) {
      after_.bytes = 0;
      after_.entries = 0;
      range_rows_ = 2 * before.entries + before.bytes / kChunkBytes;  // at most
      if (range_rows_ <= kMaxRowsDeletedSingly) {
        CAIRN_RETURN_IF_ERROR(entries.Measure(entries.keys().All(), kMaxRowsDeletedSingly, rows_));
      }
    } else {
      for (const auto& [begin, end] : ranges_) {
        const store::Range range = entries.keys().Between(begin, end, /*inclusive=*/false);
        CAIRN_ASSIGN_OR_RETURN(const RangeSize size,
                               entries.Measure(range, kMaxRowsDeletedSingly, rows_));
        after_.bytes -= size.bytes;
        after_.entries -= size.entries;
        range_rows_ += size.rows;
      }
    }
    return MeasureKeys(entries);
  }

  // What the actor comes to.
  ActorState& after() { return after_; }

  void Write(store::Transaction& transaction, const EntryReader& entries) const {
    const EntryKeys& keys = entries.keys();
    WriteRanges(transaction, keys);
    size_t next = 0;
    for (const auto& [key, value] : keys_) {
      const std::optional<EntryMeta>& before = metas_[next++];
      if (value != nullptr) {
        const EntryMeta meta{.revision = after_.revision,
                             .updated_ms = transaction.now().millis(),
                             .size = static_cast<uint32_t>(value->size()),
                             .checksum = ChecksumOf(*value)};
        WriteEntry(transaction, keys, {.key = key, .value = *value, .meta = meta}, before);
      } else if (before) {
        EraseEntry(transaction, keys, key, *before);
      }
    }
  }

 private:
  using Ranges = std::vector<std::pair<Bytes, Bytes>>;

  void Add(const BatchChange& change) {
    switch (change.kind) {
      case Kind::kPut:
        keys_[change.key] = &change.value;
        return;
      case Kind::kDelete:
        keys_[change.key] = nullptr;
        return;
      case Kind::kDeleteRange:
        if (change.key >= change.end) return;
        keys_.erase(keys_.lower_bound(change.key), keys_.lower_bound(change.end));
        ranges_.emplace_back(change.key, change.end);
        return;
      case Kind::kDrop:
        keys_.clear();
        ranges_.clear();
        dropped_ = true;
        return;
    }
  }

  // Ranges that touch become one, so that no entry is counted twice.
  void MergeRanges() {
    std::ranges::sort(ranges_);
    Ranges merged;
    for (auto& range : ranges_) {
      if (!merged.empty() && range.first <= merged.back().second) {
        merged.back().second = std::max(merged.back().second, range.second);
      } else {
        merged.push_back(std::move(range));
      }
    }
    ranges_ = std::move(merged);
  }

  // Whether a range has emptied the key's place.
  bool IsEmptied(const Bytes& key) const {
    if (dropped_) return true;
    const auto behind = std::ranges::upper_bound(ranges_, key, {}, &Ranges::value_type::first);
    return behind != ranges_.begin() && key < std::prev(behind)->second;
  }

  Result<void> MeasureKeys(EntryReader& entries) {
    std::vector<Bytes> outside;
    for (const auto& [key, value] : keys_) {
      if (!IsEmptied(key)) outside.push_back(key);
    }
    CAIRN_ASSIGN_OR_RETURN(const auto found, entries.Metas(outside));
    metas_.assign(keys_.size(), std::nullopt);
    size_t next = 0;
    size_t next_outside = 0;
    for (const auto& [key, value] : keys_) {
      std::optional<EntryMeta>& before = metas_[next++];
      if (next_outside < outside.size() && outside[next_outside] == key) {
        before = found[next_outside++];
      }
      if (before) {
        after_.bytes -= key.size() + before->size;
        --after_.entries;
      }
      if (value != nullptr) {
        after_.bytes += key.size() + value->size();
        ++after_.entries;
      }
    }
    return {};
  }

  void WriteRanges(store::Transaction& transaction, const EntryKeys& keys) const {
    if (range_rows_ <= kMaxRowsDeletedSingly) {
      for (const Bytes& row : rows_) transaction.Delete(InActors(row));
    } else if (dropped_) {
      transaction.DeleteRange(keys.All());
    } else {
      for (const auto& [begin, end] : ranges_) {
        transaction.DeleteRange(keys.Between(begin, end, /*inclusive=*/false));
      }
    }
  }

  bool dropped_ = false;  // all that was there before the batch is gone
  Ranges ranges_;         // these are emptied
  // What is written at the end; null: nothing, and what is there is deleted. Borrows the values.
  std::map<Bytes, const Bytes*> keys_;
  // What of them is there and not emptied, in the same order.
  std::vector<std::optional<EntryMeta>> metas_;
  std::vector<Bytes> rows_;  // of the ranges, if they are few
  uint64_t range_rows_ = 0;
  ActorState after_;
};

Result<void> CheckQuota(uint64_t quota, const ActorState& before, const ActorState& after) {
  // What makes it smaller is welcome, also if the quota has been lowered meanwhile.
  if (after.bytes <= quota || after.bytes <= before.bytes) return {};
  return Refuse(Reason::kQuotaExceeded,
                {{"limit", fmt::to_string(quota)}, {"size", fmt::to_string(after.bytes)}},
                fmt::format("the actor may have {} bytes and would have {}", quota, after.bytes));
}

}  // namespace

Result<BatchAnswer> Apply(Context& context, const BatchRequest& request) {
  store::Transaction& transaction = context.transaction;
  CAIRN_RETURN_IF_ERROR(CheckSizes(request));
  CAIRN_ASSIGN_OR_RETURN(const ActorState before, LoadActor(context, request.actor));
  CAIRN_ASSIGN_OR_RETURN(const auto repeated, FindRepeated(transaction, request));
  if (repeated) return *repeated;
  EntryReader entries(transaction, request.actor.id);
  CAIRN_RETURN_IF_ERROR(CheckConditions(entries, request));
  if (request.changes.empty() && request.idempotency_id.empty()) {
    return BatchAnswer{.revision = before.revision};
  }
  Plan plan(request);
  CAIRN_RETURN_IF_ERROR(plan.Measure(entries, before));
  CAIRN_RETURN_IF_ERROR(CheckQuota(context.policy.quota_bytes, before, plan.after()));
  plan.after().revision = before.revision + 1;
  // Its reads come before the first write: a read can make the body run again elsewhere.
  if (!request.idempotency_id.empty()) {
    CAIRN_RETURN_IF_ERROR(Remember(transaction, request, plan.after()));
  }
  plan.Write(transaction, entries);
  const ActorState& after = plan.after();
  transaction.Put(InActors(StateKey(request.actor.id)), EncodeState(after));
  if (after.bytes != before.bytes) {
    transaction.Add(InActors(ByteCountKey()),
                    static_cast<int64_t>(after.bytes) - static_cast<int64_t>(before.bytes));
  }
  return BatchAnswer{.revision = after.revision};
}

}  // namespace cairn::actors
