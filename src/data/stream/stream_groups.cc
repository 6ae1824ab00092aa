#include "data/stream/stream_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace cairn::data {
namespace {

constexpr char kGroupFamily = 'g';
constexpr char kConsumerFamily = 'c';
constexpr char kPendingFamily = 'p';
constexpr char kOwnedFamily = 'o';

Bytes EncodeGroupKey(BytesView name) { return Bytes(1, kGroupFamily) + Bytes(name); }

Bytes EncodePrefix(char family, uint64_t group) {
  Bytes suffix(1, family);
  AppendBig64(suffix, group);
  return suffix;
}

Bytes EncodeConsumerKey(uint64_t group, BytesView name) {
  return EncodePrefix(kConsumerFamily, group) + Bytes(name);
}

Bytes EncodePendingKey(uint64_t group, StreamId id) {
  Bytes suffix = EncodePrefix(kPendingFamily, group);
  AppendStreamId(suffix, id);
  return suffix;
}

Bytes EncodeOwnedPrefix(uint64_t group, BytesView consumer) {
  Bytes suffix = EncodePrefix(kOwnedFamily, group);
  AppendBig32(suffix, static_cast<uint32_t>(consumer.size()));
  suffix += consumer;
  return suffix;
}

Bytes EncodeOwnedKey(uint64_t group, BytesView consumer, StreamId id) {
  Bytes suffix = EncodeOwnedPrefix(group, consumer);
  AppendStreamId(suffix, id);
  return suffix;
}

std::optional<StreamConsumer> DecodeConsumer(BytesView value) {
  BytesReader reader(value);
  StreamConsumer consumer;
  consumer.seen_ms = static_cast<int64_t>(reader.Big64());
  consumer.pending = reader.Big64();
  return reader.AtEnd() ? std::optional(consumer) : std::nullopt;
}

std::optional<PendingEntry> DecodePending(StreamId id, BytesView value) {
  BytesReader reader(value);
  PendingEntry entry{.id = id, .consumer = {}};
  entry.delivered_ms = static_cast<int64_t>(reader.Big64());
  entry.delivery_count = static_cast<int64_t>(reader.Big64());
  entry.consumer = Bytes(reader.Rest());
  return reader.ok() ? std::optional(std::move(entry)) : std::nullopt;
}

// The rows below `prefix` whose ids are in the range.
SuffixRange IdRange(const Bytes& prefix, const StreamRange& range) {
  SuffixRange rows{prefix, PrefixSuccessor(prefix)};
  AppendStreamId(rows.begin, range.first);
  if (const std::optional<StreamId> behind = NextId(range.last)) {
    rows.end = prefix;
    AppendStreamId(*rows.end, *behind);
  }
  return rows;
}

StreamId IdAtEnd(BytesView suffix) {
  BytesReader reader(suffix.substr(suffix.size() - std::min<size_t>(suffix.size(), 16)));
  return TakeStreamId(reader);
}

Error Unreadable(std::string_view what, BytesView group) {
  return {ErrorCode::kCorruption,
          fmt::format("{} of the group {} cannot be read", what, Printable(group))};
}

}  // namespace

// --- The group ----------------------------------------------------------------------------------

bool StreamGroup::Decode(BytesView value) {
  BytesReader reader(value);
  number_ = reader.Big64();
  last_delivered_ = TakeStreamId(reader);
  entries_read_ = static_cast<int64_t>(reader.Big64());
  pending_ = reader.Big64();
  consumers_ = reader.Big64();
  return reader.AtEnd();
}

Result<std::optional<StreamGroup>> StreamGroup::Find(Stream& stream, BytesView name) {
  CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> value,
                         stream.elements().Get(EncodeGroupKey(name)));
  if (!value) return std::optional<StreamGroup>();
  StreamGroup group(stream, name);
  if (!group.Decode(*value)) return Unreadable("the record", name);
  return std::optional(std::move(group));
}

StreamGroup StreamGroup::Create(doors::CommandContext& context, Stream& stream, BytesView name) {
  StreamGroup group(stream, name);
  group.number_ = context.transaction.NewStamp();
  stream.set_groups(stream.groups() + 1);
  return group;
}

Result<std::vector<StreamGroup>> StreamGroup::List(Stream& stream) {
  std::vector<StreamGroup> groups;
  bool readable = true;
  CAIRN_RETURN_IF_ERROR(stream.elements().Scan(SuffixRange::Prefix(Bytes(1, kGroupFamily)), {},
                                               [&](BytesView suffix, BytesView value) {
                                                 StreamGroup group(stream, suffix.substr(1));
                                                 readable = group.Decode(value);
                                                 groups.push_back(std::move(group));
                                                 return readable;
                                               }));
  if (!readable) return Unreadable("the record", groups.back().name());
  return groups;
}

