#include "data/value/entry.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/hash.h"

namespace cairn::data {
namespace {

// When the timer of an expiry is due; none if that is further off than a Timestamp reaches, some
// 292,000 years.
std::optional<Timestamp> TimerDue(std::optional<int64_t> expire_ms) {
  constexpr int64_t kLastMs = std::numeric_limits<int64_t>::max() / 1000;
  if (!expire_ms || *expire_ms > kLastMs) return std::nullopt;
  return Timestamp::FromMillis(*expire_ms);
}

bool HasPassed(std::optional<int64_t> expire_ms, Timestamp now) {
  return expire_ms && *expire_ms <= now.millis();
}
// Most keys have no such time, and then the clock is not asked.
bool HasPassed(std::optional<int64_t> expire_ms, const store::Reader& reader) {
  return expire_ms && HasPassed(expire_ms, reader.now());
}

// How often keys were made in this process, by a part of their hash. A key that is not there has no
// record whose version could tell that it was made and removed again: this number does. Keys that
// share one are taken for each other, which makes an EXEC fail that need not have, one in 262,144
// keys made meanwhile. Counted only from the first time that somebody watches a key that is not
// there. Servers that share a store do not hear of each other's keys here.
class MadeKeys {
 public:
  uint64_t CountOf(BytesView key) {
    wanted_.store(true);
    return counts_[PlaceOf(key)].load();
  }
  void NoteMade(BytesView key) {
    if (wanted_.load(std::memory_order_relaxed)) counts_[PlaceOf(key)].fetch_add(1);
  }

 private:
  static constexpr size_t kPlaces = 1U << 18;
  static size_t PlaceOf(BytesView key) { return Hash64(key) % kPlaces; }

