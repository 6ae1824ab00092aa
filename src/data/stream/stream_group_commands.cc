#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "data/stream/commands.h"
#include "data/stream/stream.h"
#include "data/stream/stream_groups.h"
#include "data/stream/stream_reply.h"
#include "doors/resp/arg_parser.h"
#include "doors/resp/command.h"
#include "doors/resp/connection_commands.h"

namespace cairn::data {
namespace {

using doors::ArgParser;
using doors::Command;
using doors::CommandContext;
using doors::Quotable;

constexpr std::string_view kNoStreamForGroup =
    "ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you may want to use "
    "the MKSTREAM option to create an empty stream automatically.";

std::string NoGroup(std::string_view key, std::string_view group) {
  return fmt::format("NOGROUP No such key '{}' or consumer group '{}'", Quotable(key),
                     Quotable(group));
}

std::string NoGroupForKey(std::string_view key, std::string_view group) {
  return fmt::format("NOGROUP No such consumer group '{}' for key name '{}'", Quotable(group),
                     Quotable(key));
}

// --- XGROUP -------------------------------------------------------------------------------------

struct GroupOptions {
  bool make_stream = false;
  int64_t entries_read = kUnknownEntriesRead;
};

std::string WrongGroupArguments(const CommandContext& context) {
  return fmt::format(
      "ERR unknown subcommand or wrong number of arguments for '{}'. Try XGROUP HELP.",
      Quotable(context.args[1]));
}

// What comes behind the id of CREATE and SETID.
GroupOptions ParseGroupOptions(CommandContext& context, ArgParser& parser) {
  const bool creates = context.command.name == "xgroup|create";
  GroupOptions options;
  while (parser.HasNext()) {
    if (creates && parser.Keyword("MKSTREAM")) {
      options.make_stream = true;
    } else if (parser.remaining() > 1 && parser.Keyword("ENTRIESREAD")) {
      options.entries_read = parser.Integer();
      if (options.entries_read < 0 && options.entries_read != kUnknownEntriesRead) {
        parser.Fail("ERR value for ENTRIESREAD must be positive or -1");
      }
    } else {
      parser.Fail(WrongGroupArguments(context));
    }
  }
  return options;
}

// An id, or $ for the last of the stream.
std::optional<StreamId> ParseGroupStart(std::string_view text, const Stream& stream) {
  return text == "$" ? stream.last_id() : ParseStreamId(text);
}

Result<void> XGroupCreate(CommandContext& context) {
  ArgParser parser(context.args, 5);
  const GroupOptions options = ParseGroupOptions(context, parser);
  if (!parser.ok()) return context.Fail(parser.error());
  const std::string_view key = context.args[2];
  CAIRN_ASSIGN_OR_RETURN(Stream stream, Stream::Load(context, key));
  if (stream.wrong_type()) return context.Fail(kWrongType);
  if (!stream.exists() && !options.make_stream) return context.Fail(kNoStreamForGroup);
  if (context.args.size() > 8) return context.Fail(WrongGroupArguments(context));
  const std::optional<StreamId> start = ParseGroupStart(context.args[4], stream);
  if (!start) return context.Fail(kInvalidStreamId);
  CAIRN_ASSIGN_OR_RETURN(const auto existing, StreamGroup::Find(stream, context.args[3]));
  if (existing) return context.Fail("BUSYGROUP Consumer Group name already exists");
  StreamGroup group = StreamGroup::Create(context, stream, context.args[3]);
  group.set_last_delivered(*start);
  group.set_entries_read(options.entries_read);
  group.Save();
  stream.Save();
  context.Notify(doors::kEventStream, "xgroup-create", key);
  context.reply.Ok();
  return {};
}

Result<void> XGroupSetId(CommandContext& context) {
  ArgParser parser(context.args, 5);
  const GroupOptions options = ParseGroupOptions(context, parser);
  if (!parser.ok()) return context.Fail(parser.error());
  const std::string_view key = context.args[2];
  CAIRN_ASSIGN_OR_RETURN(Stream stream, Stream::Load(context, key));
  if (stream.wrong_type()) return context.Fail(kWrongType);
  if (!stream.exists()) return context.Fail(kNoStreamForGroup);
  CAIRN_ASSIGN_OR_RETURN(std::optional<StreamGroup> group,
                         StreamGroup::Find(stream, context.args[3]));
  if (!group) return context.Fail(NoGroupForKey(key, context.args[3]));
  if (context.args.size() > 7) return context.Fail(WrongGroupArguments(context));
  std::optional<StreamId> start = ParseGroupStart(context.args[4], stream);
  // Unlike CREATE it takes the ends of all ids.
  if (context.args[4] == "-") start = StreamId();
  if (context.args[4] == "+") start = StreamId::Max();
  if (!start) return context.Fail(kInvalidStreamId);
  group->set_last_delivered(*start);
  group->set_entries_read(options.entries_read);
  group->Save();
  stream.Save();
  context.Notify(doors::kEventStream, "xgroup-setid", key);
  context.reply.Ok();
  return {};
}

Result<void> XGroupDestroy(CommandContext& context) {
  const std::string_view key = context.args[2];
  CAIRN_ASSIGN_OR_RETURN(Stream stream, Stream::Load(context, key));
  if (stream.wrong_type()) return context.Fail(kWrongType);
  if (!stream.exists()) return context.Fail(kNoStreamForGroup);
  CAIRN_ASSIGN_OR_RETURN(std::optional<StreamGroup> group,
                         StreamGroup::Find(stream, context.args[3]));
  context.reply.Integer(group ? 1 : 0);
  if (!group) return {};
  CAIRN_RETURN_IF_ERROR(group->Remove());
  stream.Save();
  context.Notify(doors::kEventStream, "xgroup-destroy", key);
  return {};
}

// Makes a change to the consumer that the request names. `change` returns what to reply with, or
// nullopt if nothing changed, for which the reply is 0.
Result<void> ChangeConsumer(
    CommandContext& context, std::string_view event,
    FunctionRef<Result<std::optional<uint64_t>>(StreamGroup& group, BytesView consumer)> change) {
  const std::string_view key = context.args[2];
  CAIRN_ASSIGN_OR_RETURN(Stream stream, Stream::Load(context, key));
  if (stream.wrong_type()) return context.Fail(kWrongType);
  if (!stream.exists()) return context.Fail(kNoStreamForGroup);
  CAIRN_ASSIGN_OR_RETURN(std::optional<StreamGroup> group,
                         StreamGroup::Find(stream, context.args[3]));
  if (!group) return context.Fail(NoGroupForKey(key, context.args[3]));
  CAIRN_ASSIGN_OR_RETURN(const std::optional<uint64_t> changed, change(*group, context.args[4]));
  context.reply.Integer(static_cast<int64_t>(changed.value_or(0)));
  if (!changed) return {};
  group->Save();
  stream.Save();
  context.Notify(doors::kEventStream, event, key);
  return {};
}

Result<void> XGroupCreateConsumer(CommandContext& context) {
  const auto add = [&](StreamGroup& group, BytesView consumer) -> Result<std::optional<uint64_t>> {
    CAIRN_ASSIGN_OR_RETURN(const bool added, group.AddConsumer(consumer, context.now().millis()));
    return added ? std::optional<uint64_t>(1) : std::nullopt;
  };
  return ChangeConsumer(context, "xgroup-createconsumer", add);
}

// Replies how many entries were pending for the consumer.
Result<void> XGroupDelConsumer(CommandContext& context) {
  return ChangeConsumer(context, "xgroup-delconsumer", [](StreamGroup& group, BytesView consumer) {
    return group.RemoveConsumer(consumer);
  });
}

// --- XACK ---------------------------------------------------------------------------------------

Result<void> XAck(CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(Stream stream, Stream::Load(context, context.args[1]));
  if (stream.wrong_type()) return context.Fail(kWrongType);
  CAIRN_ASSIGN_OR_RETURN(std::optional<StreamGroup> group,
                         StreamGroup::Find(stream, context.args[2]));
  if (!group) {
    context.reply.Integer(0);
    return {};
  }
  ArgParser parser(context.args, 3);
  std::vector<StreamId> ids;
  while (parser.HasNext()) ids.push_back(TakeStrictId(parser));
  if (!parser.ok()) return context.Fail(parser.error());
  int64_t acknowledged = 0;
  for (const StreamId id : ids) {
    CAIRN_ASSIGN_OR_RETURN(const std::optional<PendingEntry> entry, group->FindPending(id));
    if (!entry) continue;
    CAIRN_RETURN_IF_ERROR(group->RemovePending(*entry));
    ++acknowledged;
  }
  context.reply.Integer(acknowledged);
  if (acknowledged == 0) return {};
  group->Save();
  stream.Save();
  return {};
}

// --- XCLAIM and XAUTOCLAIM ----------------------------------------------------------------------

struct ClaimOptions {
  int64_t min_idle_ms = 0;
  std::optional<int64_t> delivered_ms;
  std::optional<int64_t> delivery_count;
  bool force = false;
  bool just_id = false;
  StreamId last_id = {};
};

// Gives pending entries to a consumer, and keeps the reply.
class Claimer {
 public:
  Claimer(CommandContext& context, Stream& stream, StreamGroup& group, std::string_view consumer,
          const ClaimOptions& options)
      : context_(context),
        stream_(stream),
        group_(group),
        consumer_(consumer),
        options_(options),
        now_ms_(context.now().millis()),
        claimed_(context.reply) {}

