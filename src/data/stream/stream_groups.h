#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/function_ref.h"
#include "base/result.h"
#include "data/stream/stream.h"

// The consumer groups of a stream; stream.h draws how they are stored.
namespace cairn::data {

// An entry that was delivered and not acknowledged.
struct PendingEntry {
  StreamId id;
  Bytes consumer;
  int64_t delivered_ms = 0;
  int64_t delivery_count = 0;
};

struct StreamConsumer {
  int64_t seen_ms = 0;
  uint64_t pending = 0;
};

// One group of a stream, as a transaction found it. Changes count together with Save, and with
// that of the stream. Uses the stream, which outlives it.
class StreamGroup {
 public:
  static Result<std::optional<StreamGroup>> Find(Stream& stream, BytesView name);
  // There is none of that name.
  static StreamGroup Create(doors::CommandContext& context, Stream& stream, BytesView name);
  // In the order of their names.
  static Result<std::vector<StreamGroup>> List(Stream& stream);

  const Bytes& name() const { return name_; }
  StreamId last_delivered() const { return last_delivered_; }
  int64_t entries_read() const { return entries_read_; }
  uint64_t pending() const { return pending_; }
  uint64_t consumers() const { return consumers_; }
  void set_last_delivered(StreamId id) { last_delivered_ = id; }
  void set_entries_read(int64_t count) { entries_read_ = count; }
  // Moves behind `id`, which is about to be delivered, and counts it.
  void Advance(StreamId id);
  // How many entries are still to be delivered, if one can tell.
  std::optional<int64_t> Lag() const;

  Result<std::optional<StreamConsumer>> FindConsumer(BytesView name);
  // Creates the consumer if there is none; returns whether it did.
  Result<bool> AddConsumer(BytesView name, int64_t seen_ms);
  // Of a consumer that exists.
  Result<void> SetSeen(BytesView name, int64_t seen_ms);
  // With its pending entries, of which the number is returned; nullopt if there was none.
  Result<std::optional<uint64_t>> RemoveConsumer(BytesView name);
  using ConsumerVisitor = FunctionRef<bool(BytesView name, const StreamConsumer& consumer)>;
  // As of the last Save.
  Result<void> VisitConsumers(ConsumerVisitor visit);

  Result<std::optional<PendingEntry>> FindPending(StreamId id);
  // Puts it in place of `old`, what FindPending returned. Its consumer exists.
  Result<void> PutPending(const PendingEntry& entry, const std::optional<PendingEntry>& old);
  Result<void> RemovePending(const PendingEntry& entry);
  using PendingVisitor = FunctionRef<bool(const PendingEntry& entry)>;
  Result<void> VisitPending(const StreamRange& range, PendingVisitor visit);
  // The ids of those that one consumer has.
  Result<std::vector<StreamId>> FindOwned(BytesView consumer, const StreamRange& range);

  void Save();
  // The group with all it has.
  Result<void> Remove();

 private:
  StreamGroup(Stream& stream, BytesView name) : stream_(&stream), name_(name) {}

  bool Decode(BytesView value);
  // The consumer as changed so far; null if there is none.
  Result<StreamConsumer*> LoadConsumer(BytesView name);
  Result<void> CountPending(BytesView consumer, int64_t delta);
  Result<void> RemoveRows(BytesView prefix);

  Stream* stream_;
  Bytes name_;
  uint64_t number_ = 0;
  StreamId last_delivered_;
  int64_t entries_read_ = kUnknownEntriesRead;
  uint64_t pending_ = 0;
  uint64_t consumers_ = 0;
  std::map<Bytes, std::optional<StreamConsumer>, std::less<>> loaded_;  // consumers looked at
};

}  // namespace cairn::data