void StreamGroup::Save() {
  for (const auto& [name, consumer] : loaded_) {
    if (!consumer) continue;
    Bytes value;
    AppendBig64(value, static_cast<uint64_t>(consumer->seen_ms));
    AppendBig64(value, consumer->pending);
    stream_->elements().Put(EncodeConsumerKey(number_, name), value);
  }
  Bytes value;
  AppendBig64(value, number_);
  AppendStreamId(value, last_delivered_);
  AppendBig64(value, static_cast<uint64_t>(entries_read_));
  AppendBig64(value, pending_);
  AppendBig64(value, consumers_);
  stream_->elements().Put(EncodeGroupKey(name_), value);
}

Result<void> StreamGroup::RemoveRows(BytesView prefix) {
  std::vector<Bytes> rows;
  CAIRN_RETURN_IF_ERROR(
      stream_->elements().Scan(SuffixRange::Prefix(prefix), {}, [&](BytesView suffix, BytesView) {
        rows.emplace_back(suffix);
        return true;
      }));
  for (const Bytes& suffix : rows) stream_->elements().Delete(suffix);
  return {};
}

Result<void> StreamGroup::Remove() {
  for (const char family : {kConsumerFamily, kPendingFamily, kOwnedFamily}) {
    CAIRN_RETURN_IF_ERROR(RemoveRows(EncodePrefix(family, number_)));
  }
  stream_->elements().Delete(EncodeGroupKey(name_));
  stream_->set_groups(stream_->groups() - 1);
  return {};
}

void StreamGroup::Advance(StreamId id) {
  if (id <= last_delivered_) return;
  if (entries_read_ != kUnknownEntriesRead && !stream_->HasTombstonesFrom(id)) {
    // ENTRIESREAD may have set it to the largest number there is: it wraps around.
    entries_read_ = static_cast<int64_t>(static_cast<uint64_t>(entries_read_) + 1);
  } else if (stream_->entries_added() != 0) {
    entries_read_ = stream_->EstimateEntriesRead(id);
  }
  last_delivered_ = id;
}

std::optional<int64_t> StreamGroup::Lag() const {
  const uint64_t added = stream_->entries_added();
  if (added == 0) return 0;
  int64_t read = entries_read_;
  if (read == kUnknownEntriesRead || stream_->HasTombstonesFrom(last_delivered_)) {
    read = stream_->EstimateEntriesRead(last_delivered_);
    if (read == kUnknownEntriesRead) return std::nullopt;
  }
  return static_cast<int64_t>(added - static_cast<uint64_t>(read));
}

// --- Consumers ----------------------------------------------------------------------------------

Result<StreamConsumer*> StreamGroup::LoadConsumer(BytesView name) {
  auto found = loaded_.find(name);
  if (found == loaded_.end()) {
    CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> value,
                           stream_->elements().Get(EncodeConsumerKey(number_, name)));
    std::optional<StreamConsumer> consumer;
    if (value) {
      consumer = DecodeConsumer(*value);
      if (!consumer) return Unreadable("a consumer", name_);
    }
    found = loaded_.emplace(Bytes(name), consumer).first;
  }
  return found->second ? &*found->second : nullptr;
}

Result<std::optional<StreamConsumer>> StreamGroup::FindConsumer(BytesView name) {
  CAIRN_ASSIGN_OR_RETURN(const StreamConsumer* consumer, LoadConsumer(name));
  return consumer == nullptr ? std::nullopt : std::optional(*consumer);
}

Result<bool> StreamGroup::AddConsumer(BytesView name, int64_t seen_ms) {
  CAIRN_ASSIGN_OR_RETURN(const StreamConsumer* consumer, LoadConsumer(name));
  if (consumer != nullptr) return false;
  loaded_.find(name)->second = StreamConsumer{.seen_ms = seen_ms};
  ++consumers_;
  return true;
}

Result<void> StreamGroup::SetSeen(BytesView name, int64_t seen_ms) {
  CAIRN_ASSIGN_OR_RETURN(StreamConsumer * consumer, LoadConsumer(name));
  if (consumer != nullptr) consumer->seen_ms = seen_ms;
  return {};
}

