#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "data/sorted_set/commands.h"
#include "data/sorted_set/sorted_set.h"
#include "data/sorted_set/sorted_set_args.h"
#include "doors/resp/arg_parser.h"
#include "doors/resp/command.h"

// Pieces of a sorted set by rank, score or name: listed, stored elsewhere, removed.
namespace cairn::data {
namespace {

using doors::ArgParser;
using doors::Command;
using doors::CommandContext;

enum class By { kRank, kScore, kLex };

// What a command's name says already; ZRANGE leaves both to its options.
struct RangeStyle {
  std::optional<By> by;
  std::optional<bool> reverse;
};

struct RankRange {
  int64_t start = 0;
  int64_t stop = 0;
};

struct RangeRequest {
  By by = By::kRank;
  bool reverse = false;
  int64_t offset = 0;
  int64_t limit = -1;  // negative: all
  WithScores with_scores = WithScores::kNo;
  std::variant<RankRange, OrderRange, LexRange> range;
};

// Takes the options behind the range.
RangeRequest ParseRangeOptions(ArgParser& parser, const RangeStyle& style, bool storing) {
  RangeRequest request;
  std::optional<By> by = style.by;
  std::optional<bool> reverse = style.reverse;
  while (parser.HasNext()) {
    if (!storing && parser.Keyword("WITHSCORES")) {
      request.with_scores = WithScores::kYes;
    } else if (parser.remaining() >= 3 && parser.Keyword("LIMIT")) {
      request.offset = parser.Integer();
      request.limit = parser.Integer();
    } else if (!reverse && parser.Keyword("REV")) {
      reverse = true;
    } else if (!by && parser.Keyword("BYLEX")) {
      by = By::kLex;
    } else if (!by && parser.Keyword("BYSCORE")) {
      by = By::kScore;
    } else {
      parser.Fail(doors::kSyntaxError);
    }
  }
  request.by = by.value_or(By::kRank);
  request.reverse = reverse.value_or(false);
  if (request.limit != -1 && request.by == By::kRank) {
    parser.Fail(
        "ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX");
  }
  if (request.with_scores == WithScores::kYes && request.by == By::kLex) {
    parser.Fail("ERR syntax error, WITHSCORES not supported in combination with BYLEX");
  }
  return request;
}

// `args` is the range and what follows it. The options say how to read the range.
Result<RangeRequest> ParseRange(doors::Args args, const RangeStyle& style, bool storing) {
  ArgParser options(args, 2);
  RangeRequest request = ParseRangeOptions(options, style, storing);
  if (!options.Finish()) return Error{ErrorCode::kInvalid, options.error()};
  ArgParser parser(args.first(2), 0);
  if (request.by == By::kRank) {
    const int64_t start = parser.Integer();
    request.range = RankRange{start, parser.Integer()};
  } else if (request.by == By::kScore) {
    request.range = TakeScoreRange(parser, request.reverse);
  } else {
    request.range = TakeLexRange(parser, request.reverse);
  }
  if (!parser.Finish()) return Error{ErrorCode::kInvalid, parser.error()};
  return request;
}

// Which members a request means: a range of the order and a part of it.
struct Piece {
  OrderRange range;
  SortedSet::Slice slice;
};

Result<Piece> FindPiece(SortedSet& set, const RangeRequest& request) {
  Piece piece;
  if (const auto* ranks = std::get_if<RankRange>(&request.range)) {
    const auto slice = RankSlice(set.count(), ranks->start, ranks->stop);
    piece.slice = slice.value_or(SortedSet::Slice{.limit = 0});
    piece.slice.reverse = request.reverse;
    return piece;
  }
  if (const auto* lex = std::get_if<LexRange>(&request.range)) {
    CAIRN_ASSIGN_OR_RETURN(piece.range, ResolveLexRange(set, *lex));
  } else {
    piece.range = std::get<OrderRange>(request.range);
  }
  piece.slice.reverse = request.reverse;
  if (request.offset < 0) {
    piece.slice.limit = 0;
  } else {
    piece.slice.offset = static_cast<uint64_t>(request.offset);
    if (request.limit >= 0) piece.slice.limit = static_cast<uint64_t>(request.limit);
  }
  return piece;
}

Result<void> ListRange(CommandContext& context, const RangeStyle& style) {
  const Result<RangeRequest> request = ParseRange(context.args.subspan(2), style, false);
  if (!request.ok()) return context.Fail(request.error().message);
  CAIRN_ASSIGN_OR_RETURN(SortedSet set, SortedSet::Load(context, context.args[1]));
  if (set.wrong_type()) return context.Fail(kWrongType);
  CAIRN_ASSIGN_OR_RETURN(const Piece piece, FindPiece(set, *request));
  CAIRN_ASSIGN_OR_RETURN(const std::vector<ScoredMember> members,
                         set.List(piece.range, piece.slice));
  ReplyMembers(context.reply, members, request->with_scores);
  return {};
}

Result<void> ZRange(CommandContext& context) { return ListRange(context, {}); }
Result<void> ZRevRange(CommandContext& context) { return ListRange(context, {By::kRank, true}); }
Result<void> ZRangeByScore(CommandContext& context) {
  return ListRange(context, {By::kScore, false});
}
Result<void> ZRevRangeByScore(CommandContext& context) {
  return ListRange(context, {By::kScore, true});
}
Result<void> ZRangeByLex(CommandContext& context) { return ListRange(context, {By::kLex, false}); }
Result<void> ZRevRangeByLex(CommandContext& context) {
  return ListRange(context, {By::kLex, true});
}

Result<void> ZRangeStore(CommandContext& context) {
  const Result<RangeRequest> request = ParseRange(context.args.subspan(3), {}, true);
  if (!request.ok()) return context.Fail(request.error().message);
  CAIRN_ASSIGN_OR_RETURN(SortedSet set, SortedSet::Load(context, context.args[2]));
  if (set.wrong_type()) return context.Fail(kWrongType);
  CAIRN_ASSIGN_OR_RETURN(const Piece piece, FindPiece(set, *request));
  CAIRN_ASSIGN_OR_RETURN(const std::vector<ScoredMember> members,
                         set.List(piece.range, piece.slice));
  CAIRN_RETURN_IF_ERROR(StoreMembers(context, context.args[1], members, "zrangestore"));
  context.reply.Integer(static_cast<int64_t>(members.size()));
  return {};
}

Result<void> RemoveRange(CommandContext& context, By by, std::string_view event) {
  const Result<RangeRequest> request = ParseRange(context.args.subspan(2), {by, false}, true);
  if (!request.ok()) return context.Fail(request.error().message);
  CAIRN_ASSIGN_OR_RETURN(SortedSet set, SortedSet::Load(context, context.args[1]));
  if (set.wrong_type()) return context.Fail(kWrongType);
  CAIRN_ASSIGN_OR_RETURN(const Piece piece, FindPiece(set, *request));
  CAIRN_ASSIGN_OR_RETURN(const std::vector<ScoredMember> removed,
                         set.Take(piece.range, piece.slice));
  if (!removed.empty()) {
    CAIRN_RETURN_IF_ERROR(set.Save(context, event));
  }
  context.reply.Integer(static_cast<int64_t>(removed.size()));
  return {};
}

Result<void> ZRemRangeByRank(CommandContext& context) {
  return RemoveRange(context, By::kRank, "zremrangebyrank");
}
Result<void> ZRemRangeByScore(CommandContext& context) {
  return RemoveRange(context, By::kScore, "zremrangebyscore");
}
Result<void> ZRemRangeByLex(CommandContext& context) {
  return RemoveRange(context, By::kLex, "zremrangebylex");
}

}  // namespace

void AddSortedSetRangeCommands(doors::Instance& instance) {
  struct Row {
    std::string_view name;
    int arity;
    uint32_t flags;
    std::vector<doors::KeySpec> keys;
    std::string_view since;
    std::string_view summary;
    std::string_view syntax;
    doors::RunHandler run;
    std::string_view replaced_by = {};
  };
  constexpr uint32_t kRead = doors::kReadOnly;
  constexpr uint32_t kWrite = doors::kWrite;
  const std::vector<doors::KeySpec> read = {{1, 1, 1, "RO access"}};
  const std::vector<doors::KeySpec> remove = {{1, 1, 1, "RW delete"}};
  const std::vector<doors::KeySpec> store = {{1, 1, 1, "OW update"}, {2, 2, 1, "RO access"}};
  const Row kRows[] = {
      {"zrange", -4, kRead, read, "1.2.0", "Lists members by rank, score or name.",
       "key:key start stop [BYSCORE | BYLEX] [REV] [LIMIT (offset:integer count:integer)] "
       "[WITHSCORES]",
       ZRange},
      {"zrangestore", -5, kWrite | doors::kDenyOom, store, "6.2.0",
       "Makes a sorted set of a piece of another.",
       "dst:key src:key min max [BYSCORE | BYLEX] [REV] [LIMIT (offset:integer count:integer)]",
       ZRangeStore},
      {"zrevrange", -4, kRead, read, "1.2.0", "Lists members by rank, from the highest.",
       "key:key start:integer stop:integer [WITHSCORES]", ZRevRange,
       "`ZRANGE` with the `REV` argument"},
      {"zrangebyscore", -4, kRead, read, "1.0.5", "Lists members by score.",
       "key:key min:double max:double [WITHSCORES] [LIMIT (offset:integer count:integer)]",
       ZRangeByScore, "`ZRANGE` with the `BYSCORE` argument"},
      {"zrevrangebyscore", -4, kRead, read, "2.2.0", "Lists members by score, from the highest.",
       "key:key max:double min:double [WITHSCORES] [LIMIT (offset:integer count:integer)]",
       ZRevRangeByScore, "`ZRANGE` with the `REV` and `BYSCORE` arguments"},
      {"zrangebylex", -4, kRead, read, "2.8.9", "Lists members of equal score by name.",
       "key:key min max [LIMIT (offset:integer count:integer)]", ZRangeByLex,
       "`ZRANGE` with the `BYLEX` argument"},
      {"zrevrangebylex", -4, kRead, read, "2.8.9",
       "Lists members of equal score by name, from the last.",
       "key:key max min [LIMIT (offset:integer count:integer)]", ZRevRangeByLex,
       "`ZRANGE` with the `REV` and `BYLEX` arguments"},
      {"zremrangebyrank", 4, kWrite, remove, "2.0.0", "Removes members by rank.",
       "key:key start:integer stop:integer", ZRemRangeByRank},
      {"zremrangebyscore", 4, kWrite, remove, "1.2.0", "Removes members by score.",
       "key:key min:double max:double", ZRemRangeByScore},
      {"zremrangebylex", 4, kWrite, remove, "2.8.9", "Removes members of equal score by name.",
       "key:key min max", ZRemRangeByLex},
  };
  for (const Row& row : kRows) {
    instance.commands().Add(
        Command{.name = row.name,
                .arity = row.arity,
                .flags = row.flags,
                .categories = doors::kCategorySortedSet,
                .keys = row.keys,
                .group = "sorted-set",
                .since = row.since,
                .complexity = "O(log(N)+M) for N members and M in the range",
                .summary = row.summary,
                .syntax = row.syntax,
                .deprecated_since = row.replaced_by.empty() ? std::string_view() : "6.2.0",
                .replaced_by = row.replaced_by,
                .run = row.run});
  }
}

}  // namespace cairn::data
