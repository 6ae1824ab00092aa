#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "data/stream/commands.h"
#include "data/stream/stream.h"
#include "data/stream/stream_groups.h"
#include "data/stream/stream_reply.h"
#include "doors/resp/arg_parser.h"
#include "doors/resp/command.h"
#include "doors/resp/connection_commands.h"

// XINFO and XPENDING: what is known of streams, groups and consumers.
namespace cairn::data {
namespace {

using doors::ArgParser;
using doors::Command;
using doors::CommandContext;
using doors::Quotable;

constexpr uint64_t kAll = std::numeric_limits<uint64_t>::max();

void WriteId(net::RespWriter out, StreamId id) { out.Bulk(FormatStreamId(id)); }

void WriteCount(net::RespWriter out, uint64_t count) { out.Integer(static_cast<int64_t>(count)); }

void WriteOptional(net::RespWriter out, std::optional<int64_t> value) {
  if (value) {
    out.Integer(*value);
  } else {
    out.Null();
  }
}

std::optional<int64_t> KnownEntriesRead(const StreamGroup& group) {
  if (group.entries_read() == kUnknownEntriesRead) return std::nullopt;
  return group.entries_read();
}

int64_t IdleSince(CommandContext& context, int64_t ms) {
  return std::max<int64_t>(context.now().millis() - ms, 0);
}

// --- XPENDING -----------------------------------------------------------------------------------

struct PendingQuery {
  int64_t min_idle_ms = 0;
  StreamRange range;
  uint64_t count = 0;
  std::optional<std::string_view> consumer;
};

PendingQuery ParsePendingQuery(CommandContext& context, ArgParser& outcome) {
  PendingQuery query;
  const size_t size = context.args.size();
  if (size < 6 || size > 9) {
    outcome.Fail(doors::kSyntaxError);
    return query;
  }
  size_t at = 3;
  if (doors::EqualsIgnoreCase(context.args[3], "IDLE")) {
    ArgParser idle(context.args, 4);
    query.min_idle_ms = idle.Integer();
    if (size < 8) idle.Fail(doors::kSyntaxError);
    if (!idle.ok()) {
      outcome.Fail(idle.error());
      return query;
    }
    at = 5;
  }
  // The count is looked at before the ends.
  ArgParser count(context.args, at + 2);
  query.count = static_cast<uint64_t>(std::max<int64_t>(count.Integer(), 0));
  if (count.HasNext()) query.consumer = count.Next();
  ArgParser ends(context.args, at);
  query.range.first = TakeRangeStart(ends);
  query.range.last = TakeRangeEnd(ends);
  for (const ArgParser* part : {&count, &ends}) {
    if (!part->ok()) outcome.Fail(part->error());
  }
  return query;
}

Result<void> WritePendingSummary(CommandContext& context, StreamGroup& group) {
  context.reply.ArrayHeader(4);
  WriteCount(context.reply, group.pending());
  if (group.pending() == 0) {
    context.reply.Null();
    context.reply.Null();
    context.reply.NullArray();
    return {};
  }
  for (const bool reverse : {false, true}) {
    CAIRN_RETURN_IF_ERROR(
        group.VisitPending({.reverse = reverse, .limit = 1}, [&](const PendingEntry& entry) {
          WriteId(context.reply, entry.id);
          return false;
        }));
  }
  ReplyList consumers(context.reply);
  CAIRN_RETURN_IF_ERROR(group.VisitConsumers([&](BytesView name, const StreamConsumer& consumer) {
    if (consumer.pending == 0) return true;
    net::RespWriter out = consumers.Next();
    out.ArrayHeader(2);
    out.Bulk(name);
    out.BulkInteger(static_cast<int64_t>(consumer.pending));
    return true;
  }));
  consumers.WriteTo(context.reply);
  return {};
}

// Writes the entry if it has been idle for long enough. Returns whether more are wanted.
bool WritePendingEntry(CommandContext& context, const PendingQuery& query,
                       const PendingEntry& entry, ReplyList& entries) {
  if (entries.count() >= query.count) return false;
  const int64_t idle = IdleSince(context, entry.delivered_ms);
  if (idle < query.min_idle_ms) return true;
  net::RespWriter out = entries.Next();
  out.ArrayHeader(4);
  WriteId(out, entry.id);
  out.Bulk(entry.consumer);
  out.Integer(idle);
  out.Integer(entry.delivery_count);
  return entries.count() < query.count;
}

Result<void> WritePendingEntries(CommandContext& context, StreamGroup& group,
                                 const PendingQuery& query) {
  ReplyList entries(context.reply);
  if (!query.consumer) {
    CAIRN_RETURN_IF_ERROR(group.VisitPending(query.range, [&](const PendingEntry& entry) {
      return WritePendingEntry(context, query, entry, entries);
    }));
    entries.WriteTo(context.reply);
    return {};
  }
  StreamRange range = query.range;
  if (query.min_idle_ms <= 0) range.limit = query.count;
  CAIRN_ASSIGN_OR_RETURN(const std::vector<StreamId> ids, group.FindOwned(*query.consumer, range));
  for (const StreamId id : ids) {
    CAIRN_ASSIGN_OR_RETURN(const std::optional<PendingEntry> entry, group.FindPending(id));
    if (entry && !WritePendingEntry(context, query, *entry, entries)) break;
  }
  entries.WriteTo(context.reply);
  return {};
}

Result<void> XPending(CommandContext& context) {
  const bool summary = context.args.size() == 3;
  ArgParser outcome(context.args);
  const PendingQuery query = summary ? PendingQuery{} : ParsePendingQuery(context, outcome);
  if (!outcome.ok()) return context.Fail(outcome.error());
  CAIRN_ASSIGN_OR_RETURN(Stream stream, Stream::Load(context, context.args[1]));
  if (stream.wrong_type()) return context.Fail(kWrongType);
  CAIRN_ASSIGN_OR_RETURN(std::optional<StreamGroup> group,
                         StreamGroup::Find(stream, context.args[2]));
  if (!group) {
    return context.Fail(fmt::format("NOGROUP No such key '{}' or consumer group '{}'",
                                    Quotable(context.args[1]), Quotable(context.args[2])));
  }
  return summary ? WritePendingSummary(context, *group)
                 : WritePendingEntries(context, *group, query);
}

// --- XINFO STREAM -------------------------------------------------------------------------------

void WriteStreamNumbers(net::RespWriter out, const Stream& stream) {
  // As Redis would have it, if no entry were large or deleted.
  const uint64_t nodes = (stream.length() + kStreamNodeEntries - 1) / kStreamNodeEntries;
  out.Bulk("length");
  WriteCount(out, stream.length());
  out.Bulk("radix-tree-keys");
  WriteCount(out, nodes);
  out.Bulk("radix-tree-nodes");
  WriteCount(out, nodes + 1);
  out.Bulk("last-generated-id");
  WriteId(out, stream.last_id());
  out.Bulk("max-deleted-entry-id");
  WriteId(out, stream.max_deleted_id());
  out.Bulk("entries-added");
  WriteCount(out, stream.entries_added());
  out.Bulk("recorded-first-entry-id");
  WriteId(out, stream.first_id());
}

Result<void> WriteEdge(net::RespWriter out, Stream& stream, const StreamRange& range) {
  if (stream.length() == 0) {
    out.Null();
    return {};
  }
  return stream.Visit(range, [&](const StreamEntry& entry) {
    WriteEntry(out, entry);
    return false;
  });
}

Result<void> WriteShort(net::RespWriter out, Stream& stream) {
  out.MapHeader(10);
  WriteStreamNumbers(out, stream);
  out.Bulk("groups");
  WriteCount(out, stream.groups());
  out.Bulk("first-entry");
  CAIRN_RETURN_IF_ERROR(WriteEdge(out, stream, {.limit = 1}));
  out.Bulk("last-entry");
  return WriteEdge(out, stream, {.reverse = true, .limit = 1});
}

Result<void> WriteOwned(net::RespWriter out, StreamGroup& group, BytesView consumer,
                        uint64_t limit) {
  CAIRN_ASSIGN_OR_RETURN(const std::vector<StreamId> ids,
                         group.FindOwned(consumer, {.limit = limit}));
  out.ArrayHeader(ids.size());
  for (const StreamId id : ids) {
    CAIRN_ASSIGN_OR_RETURN(const std::optional<PendingEntry> entry, group.FindPending(id));
    out.ArrayHeader(3);
    WriteId(out, id);
    out.Integer(entry ? entry->delivered_ms : 0);
    out.Integer(entry ? entry->delivery_count : 0);
  }
  return {};
}

Result<void> WriteConsumers(net::RespWriter out, StreamGroup& group, uint64_t limit) {
  std::vector<std::pair<Bytes, StreamConsumer>> consumers;
  CAIRN_RETURN_IF_ERROR(group.VisitConsumers([&](BytesView name, const StreamConsumer& consumer) {
    consumers.emplace_back(name, consumer);
    return true;
  }));
  out.ArrayHeader(consumers.size());
  for (const auto& [name, consumer] : consumers) {
    out.MapHeader(4);
    out.Bulk("name");
    out.Bulk(name);
    out.Bulk("seen-time");
    out.Integer(consumer.seen_ms);
    out.Bulk("pel-count");
    WriteCount(out, consumer.pending);
    out.Bulk("pending");
    CAIRN_RETURN_IF_ERROR(WriteOwned(out, group, name, limit));
  }
  return {};
}

Result<void> WriteGroupInFull(net::RespWriter out, StreamGroup& group, uint64_t limit) {
  out.MapHeader(7);
  out.Bulk("name");
  out.Bulk(group.name());
  out.Bulk("last-delivered-id");
  WriteId(out, group.last_delivered());
  out.Bulk("entries-read");
  WriteOptional(out, KnownEntriesRead(group));
  out.Bulk("lag");
  WriteOptional(out, group.Lag());
  out.Bulk("pel-count");
  WriteCount(out, group.pending());
  out.Bulk("pending");
  ReplyList entries(out);
  CAIRN_RETURN_IF_ERROR(group.VisitPending({.limit = limit}, [&](const PendingEntry& entry) {
    net::RespWriter row = entries.Next();
    row.ArrayHeader(4);
    WriteId(row, entry.id);
    row.Bulk(entry.consumer);
    row.Integer(entry.delivered_ms);
    row.Integer(entry.delivery_count);
    return true;
  }));
  entries.WriteTo(out);
  out.Bulk("consumers");
  return WriteConsumers(out, group, limit);
}

Result<void> WriteInFull(net::RespWriter out, Stream& stream, uint64_t limit) {
  out.MapHeader(9);
  WriteStreamNumbers(out, stream);
  out.Bulk("entries");
  ReplyList entries(out);
  CAIRN_RETURN_IF_ERROR(stream.Visit({.limit = limit}, [&](const StreamEntry& entry) {
    WriteEntry(entries.Next(), entry);
    return true;
  }));
  entries.WriteTo(out);
  out.Bulk("groups");
  CAIRN_ASSIGN_OR_RETURN(std::vector<StreamGroup> groups, StreamGroup::List(stream));
  out.ArrayHeader(groups.size());
  for (StreamGroup& group : groups) {
    CAIRN_RETURN_IF_ERROR(WriteGroupInFull(out, group, limit));
  }
  return {};
}

Result<void> XInfoStream(CommandContext& context) {
  const size_t size = context.args.size();
  CAIRN_ASSIGN_OR_RETURN(Stream stream, Stream::Load(context, context.args[2]));
  if (!stream.exists()) return context.Fail(doors::kNoSuchKey);
  if (stream.wrong_type()) return context.Fail(kWrongType);
  if (size == 3) return WriteShort(context.reply, stream);
  ArgParser parser(context.args, 3);
  uint64_t limit = 10;
  if (!parser.Keyword("FULL") || (size != 4 && (size != 6 || !parser.Keyword("COUNT")))) {
    return context.Fail(
        fmt::format("ERR unknown subcommand or wrong number of arguments for '{}'. Try XINFO HELP.",
                    Quotable(context.args[1])));
  }
  if (size == 6) {
    const int64_t count = parser.Integer();
    if (!parser.ok()) return context.Fail(parser.error());
    if (count >= 0) limit = count == 0 ? kAll : static_cast<uint64_t>(count);
  }
  return WriteInFull(context.reply, stream, limit);
}

// --- XINFO GROUPS and CONSUMERS -----------------------------------------------------------------

Result<void> XInfoGroups(CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(Stream stream, Stream::Load(context, context.args[2]));
  if (!stream.exists()) return context.Fail(doors::kNoSuchKey);
  if (stream.wrong_type()) return context.Fail(kWrongType);
  CAIRN_ASSIGN_OR_RETURN(const std::vector<StreamGroup> groups, StreamGroup::List(stream));
  net::RespWriter out = context.reply;
  out.ArrayHeader(groups.size());
  for (const StreamGroup& group : groups) {
    out.MapHeader(6);
    out.Bulk("name");
    out.Bulk(group.name());
    out.Bulk("consumers");
    WriteCount(out, group.consumers());
    out.Bulk("pending");
    WriteCount(out, group.pending());
    out.Bulk("last-delivered-id");
    WriteId(out, group.last_delivered());
    out.Bulk("entries-read");
    WriteOptional(out, KnownEntriesRead(group));
    out.Bulk("lag");
    WriteOptional(out, group.Lag());
  }
  return {};
}

Result<void> XInfoConsumers(CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(Stream stream, Stream::Load(context, context.args[2]));
  if (!stream.exists()) return context.Fail(doors::kNoSuchKey);
  if (stream.wrong_type()) return context.Fail(kWrongType);
  CAIRN_ASSIGN_OR_RETURN(std::optional<StreamGroup> group,
                         StreamGroup::Find(stream, context.args[3]));
  if (!group) {
    return context.Fail(fmt::format("NOGROUP No such consumer group '{}' for key name '{}'",
                                    Quotable(context.args[3]), Quotable(context.args[2])));
  }
  ReplyList consumers(context.reply);
  CAIRN_RETURN_IF_ERROR(group->VisitConsumers([&](BytesView name, const StreamConsumer& consumer) {
    net::RespWriter out = consumers.Next();
    out.MapHeader(3);
    out.Bulk("name");
    out.Bulk(name);
    out.Bulk("pending");
    WriteCount(out, consumer.pending);
    out.Bulk("idle");
    out.Integer(IdleSince(context, consumer.seen_ms));
    return true;
  }));
  consumers.WriteTo(context.reply);
  return {};
}

}  // namespace

void AddStreamInfoCommands(doors::Instance& instance) {
  struct Row {
    std::string_view name;
    int arity;
    int key;
    std::string_view complexity;
    std::string_view summary;
    std::string_view syntax;
    doors::RunHandler run;
    std::vector<std::string_view> tips = {};
  };
  const std::vector<std::string_view> varies = {"nondeterministic_output"};
  instance.commands().Add(Command{.name = "xinfo",
                                  .arity = -2,
                                  .group = "stream",
                                  .since = "5.0.0",
                                  .summary = "Commands that describe streams."});
  const Row kRows[] = {
      {"xpending", -3, 1, "O(N) for N entries looked at",
       "Shows what a group has delivered and nobody has acknowledged.",
       "key:key group [[IDLE min-idle-time:integer] start end count:integer [consumer]]", XPending,
       varies},
      {"xinfo|stream", -3, 2, "O(N) for N entries shown", "Describes a stream.",
       "key:key [(FULL [COUNT count:integer])]", XInfoStream},
      {"xinfo|groups", 3, 2, "O(N) for N groups", "Describes the groups of a stream.", "key:key",
       XInfoGroups},
      {"xinfo|consumers", 4, 2, "O(N) for N consumers", "Describes the consumers of a group.",
       "key:key group", XInfoConsumers, varies},
  };
  for (const Row& row : kRows) {
    instance.commands().Add(Command{.name = row.name,
                                    .arity = row.arity,
                                    .flags = doors::kReadOnly,
                                    .categories = doors::kCategoryStream,
                                    .keys = {{row.key, row.key, 1, "RO access"}},
                                    .group = "stream",
                                    .since = "5.0.0",
                                    .complexity = row.complexity,
                                    .summary = row.summary,
                                    .syntax = row.syntax,
                                    .tips = row.tips,
                                    .run = row.run});
  }
  instance.commands().Add(doors::HelpRow("xinfo|help", doors::kCategoryStream, "stream", "5.0.0"));
}

}  // namespace cairn::data