Result<std::optional<uint64_t>> StreamGroup::RemoveConsumer(BytesView name) {
  CAIRN_ASSIGN_OR_RETURN(const StreamConsumer* consumer, LoadConsumer(name));
  if (consumer == nullptr) return std::optional<uint64_t>();
  const uint64_t pending = consumer->pending;
  CAIRN_ASSIGN_OR_RETURN(const std::vector<StreamId> owned, FindOwned(name, {}));
  for (const StreamId id : owned) {
    stream_->elements().Delete(EncodePendingKey(number_, id));
    stream_->elements().Delete(EncodeOwnedKey(number_, name, id));
  }
  stream_->elements().Delete(EncodeConsumerKey(number_, name));
  loaded_.find(name)->second.reset();
  pending_ -= pending;
  --consumers_;
  return std::optional(pending);
}

Result<void> StreamGroup::VisitConsumers(ConsumerVisitor visit) {
  const Bytes prefix = EncodePrefix(kConsumerFamily, number_);
  bool readable = true;
  CAIRN_RETURN_IF_ERROR(stream_->elements().Scan(
      SuffixRange::Prefix(prefix), {}, [&](BytesView suffix, BytesView value) {
        const std::optional<StreamConsumer> consumer = DecodeConsumer(value);
        readable = consumer.has_value();
        return readable && visit(suffix.substr(prefix.size()), *consumer);
      }));
  if (!readable) return Unreadable("a consumer", name_);
  return {};
}

// --- Pending entries ----------------------------------------------------------------------------

Result<void> StreamGroup::CountPending(BytesView consumer, int64_t delta) {
  CAIRN_ASSIGN_OR_RETURN(StreamConsumer * counted, LoadConsumer(consumer));
  if (counted == nullptr) return Unreadable("the consumer of a pending entry", name_);
  counted->pending += static_cast<uint64_t>(delta);
  return {};
}

Result<std::optional<PendingEntry>> StreamGroup::FindPending(StreamId id) {
  CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> value,
                         stream_->elements().Get(EncodePendingKey(number_, id)));
  if (!value) return std::optional<PendingEntry>();
  std::optional<PendingEntry> entry = DecodePending(id, *value);
  if (!entry) return Unreadable("a pending entry", name_);
  return entry;
}

Result<void> StreamGroup::PutPending(const PendingEntry& entry,
                                     const std::optional<PendingEntry>& old) {
  Bytes value;
  AppendBig64(value, static_cast<uint64_t>(entry.delivered_ms));
  AppendBig64(value, static_cast<uint64_t>(entry.delivery_count));
  value += entry.consumer;
  stream_->elements().Put(EncodePendingKey(number_, entry.id), value);
  if (old && old->consumer == entry.consumer) return {};
  if (old) {
    stream_->elements().Delete(EncodeOwnedKey(number_, old->consumer, entry.id));
    CAIRN_RETURN_IF_ERROR(CountPending(old->consumer, -1));
  } else {
    ++pending_;
  }
  stream_->elements().Put(EncodeOwnedKey(number_, entry.consumer, entry.id), {});
  return CountPending(entry.consumer, 1);
}

Result<void> StreamGroup::RemovePending(const PendingEntry& entry) {
  stream_->elements().Delete(EncodePendingKey(number_, entry.id));
  stream_->elements().Delete(EncodeOwnedKey(number_, entry.consumer, entry.id));
  --pending_;
  return CountPending(entry.consumer, -1);
}

Result<void> StreamGroup::VisitPending(const StreamRange& range, PendingVisitor visit) {
  if (range.first > range.last) return {};
  bool readable = true;
  CAIRN_RETURN_IF_ERROR(stream_->elements().Scan(
      IdRange(EncodePrefix(kPendingFamily, number_), range),
      {.reverse = range.reverse, .limit = range.limit}, [&](BytesView suffix, BytesView value) {
        const std::optional<PendingEntry> entry = DecodePending(IdAtEnd(suffix), value);
        readable = entry.has_value();
        return readable && visit(*entry);
      }));
  if (!readable) return Unreadable("a pending entry", name_);
  return {};
}

Result<std::vector<StreamId>> StreamGroup::FindOwned(BytesView consumer, const StreamRange& range) {
  std::vector<StreamId> ids;
  if (range.first > range.last) return ids;
  CAIRN_RETURN_IF_ERROR(
      stream_->elements().Scan(IdRange(EncodeOwnedPrefix(number_, consumer), range),
                               {.limit = range.limit}, [&](BytesView suffix, BytesView) {
                                 ids.push_back(IdAtEnd(suffix));
                                 return true;
                               }));
  return ids;
}

}  // namespace cairn::data
