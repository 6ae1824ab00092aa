#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "data/sorted_set/commands.h"
#include "data/sorted_set/sorted_set.h"
#include "data/sorted_set/sorted_set_args.h"
#include "data/value/limits.h"
#include "data/value/member_scan.h"
#include "data/value/random_fields.h"
#include "doors/resp/arg_parser.h"
#include "doors/resp/command.h"

// Members of sorted sets one by one: added, removed, looked at, counted, picked by chance.
namespace cairn::data {
namespace {

using doors::ArgParser;
using doors::Args;
using doors::Command;
using doors::CommandContext;

// --- ZADD and ZINCRBY ---------------------------------------------------------------------------

struct AddOptions {
  bool if_missing = false;
  bool if_exists = false;
  bool if_greater = false;
  bool if_less = false;
  bool count_changed = false;
  bool increment = false;
};

AddOptions ParseAddOptions(ArgParser& parser, bool increment) {
  AddOptions options{.increment = increment};
  for (;;) {
    if (parser.Keyword("NX")) {
      options.if_missing = true;
    } else if (parser.Keyword("XX")) {
      options.if_exists = true;
    } else if (parser.Keyword("CH")) {
      options.count_changed = true;
    } else if (parser.Keyword("INCR")) {
      options.increment = true;
    } else if (parser.Keyword("GT")) {
      options.if_greater = true;
    } else if (parser.Keyword("LT")) {
      options.if_less = true;
    } else {
      return options;
    }
  }
}

void CheckAddOptions(ArgParser& parser, const AddOptions& options) {
  const size_t rest = parser.remaining();
  if (rest == 0 || rest % 2 != 0) parser.Fail(doors::kSyntaxError);
  if (options.if_missing && options.if_exists) {
    parser.Fail("ERR XX and NX options at the same time are not compatible");
  }
  if (int{options.if_greater} + int{options.if_less} + int{options.if_missing} > 1) {
    parser.Fail("ERR GT, LT, and/or NX options at the same time are not compatible");
  }
  if (options.increment && rest > 2) {
    parser.Fail("ERR INCR option supports a single increment-element pair");
  }
}

struct NewScore {
  double score;
  std::string_view member;
};

// What adding has done.
struct Added {
  uint64_t added = 0;
  uint64_t moved = 0;
  std::optional<double> score;  // of the last member; nullopt if the options kept it as it was
};

Result<void> AddOne(SortedSet& set, const NewScore& wanted, const AddOptions& options,
                    Added& result) {
  result.score.reset();
  CAIRN_ASSIGN_OR_RETURN(const std::optional<double> old_score, set.Score(wanted.member));
  if (!old_score) {
    if (options.if_exists) return {};
    CAIRN_RETURN_IF_ERROR(set.PutNew(wanted.member, wanted.score));
    ++result.added;
    result.score = wanted.score;
    return {};
  }
  if (options.if_missing) return {};
  const double score = options.increment ? *old_score + wanted.score : wanted.score;
  result.score = score;
  if (std::isnan(score)) return {};
  if ((options.if_less && score >= *old_score) || (options.if_greater && score <= *old_score)) {
    result.score.reset();
    return {};
  }
  if (score == *old_score) return {};
  CAIRN_RETURN_IF_ERROR(set.Move(wanted.member, *old_score, score));
  ++result.moved;
  return {};
}

Result<void> Add(CommandContext& context, bool increment) {
  ArgParser parser(context.args, 2);
  const AddOptions options = ParseAddOptions(parser, increment);
  CheckAddOptions(parser, options);
  std::vector<NewScore> wanted;
  while (parser.HasNext()) {
    const double score = TakeDouble(parser);
    wanted.push_back({score, parser.Next()});
  }
  if (!parser.Finish()) return context.Fail(parser.error());
  CAIRN_ASSIGN_OR_RETURN(SortedSet set, SortedSet::Load(context, context.args[1]));
  if (set.wrong_type()) return context.Fail(kWrongType);
  Added result;
  for (const NewScore& each : wanted) {
    CAIRN_RETURN_IF_ERROR(AddOne(set, each, options, result));
  }
  if (result.score && std::isnan(*result.score)) {
    return context.Fail("ERR resulting score is not a number (NaN)");
  }
  if (result.added + result.moved > 0) {
    CAIRN_RETURN_IF_ERROR(set.Save(context, options.increment ? "zincr" : "zadd"));
  }
  if (!options.increment) {
    const uint64_t count = result.added + (options.count_changed ? result.moved : 0);
    context.reply.Integer(static_cast<int64_t>(count));
  } else if (result.score) {
    context.reply.Double(*result.score);
  } else {
    context.reply.Null();
  }
  return {};
}

Result<void> ZAdd(CommandContext& context) { return Add(context, false); }
Result<void> ZIncrBy(CommandContext& context) { return Add(context, true); }

Result<void> ZRem(CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(SortedSet set, SortedSet::Load(context, context.args[1]));
  if (set.wrong_type()) return context.Fail(kWrongType);
  int64_t removed = 0;
  for (const std::string_view member : context.args.subspan(2)) {
    CAIRN_ASSIGN_OR_RETURN(const bool found, set.Remove(member));
    removed += found ? 1 : 0;
  }
  if (removed > 0) {
    CAIRN_RETURN_IF_ERROR(set.Save(context, "zrem"));
  }
  context.reply.Integer(removed);
  return {};
}

// --- Looking ------------------------------------------------------------------------------------

void ReplyScore(CommandContext& context, std::optional<double> score) {
  if (score) {
    context.reply.Double(*score);
  } else {
    context.reply.Null();
  }
}

Result<void> ZScore(CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(SortedSet set, SortedSet::Load(context, context.args[1]));
  if (set.wrong_type()) return context.Fail(kWrongType);
  CAIRN_ASSIGN_OR_RETURN(const std::optional<double> score, set.Score(context.args[2]));
  ReplyScore(context, score);
  return {};
}

Result<void> ZMScore(CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(SortedSet set, SortedSet::Load(context, context.args[1]));
  if (set.wrong_type()) return context.Fail(kWrongType);
  const Args members = context.args.subspan(2);
  context.reply.ArrayHeader(members.size());
  for (const std::string_view member : members) {
    CAIRN_ASSIGN_OR_RETURN(const std::optional<double> score, set.Score(member));
    ReplyScore(context, score);
  }
  return {};
}

Result<void> ZCard(CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(const SortedSet set, SortedSet::Load(context, context.args[1]));
  if (set.wrong_type()) return context.Fail(kWrongType);
  context.reply.Integer(static_cast<int64_t>(set.count()));
  return {};
}

Result<void> ZCount(CommandContext& context) {
  ArgParser parser(context.args, 2);
  const OrderRange range = TakeScoreRange(parser);
  if (!parser.Finish()) return context.Fail(parser.error());
  CAIRN_ASSIGN_OR_RETURN(SortedSet set, SortedSet::Load(context, context.args[1]));
  if (set.wrong_type()) return context.Fail(kWrongType);
  CAIRN_ASSIGN_OR_RETURN(const uint64_t count, set.CountIn(range));
  context.reply.Integer(static_cast<int64_t>(count));
  return {};
}

Result<void> ZLexCount(CommandContext& context) {
  ArgParser parser(context.args, 2);
  const LexRange lex = TakeLexRange(parser);
  if (!parser.Finish()) return context.Fail(parser.error());
  CAIRN_ASSIGN_OR_RETURN(SortedSet set, SortedSet::Load(context, context.args[1]));
  if (set.wrong_type()) return context.Fail(kWrongType);
  CAIRN_ASSIGN_OR_RETURN(const OrderRange range, ResolveLexRange(set, lex));
  CAIRN_ASSIGN_OR_RETURN(const uint64_t count, set.CountIn(range));
  context.reply.Integer(static_cast<int64_t>(count));
  return {};
}

template <bool kReverse>
Result<void> RankOf(CommandContext& context) {
  const std::string_view member = context.args[2];
  CAIRN_ASSIGN_OR_RETURN(SortedSet set, SortedSet::Load(context, context.args[1]));
  if (set.wrong_type()) return context.Fail(kWrongType);
  CAIRN_ASSIGN_OR_RETURN(const std::optional<double> score, set.Score(member));
  if (!score) {
    context.reply.Null();
    return {};
  }
  CAIRN_ASSIGN_OR_RETURN(const uint64_t rank, set.Rank(member, *score));
  context.reply.Integer(static_cast<int64_t>(kReverse ? set.count() - 1 - rank : rank));
  return {};
}

Result<void> ZScan(CommandContext& context, ScanCursors& cursors, const EncodingLimits& limits) {
  const auto member = [](BytesView suffix) -> std::optional<BytesView> { return suffix.substr(1); };
  const auto visit_in_order = [](Collection collection, FieldVisitor visit) -> Result<void> {
    std::optional<Error> error;
    const auto visit_place = [&](BytesView suffix, BytesView) {
      const BytesView order_key = OrderKeyOf(suffix);
      const Result<bool> go_on =
          visit(order_key.substr(kScoreBytes), order_key.substr(0, kScoreBytes));
      if (!go_on.ok()) error = go_on.error();
      return go_on.ok() && *go_on;
    };
    CAIRN_RETURN_IF_ERROR(
        collection.elements().Scan({OrderSuffix({}), OrderEnd()}, {}, visit_place));
    if (error) return *error;
    return {};
  };
  const auto write = [](net::RespWriter& reply, BytesView name, BytesView value) {
    reply.Bulk(name);
    reply.Bulk(net::FormatDouble(DecodeScore(value).value_or(0)));
  };
  return ScanMembers(context, cursors, limits,
                     {.type = ValueType::kSortedSet,
                      .range = SuffixRange::Prefix(MemberSuffix({})),
                      .member = member,
                      .visit_in_order = visit_in_order,
                      .write = write,
                      .strings = 2});
}

// --- Random members -----------------------------------------------------------------------------

// When more than one in so many members is wanted, reading them all is cheaper than finding each.
constexpr uint64_t kSparse = 64;

Result<std::vector<ScoredMember>> PickDistinct(SortedSet& set, uint64_t count, Random& random) {
  const uint64_t size = set.count();
  std::vector<ScoredMember> picked;
  if (count >= size / kSparse) {
    CAIRN_ASSIGN_OR_RETURN(picked, set.List({}, {}));
    if (count >= size) return picked;
    for (uint64_t i = 0; i < count; ++i) {
      std::swap(picked[i], picked[i + random.Below(size - i)]);
    }
    picked.resize(count);
    return picked;
  }
  std::unordered_set<uint64_t> ranks;
  while (ranks.size() < count) {
    const uint64_t rank = random.Below(size);
    if (!ranks.insert(rank).second) continue;
    CAIRN_ASSIGN_OR_RETURN(std::optional<ScoredMember> member, set.Select(rank));
    if (member) picked.push_back(*std::move(member));
  }
  return picked;
}

Result<std::vector<ScoredMember>> PickRepeated(SortedSet& set, uint64_t count, Random& random) {
  const uint64_t size = set.count();
  std::vector<ScoredMember> picked;
  const bool sparse = count < size / kSparse;
  std::vector<ScoredMember> all;
  if (!sparse) {
    CAIRN_ASSIGN_OR_RETURN(all, set.List({}, {}));
  }
  while (picked.size() < count) {
    const uint64_t rank = random.Below(size);
    if (!sparse) {
      picked.push_back(all[rank]);
      continue;
    }
    CAIRN_ASSIGN_OR_RETURN(std::optional<ScoredMember> member, set.Select(rank));
    if (member) picked.push_back(*std::move(member));
  }
  return picked;
}

Result<void> PickOne(CommandContext& context, Random& random) {
  CAIRN_ASSIGN_OR_RETURN(SortedSet set, SortedSet::Load(context, context.args[1]));
  if (set.wrong_type()) return context.Fail(kWrongType);
  if (set.count() == 0) {
    context.reply.Null();
    return {};
  }
  CAIRN_ASSIGN_OR_RETURN(const std::optional<ScoredMember> member,
                         set.Select(random.Below(set.count())));
  if (!member) return Error{ErrorCode::kCorruption, "a sorted set has fewer members than it says"};
  context.reply.Bulk(member->member);
  return {};
}

Result<void> ZRandMember(CommandContext& context, Random& random) {
  if (context.args.size() == 2) return PickOne(context, random);
  constexpr std::string_view kOutOfRange = "ERR value is out of range";
  constexpr uint64_t kMostPairs = std::numeric_limits<int64_t>::max() / 2;
  ArgParser parser(context.args, 2);
  const PickCount wanted = TakePickCount(parser);
  const auto with_scores = parser.Keyword("WITHSCORES") ? WithScores::kYes : WithScores::kNo;
  if (!parser.Finish()) return context.Fail(parser.error());
  if (with_scores == WithScores::kYes && wanted.count > kMostPairs) {
    return context.Fail(kOutOfRange);
  }
  CAIRN_ASSIGN_OR_RETURN(SortedSet set, SortedSet::Load(context, context.args[1]));
  if (set.wrong_type()) return context.Fail(kWrongType);
  if (set.count() > 0 && wanted.repeated && wanted.count > kMaxRandomPicks) {
    return context.Fail(kOutOfRange);
  }
  std::vector<ScoredMember> picked;
  if (set.count() > 0 && wanted.count > 0) {
    CAIRN_ASSIGN_OR_RETURN(picked, wanted.repeated ? PickRepeated(set, wanted.count, random)
                                                   : PickDistinct(set, wanted.count, random));
  }
  ReplyMembers(context.reply, picked, with_scores);
  return {};
}

}  // namespace

void AddSortedSetCommands(doors::Instance& instance, const SharedEncodingLimits& limits) {
  using doors::kFast;
  using doors::kReadOnly;
  using doors::kWrite;
  struct Row {
    std::string_view name;
    int arity;
    uint32_t flags;
    std::string_view access;
    std::string_view since;
    std::string_view complexity;
    std::string_view summary;
    std::string_view syntax;
    doors::RunHandler run;
  };
  constexpr uint32_t kPut = kWrite | doors::kDenyOom | kFast;
  constexpr std::string_view kRead = "RO access";
  constexpr std::string_view kLog = "O(log(N)) for N members";
  const auto cursors =
      std::make_shared<ScanCursors>(instance.random(), kMaxScanCursors, kMaxScanCursorBytes);
  Random& random = instance.random();
  const auto scan = [cursors, limits](CommandContext& context) {
    return ZScan(context, *cursors, *limits);
  };
  const auto pick = [&random](CommandContext& context) { return ZRandMember(context, random); };
  const Row kRows[] = {
      {"zadd", -4, kPut, "RW update", "1.2.0", "O(log(N)) for each member",
       "Adds members, or gives them other scores.",
       "key:key [NX | XX] [GT | LT] [CH] [INCR] (score:double member) ...", ZAdd},
      {"zincrby", 4, kPut, "RW access update", "1.2.0", kLog, "Adds to a member's score.",
       "key:key increment:integer member", ZIncrBy},
      {"zrem", -3, kWrite | kFast, "RW delete", "1.2.0", "O(log(N)) for each member",
       "Removes members.", "key:key member ...", ZRem},
      {"zscore", 3, kReadOnly | kFast, kRead, "1.2.0", "O(1)", "Tells a member's score.",
       "key:key member", ZScore},
      {"zmscore", -3, kReadOnly | kFast, kRead, "6.2.0", "O(N) for N members asked for",
       "Tells several members' scores.", "key:key member ...", ZMScore},
      {"zcard", 2, kReadOnly | kFast, "RO", "1.2.0", "O(1)", "Tells how many members there are.",
       "key:key", ZCard},
      {"zcount", 4, kReadOnly | kFast, kRead, "2.0.0", kLog,
       "Tells how many members have a score within a range.", "key:key min:double max:double",
       ZCount},
      {"zlexcount", 4, kReadOnly | kFast, kRead, "2.8.9", kLog,
       "Tells how many members of equal score are within a range.", "key:key min max", ZLexCount},
      {"zrank", 3, kReadOnly | kFast, kRead, "2.0.0", kLog,
       "Tells how many members have lower scores.", "key:key member", RankOf<false>},
      {"zrevrank", 3, kReadOnly | kFast, kRead, "2.0.0", kLog,
       "Tells how many members have higher scores.", "key:key member", RankOf<true>},
      {"zrandmember", -2, kReadOnly, kRead, "6.2.0", "O(M*log(N)) for M of N members",
       "Picks members by chance.", "key:key [(count:integer [WITHSCORES])]", pick},
      {"zscan", -3, kReadOnly, kRead, "2.8.0", "O(1) for each call, O(N) for N members",
       "Goes through the members, a few with each call.",
       "key:key cursor:integer [MATCH pattern:pattern] [COUNT count:integer]", scan},
  };
  for (const Row& row : kRows) {
    Command command{.name = row.name,
                    .arity = row.arity,
                    .flags = row.flags,
                    .categories = doors::kCategorySortedSet,
                    .keys = {{1, 1, 1, row.access}},
                    .group = "sorted-set",
                    .since = row.since,
                    .complexity = row.complexity,
                    .summary = row.summary,
                    .syntax = row.syntax,
                    .run = row.run};
    if (row.name == "zrandmember" || row.name == "zscan") {
      command.tips = {"nondeterministic_output"};
    }
    instance.commands().Add(std::move(command));
  }
}

}  // namespace cairn::data
