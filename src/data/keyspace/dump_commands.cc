#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "data/json/document.h"
#include "data/json/encoding.h"
#include "data/keyspace/commands.h"
#include "data/keyspace/dump.h"
#include "data/keyspace/rdb_format.h"
#include "data/keyspace/rdb_stream.h"
#include "data/list/list.h"
#include "data/sorted_set/sorted_set.h"
#include "data/stream/stream.h"
#include "data/stream/stream_groups.h"
#include "data/value/entry.h"
#include "data/value/fields.h"
#include "data/value/gathered.h"
#include "data/value/string_value.h"
#include "doors/resp/arg_parser.h"
#include "doors/resp/command.h"
#include "doors/resp/command_audit.h"
#include "doors/resp/loop_work.h"

namespace cairn::data {
namespace {

using doors::ArgParser;
using doors::CommandContext;

// --- DUMP ---------------------------------------------------------------------------------------

// A dump grows in a buffer that is there twice while it moves.
constexpr size_t kDumpCopies = 2;
// The entries of a stream are collected before they are written.
constexpr size_t kStreamCopies = 1 + kDumpCopies;

Result<Bytes> DumpString(CommandContext& context, const Entry& entry) {
  CAIRN_ASSIGN_OR_RETURN(StringValue string, StringValue::Open(entry));
  CAIRN_RETURN_IF_ERROR(Gathered(context).Add(kDumpCopies * string.size()));
  CAIRN_ASSIGN_OR_RETURN(const BytesView text, string.ReadAll());
  RdbWriter writer(RdbType::kString);
  writer.String(text);
  return std::move(writer).Finish();
}

// A hash or a set.
Result<Bytes> DumpFields(CommandContext& context, const Entry& entry) {
  const bool is_hash = entry.type() == ValueType::kHash;
  CAIRN_ASSIGN_OR_RETURN(Fields fields, Fields::Load(context, entry.user_key(), entry.type()));
  RdbWriter writer(is_hash ? RdbType::kHash : RdbType::kSet);
  writer.Length(fields.count());
  Gathered gathered(context);
  CAIRN_RETURN_IF_ERROR(fields.ForEach([&](BytesView member, BytesView value) -> Result<bool> {
    CAIRN_RETURN_IF_ERROR(gathered.Add(kDumpCopies * (member.size() + value.size())));
    writer.String(member);
    if (is_hash) writer.String(value);
    return true;
  }));
  return std::move(writer).Finish();
}

Result<Bytes> DumpList(CommandContext& context, const Entry& entry) {
  CAIRN_ASSIGN_OR_RETURN(List list, List::Load(context, entry.user_key()));
  RdbWriter writer(RdbType::kList);
  writer.Length(list.size());
  Gathered gathered(context);
  Result<void> room;
  CAIRN_RETURN_IF_ERROR(list.Visit({.count = list.size()}, [&](uint64_t, BytesView element) {
    room = gathered.Add(kDumpCopies * element.size());
    if (room.ok()) writer.String(element);
    return room.ok();
  }));
  if (!room.ok()) return room.error();
  return std::move(writer).Finish();
}

Result<Bytes> DumpSortedSet(CommandContext& context, const Entry& entry) {
  CAIRN_ASSIGN_OR_RETURN(SortedSet set, SortedSet::Load(context, entry.user_key()));
  RdbWriter writer(RdbType::kSortedSet2);
  writer.Length(set.count());
  Gathered gathered(context);
  Result<void> room;
  CAIRN_RETURN_IF_ERROR(set.Visit({}, {}, [&](BytesView member, double score) {
    room = gathered.Add(kDumpCopies * (member.size() + sizeof(score)));
    if (!room.ok()) return false;
    writer.String(member);
    writer.Double(score);
    return true;
  }));
  if (!room.ok()) return room.error();
  return std::move(writer).Finish();
}

Result<RdbStream::Group> ReadGroup(Gathered& gathered, StreamGroup& group) {
  RdbStream::Group read{.name = group.name(),
                        .last_delivered = group.last_delivered(),
                        .entries_read = group.entries_read()};
  Result<void> room;
  CAIRN_RETURN_IF_ERROR(group.VisitConsumers([&](BytesView name, const StreamConsumer& consumer) {
    room = gathered.Add(kStreamCopies * name.size());
    if (room.ok()) read.consumers.push_back({Bytes(name), consumer.seen_ms});
    return room.ok();
  }));
  if (!room.ok()) return room.error();
  CAIRN_RETURN_IF_ERROR(group.VisitPending({}, [&](const PendingEntry& entry) {
    room = gathered.Add(kStreamCopies * (sizeof(entry) + entry.consumer.size()));
    if (room.ok()) read.pending.push_back(entry);
    return room.ok();
  }));
  if (!room.ok()) return room.error();
  return read;
}

Result<Bytes> DumpStream(CommandContext& context, const Entry& entry) {
  CAIRN_ASSIGN_OR_RETURN(Stream stream, Stream::Load(context, entry.user_key()));
  RdbStream read{.last_id = stream.last_id(),
                 .max_deleted_id = stream.max_deleted_id(),
                 .entries_added = stream.entries_added()};
  Gathered gathered(context);
  Result<void> room;
  CAIRN_RETURN_IF_ERROR(stream.Visit({}, [&](const StreamEntry& found) {
    for (const BytesView field : found.fields) {
      room = gathered.Add(kStreamCopies * field.size());
      if (!room.ok()) return false;
    }
    read.entries.push_back(
        {.id = found.id, .node = found.node, .fields = {found.fields.begin(), found.fields.end()}});
    return true;
  }));
  if (!room.ok()) return room.error();
  CAIRN_ASSIGN_OR_RETURN(std::vector<StreamGroup> groups, StreamGroup::List(stream));
  for (StreamGroup& group : groups) {
    CAIRN_ASSIGN_OR_RETURN(RdbStream::Group read_group, ReadGroup(gathered, group));
    read.groups.push_back(std::move(read_group));
  }
  RdbWriter writer(RdbType::kStream2);
  WriteRdbStream(writer, read);
  return std::move(writer).Finish();
}

Result<Bytes> DumpJson(CommandContext& context, const Entry& entry) {
  CAIRN_ASSIGN_OR_RETURN(JsonDocument document, JsonDocument::Load(context, entry.user_key()));
  CAIRN_ASSIGN_OR_RETURN(const JsonValue value, document.root().Load());
  const Bytes encoded = EncodeJson(value);
  CAIRN_RETURN_IF_ERROR(Gathered(context).Add(kDumpCopies * encoded.size()));
  RdbWriter writer(RdbType::kJson);
  writer.String(encoded);
  return std::move(writer).Finish();
}

}  // namespace

Result<Bytes> DumpValue(CommandContext& context, const Entry& entry) {
  switch (entry.type()) {
    case ValueType::kString:
      return DumpString(context, entry);
    case ValueType::kHash:
    case ValueType::kSet:
      return DumpFields(context, entry);
    case ValueType::kList:
      return DumpList(context, entry);
    case ValueType::kSortedSet:
      return DumpSortedSet(context, entry);
    case ValueType::kStream:
      return DumpStream(context, entry);
    case ValueType::kJson:
      return DumpJson(context, entry);
  }
  CAIRN_CHECK(false);
}

namespace {

Result<void> Dump(CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(const Entry entry, Entry::Load(context, context.args[1]));
  if (!entry.exists()) {
    context.reply.Null();
    return {};
  }
  CAIRN_ASSIGN_OR_RETURN(const Bytes dump, DumpValue(context, entry));
  context.reply.Bulk(dump);
  return {};
}

// --- RESTORE ------------------------------------------------------------------------------------

struct RestoreOptions {
  bool replace = false;
  bool absolute_ttl = false;
};

// IDLETIME and FREQ are checked and forgotten: neither is kept.
RestoreOptions ParseRestoreOptions(ArgParser& parser) {
  RestoreOptions options;
  bool idle_time = false;
  bool frequency = false;
  while (parser.HasNext()) {
    if (parser.Keyword("REPLACE")) {
      options.replace = true;
    } else if (parser.Keyword("ABSTTL")) {
      options.absolute_ttl = true;
    } else if (!frequency && parser.remaining() > 1 && parser.Keyword("IDLETIME")) {
      idle_time = true;
      if (parser.Integer() < 0) parser.Fail("ERR Invalid IDLETIME value, must be >= 0");
    } else if (!idle_time && parser.remaining() > 1 && parser.Keyword("FREQ")) {
      frequency = true;
      const int64_t value = parser.Integer();
      if (value < 0 || value > 255) {
        parser.Fail("ERR Invalid FREQ value, must be >= 0 and <= 255");
      }
    } else {
      parser.Fail(doors::kSyntaxError);
    }
  }
  return options;
}

Result<void> WriteGroup(CommandContext& context, Stream& stream, const RdbStream::Group& read) {
  StreamGroup group = StreamGroup::Create(context, stream, read.name);
  group.set_last_delivered(read.last_delivered);
  group.set_entries_read(
      read.entries_read.value_or(stream.EstimateEntriesRead(read.last_delivered)));
  for (const RdbStream::Consumer& consumer : read.consumers) {
    CAIRN_RETURN_IF_ERROR(group.AddConsumer(consumer.name, consumer.seen_ms));
  }
  for (const PendingEntry& entry : read.pending) {
    CAIRN_RETURN_IF_ERROR(group.PutPending(entry, std::nullopt));
  }
  group.Save();
  return {};
}

Result<void> WriteStream(CommandContext& context, std::string_view key, const RdbStream& read) {
  CAIRN_ASSIGN_OR_RETURN(Stream stream, Stream::Load(context, key));
  for (const RdbStream::Entry& entry : read.entries) {
    const std::vector<std::string_view> fields(entry.fields.begin(), entry.fields.end());
    stream.Add(entry.id, fields);
  }
  stream.set_last_id(read.last_id);
  stream.set_max_deleted_id(read.max_deleted_id);
  stream.set_entries_added(read.entries_added);
  for (const RdbStream::Group& group : read.groups) {
    CAIRN_RETURN_IF_ERROR(WriteGroup(context, stream, group));
  }
  stream.Save();
  return {};
}

// Writes the value under a key that is free, and tells of it.
Result<void> WriteValue(CommandContext& context, std::string_view key, const RdbValue& value) {
  if (value.type == ValueType::kHash || value.type == ValueType::kSet) {
    CAIRN_ASSIGN_OR_RETURN(Fields fields, Fields::Load(context, key, value.type));
    for (const auto& [field, text] : value.fields) {
      CAIRN_RETURN_IF_ERROR(fields.PutNew(field, text));
    }
    for (const Bytes& member : value.members) CAIRN_RETURN_IF_ERROR(fields.PutNew(member));
    fields.Save(context, doors::kEventGeneric, "restore");
    return {};
  }
  if (value.type == ValueType::kSortedSet) {
    CAIRN_ASSIGN_OR_RETURN(SortedSet set, SortedSet::Load(context, key));
    for (const auto& [member, score] : value.scores) {
      CAIRN_RETURN_IF_ERROR(set.PutNew(member, score));
    }
    return set.Save(context, "restore");
  }
  if (value.type == ValueType::kList) {
    CAIRN_ASSIGN_OR_RETURN(List list, List::Load(context, key));
    for (const Bytes& element : value.members) list.Push(ListEnd::kRight, element);
    list.Save();
  } else if (value.type == ValueType::kStream) {
    CAIRN_RETURN_IF_ERROR(WriteStream(context, key, value.stream));
  } else if (value.type == ValueType::kJson) {
    CAIRN_ASSIGN_OR_RETURN(JsonDocument document, JsonDocument::Load(context, key));
    document.SetRoot(value.json);
    document.Save();
  } else {
    CAIRN_ASSIGN_OR_RETURN(Entry entry, Entry::Load(context, key));
    PutString(entry, value.text);
  }
  context.Notify(doors::kEventGeneric, "restore", key);
  return {};
}

// Puts the value in place of what `entry` has. A deadline that has passed leaves no key.
Result<void> ReplaceValue(CommandContext& context, Entry entry, const RdbValue& value,
                          std::optional<int64_t> expire_ms) {
  const std::string_view key = context.args[1];
  const bool replaces = entry.exists();
  if (replaces) entry.Remove();
  if (expire_ms && *expire_ms <= context.now().millis()) {
    if (replaces) context.Notify(doors::kEventGeneric, "del", key);
    return {};
  }
  CAIRN_RETURN_IF_ERROR(WriteValue(context, key, value));
  if (expire_ms) {
    CAIRN_ASSIGN_OR_RETURN(Entry written, Entry::Load(context, key));
    written.SetExpiry(expire_ms);
  }
  return {};
}

// Even what was compressed.
constexpr uint64_t kRestoreNsPerByte = 50;

Result<void> Restore(CommandContext& context) {
  ArgParser parser(context.args, 4);
  const RestoreOptions options = ParseRestoreOptions(parser);
  if (!parser.Finish()) return context.Fail(parser.error());
  CAIRN_ASSIGN_OR_RETURN(Entry entry, Entry::Load(context, context.args[1]));
  if (entry.exists() && !options.replace) {
    return context.Fail("BUSYKEY Target key name already exists.");
  }
  const std::optional<int64_t> ttl = doors::ParseInteger(context.args[2]);
  if (!ttl) return context.Fail(doors::kNotAnInteger);
  if (*ttl < 0) return context.Fail("ERR Invalid TTL value, must be >= 0");
  if (!HasValidFooter(context.args[3])) {
    return context.Fail("ERR DUMP payload version or checksum are wrong");
  }
  const std::optional<RdbValue> value = DecodeRdbValue(context.args[3]);
  if (!value) return context.Fail("ERR Bad data format");
  std::optional<int64_t> expire_ms;
  if (*ttl != 0) {
    int64_t deadline = 0;
    const int64_t start = options.absolute_ttl ? 0 : context.now().millis();
    if (__builtin_add_overflow(*ttl, start, &deadline)) {
      return context.Fail("ERR Invalid TTL value, must be >= 0");
    }
    expire_ms = deadline;
  }
  CAIRN_RETURN_IF_ERROR(ReplaceValue(context, std::move(entry), *value, expire_ms));
  context.reply.Ok();
  return {};
}

}  // namespace

void AddDumpCommands(doors::Instance& instance) {
  instance.commands().Add({.name = "dump",
                           .arity = 2,
                           .flags = doors::kReadOnly,
                           .categories = doors::kCategoryKeyspace,
                           .keys = {{1, 1, 1, "RO access"}},
                           .group = "generic",
                           .since = "2.6.0",
                           .complexity = "O(N) for N bytes",
                           .summary = "Returns a value in the form in which Redis saves it.",
                           .syntax = "key:key",
                           .tips = {"nondeterministic_output"},
                           .run = Dump});
  instance.commands().Add(
      {.name = "restore",
       .arity = -4,
       .flags = doors::kWrite | doors::kDenyOom,
       .categories = doors::kCategoryKeyspace | doors::kCategoryDangerous,
       .keys = {{1, 1, 1, "OW update"}},
       .unaudited = doors::kIsData,
       .group = "generic",
       .since = "2.6.0",
       .complexity = "O(N) for N bytes",
       .summary = "Makes a key out of what DUMP has returned, here or in Redis.",
       .syntax = "key:key ttl:integer serialized-value [REPLACE] [ABSTTL] "
                 "[IDLETIME seconds:integer] [FREQ frequency:integer]",
       .run = doors::WithLongArguments(Restore, kRestoreNsPerByte)});
}

}  // namespace cairn::data
