#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/function_ref.h"
#include "data/set/commands.h"
#include "data/value/entry.h"
#include "data/value/fields.h"
#include "data/value/gathered.h"
#include "doors/resp/arg_parser.h"
#include "doors/resp/command.h"

// Intersection, union and difference of sets: as a reply, as a new set, as a number.
namespace cairn::data {
namespace {

using doors::ArgParser;
using doors::Args;
using doors::Command;
using doors::CommandContext;

using Members = std::vector<Bytes>;

// The sets under these keys; nullopt if one of the keys holds something else. One that is missing
// does not spare the others the check.
Result<std::optional<std::vector<Fields>>> LoadSets(CommandContext& context, Args keys) {
  std::vector<Fields> sets;
  sets.reserve(keys.size());
  for (const std::string_view key : keys) {
    CAIRN_ASSIGN_OR_RETURN(Fields set, Fields::Load(context, key, ValueType::kSet));
    if (set.wrong_type()) return std::optional<std::vector<Fields>>();
    sets.push_back(std::move(set));
  }
  return std::optional(std::move(sets));
}

// --- The three operations -----------------------------------------------------------------------

Result<bool> InAll(std::span<Fields> sets, BytesView member) {
  for (Fields& set : sets) {
    CAIRN_ASSIGN_OR_RETURN(const bool found, set.Contains(member));
    if (!found) return false;
  }
  return true;
}

Result<bool> InAny(std::span<Fields* const> sets, BytesView member) {
  for (Fields* set : sets) {
    CAIRN_ASSIGN_OR_RETURN(const bool found, set->Contains(member));
    if (found) return true;
  }
  return false;
}

// Visits what all sets have, until the visitor returns false: walks the smallest and looks in the
// others, those first that are likely to lack the member.
Result<void> VisitIntersection(std::vector<Fields>& sets, FunctionRef<bool(BytesView)> visit) {
  std::ranges::sort(sets, {}, &Fields::count);
  const std::span<Fields> others = std::span(sets).subspan(1);
  return sets.front().ForEachInAnyOrder([&](BytesView member, BytesView) -> Result<bool> {
    CAIRN_ASSIGN_OR_RETURN(const bool shared, InAll(others, member));
    return !shared || visit(member);
  });
}

Result<Members> Intersection(std::vector<Fields>& sets, Gathered& gathered) {
  Members members;
  Result<void> room;
  CAIRN_RETURN_IF_ERROR(VisitIntersection(sets, [&](BytesView member) {
    members.emplace_back(member);
    room = gathered.Add(member.size());
    return room.ok();
  }));
  if (!room.ok()) return room.error();
  return members;
}

Result<Members> Union(std::vector<Fields>& sets, Gathered& gathered) {
  Members members;
  for (Fields& set : sets) {
    CAIRN_RETURN_IF_ERROR(set.ForEachInAnyOrder([&](BytesView member, BytesView) -> Result<bool> {
      members.emplace_back(member);
      CAIRN_RETURN_IF_ERROR(gathered.Add(member.size()));
      return true;
    }));
  }
  if (sets.size() == 1) return members;
  std::ranges::sort(members);
  members.erase(std::ranges::unique(members).begin(), members.end());
  return members;
}

// What the first set has and none of the others. Of the others, those that are smaller than the
// first are read; it is cheaper to look in the larger ones for each member of the first.
Result<Members> Difference(std::vector<Fields>& sets, Gathered& gathered) {
  Fields& first = sets.front();
  if (first.count() == 0) return Members();
  std::unordered_set<Bytes> excluded;
  std::vector<Fields*> larger;
  for (Fields& set : std::span(sets).subspan(1)) {
    if (set.count() > first.count()) {
      larger.push_back(&set);
      continue;
    }
    CAIRN_RETURN_IF_ERROR(set.ForEachInAnyOrder([&](BytesView member, BytesView) -> Result<bool> {
      excluded.emplace(member);
      CAIRN_RETURN_IF_ERROR(gathered.Add(member.size()));
      return true;
    }));
  }
  Members members;
  CAIRN_RETURN_IF_ERROR(first.ForEachInAnyOrder([&](BytesView view, BytesView) -> Result<bool> {
    Bytes member(view);
    if (excluded.contains(member)) return true;
    CAIRN_ASSIGN_OR_RETURN(const bool found, InAny(larger, member));
    if (found) return true;
    CAIRN_RETURN_IF_ERROR(gathered.Add(member.size()));
    members.push_back(std::move(member));
    return true;
  }));
  return members;
}

using Operation = Result<Members> (*)(std::vector<Fields>& sets, Gathered& gathered);

// As a set of these members would show them (fields.h): few integers are sorted.
void SortIntegers(Members& members) {
  if (members.size() > kMaxSortedIntegers) return;
  std::vector<std::pair<int64_t, size_t>> order;
  order.reserve(members.size());
  for (const Bytes& member : members) {
    const std::optional<int64_t> integer = doors::ParseInteger(member);
    if (!integer) return;
    order.emplace_back(*integer, order.size());
  }
  std::ranges::sort(order);
  Members sorted;
  sorted.reserve(members.size());
  for (const auto& [integer, at] : order) sorted.push_back(std::move(members[at]));
  members = std::move(sorted);
}

// --- Commands -----------------------------------------------------------------------------------

// SINTER, SUNION, SDIFF: key...
template <Operation operation>
Result<void> Show(CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(auto sets, LoadSets(context, context.args.subspan(1)));
  if (!sets) return context.Fail(kWrongType);
  Gathered gathered(context);
  CAIRN_ASSIGN_OR_RETURN(Members members, operation(*sets, gathered));
  SortIntegers(members);
  context.reply.SetHeader(members.size());
  for (const Bytes& member : members) context.reply.Bulk(member);
  return {};
}

// SINTERSTORE, SUNIONSTORE, SDIFFSTORE: destination key... The destination may hold anything; an
// empty result removes it.
template <Operation operation>
Result<void> Store(CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(auto sets, LoadSets(context, context.args.subspan(2)));
  if (!sets) return context.Fail(kWrongType);
  Gathered gathered(context);
  CAIRN_ASSIGN_OR_RETURN(const Members members, operation(*sets, gathered));
  const std::string_view destination = context.args[1];
  context.reply.Integer(static_cast<int64_t>(members.size()));
  if (members.empty()) {
    CAIRN_ASSIGN_OR_RETURN(Entry entry, Entry::Load(context, destination));
    if (!entry.exists()) return {};
    entry.Remove();
    context.Notify(doors::kEventGeneric, "del", destination);
    return {};
  }
  CAIRN_ASSIGN_OR_RETURN(Fields target, Fields::Replace(context, destination, ValueType::kSet));
  for (const Bytes& member : members) CAIRN_RETURN_IF_ERROR(target.PutNew(member));
  target.Save(context, doors::kEventSet, context.command.name);
  return {};
}

// numkeys key... [LIMIT limit]
Result<void> SInterCard(CommandContext& context) {
  const std::optional<int64_t> key_count = doors::ParseInteger(context.args[1]);
  if (!key_count || *key_count < 1) return context.Fail("ERR numkeys should be greater than 0");
  if (static_cast<uint64_t>(*key_count) > context.args.size() - 2) {
    return context.Fail("ERR Number of keys can't be greater than number of args");
  }
  const auto keys = static_cast<size_t>(*key_count);
  ArgParser parser(context.args, 2 + keys);
  int64_t limit = 0;
  while (parser.HasNext()) {
    if (parser.remaining() > 1 && parser.Keyword("LIMIT")) {
      limit = parser.Integer("ERR LIMIT can't be negative");
      if (limit < 0) parser.Fail("ERR LIMIT can't be negative");
    } else {
      parser.Fail(doors::kSyntaxError);
    }
  }
  if (!parser.Finish()) return context.Fail(parser.error());
  CAIRN_ASSIGN_OR_RETURN(auto sets, LoadSets(context, context.args.subspan(2, keys)));
  if (!sets) return context.Fail(kWrongType);
  int64_t count = 0;
  // Never reaches 0 again, which stands for no limit.
  CAIRN_RETURN_IF_ERROR(VisitIntersection(*sets, [&](BytesView) { return ++count != limit; }));
  context.reply.Integer(count);
  return {};
}

}  // namespace

void AddSetAlgebraCommands(doors::Instance& instance) {
  struct Row {
    std::string_view name;
    std::string_view complexity;
    std::string_view summary;
    doors::RunHandler run;
    std::string_view destination = {};  // what happens to it, where there is one
  };
  constexpr std::string_view kWalkSmallest = "O(N*M) for M sets, the smallest of N members";
  constexpr std::string_view kWalkAll = "O(N) for N members in all sets";
  const Row kRows[] = {
      {"sinter", kWalkSmallest, "Lists the members that all sets have.", Show<Intersection>},
      {"sunion", kWalkAll, "Lists the members that any of the sets has.", Show<Union>},
      {"sdiff", kWalkAll, "Lists the members that only the first set has.", Show<Difference>},
      {"sinterstore", kWalkSmallest, "Makes a set of the members that all sets have.",
       Store<Intersection>, "RW update"},
      {"sunionstore", kWalkAll, "Makes a set of the members that any of the sets has.",
       Store<Union>, "OW update"},
      {"sdiffstore", kWalkAll, "Makes a set of the members that only the first set has.",
       Store<Difference>, "OW update"},
  };
  for (const Row& row : kRows) {
    const bool stores = !row.destination.empty();
    Command command{.name = row.name,
                    .arity = stores ? -3 : -2,
                    .flags = stores ? doors::kWrite | doors::kDenyOom : doors::kReadOnly,
                    .categories = doors::kCategorySet,
                    .keys = {{stores ? 2 : 1, -1, 1, "RO access"}},
                    .group = "set",
                    .since = "1.0.0",
                    .complexity = row.complexity,
                    .summary = row.summary,
                    .syntax = stores ? "destination:key key:key ..." : "key:key ...",
                    .run = row.run};
    if (stores) {
      command.keys.insert(command.keys.begin(), {1, 1, 1, row.destination});
    } else {
      command.tips = {"nondeterministic_output_order"};
    }
    instance.commands().Add(std::move(command));
  }
  instance.commands().Add(Command{.name = "sintercard",
                                  .arity = -3,
                                  .flags = doors::kReadOnly | doors::kMovableKeys,
                                  .categories = doors::kCategorySet,
                                  .keys = {doors::CountedKeys(1, "RO access")},
                                  .group = "set",
                                  .since = "7.0.0",
                                  .complexity = kWalkSmallest,
                                  .summary = "Tells how many members all sets have.",
                                  .syntax = "numkeys:integer key:key ... [LIMIT limit:integer]",
                                  .run = SInterCard});
}

}  // namespace cairn::data
