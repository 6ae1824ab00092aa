#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/stream/commands.h"
#include "data/stream/stream.h"
#include "data/stream/stream_groups.h"
#include "data/stream/stream_reply.h"
#include "doors/resp/arg_parser.h"
#include "doors/resp/command.h"

// XREAD and XREADGROUP: entries of several streams behind given ids, waiting for some if there are
// none.
namespace cairn::data {
namespace {

using doors::ArgParser;
using doors::Args;
using doors::Blocking;
using doors::Command;
using doors::CommandContext;

struct ReadOptions {
  uint64_t limit = std::numeric_limits<uint64_t>::max();  // of entries per stream
  std::optional<Blocking> wait;
  std::optional<std::string_view> group;
  std::string_view consumer;
  bool no_ack = false;
  Args keys;
  Args ids;
};

enum class Reader { kAnyone, kGroup };

void TakeTimeout(ArgParser& parser, ReadOptions& options) {
  const int64_t ms = parser.Integer("ERR timeout is not an integer or out of range");
  if (ms < 0) parser.Fail("ERR timeout is negative");
  options.wait = ms == 0 ? Blocking{} : Blocking{.timeout_ms = ms};
}

void TakeStreams(ArgParser& parser, ReadOptions& options) {
  const Args rest = parser.Rest();
  if (rest.size() % 2 != 0) {
    parser.Fail(
        "ERR Unbalanced XREAD list of streams: for each stream key an ID or '$' must be "
        "specified.");
  }
  options.keys = rest.first(rest.size() / 2);
  options.ids = rest.subspan(rest.size() / 2);
}

ReadOptions ParseReadOptions(ArgParser& parser, Reader reader) {
  ReadOptions options;
  while (parser.HasNext()) {
    const bool more = parser.remaining() > 1;
    if (more && parser.Keyword("BLOCK")) {
      TakeTimeout(parser, options);
    } else if (more && parser.Keyword("COUNT")) {
      const int64_t count = parser.Integer();
      options.limit = count > 0 ? static_cast<uint64_t>(count) : ReadOptions{}.limit;
    } else if (more && parser.Keyword("STREAMS")) {
      TakeStreams(parser, options);
    } else if (parser.remaining() > 2 && parser.Keyword("GROUP")) {
      if (reader != Reader::kGroup) {
        parser.Fail(
            "ERR The GROUP option is only supported by XREADGROUP. You called XREAD instead.");
      }
      options.group = parser.Next();
      options.consumer = parser.Next();
    } else if (parser.Keyword("NOACK")) {
      if (reader != Reader::kGroup) {
        parser.Fail(
            "ERR The NOACK option is only supported by XREADGROUP. You called XREAD instead.");
      }
      options.no_ack = true;
    } else {
      parser.Fail(doors::kSyntaxError);
    }
  }
  if (options.keys.empty()) parser.Fail(doors::kSyntaxError);
  if (reader == Reader::kGroup && !options.group) {
    parser.Fail("ERR Missing GROUP option for XREADGROUP");
  }
  return options;
}

std::vector<size_t> FindStreamKeys(Args args) {
  size_t at = 1;
  while (at < args.size() && !doors::EqualsIgnoreCase(args[at], "STREAMS")) {
    if (doors::EqualsIgnoreCase(args[at], "BLOCK") || doors::EqualsIgnoreCase(args[at], "COUNT")) {
      at += 2;
    } else if (doors::EqualsIgnoreCase(args[at], "GROUP")) {
      at += 3;
    } else if (doors::EqualsIgnoreCase(args[at], "NOACK")) {
      at += 1;
    } else {
      return {};
    }
  }
  std::vector<size_t> keys;
  if (at >= args.size() || (args.size() - at - 1) % 2 != 0) return keys;
  const size_t count = (args.size() - at - 1) / 2;
  for (size_t i = 1; i <= count; ++i) keys.push_back(at + i);
  return keys;
}

// The streams of a reply: a map for those who know maps, else pairs.
class StreamReplies {
 public:
  explicit StreamReplies(CommandContext& context) : context_(context), streams_(context.reply) {}

