#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "data/list/commands.h"
#include "data/list/list.h"
#include "data/list/list_moves.h"
#include "doors/resp/arg_parser.h"
#include "doors/resp/command.h"

namespace cairn::data {
namespace {

using doors::ArgParser;
using doors::Command;
using doors::CommandContext;
using doors::ParseInteger;

// --- Both ends ----------------------------------------------------------------------------------

enum class IfMissing { kCreate, kLeave };

template <ListEnd end, IfMissing if_missing>
Result<void> Push(CommandContext& context) {
  const std::string_view key = context.args[1];
  CAIRN_ASSIGN_OR_RETURN(List list, List::Load(context, key));
  if (list.wrong_type()) return context.Fail(kWrongType);
  if (!list.exists() && if_missing == IfMissing::kLeave) {
    context.reply.Integer(0);
    return {};
  }
  for (const std::string_view element : context.args.subspan(2)) list.Push(end, element);
  list.Save();
  context.Notify(doors::kEventList, end == ListEnd::kLeft ? "lpush" : "rpush", key);
  context.reply.Integer(static_cast<int64_t>(list.size()));
  return {};
}

template <ListEnd end>
Result<void> Pop(CommandContext& context) {
  if (context.args.size() > 3) return context.Fail(doors::WrongArity(context.command.name));
  const bool counted = context.args.size() == 3;
  uint64_t count = 1;
  if (counted) {
    const std::optional<int64_t> number = ParseInteger(context.args[2]);
    if (!number || *number < 0) return context.Fail("ERR value is out of range, must be positive");
    count = static_cast<uint64_t>(*number);
  }
  CAIRN_ASSIGN_OR_RETURN(List list, List::Load(context, context.args[1]));
  if (list.wrong_type()) return context.Fail(kWrongType);
  if (!list.exists()) {
    if (counted) {
      context.reply.NullArray();
    } else {
      context.reply.Null();
    }
    return {};
  }
  count = std::min(count, list.size());
  if (counted) context.reply.ArrayHeader(count);
  for (uint64_t i = 0; i < count; ++i) {
    CAIRN_ASSIGN_OR_RETURN(const Bytes element, list.Pop(end));
    context.reply.Bulk(element);
  }
  if (count != 0) SavePopped(context, list, context.args[1], end);
  return {};
}

Result<void> Move(CommandContext& context, const ListMove& move) {
  CAIRN_ASSIGN_OR_RETURN(List source, List::Load(context, move.source));
  if (source.wrong_type()) return context.Fail(kWrongType);
  if (!source.exists()) {
    context.reply.Null();
    return {};
  }
  return MoveElement(context, source, move);
}

Result<void> LMove(CommandContext& context) {
  ArgParser parser(context.args, 3);
  ListMove move{.source = context.args[1], .destination = context.args[2]};
  move.from = TakeListEnd(parser);
  move.to = TakeListEnd(parser);
  if (!parser.Finish()) return context.Fail(parser.error());
  return Move(context, move);
}

Result<void> RPopLPush(CommandContext& context) {
  return Move(context, {.source = context.args[1],
                        .destination = context.args[2],
                        .from = ListEnd::kRight,
                        .to = ListEnd::kLeft});
}

Result<void> LMPop(CommandContext& context) {
  ArgParser parser(context.args);
  const MultiPop pop = TakeMultiPop(parser);
  if (!parser.ok()) return context.Fail(parser.error());
  for (const std::string_view key : pop.keys) {
    CAIRN_ASSIGN_OR_RETURN(List list, List::Load(context, key));
    if (list.wrong_type()) return context.Fail(kWrongType);
    if (list.exists()) return PopMany(context, list, key, pop.end, pop.count);
  }
  context.reply.NullArray();
  return {};
}

// --- By index -----------------------------------------------------------------------------------

Result<void> LLen(CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(const List list, List::Load(context, context.args[1]));
  if (list.wrong_type()) return context.Fail(kWrongType);
  context.reply.Integer(static_cast<int64_t>(list.size()));
  return {};
}

Result<void> LIndex(CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(List list, List::Load(context, context.args[1]));
  if (list.wrong_type()) return context.Fail(kWrongType);
  const std::optional<int64_t> number = ParseInteger(context.args[2]);
  if (list.exists() && !number) return context.Fail(doors::kNotAnInteger);
  const std::optional<uint64_t> index = list.exists() ? list.FindIndex(*number) : std::nullopt;
  if (!index) {
    context.reply.Null();
    return {};
  }
  CAIRN_ASSIGN_OR_RETURN(const Bytes element, list.Get(*index));
  context.reply.Bulk(element);
  return {};
}

Result<void> LSet(CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(List list, List::Load(context, context.args[1]));
  if (list.wrong_type()) return context.Fail(kWrongType);
  if (!list.exists()) return context.Fail(doors::kNoSuchKey);
  const std::optional<int64_t> number = ParseInteger(context.args[2]);
  if (!number) return context.Fail(doors::kNotAnInteger);
  const std::optional<uint64_t> index = list.FindIndex(*number);
  if (!index) return context.Fail("ERR index out of range");
  CAIRN_RETURN_IF_ERROR(list.Set(*index, context.args[3]));
  list.Save();
  context.Notify(doors::kEventList, "lset", context.args[1]);
  context.reply.Ok();
  return {};
}

// The elements from `start` to `stop`, both included, as LRANGE and LTRIM are given them.
List::Slice SliceBetween(uint64_t size, int64_t start, int64_t stop) {
  const auto count = static_cast<int64_t>(size);
  if (start < 0) start = std::max<int64_t>(start + count, 0);
  if (stop < 0) stop += count;
  stop = std::min(stop, count - 1);
  if (start > stop) return {};
  return {.begin = static_cast<uint64_t>(start), .count = static_cast<uint64_t>(stop - start + 1)};
}

Result<void> LRange(CommandContext& context) {
  ArgParser parser(context.args, 2);
  const int64_t start = parser.Integer();
  const int64_t stop = parser.Integer();
  if (!parser.Finish()) return context.Fail(parser.error());
  CAIRN_ASSIGN_OR_RETURN(List list, List::Load(context, context.args[1]));
  if (list.wrong_type()) return context.Fail(kWrongType);
  const List::Slice slice = SliceBetween(list.size(), start, stop);
  context.reply.ArrayHeader(slice.count);
  return list.Visit(slice, [&](uint64_t, BytesView element) {
    context.reply.Bulk(element);
    return !context.reply.full();
  });
}

Result<void> LTrim(CommandContext& context) {
  ArgParser parser(context.args, 2);
  const int64_t start = parser.Integer();
  const int64_t stop = parser.Integer();
  if (!parser.Finish()) return context.Fail(parser.error());
  CAIRN_ASSIGN_OR_RETURN(List list, List::Load(context, context.args[1]));
  if (list.wrong_type()) return context.Fail(kWrongType);
  context.reply.Ok();
  if (!list.exists()) return {};
  const List::Slice kept = SliceBetween(list.size(), start, stop);
  CAIRN_RETURN_IF_ERROR(list.Trim(kept.begin, kept.count));
  list.Save();
  context.Notify(doors::kEventList, "ltrim", context.args[1]);
  if (list.size() == 0) context.Notify(doors::kEventGeneric, "del", context.args[1]);
  return {};
}

// --- By value -----------------------------------------------------------------------------------

Result<void> LInsert(CommandContext& context) {
  const std::string_view where = context.args[2];
  const bool after = doors::EqualsIgnoreCase(where, "AFTER");
  if (!after && !doors::EqualsIgnoreCase(where, "BEFORE")) {
    return context.Fail(doors::kSyntaxError);
  }
  CAIRN_ASSIGN_OR_RETURN(List list, List::Load(context, context.args[1]));
  if (list.wrong_type()) return context.Fail(kWrongType);
  if (!list.exists()) {
    context.reply.Integer(0);
    return {};
  }
  std::optional<uint64_t> pivot;
  CAIRN_RETURN_IF_ERROR(
      list.Visit({.begin = 0, .count = list.size()}, [&](uint64_t index, BytesView element) {
        if (element == context.args[3]) pivot = index;
        return !pivot;
      }));
  if (!pivot) {
    context.reply.Integer(-1);
    return {};
  }
  CAIRN_RETURN_IF_ERROR(list.Insert(*pivot + (after ? 1 : 0), context.args[4]));
  list.Save();
  context.Notify(doors::kEventList, "linsert", context.args[1]);
  context.reply.Integer(static_cast<int64_t>(list.size()));
  return {};
}

// A count whose sign is a direction, as a number of elements.
uint64_t Magnitude(int64_t count) {
  const auto bits = static_cast<uint64_t>(count);
  return count < 0 ? ~bits + 1 : bits;
}

Result<void> LRem(CommandContext& context) {
  const std::optional<int64_t> count = ParseInteger(context.args[2]);
  if (!count) return context.Fail(doors::kNotAnInteger);
  CAIRN_ASSIGN_OR_RETURN(List list, List::Load(context, context.args[1]));
  if (list.wrong_type()) return context.Fail(kWrongType);
  const uint64_t most = *count == 0 ? list.size() : Magnitude(*count);
  std::vector<uint64_t> found;
  CAIRN_RETURN_IF_ERROR(list.Visit({.begin = 0, .count = list.size(), .reverse = *count < 0},
                                   [&](uint64_t index, BytesView element) {
                                     if (element == context.args[3]) found.push_back(index);
                                     return found.size() < most;
                                   }));
  context.reply.Integer(static_cast<int64_t>(found.size()));
  if (found.empty()) return {};
  if (*count < 0) std::ranges::reverse(found);
  CAIRN_RETURN_IF_ERROR(list.Remove(found));
  list.Save();
  context.Notify(doors::kEventList, "lrem", context.args[1]);
  if (list.size() == 0) context.Notify(doors::kEventGeneric, "del", context.args[1]);
  return {};
}

struct PositionOptions {
  int64_t rank = 1;
  std::optional<uint64_t> count;  // 0: all
  uint64_t max_compared = 0;      // 0: all
};

PositionOptions ParsePositionOptions(ArgParser& parser) {
  constexpr std::string_view kBadCount = "ERR COUNT can't be negative";
  constexpr std::string_view kBadMaxLen = "ERR MAXLEN can't be negative";
  const auto number = [&](std::string_view error) {
    const int64_t value = parser.Integer(error);
    if (value < 0) parser.Fail(error);
    return static_cast<uint64_t>(value);
  };
  PositionOptions options;
  while (parser.HasNext()) {
    const bool has_value = parser.remaining() > 1;
    if (has_value && parser.Keyword("RANK")) {
      options.rank = parser.Integer();
      if (options.rank == 0) {
        parser.Fail(
            "ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or "
            "use negative to start from the end of the list");
      }
    } else if (has_value && parser.Keyword("COUNT")) {
      options.count = number(kBadCount);
    } else if (has_value && parser.Keyword("MAXLEN")) {
      options.max_compared = number(kBadMaxLen);
    } else {
      parser.Fail(doors::kSyntaxError);
    }
  }
  return options;
}

Result<void> LPos(CommandContext& context) {
  ArgParser parser(context.args, 3);
  const PositionOptions options = ParsePositionOptions(parser);
  if (!parser.Finish()) return context.Fail(parser.error());
  CAIRN_ASSIGN_OR_RETURN(List list, List::Load(context, context.args[1]));
  if (list.wrong_type()) return context.Fail(kWrongType);
  const bool reverse = options.rank < 0;
  uint64_t compared = list.size();
  if (options.max_compared != 0) compared = std::min(compared, options.max_compared);
  uint64_t to_skip = Magnitude(options.rank) - 1;
  uint64_t wanted = options.count.value_or(1);
  if (wanted == 0) wanted = std::numeric_limits<uint64_t>::max();
  std::vector<uint64_t> found;
  const List::Slice searched{
      .begin = reverse ? list.size() - compared : 0, .count = compared, .reverse = reverse};
  CAIRN_RETURN_IF_ERROR(list.Visit(searched, [&](uint64_t index, BytesView element) {
    if (element != context.args[2]) return true;
    if (to_skip > 0) {
      --to_skip;
    } else {
      found.push_back(index);
    }
    return found.size() < wanted;
  }));
  if (options.count) {
    context.reply.ArrayHeader(found.size());
    for (const uint64_t index : found) context.reply.Integer(static_cast<int64_t>(index));
  } else if (found.empty()) {
    context.reply.Null();
  } else {
    context.reply.Integer(static_cast<int64_t>(found.front()));
  }
  return {};
}

}  // namespace

void AddListCommands(doors::Instance& instance) {
  using doors::kDenyOom;
  using doors::kFast;
  using doors::kReadOnly;
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
  };
  constexpr uint32_t kPut = kWrite | kDenyOom;
  constexpr doors::KeySpec kRead = {1, 1, 1, "RO access"};
  constexpr doors::KeySpec kInsert = {1, 1, 1, "RW insert"};
  constexpr doors::KeySpec kTake = {1, 1, 1, "RW access delete"};
  constexpr doors::KeySpec kTarget = {2, 2, 1, "RW insert"};
  constexpr doors::KeySpec kDelete = {1, 1, 1, "RW delete"};
  constexpr auto kLeft = ListEnd::kLeft;
  constexpr auto kRight = ListEnd::kRight;
  const Row kRows[] = {
      {"lpush",
       -3,
       kPut | kFast,
       {kInsert},
       "1.0.0",
       "O(N) for N elements",
       "Adds elements at the left end of a list.",
       "key:key element ...",
       Push<kLeft, IfMissing::kCreate>},
      {"rpush",
       -3,
       kPut | kFast,
       {kInsert},
       "1.0.0",
       "O(N) for N elements",
       "Adds elements at the right end of a list.",
       "key:key element ...",
       Push<kRight, IfMissing::kCreate>},
      {"lpushx",
       -3,
       kPut | kFast,
       {kInsert},
       "2.2.0",
       "O(N) for N elements",
       "Adds elements at the left end of a list that is there.",
       "key:key element ...",
       Push<kLeft, IfMissing::kLeave>},
      {"rpushx",
       -3,
       kPut | kFast,
       {kInsert},
       "2.2.0",
       "O(N) for N elements",
       "Adds elements at the right end of a list that is there.",
       "key:key element ...",
       Push<kRight, IfMissing::kLeave>},
      {"lpop",
       -2,
       kWrite | kFast,
       {kTake},
       "1.0.0",
       "O(N) for N elements",
       "Takes elements from the left end of a list.",
       "key:key [count:integer]",
       Pop<kLeft>},
      {"rpop",
       -2,
       kWrite | kFast,
       {kTake},
       "1.0.0",
       "O(N) for N elements",
       "Takes elements from the right end of a list.",
       "key:key [count:integer]",
       Pop<kRight>},
      {"llen",
       2,
       kReadOnly | kFast,
       {{1, 1, 1, "RO"}},
       "1.0.0",
       "O(1)",
       "Tells a list's length.",
       "key:key",
       LLen},
      {"lrange",
       4,
       kReadOnly,
       {kRead},
       "1.0.0",
       "O(N) for N elements returned",
       "Reads a part of a list.",
       "key:key start:integer stop:integer",
       LRange},
      {"lindex",
       3,
       kReadOnly,
       {kRead},
       "1.0.0",
       "O(1)",
       "Reads one element of a list.",
       "key:key index:integer",
       LIndex},
      {"lset",
       4,
       kPut,
       {{1, 1, 1, "RW update"}},
       "1.0.0",
       "O(1)",
       "Replaces one element of a list.",
       "key:key index:integer element",
       LSet},
      {"lrem",
       4,
       kWrite,
       {kDelete},
       "1.0.0",
       "O(N) for a list of N elements",
       "Removes elements that equal a value.",
       "key:key count:integer element",
       LRem},
      {"ltrim",
       4,
       kWrite,
       {kDelete},
       "1.0.0",
       "O(N) for N elements removed",
       "Keeps only a part of a list.",
       "key:key start:integer stop:integer",
       LTrim},
      {"linsert",
       5,
       kPut,
       {kInsert},
       "2.2.0",
       "O(N) for a list of N elements",
       "Adds an element beside another.",
       "key:key (BEFORE | AFTER) pivot element",
       LInsert},
      {"lpos",
       -3,
       kReadOnly,
       {kRead},
       "6.0.6",
       "O(N) for N elements compared",
       "Finds where elements that equal a value stand.",
       "key:key element [RANK rank:integer] [COUNT num-matches:integer] [MAXLEN len:integer]",
       LPos},
      {"lmove",
       5,
       kPut,
       {kTake, kTarget},
       "6.2.0",
       "O(1)",
       "Moves an element from an end of one list to an end of another.",
       "source:key destination:key (LEFT | RIGHT) (LEFT | RIGHT)",
       LMove},
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
                                    .run = row.run});
  }
  instance.commands().Add(
      Command{.name = "rpoplpush",
              .arity = 3,
              .flags = kPut,
              .categories = doors::kCategoryList,
              .keys = {kTake, kTarget},
              .group = "list",
              .since = "1.2.0",
              .complexity = "O(1)",
              .summary = "Moves the last element of one list to the front of another.",
              .syntax = "source:key destination:key",
              .deprecated_since = "6.2.0",
              .replaced_by = "`LMOVE` with the `RIGHT` and `LEFT` arguments",
              .run = RPopLPush});
  instance.commands().Add(
      Command{.name = "lmpop",
              .arity = -4,
              .flags = kWrite | doors::kMovableKeys,
              .categories = doors::kCategoryList,
              .keys = {doors::CountedKeys(1, "RW access delete")},
              .group = "list",
              .since = "7.0.0",
              .complexity = "O(N+M) for N keys and M elements",
              .summary = "Takes elements from the first of several lists that has any.",
              .syntax = "numkeys:integer key:key ... (LEFT | RIGHT) [COUNT count:integer]",
              .run = LMPop});
}

}  // namespace cairn::data
