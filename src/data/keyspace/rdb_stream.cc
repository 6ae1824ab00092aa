#include "data/keyspace/rdb_stream.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "data/keyspace/listpack.h"
#include "data/keyspace/rdb_format.h"
#include "data/value/limits.h"
#include "doors/resp/arg_parser.h"

namespace cairn::data {
namespace {

constexpr int64_t kDeleted = 1;
constexpr int64_t kSameFields = 2;
// Redis begins another node where one would become larger.
constexpr size_t kMaxNodeBytes = 4096;

// --- Reading ------------------------------------------------------------------------------------

// Takes the elements of a node one after the other; after the first failure all fail.
class NodeReader {
 public:
  explicit NodeReader(std::span<Bytes> elements) : rest_(elements) {}

  Bytes Next() {
    if (!ok_ || rest_.empty()) {
      ok_ = false;
      return {};
    }
    Bytes element = std::move(rest_.front());
    rest_ = rest_.subspan(1);
    return element;
  }
  int64_t Integer() {
    const std::optional<int64_t> value = doors::ParseInteger(Next());
    ok_ = ok_ && value;
    return value.value_or(0);
  }
  // A number of things of which each has `elements`.
  uint64_t Count(size_t elements) {
    const auto count = static_cast<uint64_t>(Integer());
    ok_ = ok_ && count <= rest_.size() / elements;
    return ok_ ? count : 0;
  }
  bool ok() const { return ok_; }
  bool AtEnd() const { return rest_.empty(); }