  void Add(std::string_view key, const ReplyList& entries) {
    net::RespWriter out = streams_.Next();
    if (!out.resp3()) out.ArrayHeader(2);
    out.Bulk(key);
    entries.WriteTo(out);
  }
  // Returns whether there are any.
  bool Finish() {
    if (streams_.count() == 0) return false;
    if (context_.reply.resp3()) {
      context_.reply.MapHeader(streams_.count());
      context_.reply.Raw(streams_.elements());
    } else {
      streams_.WriteTo(context_.reply);
    }
    return true;
  }

 private:
  CommandContext& context_;
  ReplyList streams_;
};

// The entries behind `id`. Nothing is behind the last possible id.
Result<ReplyList> ReadBehind(CommandContext& context, Stream& stream, StreamId id, uint64_t limit) {
  ReplyList entries(context.reply);
  const std::optional<StreamId> first = NextId(id);
  if (!first) return entries;
  CAIRN_RETURN_IF_ERROR(
      stream.Visit({.first = *first, .limit = limit}, [&](const StreamEntry& entry) {
        WriteEntry(entries.Next(), entry);
        return true;
      }));
  return entries;
}

// --- XREAD --------------------------------------------------------------------------------------

// Where to read on: the id, or the end of the stream as it is now.
Result<std::optional<StreamId>> ResolveId(CommandContext& context, std::string_view key,
                                          std::string_view text) {
  CAIRN_ASSIGN_OR_RETURN(const Stream stream, Stream::Load(context, key));
  std::optional<StreamId> id;
  if (stream.wrong_type() && !context.caller.woken) {
    CAIRN_RETURN_IF_ERROR(context.Fail(kWrongType));
  } else if (text == "$") {
    id = stream.last_id();
  } else if (text == ">") {
    CAIRN_RETURN_IF_ERROR(
        context.Fail("ERR The > ID can be specified only when calling XREADGROUP using the GROUP "
                     "<group> <consumer> option."));
  } else {
    id = ParseStreamId(text);
    if (!id) CAIRN_RETURN_IF_ERROR(context.Fail(kInvalidStreamId));
  }
  return id;
}

// The same request with ids in place of $: what came while the client waited is found by them.
std::vector<std::string> ResolvedRequest(Args args, const std::vector<StreamId>& ids) {
  std::vector<std::string> request(args.begin(), args.end());
  for (size_t i = 0; i < ids.size(); ++i) {
    request[request.size() - ids.size() + i] = FormatStreamId(ids[i]);
  }
  return request;
}

// Scripts cannot wait, and have to know it.
void RefuseToBlockScripts(const CommandContext& context, const ReadOptions& options,
                          ArgParser& parser) {
  if (!options.wait || !context.caller.in_script) return;
  parser.Fail(
      fmt::format("ERR {} command is not allowed with BLOCK option from scripts", context.args[0]));
}

Result<void> XRead(CommandContext& context) {
  ArgParser parser(context.args);
  ReadOptions options = ParseReadOptions(parser, Reader::kAnyone);
  RefuseToBlockScripts(context, options, parser);
  if (!parser.ok()) return context.Fail(parser.error());
  std::vector<StreamId> ids;
  for (size_t i = 0; i < options.keys.size(); ++i) {
    CAIRN_ASSIGN_OR_RETURN(const std::optional<StreamId> id,
                           ResolveId(context, options.keys[i], options.ids[i]));
    if (!id) return {};
    ids.push_back(*id);
  }
  StreamReplies replies(context);
  for (size_t i = 0; i < options.keys.size(); ++i) {
    CAIRN_ASSIGN_OR_RETURN(Stream stream, Stream::Load(context, options.keys[i]));
    if (stream.wrong_type()) continue;
    CAIRN_ASSIGN_OR_RETURN(const ReplyList entries,
                           ReadBehind(context, stream, ids[i], options.limit));
    if (entries.count() != 0) replies.Add(options.keys[i], entries);
  }
  if (replies.Finish()) return {};
  context.reply.NullArray();
  if (!options.wait) return {};
  options.wait->args = ResolvedRequest(context.args, ids);
  return context.Block(*std::move(options.wait));
}

// --- XREADGROUP ---------------------------------------------------------------------------------

// One stream of the request.
struct GroupRead {
  std::string_view key;
  std::optional<StreamId> history_behind;  // nullopt: what nobody has got yet
};

// Checks the stream and its group. A reply was written if there is none.
Result<std::optional<GroupRead>> CheckGroupRead(CommandContext& context, const ReadOptions& options,
                                                size_t index) {
  GroupRead read{.key = options.keys[index], .history_behind = {}};
  const std::string_view text = options.ids[index];
  CAIRN_ASSIGN_OR_RETURN(Stream stream, Stream::Load(context, read.key));
  std::string error;
  if (context.caller.woken && (!stream.exists() || stream.wrong_type())) {
    error = "UNBLOCKED the stream key no longer exists";
  } else if (stream.wrong_type()) {
    error = kWrongType;
  } else {
    CAIRN_ASSIGN_OR_RETURN(const auto group, StreamGroup::Find(stream, *options.group));
    if (!group && context.caller.woken) {
      error = "NOGROUP the consumer group this client was blocked on no longer exists";
    } else if (!group) {
      error = fmt::format(
          "NOGROUP No such key '{}' or consumer group '{}' in XREADGROUP with GROUP option",
          doors::Quotable(read.key), doors::Quotable(*options.group));
    } else if (text == "$") {
      error =
          "ERR The $ ID is meaningless in the context of XREADGROUP: you want to read the history "
          "of this consumer by specifying a proper ID, or use the > ID to get new messages. The $ "
          "ID would just return an empty result set.";
    } else if (text != ">") {
      read.history_behind = ParseStreamId(text);
      if (!read.history_behind) error = kInvalidStreamId;
    }
  }
  if (!error.empty()) {
    CAIRN_RETURN_IF_ERROR(context.Fail(error));
    return std::optional<GroupRead>();
  }
  // To Redis, > is the last possible id.
  if (read.history_behind == StreamId::Max()) read.history_behind.reset();
  return std::optional(read);
}

Result<void> SeeConsumer(CommandContext& context, StreamGroup& group, const ReadOptions& options,
                         std::string_view key) {
  const int64_t now_ms = context.now().millis();
  CAIRN_ASSIGN_OR_RETURN(const bool added, group.AddConsumer(options.consumer, now_ms));
  if (added) context.Notify(doors::kEventStream, "xgroup-createconsumer", key);
  return group.SetSeen(options.consumer, now_ms);
}

// Hands out what nobody has got yet. Entries that others have waited for longer stay; if nothing is
// handed out, nothing changes.
Result<ReplyList> Deliver(CommandContext& context, Stream& stream, StreamGroup& group,
                          const ReadOptions& options, std::string_view key) {
  std::vector<StreamId> ids;
  ReplyList entries(context.reply);
  if (context.caller.must_wait) return entries;
  const std::optional<StreamId> first = NextId(group.last_delivered());
  if (!first) return entries;
  CAIRN_RETURN_IF_ERROR(
      stream.Visit({.first = *first, .limit = options.limit}, [&](const StreamEntry& entry) {
        WriteEntry(entries.Next(), entry);
        ids.push_back(entry.id);
        return true;
      }));
  if (ids.empty()) return entries;
  CAIRN_RETURN_IF_ERROR(SeeConsumer(context, group, options, key));
  for (const StreamId id : ids) {
    group.Advance(id);
    if (options.no_ack) continue;
    // XGROUP SETID may have gone back to entries that are pending.
    CAIRN_ASSIGN_OR_RETURN(const std::optional<PendingEntry> old, group.FindPending(id));
    CAIRN_RETURN_IF_ERROR(group.PutPending({.id = id,
                                            .consumer = Bytes(options.consumer),
                                            .delivered_ms = context.now().millis(),
                                            .delivery_count = 1},
                                           old));
  }
  return entries;
}

// Hands out again what the consumer has not acknowledged.
Result<ReplyList> Redeliver(CommandContext& context, Stream& stream, StreamGroup& group,
                            const ReadOptions& options, StreamId behind) {
  ReplyList entries(context.reply);
  const StreamRange range{.first = *NextId(behind), .limit = options.limit};
  CAIRN_ASSIGN_OR_RETURN(const std::vector<StreamId> ids, group.FindOwned(options.consumer, range));
  for (const StreamId id : ids) {
    bool found = false;
    CAIRN_RETURN_IF_ERROR(
        stream.Visit({.first = id, .last = id, .limit = 1}, [&](const StreamEntry& entry) {
          found = true;
          WriteEntry(entries.Next(), entry);
          return false;
        }));
    if (!found) {
      net::RespWriter out = entries.Next();
      out.ArrayHeader(2);
      out.Bulk(FormatStreamId(id));
      out.NullArray();
      continue;
    }
    CAIRN_ASSIGN_OR_RETURN(const std::optional<PendingEntry> old, group.FindPending(id));
    if (!old) continue;
    PendingEntry again = *old;
    again.delivered_ms = context.now().millis();
    // RETRYCOUNT may have set it to the largest number there is: it wraps around.
    again.delivery_count = static_cast<int64_t>(static_cast<uint64_t>(old->delivery_count) + 1);
    CAIRN_RETURN_IF_ERROR(group.PutPending(again, old));
  }
  return entries;
}

Result<void> ReadOne(CommandContext& context, const ReadOptions& options, const GroupRead& read,
                     StreamReplies& replies) {
  CAIRN_ASSIGN_OR_RETURN(Stream stream, Stream::Load(context, read.key));
  CAIRN_ASSIGN_OR_RETURN(std::optional<StreamGroup> group,
                         StreamGroup::Find(stream, *options.group));
  if (read.history_behind) {
    CAIRN_RETURN_IF_ERROR(SeeConsumer(context, *group, options, read.key));
    CAIRN_ASSIGN_OR_RETURN(const ReplyList entries,
                           Redeliver(context, stream, *group, options, *read.history_behind));
    replies.Add(read.key, entries);
  } else {
    CAIRN_ASSIGN_OR_RETURN(const ReplyList entries,
                           Deliver(context, stream, *group, options, read.key));
    if (entries.count() == 0) return {};
    replies.Add(read.key, entries);
  }
  group->Save();
  stream.Save();
  return {};
}

Result<void> XReadGroup(CommandContext& context) {
  ArgParser parser(context.args);
  ReadOptions options = ParseReadOptions(parser, Reader::kGroup);
  RefuseToBlockScripts(context, options, parser);
  if (!parser.ok()) return context.Fail(parser.error());
  std::vector<GroupRead> reads;
  for (size_t i = 0; i < options.keys.size(); ++i) {
    CAIRN_ASSIGN_OR_RETURN(const std::optional<GroupRead> read,
                           CheckGroupRead(context, options, i));
    if (!read) return {};
    reads.push_back(*read);
  }
  StreamReplies replies(context);
  for (const GroupRead& read : reads) {
    CAIRN_RETURN_IF_ERROR(ReadOne(context, options, read, replies));
  }
  if (replies.Finish()) return {};
  context.reply.NullArray();
  if (options.wait) options.wait->when_cleared = true;
  return options.wait ? context.Block(*std::move(options.wait)) : Result<void>();
}

}  // namespace

void AddStreamReadCommands(doors::Instance& instance) {
  doors::KeySpec streams = {.first = 1,
                            .last = -1,
                            .access = "RO access",
                            .search = doors::KeySearch::kKeyword,
                            .keyword = "STREAMS",
                            .limit = 2};
  instance.commands().Add(
      Command{.name = "xread",
              .arity = -4,
              .flags = doors::kReadOnly | doors::kBlocking | doors::kMovableKeys,
              .categories = doors::kCategoryStream,
              .keys = {streams},
              .find_keys = FindStreamKeys,
              .group = "stream",
              .since = "5.0.0",
              .complexity = "O(N) for N entries returned",
              .summary = "Reads the entries of streams behind given ids, and waits for some.",
              .syntax = "[COUNT count:integer] [BLOCK milliseconds:integer] STREAMS (key:key ... "
                        "id ...)",
              .run = XRead});
  streams.first = 4;  // behind the names of the group and the consumer
  instance.commands().Add(
      Command{.name = "xreadgroup",
              .arity = -7,
              .flags = doors::kWrite | doors::kBlocking | doors::kMovableKeys,
              .categories = doors::kCategoryStream,
              .keys = {streams},
              .find_keys = FindStreamKeys,
              .group = "stream",
              .since = "5.0.0",
              .complexity = "O(N) for N entries returned",
              .summary = "Reads entries for a consumer of a group, and waits for some.",
              .syntax = "GROUP (group consumer) [COUNT count:integer] [BLOCK "
                        "milliseconds:integer] [NOACK] STREAMS (key:key ... id ...)",
              .run = XReadGroup});
}

}  // namespace cairn::data
