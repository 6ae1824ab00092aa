#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "data/sorted_set/commands.h"
#include "data/sorted_set/sorted_set.h"
#include "data/sorted_set/sorted_set_args.h"
#include "data/value/expiry.h"
#include "doors/resp/arg_parser.h"
#include "doors/resp/command.h"

// Members taken from either end of a sorted set, at once or as soon as there are some.
namespace cairn::data {
namespace {

using doors::ArgParser;
using doors::Args;
using doors::Command;
using doors::CommandContext;

enum class End { kMin, kMax };

Result<std::vector<ScoredMember>> Pop(CommandContext& context, SortedSet& set, End end,
                                      uint64_t count) {
  CAIRN_ASSIGN_OR_RETURN(std::vector<ScoredMember> taken,
                         set.Take({}, {.reverse = end == End::kMax, .limit = count}));
  if (!taken.empty()) {
    CAIRN_RETURN_IF_ERROR(set.Save(context, end == End::kMin ? "zpopmin" : "zpopmax"));
  }
  return taken;
}

template <End kEnd>
Result<void> ZPop(CommandContext& context) {
  ArgParser parser(context.args, 2);
  constexpr std::string_view kOutOfRange = "ERR value is out of range, must be positive";
  const bool counted = parser.HasNext();
  if (context.args.size() > 3) return context.Fail(doors::kSyntaxError);
  const int64_t count = counted ? parser.Integer(kOutOfRange) : 1;
  if (count < 0) parser.Fail(kOutOfRange);
  if (!parser.Finish()) return context.Fail(parser.error());
  CAIRN_ASSIGN_OR_RETURN(SortedSet set, SortedSet::Load(context, context.args[1]));
  if (set.wrong_type()) return context.Fail(kWrongType);
  CAIRN_ASSIGN_OR_RETURN(const std::vector<ScoredMember> taken,
                         Pop(context, set, kEnd, static_cast<uint64_t>(count)));
  if (counted) {
    ReplyMembers(context.reply, taken, WithScores::kYes);
    return {};
  }
  // One is not a pair in a list, even in RESP3.
  context.reply.ArrayHeader(taken.size() * 2);
  for (const ScoredMember& each : taken) {
    context.reply.Bulk(each.member);
    context.reply.Double(each.score);
  }
  return {};
}

// What was taken, and from where.
struct Taken {
  std::string_view key;
  std::vector<ScoredMember> members;  // none: all keys are free
  bool wrong_type = false;            // a key in front of them all holds something else
};

// Takes from the first of the keys that has something.
Result<Taken> PopFirst(CommandContext& context, Args keys, End end, uint64_t count) {
  for (const std::string_view key : keys) {
    CAIRN_ASSIGN_OR_RETURN(SortedSet set, SortedSet::Load(context, key));
    if (set.wrong_type() && !context.caller.woken) return Taken{.key = key, .wrong_type = true};
    if (set.count() == 0 || context.caller.must_wait) continue;
    CAIRN_ASSIGN_OR_RETURN(std::vector<ScoredMember> members, Pop(context, set, end, count));
    return Taken{.key = key, .members = std::move(members)};
  }
  return Taken{};
}

template <End kEnd>
Result<void> BZPop(CommandContext& context) {
  ArgParser parser(context.args.last(1), 0);
  const std::optional<int64_t> timeout_ms = TakeTimeout(parser);
  if (!parser.Finish()) return context.Fail(parser.error());
  const Args keys = context.args.subspan(1, context.args.size() - 2);
  CAIRN_ASSIGN_OR_RETURN(const Taken taken, PopFirst(context, keys, kEnd, 1));
  if (taken.wrong_type) return context.Fail(kWrongType);
  if (taken.members.empty()) {
    context.reply.NullArray();
    return context.Block({.timeout_ms = timeout_ms});
  }
  context.reply.ArrayHeader(3);
  context.reply.Bulk(taken.key);
  context.reply.Bulk(taken.members.front().member);
  context.reply.Double(taken.members.front().score);
  return {};
}

// `numkeys key… MIN|MAX [COUNT count]`
struct MultiPop {
  Args keys;
  End end = End::kMin;
  uint64_t count = 1;
};

MultiPop ParseMultiPop(ArgParser& parser) {
  constexpr std::string_view kNoKeys = "ERR numkeys should be greater than 0";
  constexpr std::string_view kNoCount = "ERR count should be greater than 0";
  MultiPop pop;
  const int64_t numkeys = parser.Integer(kNoKeys);
  if (numkeys <= 0) parser.Fail(kNoKeys);
  const Args rest = parser.Rest();
  if (!parser.ok()) return pop;
  // At least MIN or MAX has to follow.
  if (static_cast<uint64_t>(numkeys) >= rest.size()) {
    parser.Fail(doors::kSyntaxError);
    return pop;
  }
  pop.keys = rest.first(static_cast<size_t>(numkeys));
  ArgParser options(rest, static_cast<size_t>(numkeys));
  const auto end = options.OneOf<End>({{"MIN", End::kMin}, {"MAX", End::kMax}});
  if (!end) options.Fail(doors::kSyntaxError);
  pop.end = end.value_or(End::kMin);
  if (options.remaining() >= 2 && options.Keyword("COUNT")) {
    const int64_t count = options.Integer(kNoCount);
    if (count <= 0) options.Fail(kNoCount);
    pop.count = static_cast<uint64_t>(std::max<int64_t>(count, 1));
  }
  if (!options.Finish()) parser.Fail(options.error());
  return pop;
}

Result<void> RunMultiPop(CommandContext& context, const MultiPop& pop,
                         std::optional<doors::Blocking> blocking) {
  CAIRN_ASSIGN_OR_RETURN(const Taken taken, PopFirst(context, pop.keys, pop.end, pop.count));
  if (taken.wrong_type) return context.Fail(kWrongType);
  if (taken.members.empty()) {
    context.reply.NullArray();
    if (blocking) return context.Block(*std::move(blocking));
    return {};
  }
  context.reply.ArrayHeader(2);
  context.reply.Bulk(taken.key);
  ReplyPairs(context.reply, taken.members);
  return {};
}

Result<void> ZMPop(CommandContext& context) {
  ArgParser parser(context.args);
  const MultiPop pop = ParseMultiPop(parser);
  if (!parser.ok()) return context.Fail(parser.error());
  return RunMultiPop(context, pop, std::nullopt);
}

Result<void> BZMPop(CommandContext& context) {
  ArgParser parser(context.args, 2);
  const MultiPop pop = ParseMultiPop(parser);
  if (!parser.ok()) return context.Fail(parser.error());
  ArgParser timeout(context.args.first(2));
  const std::optional<int64_t> timeout_ms = TakeTimeout(timeout);
  if (!timeout.ok()) return context.Fail(timeout.error());
  return RunMultiPop(context, pop, doors::Blocking{.timeout_ms = timeout_ms});
}

}  // namespace

void AddSortedSetPopCommands(doors::Instance& instance) {
  using doors::kBlocking;
  using doors::kFast;
  using doors::kMovableKeys;
  using doors::kWrite;
  struct Row {
    std::string_view name;
    int arity;
    uint32_t flags;
    std::vector<doors::KeySpec> keys;
    std::string_view since;
    std::string_view summary;
    std::string_view syntax;
    doors::RunHandler run;
  };
  constexpr uint32_t kWait = kWrite | doors::kNoScript | kBlocking | kFast;
  constexpr std::string_view kTake = "RW access delete";
  const std::vector<doors::KeySpec> one = {{1, 1, 1, kTake}};
  const std::vector<doors::KeySpec> all_but_last = {{1, -2, 1, kTake}};
  const Row kRows[] = {
      {"zpopmin", -2, kWrite | kFast, one, "5.0.0", "Takes the members of the lowest scores.",
       "key:key [count:integer]", ZPop<End::kMin>},
      {"zpopmax", -2, kWrite | kFast, one, "5.0.0", "Takes the members of the highest scores.",
       "key:key [count:integer]", ZPop<End::kMax>},
      {"bzpopmin", -3, kWait, all_but_last, "5.0.0",
       "Takes the member of the lowest score, or waits for one.", "key:key ... timeout:double",
       BZPop<End::kMin>},
      {"bzpopmax", -3, kWait, all_but_last, "5.0.0",
       "Takes the member of the highest score, or waits for one.", "key:key ... timeout:double",
       BZPop<End::kMax>},
      {"zmpop",
       -4,
       kWrite | kMovableKeys,
       {doors::CountedKeys(1, kTake)},
       "7.0.0",
       "Takes members from the first sorted set that has some.",
       "numkeys:integer key:key ... (MIN | MAX) [COUNT count:integer]",
       ZMPop},
      {"bzmpop",
       -5,
       kWrite | kBlocking | kMovableKeys,
       {doors::CountedKeys(2, kTake)},
       "7.0.0",
       "Takes members from the first sorted set that has some, or waits for them.",
       "timeout:double numkeys:integer key:key ... (MIN | MAX) [COUNT count:integer]",
       BZMPop},
  };
  for (const Row& row : kRows) {
    instance.commands().Add(Command{.name = row.name,
                                    .arity = row.arity,
                                    .flags = row.flags,
                                    .categories = doors::kCategorySortedSet,
                                    .keys = row.keys,
                                    .group = "sorted-set",
                                    .since = row.since,
                                    .complexity = "O(log(N)*M) for M of N members",
                                    .summary = row.summary,
                                    .syntax = row.syntax,
                                    .run = row.run});
  }
}

}  // namespace cairn::data
