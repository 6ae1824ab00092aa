#include "data/stream/stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "doors/resp/arg_parser.h"

namespace cairn::data {
namespace {

constexpr char kEntryFamily = 'e';

Bytes EncodeEntryKey(StreamId id) {
  Bytes suffix(1, kEntryFamily);
  AppendStreamId(suffix, id);
  return suffix;
}

Bytes EncodeEntry(uint32_t node, doors::Args fields) {
  Bytes value;
  AppendBig32(value, node);
  AppendBig32(value, static_cast<uint32_t>(fields.size()));
  for (const std::string_view field : fields) {
    AppendBig32(value, static_cast<uint32_t>(field.size()));
    value += field;
  }
  return value;
}

std::optional<StreamEntry> DecodeEntry(BytesView suffix, BytesView value) {
  StreamEntry entry;
  BytesReader key(suffix);
  key.Byte();
  entry.id = TakeStreamId(key);
  BytesReader reader(value);
  entry.node = reader.Big32();
  const uint32_t count = reader.Big32();
  for (uint32_t i = 0; i < count && reader.ok(); ++i) {
    entry.fields.push_back(reader.Take(reader.Big32()));
  }
  if (!key.AtEnd() || !reader.AtEnd()) return std::nullopt;
  return entry;
}

uint64_t TextBytes(doors::Args fields) {
  uint64_t bytes = 0;
  for (const std::string_view text : fields) bytes += text.size();
  return bytes;
}

// What a text takes of a node of Redis, which writes integers in as few bytes as they need.
uint64_t BytesInNode(std::string_view text) {
  if (const std::optional<int64_t> integer = doors::ParseInteger(text)) {
    constexpr std::pair<int64_t, uint64_t> kWidths[] = {
        {1LL << 7, 2}, {1LL << 12, 3}, {1LL << 15, 4}, {1LL << 23, 5}, {1LL << 31, 6}};
    for (const auto& [bound, bytes] : kWidths) {
      if (*integer < bound && *integer >= -bound) return bytes;
    }
    return 10;
  }
  const uint64_t header = text.size() < 64 ? 1 : text.size() < 4096 ? 2 : 5;
  const uint64_t trailer = text.size() < 126 ? 1 : 2;
  return header + text.size() + trailer;
}

// About what an entry takes of it: the first of a node brings the names of its fields, those behind
// it mostly share them.
uint64_t BytesInNode(doors::Args fields, bool first) {
  constexpr uint64_t kBytesPerNode = 15;
  constexpr uint64_t kBytesPerEntry = 8;
  uint64_t bytes = kBytesPerEntry + (first ? kBytesPerNode : 0);
  for (size_t i = 0; i < fields.size(); ++i) {
    const bool name = i % 2 == 0;
    if (first || !name) bytes += BytesInNode(fields[i]);
  }
  return bytes;
}

}  // namespace

Result<Stream> Stream::Load(doors::CommandContext& context, BytesView key) {
  CAIRN_ASSIGN_OR_RETURN(Collection collection, Collection::Load(context, key, ValueType::kStream));
  Stream stream(std::move(collection));
  if (!stream.exists() || stream.wrong_type()) return stream;
  BytesReader reader(stream.collection_.header());
  stream.length_ = stream.collection_.count();
  stream.last_id_ = TakeStreamId(reader);
  stream.max_deleted_id_ = TakeStreamId(reader);
  stream.first_id_ = TakeStreamId(reader);
  stream.entries_added_ = reader.Big64();
  stream.groups_ = reader.Big64();
  stream.node_ = reader.Big32();
  stream.node_entries_ = reader.Big32();
  if (reader.ok() && !reader.AtEnd()) stream.node_bytes_ = reader.Big64();
  if (!reader.AtEnd()) {
    return Error{ErrorCode::kCorruption,
                 fmt::format("the header of the stream {} cannot be read", Printable(key))};
  }
  return stream;
}

void Stream::Save() {
  Bytes header;
  AppendStreamId(header, last_id_);
  AppendStreamId(header, max_deleted_id_);
  AppendStreamId(header, first_id_);
  AppendBig64(header, entries_added_);
  AppendBig64(header, groups_);
  AppendBig32(header, node_);
  AppendBig32(header, node_entries_);
  AppendBig64(header, node_bytes_);
  collection_.Save(length_, header, Collection::Empty::kKept);
}

std::optional<StreamId> Stream::ChooseId(const WantedStreamId& wanted, Timestamp now) const {
  if (wanted.ms && wanted.seq) {
    const StreamId id{*wanted.ms, *wanted.seq};
    return id > last_id_ ? std::optional(id) : std::nullopt;
  }
  const uint64_t ms = wanted.ms.value_or(static_cast<uint64_t>(now.millis()));
  if (ms > last_id_.ms) return StreamId{ms, 0};
  // A clock that was set back does not stop the stream; a client that names a time is taken at its
  // word.
  if (!wanted.ms) return NextId(last_id_);
  if (ms < last_id_.ms || last_id_.seq == std::numeric_limits<uint64_t>::max()) return std::nullopt;
  return NextId(last_id_);
}

void Stream::Add(StreamId id, doors::Args fields, const StreamNodeLimits& limits) {
  const bool full =
      node_entries_ >= limits.entries || node_bytes_ + TextBytes(fields) >= limits.bytes;
  if (node_entries_ == 0 || full) {
    ++node_;
    node_entries_ = 0;
    node_bytes_ = 0;
  }
  node_bytes_ += BytesInNode(fields, node_entries_ == 0);
  ++node_entries_;
  elements().Put(EncodeEntryKey(id), EncodeEntry(node_, fields));
  if (length_ == 0) first_id_ = id;
  last_id_ = id;
  ++length_;
  ++entries_added_;
}

Result<bool> Stream::Contains(StreamId id) {
  CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> value, elements().Get(EncodeEntryKey(id)));
  return value.has_value();
}