  enum class Outcome { kClaimed, kLeft, kDeleted };
  // `old` is what is pending under the id, if anything.
  Result<Outcome> Claim(StreamId id, const std::optional<PendingEntry>& old);

  const ReplyList& claimed() const { return claimed_; }
  bool changed() const { return changed_; }

 private:
  Result<void> SeeConsumer();
  Result<void> WriteClaimed(StreamId id);

  CommandContext& context_;
  Stream& stream_;
  StreamGroup& group_;
  std::string_view consumer_;
  const ClaimOptions& options_;
  int64_t now_ms_;
  ReplyList claimed_;
  bool changed_ = false;
};

Result<void> Claimer::SeeConsumer() {
  CAIRN_ASSIGN_OR_RETURN(const bool added, group_.AddConsumer(consumer_, now_ms_));
  if (added) context_.Notify(doors::kEventStream, "xgroup-createconsumer", context_.args[1]);
  return group_.SetSeen(consumer_, now_ms_);
}

Result<void> Claimer::WriteClaimed(StreamId id) {
  if (options_.just_id) {
    claimed_.Next().Bulk(FormatStreamId(id));
    return {};
  }
  return stream_.Visit({.first = id, .last = id, .limit = 1}, [&](const StreamEntry& entry) {
    WriteEntry(claimed_.Next(), entry);
    return false;
  });
}

Result<Claimer::Outcome> Claimer::Claim(StreamId id, const std::optional<PendingEntry>& old) {
  CAIRN_ASSIGN_OR_RETURN(const bool exists, stream_.Contains(id));
  if (!exists) {
    if (!old) return Outcome::kLeft;
    CAIRN_RETURN_IF_ERROR(group_.RemovePending(*old));
    changed_ = true;
    return Outcome::kDeleted;
  }
  if (!old && !options_.force) return Outcome::kLeft;
  if (old && options_.min_idle_ms > 0 && now_ms_ - old->delivered_ms < options_.min_idle_ms) {
    return Outcome::kLeft;
  }
  CAIRN_RETURN_IF_ERROR(SeeConsumer());
  PendingEntry entry{.id = id,
                     .consumer = Bytes(consumer_),
                     .delivered_ms = options_.delivered_ms.value_or(now_ms_),
                     .delivery_count = old ? old->delivery_count : 1};
  if (options_.delivery_count) {
    entry.delivery_count = *options_.delivery_count;
  } else if (!options_.just_id) {
    // RETRYCOUNT may have set it to the largest number there is: it wraps around.
    entry.delivery_count = static_cast<int64_t>(static_cast<uint64_t>(entry.delivery_count) + 1);
  }
  CAIRN_RETURN_IF_ERROR(group_.PutPending(entry, old));
  changed_ = true;
  CAIRN_RETURN_IF_ERROR(WriteClaimed(id));
  return Outcome::kClaimed;
}

ClaimOptions ParseClaimOptions(CommandContext& context, ArgParser& parser) {
  const int64_t now_ms = context.now().millis();
  ClaimOptions options;
  while (parser.HasNext()) {
    const bool more = parser.remaining() > 1;
    if (parser.Keyword("FORCE")) {
      options.force = true;
    } else if (parser.Keyword("JUSTID")) {
      options.just_id = true;
    } else if (more && parser.Keyword("IDLE")) {
      const int64_t idle = parser.Integer("ERR Invalid IDLE option argument for XCLAIM");
      // What lies outside of the past is now.
      options.delivered_ms = idle < 0 || idle > now_ms ? now_ms : now_ms - idle;
    } else if (more && parser.Keyword("TIME")) {
      const int64_t time = parser.Integer("ERR Invalid TIME option argument for XCLAIM");
      options.delivered_ms = time < 0 || time > now_ms ? now_ms : time;
    } else if (more && parser.Keyword("RETRYCOUNT")) {
      const int64_t count = parser.Integer("ERR Invalid RETRYCOUNT option argument for XCLAIM");
      options.delivery_count = count < 0 ? std::nullopt : std::optional(count);
    } else if (more && parser.Keyword("LASTID")) {
      options.last_id = TakeStrictId(parser);
    } else {
      parser.Fail(fmt::format("ERR Unrecognized XCLAIM option '{}'", Quotable(parser.Next())));
    }
  }
  return options;
}

Result<void> XClaim(CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(Stream stream, Stream::Load(context, context.args[1]));
  if (stream.wrong_type()) return context.Fail(kWrongType);
  CAIRN_ASSIGN_OR_RETURN(std::optional<StreamGroup> group,
                         StreamGroup::Find(stream, context.args[2]));
  if (!group) return context.Fail(NoGroup(context.args[1], context.args[2]));
  ArgParser idle(context.args, 4);
  const int64_t min_idle_ms = idle.Integer("ERR Invalid min-idle-time argument for XCLAIM");
  if (!idle.ok()) return context.Fail(idle.error());
  // Ids go on until something else comes.
  std::vector<StreamId> ids;
  for (const std::string_view text : context.args.subspan(5)) {
    const std::optional<StreamId> id = ParseStreamId(text);
    if (!id) break;
    ids.push_back(*id);
  }
  ArgParser parser(context.args, 5 + ids.size());
  ClaimOptions options = ParseClaimOptions(context, parser);
  if (!parser.ok()) return context.Fail(parser.error());
  options.min_idle_ms = min_idle_ms;
  const bool advances = options.last_id > group->last_delivered();
  if (advances) group->set_last_delivered(options.last_id);
  Claimer claimer(context, stream, *group, context.args[3], options);
  for (const StreamId id : ids) {
    CAIRN_ASSIGN_OR_RETURN(const std::optional<PendingEntry> old, group->FindPending(id));
    CAIRN_RETURN_IF_ERROR(claimer.Claim(id, old));
  }
  if (advances || claimer.changed()) {
    group->Save();
    stream.Save();
  }
  claimer.claimed().WriteTo(context.reply);
  return {};
}

struct AutoClaim {
  ClaimOptions options;
  StreamId start;
  int64_t count = 100;
};

AutoClaim ParseAutoClaim(ArgParser& parser) {
  constexpr std::string_view kBadCount = "ERR COUNT must be > 0";
  // Ten entries are looked at for each that is wanted; sixteen is the size of an id in Redis.
  constexpr int64_t kMaxCount = std::numeric_limits<int64_t>::max() / 16;
  AutoClaim claim;
  claim.options.min_idle_ms = parser.Integer("ERR Invalid min-idle-time argument for XAUTOCLAIM");
  claim.start = TakeRangeStart(parser);
  while (parser.HasNext()) {
    if (parser.remaining() > 1 && parser.Keyword("COUNT")) {
      claim.count = parser.Integer(kBadCount);
      if (claim.count < 1 || claim.count > kMaxCount) parser.Fail(kBadCount);
    } else if (parser.Keyword("JUSTID")) {
      claim.options.just_id = true;
    } else {
      parser.Fail(doors::kSyntaxError);
    }
  }
  return claim;
}

// Pending entries from `start` on, some at a time: claiming changes them.
Result<std::vector<PendingEntry>> NextPending(StreamGroup& group, StreamId start) {
  constexpr uint64_t kAtOnce = 128;
  std::vector<PendingEntry> entries;
  CAIRN_RETURN_IF_ERROR(
      group.VisitPending({.first = start, .limit = kAtOnce}, [&](const PendingEntry& entry) {
        entries.push_back(entry);
        return true;
      }));
  return entries;
}

struct AutoClaimed {
  StreamId next;  // where to go on; 0-0: all were seen
  std::vector<StreamId> deleted;
};

Result<AutoClaimed> ClaimIdle(StreamGroup& group, Claimer& claimer, const AutoClaim& claim) {
  AutoClaimed result;
  int64_t attempts = claim.count * 10;
  int64_t wanted = claim.count;
  std::optional<StreamId> start = claim.start;
  while (start) {
    CAIRN_ASSIGN_OR_RETURN(const std::vector<PendingEntry> entries, NextPending(group, *start));
    if (entries.empty()) break;
    for (const PendingEntry& entry : entries) {
      if (attempts == 0 || wanted == 0) {
        result.next = entry.id;
        return result;
      }
      --attempts;
      CAIRN_ASSIGN_OR_RETURN(const Claimer::Outcome outcome, claimer.Claim(entry.id, entry));
      if (outcome == Claimer::Outcome::kDeleted) result.deleted.push_back(entry.id);
      if (outcome != Claimer::Outcome::kLeft) --wanted;
    }
    start = NextId(entries.back().id);
  }
  return result;
}

Result<void> XAutoClaim(CommandContext& context) {
  ArgParser parser(context.args, 4);
  const AutoClaim claim = ParseAutoClaim(parser);
  if (!parser.ok()) return context.Fail(parser.error());
  CAIRN_ASSIGN_OR_RETURN(Stream stream, Stream::Load(context, context.args[1]));
  if (stream.wrong_type()) return context.Fail(kWrongType);
  CAIRN_ASSIGN_OR_RETURN(std::optional<StreamGroup> group,
                         StreamGroup::Find(stream, context.args[2]));
  if (!group) return context.Fail(NoGroup(context.args[1], context.args[2]));
  Claimer claimer(context, stream, *group, context.args[3], claim.options);
  CAIRN_ASSIGN_OR_RETURN(const AutoClaimed result, ClaimIdle(*group, claimer, claim));
  if (claimer.changed()) {
    group->Save();
    stream.Save();
  }
  context.reply.ArrayHeader(3);
  context.reply.Bulk(FormatStreamId(result.next));
  claimer.claimed().WriteTo(context.reply);
  context.reply.ArrayHeader(result.deleted.size());
  for (const StreamId id : result.deleted) context.reply.Bulk(FormatStreamId(id));
  return {};
}

}  // namespace

void AddStreamGroupCommands(doors::Instance& instance) {
  using doors::kDenyOom;
  using doors::kFast;
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
  const auto add = [&](const Row& row) {
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
  };
  instance.commands().Add(Command{.name = "xgroup",
                                  .arity = -2,
                                  .group = "stream",
                                  .since = "5.0.0",
                                  .summary = "Commands about the groups of a stream."});
  constexpr doors::KeySpec kInsert = {2, 2, 1, "RW insert"};
  constexpr doors::KeySpec kDelete = {2, 2, 1, "RW delete"};
  const std::vector<std::string_view> varies = {"nondeterministic_output"};
  const Row kRows[] = {
      {"xgroup|create", -5, kWrite | kDenyOom, kInsert, "5.0.0", "O(1)", "Creates a group.",
       "key:key group (id | $) [MKSTREAM] [ENTRIESREAD entries_read:integer]", XGroupCreate},
      {"xgroup|setid",
       -5,
       kWrite,
       {2, 2, 1, "RW update"},
       "5.0.0",
       "O(1)",
       "Sets from where on a group reads.",
       "key:key group (id | $) [ENTRIESREAD entries_read:integer]",
       XGroupSetId},
      {"xgroup|destroy", 4, kWrite, kDelete, "5.0.0", "O(N) for N pending entries",
       "Removes a group.", "key:key group", XGroupDestroy},
      {"xgroup|createconsumer", 5, kWrite | kDenyOom, kInsert, "6.2.0", "O(1)",
       "Creates a consumer in a group.", "key:key group consumer", XGroupCreateConsumer},
      {"xgroup|delconsumer", 5, kWrite, kDelete, "5.0.0", "O(N) for N pending entries",
       "Removes a consumer from a group.", "key:key group consumer", XGroupDelConsumer},
      {"xack",
       -4,
       kWrite | kFast,
       {1, 1, 1, "RW update"},
       "5.0.0",
       "O(N) for N ids",
       "Tells that a consumer is done with entries.",
       "key:key group id ...",
       XAck},
      {"xclaim",
       -6,
       kWrite | kFast,
       {1, 1, 1, "RW update"},
       "5.0.0",
       "O(N) for N ids",
       "Gives pending entries to another consumer.",
       "key:key group consumer min-idle-time id ... [IDLE ms:integer] [TIME "
       "unix-time-milliseconds:unix-time] [RETRYCOUNT count:integer] [FORCE] [JUSTID] [LASTID "
       "lastid]",
       XClaim,
       varies},
      {"xautoclaim",
       -6,
       kWrite | kFast,
       {1, 1, 1, "RW delete"},
       "6.2.0",
       "O(N) for N entries looked at",
       "Gives entries that have been pending for long to another consumer.",
       "key:key group consumer min-idle-time start [COUNT count:integer] [JUSTID]",
       XAutoClaim,
       varies},
  };
  for (const Row& row : kRows) add(row);
  instance.commands().Add(doors::HelpRow("xgroup|help", doors::kCategoryStream, "stream", "5.0.0"));
}

}  // namespace cairn::data
