#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "base/function_ref.h"
#include "base/result.h"
#include "data/value/keys.h"
#include "doors/resp/command.h"
#include "store/timers.h"
#include "store/transaction.h"

namespace cairn::data {

inline constexpr std::string_view kWrongType =
    "WRONGTYPE Operation against a key holding the wrong kind of value";

// Tells listeners that a key is not there, if the command was to read it: one that only reads, or a
// key that one that writes only reads from (the sources of SUNIONSTORE).
void TellOfMiss(doors::CommandContext& context, BytesView key);

// A command has looked for a key: counted, and told to who listens.
inline void NoteLookup(doors::CommandContext& context, BytesView key, bool found) {
  context.CountLookup(found);
  if (!found && (context.pubsub.key_events() & doors::kEventKeyMiss) != 0) [[unlikely]] {
    TellOfMiss(context, key);
  }
}

// One key of one database, as a transaction found it, and the way to change it. Whatever goes along
// with a record (its timer, the counters of its database, its version) is kept here and nowhere
// else.
//
//   CAIRN_ASSIGN_OR_RETURN(Entry entry, Entry::Load(context, key));
//   if (!entry.IsMissingOr(ValueType::kString)) return context.Fail(kWrongType);
//   entry.Put({.type = ValueType::kString, .payload = value});
//
// A key whose time is up counts as missing, although its record may still be there. Lives inside
// the transaction's body. It may be changed several times; payload() and version() go on showing
// what was loaded.
class Entry {
 public:
  static Result<Entry> Load(store::Transaction& transaction, uint8_t db, BytesView key);
  static Result<Entry> Load(doors::CommandContext& context, BytesView key) {
    Result<Entry> entry = Load(context.transaction, context.db(), key);
    if (!entry.ok()) return entry;
    entry->ServeFor(context);
    NoteLookup(context, key, entry->exists());
    return entry;
  }

  // For commands that look at a key without using it (OBJECT): counted, but not told of.
  static Result<Entry> Peek(doors::CommandContext& context, BytesView key) {
    Result<Entry> entry = Load(context.transaction, context.db(), key);
    if (entry.ok()) context.CountLookup(entry->exists());
    return entry;
  }

  bool exists() const { return live_; }
  bool Is(ValueType type) const { return live_ && record_type_ == type; }
  bool IsMissingOr(ValueType type) const { return !live_ || record_type_ == type; }

  // Of a key that exists.
  ValueType type() const { return record_type_; }
  BytesView payload() const { return BytesView(value_).substr(payload_at_); }
  std::optional<int64_t> expire_ms() const { return expire_ms_; }
  // Under which its elements stand; 0 if it has none (or does not exist).
  uint64_t generation() const { return live_ ? generation_ : 0; }
  // 0 for a key that does not exist.
  uint64_t version() const { return live_ ? version_ : 0; }
  size_t stored_bytes() const { return key_.size() + value_.size(); }

  struct NewValue {
    ValueType type = ValueType::kString;
    BytesView payload;
    std::optional<int64_t> expire_ms = {};
    uint64_t generation = 0;
  };
  // From now on it is told when the key is made, and what is gathered is bounded. The context lives
  // as long as the entry is used.
  void ServeFor(doors::CommandContext& context) {
    pubsub_ = &context.pubsub;
    reply_ = &context.reply;
  }

  // So many bytes of the value are kept until the command can reply, or write, all of them. Fails
  // when they are more than there is room for: the command fails with it.
  Result<void> Gather(size_t bytes) {
    gathered_ += bytes + kGatheredOverhead;
    if (gathered_ < kGatherStep || reply_ == nullptr) return {};
    if (reply_->Reserve(std::exchange(gathered_, 0))) return {};
    return Error{ErrorCode::kTooLarge, "the value is too large for what is asked of it at once"};
  }

  // Creates or replaces, and wakes who is blocked on the key. An expire_ms that has passed leaves
  // no key. Elements under another generation than the new one are reclaimed.
  void Put(const NewValue& value);
  // Of a key that exists: changes nothing else.
  void SetExpiry(std::optional<int64_t> expire_ms);
  // Of a key that exists, with its elements.
  void Remove();
  // Gives the value, elements and expiry included, to `target`, an entry of the same database, in
  // place of what it has.
  void MoveTo(Entry& target);

  store::Transaction& transaction() const { return *transaction_; }
  uint8_t db() const { return static_cast<uint8_t>(key_[1]); }
  BytesView user_key() const { return BytesView(key_).substr(2); }

 private:
  Entry(store::Transaction& transaction, Bytes key)
      : transaction_(&transaction), key_(std::move(key)) {}

  store::Key store_key() const { return {store::Space::kData, key_}; }
  void CountKeys(int64_t delta);
  void ChangeTimer(std::optional<int64_t> expire_ms);
  void RemoveRecord();
  void WakeWaiters(ValueType type);

  store::Transaction* transaction_;
  // What is kept is counted in steps; each piece is a string in a container.
  static constexpr size_t kGatherStep = 256 * 1024;
  static constexpr size_t kGatheredOverhead = 64;

  doors::PubSub* pubsub_ = nullptr;
  net::RespWriter* reply_ = nullptr;
  size_t gathered_ = 0;
  Bytes key_;            // encoded
  Bytes value_;          // encoded; empty if there is no record
  bool stored_ = false;  // there is a record, live or not
  bool live_ = false;
  ValueType record_type_ = ValueType::kString;
  uint64_t version_ = 0;
  uint64_t generation_ = 0;
  std::optional<int64_t> expire_ms_;
  size_t payload_at_ = 0;
};

// Whether the record's key exists at `now`.
bool IsLive(const Record& record, Timestamp now);

// Visits the records of a range (RecordRange or a part of it) whose keys exist, in order. Returns
// whether to go on.
using RecordVisitor = FunctionRef<bool(const RecordKey& key, const Record& record)>;
Result<void> ScanRecords(store::Transaction& transaction, const store::Range& range,
                         RecordVisitor visit);

// Removes keys whose time is up.
class ExpiryTimers final : public store::TimerHandler {
 public:
  // `pubsub` is told of each, `expired` counts them.
  ExpiryTimers(doors::PubSub& pubsub, std::atomic<uint64_t>& expired)
      : pubsub_(pubsub), expired_(expired) {}
  void AddScopes(const store::Timer& timer, store::Scopes& scopes) const override;
  Result<void> Fire(store::Transaction& transaction, const store::Timer& timer) override;

 private:
  doors::PubSub& pubsub_;
  std::atomic<uint64_t>& expired_;
};

// Removes the elements of values that are gone, a bounded number at a time.
class ReclaimTimers final : public store::TimerHandler {
 public:
  void AddScopes(const store::Timer& timer, store::Scopes& scopes) const override;
  Result<void> Fire(store::Transaction& transaction, const store::Timer& timer) override;
};

// The version of a key as WATCH compares it.
Result<uint64_t> ReadVersion(store::Transaction& transaction, uint8_t db, BytesView key);

}  // namespace cairn::data