Result<void> Stream::Visit(const StreamRange& range, Visitor visit) {
  const StreamId first = std::max(range.first, first_id_);
  if (length_ == 0 || first > range.last || range.limit == 0) return {};
  const std::optional<StreamId> behind = NextId(range.last);
  const SuffixRange rows{EncodeEntryKey(first),
                         behind ? EncodeEntryKey(*behind) : Bytes(1, kEntryFamily + 1)};
  bool readable = true;
  CAIRN_RETURN_IF_ERROR(elements().Scan(rows, {.reverse = range.reverse, .limit = range.limit},
                                        [&](BytesView suffix, BytesView value) {
                                          const auto entry = DecodeEntry(suffix, value);
                                          readable = entry.has_value();
                                          return readable && visit(*entry);
                                        }));
  if (!readable) {
    return Error{ErrorCode::kCorruption, fmt::format("an entry of the stream {} cannot be read",
                                                     Printable(collection_.entry().user_key()))};
  }
  return {};
}

void Stream::Erase(const Placed& entry) {
  elements().Delete(EncodeEntryKey(entry.id));
  --length_;
  if (entry.node == node_) --node_entries_;
}

Result<void> Stream::MoveFirstBehind(StreamId gone) {
  first_id_ = gone;
  StreamId first;
  CAIRN_RETURN_IF_ERROR(Visit({.first = gone, .limit = 1}, [&](const StreamEntry& entry) {
    first = entry.id;
    return false;
  }));
  first_id_ = first;
  return {};
}

Result<bool> Stream::Delete(StreamId id) {
  std::optional<Placed> found;
  CAIRN_RETURN_IF_ERROR(Visit({.first = id, .last = id}, [&](const StreamEntry& entry) {
    found = Placed{entry.id, entry.node};
    return false;
  }));
  if (!found) return false;
  Erase(*found);
  max_deleted_id_ = std::max(max_deleted_id_, id);
  if (id == first_id_) CAIRN_RETURN_IF_ERROR(MoveFirstBehind(id));
  return true;
}

Result<std::vector<Stream::Placed>> Stream::FindTrimmed(const StreamTrim& trim) {
  std::vector<Placed> trimmed;
  std::vector<Placed> node;  // entries of the node at hand
  // Whether the node may go as a whole, and then takes it along.
  const auto take_node = [&] {
    if (trim.limit != 0 && trimmed.size() + node.size() > trim.limit) return false;
    if (trim.kind == StreamTrim::Kind::kMaxLength
            ? length_ - trimmed.size() - node.size() < trim.max_length
            : node.back().id >= trim.min_id) {
      return false;
    }
    trimmed.insert(trimmed.end(), node.begin(), node.end());
    node.clear();
    return true;
  };
  bool goes_on = true;
  const auto visit = [&](const StreamEntry& entry) {
    if (trim.approximate) {
      if (!node.empty() && node.back().node != entry.node) goes_on = take_node();
      if (goes_on) node.push_back({entry.id, entry.node});
      return goes_on;
    }
    const bool goes = trim.kind == StreamTrim::Kind::kMaxLength
                          ? length_ - trimmed.size() > trim.max_length
                          : entry.id < trim.min_id;
    if (goes) trimmed.push_back({entry.id, entry.node});
    return goes;
  };
  CAIRN_RETURN_IF_ERROR(Visit({}, visit));
  if (goes_on && !node.empty()) take_node();
  return trimmed;
}

Result<uint64_t> Stream::Trim(const StreamTrim& trim) {
  if (trim.kind == StreamTrim::Kind::kNone) return uint64_t{0};
  if (trim.kind == StreamTrim::Kind::kMaxLength && length_ <= trim.max_length) return uint64_t{0};
  CAIRN_ASSIGN_OR_RETURN(const std::vector<Placed> trimmed, FindTrimmed(trim));
  if (trimmed.empty()) return uint64_t{0};
  for (const Placed& entry : trimmed) Erase(entry);
  CAIRN_RETURN_IF_ERROR(MoveFirstBehind(trimmed.back().id));
  return uint64_t{trimmed.size()};
}

int64_t Stream::EstimateEntriesRead(StreamId id) const {
  const auto added = static_cast<int64_t>(entries_added_);
  if (entries_added_ == 0) return 0;
  if (length_ == 0 && id <= last_id_) return added;
  if (id == last_id_) return added;
  if (id > last_id_) return kUnknownEntriesRead;
  // Nothing is missing from the first entry on: then the places before it are known.
  if (max_deleted_id_.IsZero() || max_deleted_id_ < first_id_) {
    const uint64_t before = entries_added_ - length_;
    if (id < first_id_) return static_cast<int64_t>(before);
    if (id == first_id_) return static_cast<int64_t>(before + 1);
  }
  return kUnknownEntriesRead;
}

bool Stream::HasTombstonesFrom(StreamId start) const {
  if (length_ == 0 || max_deleted_id_.IsZero()) return false;
  // What was deleted in front of the first entry leaves no gap.
  return first_id_ <= max_deleted_id_ && start <= max_deleted_id_;
}

}  // namespace cairn::data
