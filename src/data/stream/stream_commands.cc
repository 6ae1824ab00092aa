#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "data/stream/commands.h"
#include "data/stream/stream.h"
#include "data/stream/stream_reply.h"
#include "data/value/limits.h"
#include "doors/resp/arg_parser.h"
#include "doors/resp/command.h"
#include "doors/resp/instance.h"
#include "doors/resp/settings.h"

namespace cairn::data {
namespace {

using doors::ArgParser;
using doors::Args;
using doors::Command;
using doors::CommandContext;

// --- Options of XADD and XTRIM ------------------------------------------------------------------

struct TrimOptions {
  StreamTrim trim;
  bool no_create = false;
  std::optional<int64_t> limit;
};

// MAXLEN or MINID, with = or ~ before what it is given. False if the next argument is neither.
bool TakeTrim(ArgParser& parser, TrimOptions& options) {
  if (parser.remaining() < 2) return false;
  const auto kind = parser.OneOf<StreamTrim::Kind>(
      {{"MAXLEN", StreamTrim::Kind::kMaxLength}, {"MINID", StreamTrim::Kind::kMinId}});
  if (!kind) return false;
  StreamTrim& trim = options.trim;
  if (trim.kind != StreamTrim::Kind::kNone) {
    parser.Fail("ERR syntax error, MAXLEN and MINID options at the same time are not compatible");
    return true;
  }
  trim.kind = *kind;
  if (parser.remaining() >= 2) {
    trim.approximate = parser.Keyword("~");
    if (!trim.approximate) parser.Keyword("=");
  }
  if (trim.kind == StreamTrim::Kind::kMinId) {
    trim.min_id = TakeStrictId(parser);
    return true;
  }
  const int64_t length = parser.Integer();
  if (length < 0) parser.Fail("ERR The MAXLEN argument must be >= 0.");
  trim.max_length = static_cast<uint64_t>(length);
  return true;
}

bool TakeLimit(ArgParser& parser, TrimOptions& options) {
  if (parser.remaining() < 2 || !parser.Keyword("LIMIT")) return false;
  options.limit = parser.Integer();
  if (*options.limit < 0) parser.Fail("ERR The LIMIT argument must be >= 0.");
  return true;
}

// How many entries a node has at most where nothing bounds it.
constexpr uint32_t kNoBound = std::numeric_limits<uint32_t>::max();

uint64_t TrimLimit(const StreamNodeLimits& nodes) {
  if (nodes.entries == kNoBound) return kStreamTrimEntriesUnbounded;
  return std::min(nodes.entries * kStreamTrimNodes, kStreamTrimEntries);
}

// Checks what can only be seen at the end.
void FinishTrimOptions(ArgParser& parser, TrimOptions& options, const StreamNodeLimits& nodes) {
  StreamTrim& trim = options.trim;
  if (options.limit.value_or(0) != 0 && trim.kind == StreamTrim::Kind::kNone) {
    parser.Fail("ERR syntax error, LIMIT cannot be used without specifying a trimming strategy");
  }
  if (options.limit && !trim.approximate) {
    parser.Fail("ERR syntax error, LIMIT cannot be used without the special ~ option");
  }
  if (trim.approximate) {
    trim.limit = options.limit ? static_cast<uint64_t>(*options.limit) : TrimLimit(nodes);
  }
}

// --- XADD ---------------------------------------------------------------------------------------

struct Addition {
  TrimOptions options;
  WantedStreamId id;
  Args fields;
};

Addition ParseAddition(ArgParser& parser, const Command& command, const StreamNodeLimits& nodes) {
  Addition addition;
  while (parser.ok()) {
    if (TakeTrim(parser, addition.options) || TakeLimit(parser, addition.options)) continue;
    if (parser.Keyword("NOMKSTREAM")) {
      addition.options.no_create = true;
      continue;
    }
    if (parser.remaining() == 0) break;
    const std::optional<WantedStreamId> id = ParseWantedId(parser.Next());
    if (!id) parser.Fail(kInvalidStreamId);
    addition.id = id.value_or(WantedStreamId{});
    break;
  }
  if (!parser.ok()) return addition;
  FinishTrimOptions(parser, addition.options, nodes);
  addition.fields = parser.Rest();
  if (addition.fields.empty() || addition.fields.size() % 2 != 0) {
    parser.Fail(doors::WrongArity(command.name));
  }
  if (addition.id.ms == 0U && addition.id.seq == 0U) {
    parser.Fail("ERR The ID specified in XADD must be greater than 0-0");
  }
  return addition;
}

Result<void> XAdd(CommandContext& context, const StreamNodeLimits& nodes) {
  ArgParser parser(context.args, 2);
  const Addition addition = ParseAddition(parser, context.command, nodes);
  if (!parser.ok()) return context.Fail(parser.error());
  const std::string_view key = context.args[1];
  CAIRN_ASSIGN_OR_RETURN(Stream stream, Stream::Load(context, key));
  if (stream.wrong_type()) return context.Fail(kWrongType);
  if (!stream.exists() && addition.options.no_create) {
    context.reply.Null();
    return {};
  }
  if (stream.last_id() == StreamId::Max()) {
    return context.Fail(
        "ERR The stream has exhausted the last possible ID, unable to add more items");
  }
  const std::optional<StreamId> id = stream.ChooseId(addition.id, context.now());
  if (!id) {
    return context.Fail(
        "ERR The ID specified in XADD is equal or smaller than the target stream top item");
  }
  stream.Add(*id, addition.fields, nodes);
  CAIRN_ASSIGN_OR_RETURN(const uint64_t trimmed, stream.Trim(addition.options.trim));
  stream.Save();
  context.Notify(doors::kEventStream, "xadd", key);
  if (trimmed != 0) context.Notify(doors::kEventStream, "xtrim", key);
  context.reply.Bulk(FormatStreamId(*id));
  return {};
}

// --- Removing -----------------------------------------------------------------------------------

Result<void> XTrim(CommandContext& context, const StreamNodeLimits& nodes) {
  ArgParser parser(context.args, 2);
  TrimOptions options;
  while (parser.HasNext()) {
    if (!TakeTrim(parser, options) && !TakeLimit(parser, options)) {
      parser.Fail(doors::kSyntaxError);
    }
  }
  if (parser.ok()) FinishTrimOptions(parser, options, nodes);
  if (options.trim.kind == StreamTrim::Kind::kNone) {
    parser.Fail("ERR syntax error, XTRIM must be called with a trimming strategy");
  }
  if (!parser.ok()) return context.Fail(parser.error());
  CAIRN_ASSIGN_OR_RETURN(Stream stream, Stream::Load(context, context.args[1]));
  if (stream.wrong_type()) return context.Fail(kWrongType);
  CAIRN_ASSIGN_OR_RETURN(const uint64_t trimmed, stream.Trim(options.trim));
  if (trimmed != 0) {
    stream.Save();
    context.Notify(doors::kEventStream, "xtrim", context.args[1]);
  }
  context.reply.Integer(static_cast<int64_t>(trimmed));
  return {};
}

Result<void> XDel(CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(Stream stream, Stream::Load(context, context.args[1]));
  if (stream.wrong_type()) return context.Fail(kWrongType);
  if (!stream.exists()) {
    context.reply.Integer(0);
    return {};
  }
  ArgParser parser(context.args, 2);
  std::vector<StreamId> ids;
  while (parser.HasNext()) ids.push_back(TakeStrictId(parser));
  if (!parser.ok()) return context.Fail(parser.error());
  int64_t deleted = 0;
  for (const StreamId id : ids) {
    CAIRN_ASSIGN_OR_RETURN(const bool was_there, stream.Delete(id));
    if (was_there) ++deleted;
  }
  if (deleted != 0) {
    stream.Save();
    context.Notify(doors::kEventStream, "xdel", context.args[1]);
  }
  context.reply.Integer(deleted);
  return {};
}

Result<void> XSetId(CommandContext& context) {
  ArgParser parser(context.args, 2);
  const StreamId id = TakeStrictId(parser);
  std::optional<int64_t> entries_added;
  std::optional<StreamId> max_deleted;
  while (parser.HasNext()) {
    if (parser.remaining() > 1 && parser.Keyword("ENTRIESADDED")) {
      entries_added = parser.Integer();
      if (*entries_added < 0) parser.Fail("ERR entries_added must be positive");
    } else if (parser.remaining() > 1 && parser.Keyword("MAXDELETEDID")) {
      max_deleted = TakeStrictId(parser);
      if (*max_deleted > id) {
        parser.Fail(
            "ERR The ID specified in XSETID is smaller than the provided max_deleted_entry_id");
      }
    } else {
      parser.Fail(doors::kSyntaxError);
    }
  }
  if (!parser.ok()) return context.Fail(parser.error());
  CAIRN_ASSIGN_OR_RETURN(Stream stream, Stream::Load(context, context.args[1]));
  if (stream.wrong_type()) return context.Fail(kWrongType);
  if (!stream.exists()) return context.Fail(doors::kNoSuchKey);
  CAIRN_ASSIGN_OR_RETURN(const StreamId top, FindTopId(stream));
  if (stream.length() != 0 && id < top) {
    return context.Fail(
        "ERR The ID specified in XSETID is smaller than the target stream top item");
  }
  if (stream.length() != 0 && entries_added &&
      static_cast<uint64_t>(*entries_added) < stream.length()) {
    return context.Fail(
        "ERR The entries_added specified in XSETID is smaller than the target stream length");
  }
  stream.set_last_id(id);
  if (entries_added) stream.set_entries_added(static_cast<uint64_t>(*entries_added));
  if (max_deleted && !max_deleted->IsZero()) stream.set_max_deleted_id(*max_deleted);
  stream.Save();
  context.Notify(doors::kEventStream, "xsetid", context.args[1]);
  context.reply.Ok();
  return {};
}

// --- Reading ------------------------------------------------------------------------------------

Result<void> XLen(CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(const Stream stream, Stream::Load(context, context.args[1]));
  if (stream.wrong_type()) return context.Fail(kWrongType);
  context.reply.Integer(static_cast<int64_t>(stream.length()));
  return {};
}

Result<void> ReplyRange(CommandContext& context, ArgParser& parser, StreamRange range) {
  bool none = false;
  while (parser.HasNext()) {
    if (parser.remaining() < 2 || !parser.Keyword("COUNT")) {
      parser.Fail(doors::kSyntaxError);
      break;
    }
    const int64_t count = parser.Integer();
    none = count <= 0;
    range.limit = static_cast<uint64_t>(std::max<int64_t>(count, 0));
  }
  if (!parser.ok()) return context.Fail(parser.error());
  CAIRN_ASSIGN_OR_RETURN(Stream stream, Stream::Load(context, context.args[1]));
  if (stream.wrong_type()) return context.Fail(kWrongType);
  if (none && stream.exists()) {
    context.reply.NullArray();
    return {};
  }
  ReplyList entries(context.reply);
  CAIRN_RETURN_IF_ERROR(stream.Visit(range, [&](const StreamEntry& entry) {
    WriteEntry(entries.Next(), entry);
    return true;
  }));
  entries.WriteTo(context.reply);
  return {};
}

Result<void> XRange(CommandContext& context) {
  ArgParser parser(context.args, 2);
  const StreamId first = TakeRangeStart(parser);
  const StreamId last = TakeRangeEnd(parser);
  return ReplyRange(context, parser, {.first = first, .last = last});
}

Result<void> XRevRange(CommandContext& context) {
  // Redis looks at the smaller end first, whichever side it is written on.
  ArgParser start(context.args, 3);
  const StreamId first = TakeRangeStart(start);
  if (!start.ok()) return context.Fail(start.error());
  ArgParser end(context.args, 2);
  const StreamId last = TakeRangeEnd(end);
  if (!end.ok()) return context.Fail(end.error());
  return ReplyRange(context, start, {.first = first, .last = last, .reverse = true});
}

}  // namespace

void AddStreamCommands(doors::Instance& instance) {
  using doors::kDenyOom;
  using doors::kFast;
  using doors::kReadOnly;
  using doors::kWrite;
  struct Row {
    std::string_view name;
    int arity;
    uint32_t flags;
    doors::KeySpec keys;
    std::string_view since;
    std::string_view complexity;
    std::string_view summary;
    std::string_view syntax;
    doors::RunHandler run;
    std::vector<std::string_view> tips = {};
  };
  constexpr doors::KeySpec kRead = {1, 1, 1, "RO access"};
  constexpr doors::KeySpec kUpdate = {1, 1, 1, "RW update"};
  constexpr doors::KeySpec kDelete = {1, 1, 1, "RW delete"};
  const std::vector<std::string_view> varies = {"nondeterministic_output"};
  // What a node has decides what XADD and XTRIM with ~ leave. 0: no bound.
  const auto node_entries = std::make_shared<std::atomic<int64_t>>(kStreamNodeEntries);
  const auto node_bytes = std::make_shared<std::atomic<int64_t>>(kStreamNodeBytes);
  instance.settings().Add({.name = "stream-node-max-entries",
                           .get = [node_entries] { return fmt::to_string(node_entries->load()); },
                           .set = [node_entries](std::string_view text) -> Result<void> {
                             constexpr int64_t kMost = std::numeric_limits<uint32_t>::max();
                             CAIRN_ASSIGN_OR_RETURN(*node_entries,
                                                    doors::ParseSettingNumber(text, 0, kMost));
                             return {};
                           }});
  instance.settings().Add({.name = "stream-node-max-bytes",
                           .get = [node_bytes] { return fmt::to_string(node_bytes->load()); },
                           .set = [node_bytes](std::string_view text) -> Result<void> {
                             constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
                             CAIRN_ASSIGN_OR_RETURN(*node_bytes,
                                                    doors::ParseSettingBytes(text, 0, kMost));
                             return {};
                           }});
  const auto with_nodes =
      [node_entries, node_bytes](Result<void> (*run)(CommandContext&, const StreamNodeLimits&)) {
        return [node_entries, node_bytes, run](CommandContext& context) {
          const int64_t entries = node_entries->load(std::memory_order_relaxed);
          const int64_t bytes = node_bytes->load(std::memory_order_relaxed);
          StreamNodeLimits nodes{kNoBound, std::numeric_limits<uint64_t>::max()};
          if (entries != 0) nodes.entries = static_cast<uint32_t>(entries);
          if (bytes != 0) nodes.bytes = static_cast<uint64_t>(bytes);
          return run(context, nodes);
        };
      };
  const Row kRows[] = {
      {"xadd", -5, kWrite | kDenyOom | kFast, kUpdate, "5.0.0", "O(1), and O(N) for N trimmed",
       "Adds an entry to a stream.",
       "key:key [NOMKSTREAM] [((MAXLEN | MINID) [= | ~] threshold [LIMIT count:integer])] (* | id) "
       "(field value) ...",
       with_nodes(XAdd), varies},
      {"xlen",
       2,
       kReadOnly | kFast,
       {1, 1, 1, "RO"},
       "5.0.0",
       "O(1)",
       "Tells how many entries a stream has.",
       "key:key",
       XLen},
      {"xrange", -4, kReadOnly, kRead, "5.0.0", "O(N) for N entries returned",
       "Reads the entries between two ids.", "key:key start end [COUNT count:integer]", XRange},
      {"xrevrange", -4, kReadOnly, kRead, "5.0.0", "O(N) for N entries returned",
       "Reads the entries between two ids, the last one first.",
       "key:key end start [COUNT count:integer]", XRevRange},
      {"xdel", -3, kWrite | kFast, kDelete, "5.0.0", "O(N) for N ids",
       "Removes entries from a stream.", "key:key id ...", XDel},
      {"xtrim", -4, kWrite, kDelete, "5.0.0", "O(N) for N entries removed",
       "Removes the oldest entries of a stream.",
       "key:key ((MAXLEN | MINID) [= | ~] threshold [LIMIT count:integer])", with_nodes(XTrim),
       varies},
      {"xsetid", -3, kWrite | kDenyOom | kFast, kUpdate, "5.0.0", "O(1)",
       "Sets the last id of a stream, and what else replication copies.",
       "key:key last-id [ENTRIESADDED entries_added:integer] [MAXDELETEDID max-deleted-entry-id]",
       XSetId},
  };
  for (const Row& row : kRows) {
    instance.commands().Add(Command{.name = row.name,
                                    .arity = row.arity,
                                    .flags = row.flags,
                                    .categories = doors::kCategoryStream,
                                    .keys = {row.keys},
                                    .group = "stream",
                                    .since = row.since,
                                    .complexity = row.complexity,
                                    .summary = row.summary,
                                    .syntax = row.syntax,
                                    .tips = row.tips,
                                    .run = row.run});
  }
}

}  // namespace cairn::data
