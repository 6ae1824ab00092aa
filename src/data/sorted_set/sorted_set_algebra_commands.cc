#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "base/function_ref.h"
#include "data/sorted_set/commands.h"
#include "data/sorted_set/sorted_set.h"
#include "data/sorted_set/sorted_set_args.h"
#include "data/value/fields.h"
#include "data/value/gathered.h"
#include "doors/resp/arg_parser.h"
#include "doors/resp/command.h"

// Union, intersection and difference of sorted sets, and of sets, whose members all count as having
// the score 1: as a reply, as a new sorted set, as a number.
namespace cairn::data {
namespace {

using doors::ArgParser;
using doors::Args;
using doors::Command;
using doors::CommandContext;

// Redis makes 0 of what is not a number.
double NumberOrZero(double score) { return std::isnan(score) ? 0 : score; }

// One of the sets that are combined.
class Source {
 public:
  // nullopt if the key holds something else than a set.
  static Result<std::optional<Source>> Load(CommandContext& context, BytesView key) {
    CAIRN_ASSIGN_OR_RETURN(SortedSet sorted, SortedSet::Load(context, key));
    if (!sorted.wrong_type()) return std::optional(Source(std::move(sorted)));
    CAIRN_ASSIGN_OR_RETURN(Fields set, Fields::Load(context, key, ValueType::kSet));
    if (set.wrong_type()) return std::optional<Source>();
    return std::optional(Source(std::move(set)));
  }

  double weight = 1;

  uint64_t count() const {
    return std::visit([](const auto& set) { return set.count(); }, set_);
  }

  // With weighted scores, in an order of its own.
  Result<void> ForEach(FunctionRef<Result<bool>(BytesView member, double score)> visit) {
    if (auto* set = std::get_if<Fields>(&set_)) {
      return set->ForEachInAnyOrder(
          [&](BytesView member, BytesView) { return visit(member, Weighted(1)); });
    }
    // The members first: what the visitor reads must not happen inside a scan.
    CAIRN_ASSIGN_OR_RETURN(const std::vector<ScoredMember> members,
                           std::get<SortedSet>(set_).List({}, {}));
    for (const ScoredMember& each : members) {
      CAIRN_ASSIGN_OR_RETURN(const bool go_on, visit(each.member, Weighted(each.score)));
      if (!go_on) break;
    }
    return {};
  }

  // The member's weighted score, if it is there.
  Result<std::optional<double>> Find(BytesView member) {
    if (auto* set = std::get_if<Fields>(&set_)) {
      CAIRN_ASSIGN_OR_RETURN(const bool found, set->Contains(member));
      return found ? std::optional(Weighted(1)) : std::nullopt;
    }
    CAIRN_ASSIGN_OR_RETURN(const std::optional<double> score,
                           std::get<SortedSet>(set_).Score(member));
    return score ? std::optional(Weighted(*score)) : std::nullopt;
  }

 private:
  template <typename Set>
  explicit Source(Set set) : set_(std::move(set)) {}
  double Weighted(double score) const { return NumberOrZero(weight * score); }