 private:
  std::span<Bytes> rest_;
  bool ok_ = true;
};

StreamId ReadRawId(RdbReader& reader) {
  const uint64_t ms = reader.Big(8);
  return {ms, reader.Big(8)};
}

StreamId ReadLengthId(RdbReader& reader) {
  const uint64_t ms = reader.Length();
  return {ms, reader.Length()};
}

RdbStream::Entry ReadEntry(NodeReader& reader, StreamId node_id,
                           const std::vector<Bytes>& node_fields, int64_t flags) {
  RdbStream::Entry entry;
  entry.id.ms = node_id.ms + static_cast<uint64_t>(reader.Integer());
  entry.id.seq = node_id.seq + static_cast<uint64_t>(reader.Integer());
  if ((flags & kSameFields) != 0) {
    for (const Bytes& field : node_fields) {
      entry.fields.push_back(field);
      entry.fields.push_back(reader.Next());
      if (!reader.ok()) return entry;
    }
  } else {
    const uint64_t count = reader.Count(2);
    for (uint64_t i = 0; i < 2 * count; ++i) entry.fields.push_back(reader.Next());
  }
  reader.Integer();  // to read it backwards
  return entry;
}

size_t BytesOf(const RdbStream::Entry& entry) {
  size_t bytes = 0;
  for (const Bytes& field : entry.fields) bytes += field.size();
  return bytes;
}

// `budget` is what is left of kMaxRestoredStreamBytes.
bool ReadNode(RdbReader& reader, uint32_t node, RdbStream& stream, size_t& budget) {
  const Bytes node_id_bytes = reader.String();
  std::optional<std::vector<Bytes>> elements = DecodeListpack(reader.String());
  if (!reader.ok() || node_id_bytes.size() != 16 || !elements) return false;
  RdbReader id_reader(node_id_bytes);
  const StreamId node_id = ReadRawId(id_reader);
  NodeReader node_reader(*elements);
  const int64_t live = node_reader.Integer();
  node_reader.Integer();  // deleted ones
  std::vector<Bytes> node_fields;
  const uint64_t field_count = node_reader.Count(1);
  for (uint64_t i = 0; i < field_count; ++i) node_fields.push_back(node_reader.Next());
  node_reader.Integer();
  int64_t found = 0;
  while (node_reader.ok() && !node_reader.AtEnd()) {
    const int64_t flags = node_reader.Integer();
    RdbStream::Entry entry = ReadEntry(node_reader, node_id, node_fields, flags);
    if ((flags & kDeleted) != 0) continue;
    const size_t bytes = BytesOf(entry);
    if (bytes > budget) return false;
    budget -= bytes;
    entry.node = node;
    stream.entries.push_back(std::move(entry));
    ++found;
  }
  return node_reader.ok() && found == live;
}

// Those of a group that no consumer has claimed yet.
using PendingById = std::map<StreamId, PendingEntry>;

// False if the consumer has what is not pending, or is somebody else's.
bool ReadConsumer(RdbReader& reader, int version, RdbStream::Group& group, PendingById& pending) {
  RdbStream::Consumer consumer{.name = reader.String()};
  consumer.seen_ms = static_cast<int64_t>(reader.Little(8));
  if (version >= 3) reader.Little(8);
  const uint64_t count = reader.Length();
  for (uint64_t i = 0; i < count && reader.ok(); ++i) {
    const auto found = pending.find(ReadRawId(reader));
    if (!reader.ok() || found == pending.end()) return false;
    PendingEntry& entry = group.pending.emplace_back(std::move(found->second));
    entry.consumer = consumer.name;
    pending.erase(found);
  }
  group.consumers.push_back(std::move(consumer));
  return reader.ok();
}

bool ReadGroup(RdbReader& reader, int version, RdbStream& stream) {
  RdbStream::Group group{.name = reader.String()};
  group.last_delivered = ReadLengthId(reader);
  if (version >= 2) group.entries_read = static_cast<int64_t>(reader.Length());
  PendingById pending;
  const uint64_t pending_count = reader.Length();
  for (uint64_t i = 0; i < pending_count && reader.ok(); ++i) {
    PendingEntry entry{.id = ReadRawId(reader)};
    entry.delivered_ms = static_cast<int64_t>(reader.Little(8));
    entry.delivery_count = static_cast<int64_t>(reader.Length());
    if (!pending.emplace(entry.id, entry).second) return false;
  }
  std::set<Bytes, std::less<>> names;
  const uint64_t consumers = reader.Length();
  for (uint64_t i = 0; i < consumers && reader.ok(); ++i) {
    if (!ReadConsumer(reader, version, group, pending)) return false;
    if (!names.insert(group.consumers.back().name).second) return false;
  }
  std::ranges::sort(group.pending, {}, &PendingEntry::id);
  stream.groups.push_back(std::move(group));
  return reader.ok() && pending.empty();
}

bool IsInOrder(const RdbStream& stream) {
  StreamId previous;  // 0-0 is no entry's
  for (const RdbStream::Entry& entry : stream.entries) {
    if (entry.id <= previous) return false;
    previous = entry.id;
  }
  return previous <= stream.last_id;
}

bool HasDistinctGroups(const RdbStream& stream) {
  std::set<BytesView> names;
  return std::ranges::all_of(stream.groups, [&](const RdbStream::Group& group) {
    return names.insert(group.name).second;
  });
}

// --- Writing ------------------------------------------------------------------------------------

using Entries = std::span<const RdbStream::Entry>;

// The entries at the front that become one node.
Entries FirstNode(Entries entries) {
  size_t count = 1;
  size_t bytes = BytesOf(entries.front());
  while (count < entries.size() && entries[count].node == entries.front().node) {
    bytes += BytesOf(entries[count]);
    if (bytes >= kMaxNodeBytes) break;
    ++count;
  }
  return entries.first(count);
}

std::vector<Entries> SplitIntoNodes(Entries entries) {
  std::vector<Entries> nodes;
  while (!entries.empty()) {
    nodes.push_back(FirstNode(entries));
    entries = entries.subspan(nodes.back().size());
  }
  return nodes;
}

bool HaveSameFields(const RdbStream::Entry& a, const RdbStream::Entry& b) {
  if (a.fields.size() != b.fields.size()) return false;
  for (size_t i = 0; i < a.fields.size(); i += 2) {
    if (a.fields[i] != b.fields[i]) return false;
  }
  return true;
}

Bytes EncodeNode(Entries entries) {
  const RdbStream::Entry& first = entries.front();
  ListpackWriter node;
  node.AddInteger(static_cast<int64_t>(entries.size()));
  node.AddInteger(0);
  node.AddInteger(static_cast<int64_t>(first.fields.size() / 2));
  for (size_t i = 0; i < first.fields.size(); i += 2) node.Add(first.fields[i]);
  node.AddInteger(0);
  for (const RdbStream::Entry& entry : entries) {
    const bool same = HaveSameFields(first, entry);
    node.AddInteger(same ? kSameFields : 0);
    node.AddInteger(static_cast<int64_t>(entry.id.ms - first.id.ms));
    node.AddInteger(static_cast<int64_t>(entry.id.seq - first.id.seq));
    const size_t values = same ? entry.fields.size() / 2 : entry.fields.size();
    if (!same) node.AddInteger(static_cast<int64_t>(entry.fields.size() / 2));
    for (size_t i = same ? 1 : 0; i < entry.fields.size(); i += same ? 2 : 1) {
      node.Add(entry.fields[i]);
    }
    node.AddInteger(static_cast<int64_t>(values + (same ? 3 : 4)));
  }
  return std::move(node).Finish();
}

void WriteLengthId(RdbWriter& writer, StreamId id) {
  writer.Length(id.ms);
  writer.Length(id.seq);
}

void WriteRawId(RdbWriter& writer, StreamId id) {
  Bytes bytes;
  AppendStreamId(bytes, id);
  writer.Raw(bytes);
}

void WriteGroup(RdbWriter& writer, const RdbStream::Group& group) {
  writer.String(group.name);
  WriteLengthId(writer, group.last_delivered);
  writer.Length(static_cast<uint64_t>(group.entries_read.value_or(kUnknownEntriesRead)));
  std::map<BytesView, std::vector<StreamId>> owned;
  writer.Length(group.pending.size());
  for (const PendingEntry& entry : group.pending) {
    WriteRawId(writer, entry.id);
    writer.Little64(static_cast<uint64_t>(entry.delivered_ms));
    writer.Length(static_cast<uint64_t>(entry.delivery_count));
    owned[entry.consumer].push_back(entry.id);
  }
  writer.Length(group.consumers.size());
  for (const RdbStream::Consumer& consumer : group.consumers) {
    writer.String(consumer.name);
    writer.Little64(static_cast<uint64_t>(consumer.seen_ms));
    const std::vector<StreamId>& ids = owned[consumer.name];
    writer.Length(ids.size());
    for (const StreamId id : ids) WriteRawId(writer, id);
  }
}

}  // namespace

std::optional<RdbStream> ReadRdbStream(RdbReader& reader, int version) {
  RdbStream stream;
  size_t budget = kMaxRestoredStreamBytes;
  const uint64_t nodes = reader.Length();
  for (uint64_t i = 0; i < nodes; ++i) {
    if (!ReadNode(reader, static_cast<uint32_t>(i), stream, budget)) return std::nullopt;
  }
  const uint64_t length = reader.Length();
  stream.last_id = ReadLengthId(reader);
  stream.entries_added = length;
  if (version >= 2) {
    ReadLengthId(reader);  // of the first entry
    stream.max_deleted_id = ReadLengthId(reader);
    stream.entries_added = reader.Length();
  }
  const uint64_t groups = reader.Length();
  for (uint64_t i = 0; i < groups; ++i) {
    if (!ReadGroup(reader, version, stream)) return std::nullopt;
  }
  if (!reader.ok() || stream.entries.size() != length || !IsInOrder(stream) ||
      !HasDistinctGroups(stream)) {
    return std::nullopt;
  }
  return stream;
}

void WriteRdbStream(RdbWriter& writer, const RdbStream& stream) {
  const std::vector<Entries> nodes = SplitIntoNodes(stream.entries);
  writer.Length(nodes.size());
  for (const Entries node : nodes) {
    Bytes node_id;
    AppendStreamId(node_id, node.front().id);
    writer.String(node_id);
    writer.String(EncodeNode(node));
  }
  writer.Length(stream.entries.size());
  WriteLengthId(writer, stream.last_id);
  WriteLengthId(writer, stream.entries.empty() ? StreamId{} : stream.entries.front().id);
  WriteLengthId(writer, stream.max_deleted_id);
  writer.Length(stream.entries_added);
  writer.Length(stream.groups.size());
  for (const RdbStream::Group& group : stream.groups) WriteGroup(writer, group);
}

}  // namespace cairn::data