  std::atomic<bool> wanted_ = false;
  std::vector<std::atomic<uint32_t>> counts_ = std::vector<std::atomic<uint32_t>>(kPlaces);
};

MadeKeys& AllMadeKeys() {
  static MadeKeys keys;
  return keys;
}

Error Unreadable(BytesView stored_key) {
  return {ErrorCode::kCorruption,
          fmt::format("the record under {} cannot be read", Printable(stored_key))};
}

// How many elements one firing of a timer removes: what a commit takes in its stride.
constexpr size_t kReclaimedAtOnce = 256;

void Reclaim(store::Transaction& transaction, uint8_t db, uint64_t generation) {
  transaction.SetTimer(transaction.now(), store::kTimerReclaim,
                       EncodeReclaimOwner({db, generation}), {});
}

}  // namespace

void TellOfMiss(doors::CommandContext& context, BytesView key) {
  const auto reads = [&](size_t index) {
    return context.args[index] == key &&
           doors::AccessOfKey(context.command, context.args, index).starts_with("RO");
  };
  if (!context.command.Has(doors::kReadOnly) &&
      std::ranges::none_of(doors::FindKeys(context.command, context.args), reads)) {
    return;
  }
  context.Notify(doors::kEventKeyMiss, "keymiss", key);
}

Result<Entry> Entry::Load(store::Transaction& transaction, uint8_t db, BytesView key) {
  Entry entry(transaction, EncodeRecordKey({db, key}));
  CAIRN_ASSIGN_OR_RETURN(std::optional<Bytes> value, transaction.Get(entry.store_key()));
  if (!value) return entry;
  const std::optional<Record> record = DecodeRecord(*value);
  if (!record) return Unreadable(entry.key_);
  entry.stored_ = true;
  entry.live_ = !HasPassed(record->expire_ms, transaction);
  entry.record_type_ = record->type;
  entry.version_ = record->version;
  entry.generation_ = record->generation;
  entry.expire_ms_ = record->expire_ms;
  entry.payload_at_ = value->size() - record->payload.size();
  entry.value_ = *std::move(value);
  return entry;
}

void Entry::CountKeys(int64_t delta) {
  transaction_->Add({store::Space::kData, EncodeKeyCounter(db())}, delta);
}

void Entry::ChangeTimer(std::optional<int64_t> expire_ms) {
  if (expire_ms == expire_ms_) return;
  const BytesView owner = TimerOwner(key_);
  if (const auto due = TimerDue(expire_ms_)) {
    transaction_->CancelTimer(*due, store::kTimerKeyExpiry, owner);
  }
  if (const auto due = TimerDue(expire_ms)) {
    transaction_->SetTimer(*due, store::kTimerKeyExpiry, owner, {});
  }
  const int64_t delta = (expire_ms ? 1 : 0) - (expire_ms_ ? 1 : 0);
  if (delta != 0) transaction_->Add({store::Space::kData, EncodeExpiringCounter(db())}, delta);
  expire_ms_ = expire_ms;
}

void Entry::Put(const NewValue& value) {
  if (HasPassed(value.expire_ms, *transaction_)) {
    if (value.generation != 0 && value.generation != generation_) {
      Reclaim(*transaction_, db(), value.generation);
    }
    if (stored_) Remove();
    return;
  }
  ChangeTimer(value.expire_ms);
  if (!stored_) CountKeys(1);
  if (!live_) AllMadeKeys().NoteMade(key_);
  if (!live_ && pubsub_ != nullptr) {
    pubsub_->NotifyKeyEvent(*transaction_, db(), doors::kEventNew, "new", user_key());
  }
  if (generation_ != 0 && generation_ != value.generation) {
    Reclaim(*transaction_, db(), generation_);
  }
  WakeWaiters(value.type);
  transaction_->Put(store_key(), EncodeRecord({.type = value.type,
                                               .version = transaction_->stamp(),
                                               .expire_ms = value.expire_ms,
                                               .generation = value.generation,
                                               .payload = value.payload}));
  stored_ = live_ = true;
  record_type_ = value.type;
  generation_ = value.generation;
}

void Entry::SetExpiry(std::optional<int64_t> expire_ms) {
  Put({.type = record_type_,
       .payload = payload(),
       .expire_ms = expire_ms,
       .generation = generation_});
}

void Entry::Remove() {
  RemoveRecord();
  if (generation_ != 0) Reclaim(*transaction_, db(), std::exchange(generation_, 0));
}

void Entry::MoveTo(Entry& target) {
  CAIRN_CHECK(target.db() == db());
  target.Put({.type = record_type_,
              .payload = payload(),
              .expire_ms = expire_ms_,
              .generation = generation_});
  RemoveRecord();
  generation_ = 0;
}

void Entry::RemoveRecord() {
  ChangeTimer(std::nullopt);
  CountKeys(-1);
  WakeWaiters(record_type_);
  transaction_->Delete(store_key());
  stored_ = live_ = false;
}

void Entry::WakeWaiters(ValueType type) {
  if (type == ValueType::kList || type == ValueType::kSortedSet || type == ValueType::kStream ||
      (stored_ && record_type_ == ValueType::kStream)) {
    transaction_->Wake(doors::KeyTopic(db(), user_key()));
  }
}

bool IsLive(const Record& record, Timestamp now) { return !HasPassed(record.expire_ms, now); }

Result<void> ScanRecords(store::Transaction& transaction, const store::Range& range,
                         RecordVisitor visit) {
  std::optional<Error> error;
  const auto visit_row = [&](BytesView key, BytesView value) {
    const std::optional<RecordKey> record_key = DecodeRecordKey(key);
    const std::optional<Record> record = DecodeRecord(value);
    if (!record_key || !record) {
      error = Unreadable(key);
      return false;
    }
    return !IsLive(*record, transaction.now()) || visit(*record_key, *record);
  };
  CAIRN_RETURN_IF_ERROR(transaction.Scan(range, {}, visit_row));
  if (error) return *error;
  return {};
}

void ExpiryTimers::AddScopes(const store::Timer& timer, store::Scopes& scopes) const {
  const std::optional<RecordKey> key = DecodeTimerOwner(timer.owner);
  Bytes scratch;
  if (key) doors::AddKeyScope(key->db, key->user_key, scopes, scratch);
}

Result<void> ExpiryTimers::Fire(store::Transaction& transaction, const store::Timer& timer) {
  const std::optional<RecordKey> key = DecodeTimerOwner(timer.owner);
  if (!key) return Error{ErrorCode::kCorruption, "a key expiry timer without a key"};
  CAIRN_ASSIGN_OR_RETURN(Entry entry, Entry::Load(transaction, key->db, key->user_key));
  // FLUSHDB leaves timers behind, so the key may be gone, or be another one by now.
  if (entry.expire_ms() != timer.due.millis()) return {};
  entry.Remove();
  expired_.fetch_add(1, std::memory_order_relaxed);
  pubsub_.NotifyKeyEvent(transaction, key->db, doors::kEventExpired, "expired", key->user_key);
  return {};
}

void ReclaimTimers::AddScopes(const store::Timer& timer, store::Scopes& scopes) const {
  // Nobody else knows these elements any more; two firings must not meet.
  scopes.Add(store::Space::kTimers, timer.owner);
}

Result<void> ReclaimTimers::Fire(store::Transaction& transaction, const store::Timer& timer) {
  const std::optional<Reclaimed> gone = DecodeReclaimOwner(timer.owner);
  if (!gone) return Error{ErrorCode::kCorruption, "a reclaim timer without a generation"};
  const auto range =
      store::Range::Prefix(store::Space::kData, EncodeElementPrefix(gone->db, gone->generation));
  std::vector<Bytes> keys;
  CAIRN_RETURN_IF_ERROR(
      transaction.Scan(range, {.limit = kReclaimedAtOnce}, [&](BytesView key, BytesView) {
        keys.emplace_back(key);
        return true;
      }));
  for (const Bytes& key : keys) transaction.Delete({store::Space::kData, key});
  if (keys.size() == kReclaimedAtOnce) Reclaim(transaction, gone->db, gone->generation);
  return {};
}

Result<uint64_t> ReadVersion(store::Transaction& transaction, uint8_t db, BytesView key) {
  // Before the key is looked for: who makes it meanwhile is counted then.
  const uint64_t made = AllMadeKeys().CountOf(EncodeRecordKey({db, key}));
  CAIRN_ASSIGN_OR_RETURN(const Entry entry, Entry::Load(transaction, db, key));
  // Versions of records are far from using the highest bit.
  constexpr uint64_t kNotThere = 1ULL << 63;
  return entry.exists() ? entry.version() : kNotThere | made;
}

}  // namespace cairn::data