  std::variant<SortedSet, Fields> set_;
};

enum class Aggregate { kSum, kMin, kMax };

double Combine(Aggregate aggregate, double a, double b) {
  switch (aggregate) {
    case Aggregate::kSum:
      return NumberOrZero(a + b);
    case Aggregate::kMin:
      return std::min(a, b);
    case Aggregate::kMax:
      return std::max(a, b);
  }
  return a;
}

enum class Operation { kUnion, kIntersection, kDifference };

struct Request {
  Gathered gathered;
  std::vector<Source> sources = {};
  Aggregate aggregate = Aggregate::kSum;
  WithScores with_scores = WithScores::kNo;
  uint64_t limit = 0;  // of ZINTERCARD; 0: none
};

// --- The three operations -----------------------------------------------------------------------

using Members = std::vector<ScoredMember>;

Result<Members> Union(Request& request) {
  // Each member stands in the map and in the result.
  constexpr size_t kCopies = 2;
  std::unordered_map<Bytes, double> scores;
  for (Source& source : request.sources) {
    CAIRN_RETURN_IF_ERROR(source.ForEach([&](BytesView member, double score) -> Result<bool> {
      const auto [found, is_new] = scores.try_emplace(Bytes(member), score);
      if (is_new) {
        CAIRN_RETURN_IF_ERROR(request.gathered.Add(kCopies * member.size()));
      } else {
        found->second = Combine(request.aggregate, found->second, score);
      }
      return true;
    }));
  }
  Members members;
  members.reserve(scores.size());
  for (const auto& [member, score] : scores) members.push_back({member, score});
  return members;
}

// Walks the first, which is the smallest, and looks in the others.
Result<Members> Intersection(Request& request) {
  Members members;
  const auto visit = [&](BytesView member, double score) -> Result<bool> {
    for (size_t i = 1; i < request.sources.size(); ++i) {
      CAIRN_ASSIGN_OR_RETURN(const std::optional<double> other, request.sources[i].Find(member));
      if (!other) return true;
      score = Combine(request.aggregate, score, *other);
    }
    CAIRN_RETURN_IF_ERROR(request.gathered.Add(member.size()));
    members.push_back({Bytes(member), score});
    return members.size() != request.limit;
  };
  CAIRN_RETURN_IF_ERROR(request.sources.front().ForEach(visit));
  return members;
}

Result<Members> Difference(Request& request) {
  Members members;
  const auto visit = [&](BytesView member, double score) -> Result<bool> {
    for (size_t i = 1; i < request.sources.size(); ++i) {
      CAIRN_ASSIGN_OR_RETURN(const std::optional<double> other, request.sources[i].Find(member));
      if (other) return true;
    }
    CAIRN_RETURN_IF_ERROR(request.gathered.Add(member.size()));
    members.push_back({Bytes(member), score});
    return true;
  };
  CAIRN_RETURN_IF_ERROR(request.sources.front().ForEach(visit));
  return members;
}

// The members that the operation leaves, in order.
Result<Members> Run(Operation operation, Request& request) {
  if (operation != Operation::kDifference) {
    // Sums depend on the order of their parts: it is Redis's, the smallest first.
    std::ranges::stable_sort(request.sources, {}, &Source::count);
  }
  Result<Members> members = operation == Operation::kUnion          ? Union(request)
                            : operation == Operation::kIntersection ? Intersection(request)
                                                                    : Difference(request);
  if (members.ok()) {
    std::ranges::sort(*members, [](const ScoredMember& a, const ScoredMember& b) {
      return a.score != b.score ? a.score < b.score : a.member < b.member;
    });
  }
  return members;
}

// --- Commands -----------------------------------------------------------------------------------

enum class Output { kMembers, kStore, kCount };

void TakeWeights(ArgParser& parser, std::vector<Source>& sources) {
  for (Source& source : sources) {
    source.weight = TakeDouble(parser, "ERR weight value is not a float");
  }
}

void ParseOptions(ArgParser& parser, Operation operation, Output output, Request& request) {
  const bool scored = operation != Operation::kDifference && output != Output::kCount;
  while (parser.HasNext()) {
    const size_t left = parser.remaining();
    if (scored && left > request.sources.size() && parser.Keyword("WEIGHTS")) {
      TakeWeights(parser, request.sources);
    } else if (scored && left >= 2 && parser.Keyword("AGGREGATE")) {
      const auto aggregate = parser.OneOf<Aggregate>(
          {{"SUM", Aggregate::kSum}, {"MIN", Aggregate::kMin}, {"MAX", Aggregate::kMax}});
      if (!aggregate) parser.Fail(doors::kSyntaxError);
      request.aggregate = aggregate.value_or(Aggregate::kSum);
    } else if (output == Output::kMembers && parser.Keyword("WITHSCORES")) {
      request.with_scores = WithScores::kYes;
    } else if (output == Output::kCount && left >= 2 && parser.Keyword("LIMIT")) {
      constexpr std::string_view kNegative = "ERR LIMIT can't be negative";
      const int64_t limit = parser.Integer(kNegative);
      if (limit < 0) parser.Fail(kNegative);
      request.limit = parser.ok() ? static_cast<uint64_t>(limit) : 0;
    } else {
      parser.Fail(doors::kSyntaxError);
    }
  }
}

// Reads `numkeys key… options`. What is wrong is kept by the parser; the keys' types are checked
// before the options, as Redis does.
Result<Request> ParseRequest(CommandContext& context, ArgParser& parser, Operation operation,
                             Output output) {
  Request request{.gathered = Gathered(context)};
  const int64_t numkeys = parser.Integer();
  if (!parser.ok()) return request;
  if (numkeys < 1) {
    parser.Fail(
        fmt::format("ERR at least 1 input key is needed for '{}' command", context.command.name));
    return request;
  }
  if (static_cast<uint64_t>(numkeys) > parser.remaining()) {
    parser.Fail(doors::kSyntaxError);
    return request;
  }
  for (int64_t i = 0; i < numkeys; ++i) {
    CAIRN_ASSIGN_OR_RETURN(std::optional<Source> source, Source::Load(context, parser.Next()));
    if (!source) {
      parser.Fail(kWrongType);
      return request;
    }
    request.sources.push_back(*std::move(source));
  }
  ParseOptions(parser, operation, output, request);
  return request;
}

template <Operation kOperation>
Result<void> Show(CommandContext& context) {
  ArgParser parser(context.args);
  CAIRN_ASSIGN_OR_RETURN(Request request,
                         ParseRequest(context, parser, kOperation, Output::kMembers));
  if (!parser.ok()) return context.Fail(parser.error());
  CAIRN_ASSIGN_OR_RETURN(const Members members, Run(kOperation, request));
  ReplyMembers(context.reply, members, request.with_scores);
  return {};
}

template <Operation kOperation>
Result<void> Store(CommandContext& context) {
  ArgParser parser(context.args, 2);
  CAIRN_ASSIGN_OR_RETURN(Request request,
                         ParseRequest(context, parser, kOperation, Output::kStore));
  if (!parser.ok()) return context.Fail(parser.error());
  CAIRN_ASSIGN_OR_RETURN(const Members members, Run(kOperation, request));
  CAIRN_RETURN_IF_ERROR(StoreMembers(context, context.args[1], members, context.command.name));
  context.reply.Integer(static_cast<int64_t>(members.size()));
  return {};
}

Result<void> ZInterCard(CommandContext& context) {
  ArgParser parser(context.args);
  CAIRN_ASSIGN_OR_RETURN(Request request,
                         ParseRequest(context, parser, Operation::kIntersection, Output::kCount));
  if (!parser.ok()) return context.Fail(parser.error());
  CAIRN_ASSIGN_OR_RETURN(const Members members, Run(Operation::kIntersection, request));
  context.reply.Integer(static_cast<int64_t>(members.size()));
  return {};
}

}  // namespace

void AddSortedSetAlgebraCommands(doors::Instance& instance) {
  struct Row {
    std::string_view name;
    std::string_view since;
    std::string_view complexity;
    std::string_view summary;
    std::string_view syntax;
    doors::RunHandler run;
    bool stores = false;
  };
  constexpr std::string_view kWalkSmallest = "O(N*M) for M sets, the smallest of N members";
  constexpr std::string_view kWalkAll = "O(N) for N members in all sets";
  const Row kRows[] = {
      {"zunion", "6.2.0", kWalkAll, "Lists the members that any of the sets has.",
       "numkeys:integer key:key ... [WEIGHTS weight:integer ...] [AGGREGATE (SUM | MIN | MAX)] "
       "[WITHSCORES]",
       Show<Operation::kUnion>},
      {"zinter", "6.2.0", kWalkSmallest, "Lists the members that all sets have.",
       "numkeys:integer key:key ... [WEIGHTS weight:integer ...] [AGGREGATE (SUM | MIN | MAX)] "
       "[WITHSCORES]",
       Show<Operation::kIntersection>},
      {"zdiff", "6.2.0", kWalkAll, "Lists the members that only the first set has.",
       "numkeys:integer key:key ... [WITHSCORES]", Show<Operation::kDifference>},
      {"zintercard", "7.0.0", kWalkSmallest, "Tells how many members all sets have.",
       "numkeys:integer key:key ... [LIMIT limit:integer]", ZInterCard},
      {"zunionstore", "2.0.0", kWalkAll, "Makes a sorted set of what any of the sets has.",
       "destination:key numkeys:integer key:key ... [WEIGHTS weight:integer ...] [AGGREGATE (SUM | "
       "MIN | MAX)]",
       Store<Operation::kUnion>, true},
      {"zinterstore", "2.0.0", kWalkSmallest, "Makes a sorted set of what all sets have.",
       "destination:key numkeys:integer key:key ... [WEIGHTS weight:integer ...] [AGGREGATE (SUM | "
       "MIN | MAX)]",
       Store<Operation::kIntersection>, true},
      {"zdiffstore", "6.2.0", kWalkAll, "Makes a sorted set of what only the first set has.",
       "destination:key numkeys:integer key:key ...", Store<Operation::kDifference>, true},
  };
  for (const Row& row : kRows) {
    Command command{.name = row.name,
                    .arity = row.stores ? -4 : -3,
                    .flags = doors::kMovableKeys |
                             (row.stores ? doors::kWrite | doors::kDenyOom : doors::kReadOnly),
                    .categories = doors::kCategorySortedSet,
                    .keys = {doors::CountedKeys(row.stores ? 2 : 1, "RO access")},
                    .group = "sorted-set",
                    .since = row.since,
                    .complexity = row.complexity,
                    .summary = row.summary,
                    .syntax = row.syntax,
                    .run = row.run};
    if (row.stores) command.keys.insert(command.keys.begin(), {1, 1, 1, "OW update"});
    instance.commands().Add(std::move(command));
  }
}

}  // namespace cairn::data
