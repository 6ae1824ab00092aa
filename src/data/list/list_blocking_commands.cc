#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "data/list/commands.h"
#include "data/list/list.h"
#include "data/list/list_moves.h"
#include "data/value/expiry.h"
#include "doors/resp/arg_parser.h"
#include "doors/resp/command.h"

// The list commands that wait for an element. A list that others have waited for longer
// (Caller::must_wait) is as good as empty.
namespace cairn::data {
namespace {

using doors::ArgParser;
using doors::Blocking;
using doors::Command;
using doors::CommandContext;

// A key that holds something else is an error, unless it became so while the client was waiting.
bool Refuses(const CommandContext& context, const List& list) {
  return list.wrong_type() && !context.caller.woken;
}

bool HasElement(const CommandContext& context, const List& list) {
  return list.exists() && !list.wrong_type() && !context.caller.must_wait;
}

Result<void> WaitForElement(CommandContext& context, Blocking wait) {
  context.reply.NullArray();
  return context.Block(std::move(wait));
}

template <ListEnd end>
Result<void> BPop(CommandContext& context) {
  ArgParser parser(context.args, context.args.size() - 1);
  Blocking wait{.timeout_ms = TakeTimeout(parser)};
  if (!parser.Finish()) return context.Fail(parser.error());
  for (const std::string_view key : context.args.subspan(1, context.args.size() - 2)) {
    CAIRN_ASSIGN_OR_RETURN(List list, List::Load(context, key));
    if (Refuses(context, list)) return context.Fail(kWrongType);
    if (!HasElement(context, list)) continue;
    CAIRN_ASSIGN_OR_RETURN(const Bytes element, list.Pop(end));
    context.reply.ArrayHeader(2);
    context.reply.Bulk(key);
    context.reply.Bulk(element);
    SavePopped(context, list, key, end);
    return {};
  }
  return WaitForElement(context, std::move(wait));
}

Result<void> BMove(CommandContext& context, const ListMove& move, Blocking wait) {
  CAIRN_ASSIGN_OR_RETURN(List source, List::Load(context, move.source));
  if (Refuses(context, source)) return context.Fail(kWrongType);
  if (HasElement(context, source)) return MoveElement(context, source, move);
  if (!context.caller.may_block) {
    context.reply.Null();
    return {};
  }
  // Only what is put into the source can help.
  wait.topics = {doors::KeyTopic(context.db(), move.source)};
  return WaitForElement(context, std::move(wait));
}

Result<void> BLMove(CommandContext& context) {
  ArgParser parser(context.args, 3);
  ListMove move{.source = context.args[1], .destination = context.args[2]};
  move.from = TakeListEnd(parser);
  move.to = TakeListEnd(parser);
  if (!parser.ok()) return context.Fail(parser.error());
  Blocking wait{.timeout_ms = TakeTimeout(parser)};
  if (!parser.Finish()) return context.Fail(parser.error());
  return BMove(context, move, std::move(wait));
}

Result<void> BRPopLPush(CommandContext& context) {
  ArgParser parser(context.args, 3);
  Blocking wait{.timeout_ms = TakeTimeout(parser)};
  if (!parser.Finish()) return context.Fail(parser.error());
  return BMove(context,
               {.source = context.args[1],
                .destination = context.args[2],
                .from = ListEnd::kRight,
                .to = ListEnd::kLeft},
               std::move(wait));
}

Result<void> BLMPop(CommandContext& context) {
  ArgParser parser(context.args, 2);
  const MultiPop pop = TakeMultiPop(parser);
  if (!parser.ok()) return context.Fail(parser.error());
  ArgParser timeout(context.args.first(2));
  Blocking wait{.timeout_ms = TakeTimeout(timeout)};
  if (!timeout.ok()) return context.Fail(timeout.error());
  for (const std::string_view key : pop.keys) {
    CAIRN_ASSIGN_OR_RETURN(List list, List::Load(context, key));
    if (Refuses(context, list)) return context.Fail(kWrongType);
    if (HasElement(context, list)) return PopMany(context, list, key, pop.end, pop.count);
  }
  return WaitForElement(context, std::move(wait));
}

}  // namespace

void AddListBlockingCommands(doors::Instance& instance) {
  using doors::kBlocking;
  using doors::kDenyOom;
  using doors::kNoScript;
  using doors::kWrite;
  struct Row {
    std::string_view name;
    int arity;
    uint32_t flags;
    std::vector<doors::KeySpec> keys;
    std::string_view since;
    std::string_view complexity;
    std::string_view summary;
    std::string_view syntax;
    doors::RunHandler run;
    std::string_view deprecated_since = {};
    std::string_view replaced_by = {};
  };
  constexpr doors::KeySpec kSources = {1, -2, 1, "RW access delete"};
  constexpr doors::KeySpec kSource = {1, 1, 1, "RW access delete"};
  constexpr doors::KeySpec kTarget = {2, 2, 1, "RW insert"};
  constexpr uint32_t kWaits = kWrite | kBlocking;
  const Row kRows[] = {
      {"blpop",
       -3,
       kWaits | kNoScript,
       {kSources},
       "2.0.0",
       "O(N) for N keys",
       "Takes the first element of the first list that has any, and waits for one.",
       "key:key ... timeout:double",
       BPop<ListEnd::kLeft>},
      {"brpop",
       -3,
       kWaits | kNoScript,
       {kSources},
       "2.0.0",
       "O(N) for N keys",
       "Takes the last element of the first list that has any, and waits for one.",
       "key:key ... timeout:double",
       BPop<ListEnd::kRight>},
      {"blmove",
       6,
       kWaits | kDenyOom | kNoScript,
       {kSource, kTarget},
       "6.2.0",
       "O(1)",
       "Moves an element from one list to another, and waits for one.",
       "source:key destination:key (LEFT | RIGHT) (LEFT | RIGHT) timeout:double",
       BLMove},
      {"brpoplpush",
       4,
       kWaits | kDenyOom | kNoScript,
       {kSource, kTarget},
       "2.2.0",
       "O(1)",
       "Moves the last element of one list to the front of another, and waits for one.",
       "source:key destination:key timeout:double",
       BRPopLPush,
       "6.2.0",
       "`BLMOVE` with the `RIGHT` and `LEFT` arguments"},
      {"blmpop",
       -5,
       kWaits | doors::kMovableKeys,
       {doors::CountedKeys(2, "RW access delete")},
       "7.0.0",
       "O(N+M) for N keys and M elements",
       "Takes elements from the first of several lists that has any, and waits for one.",
       "timeout:double numkeys:integer key:key ... (LEFT | RIGHT) [COUNT count:integer]",
       BLMPop},
  };
  for (const Row& row : kRows) {
    instance.commands().Add(Command{.name = row.name,
                                    .arity = row.arity,
                                    .flags = row.flags,
                                    .categories = doors::kCategoryList,
                                    .keys = row.keys,
                                    .group = "list",
                                    .since = row.since,
                                    .complexity = row.complexity,
                                    .summary = row.summary,
                                    .syntax = row.syntax,
                                    .deprecated_since = row.deprecated_since,
                                    .replaced_by = row.replaced_by,
                                    .run = row.run});
  }
}

}  // namespace cairn::data
