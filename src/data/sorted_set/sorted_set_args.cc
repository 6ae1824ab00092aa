#include "data/sorted_set/sorted_set_args.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <utility>

#include "data/value/numbers.h"

namespace cairn::data {

using doors::ArgParser;

std::optional<double> ParseDouble(std::string_view text) {
  if (text.empty() || std::isspace(static_cast<unsigned char>(text.front())) != 0) {
    return std::nullopt;
  }
  const std::string terminated(text);
  char* end = nullptr;
  errno = 0;
  const double value = std::strtod(terminated.c_str(), &end);
  const bool whole = end == terminated.c_str() + terminated.size();
  const bool beyond = errno == ERANGE && (std::isinf(value) || value == 0);
  if (!whole || beyond || std::isnan(value)) return std::nullopt;
  return value;
}

double TakeDouble(ArgParser& parser, std::string_view error) {
  const std::optional<double> value = ParseDouble(parser.Next());
  if (!value) parser.Fail(error);
  return value.value_or(0);
}

std::optional<ScoreBound> ParseScoreBound(std::string_view text) {
  ScoreBound bound;
  bound.excluded = text.starts_with('(');
  if (bound.excluded) text.remove_prefix(1);
  // As C reads it: space in front, nothing at all, and what is too large are numbers here.
  const std::string terminated(doors::Quotable(text));
  char* end = nullptr;
  bound.score = std::strtod(terminated.c_str(), &end);
  if (*end != '\0' || std::isnan(bound.score)) return std::nullopt;
  return bound;
}

OrderRange TakeScoreRange(ArgParser& parser, bool max_first) {
  std::optional<ScoreBound> min = ParseScoreBound(parser.Next());
  std::optional<ScoreBound> max = ParseScoreBound(parser.Next());
  if (!min || !max) {
    parser.Fail(kNotAScoreRange);
    return {};
  }
  if (max_first) std::swap(min, max);
  return ScoreRange(*min, *max);
}

namespace {

std::optional<LexBound> ParseLexBound(std::string_view text) {
  using Kind = LexBound::Kind;
  if (text == "-") return LexBound{Kind::kLowest, {}};
  if (text == "+") return LexBound{Kind::kHighest, {}};
  if (text.starts_with('[')) return LexBound{Kind::kIncluded, Bytes(text.substr(1))};
  if (text.starts_with('(')) return LexBound{Kind::kExcluded, Bytes(text.substr(1))};
  return std::nullopt;
}

Bytes Behind(Bytes key) {
  key += '\0';
  return key;
}

}  // namespace

LexRange TakeLexRange(ArgParser& parser, bool max_first) {
  std::optional<LexBound> min = ParseLexBound(parser.Next());
  std::optional<LexBound> max = ParseLexBound(parser.Next());
  if (!min || !max) {
    parser.Fail(kNotALexRange);
    return {};
  }
  if (max_first) std::swap(min, max);
  return {*std::move(min), *std::move(max)};
}

namespace {

bool IsBelow(BytesView member, const LexBound& min) {
  switch (min.kind) {
    case LexBound::Kind::kLowest:
      return false;
    case LexBound::Kind::kIncluded:
      return member < min.member;
    case LexBound::Kind::kExcluded:
      return member <= min.member;
    case LexBound::Kind::kHighest:
      break;
  }
  return true;
}

bool IsAbove(BytesView member, const LexBound& max) {
  switch (max.kind) {
    case LexBound::Kind::kHighest:
      return false;
    case LexBound::Kind::kIncluded:
      return member > max.member;
    case LexBound::Kind::kExcluded:
      return member >= max.member;
    case LexBound::Kind::kLowest:
      break;
  }
  return true;
}

// Where scores differ, names have no order to search by: the piece begins with the first member
// that is not below the range and ends before the next one that is above it, as in a small set of
// Redis.
Result<OrderRange> WalkLexRange(SortedSet& set, const LexRange& range) {
  OrderRange found{"", ""};
  bool inside = false;
  CAIRN_RETURN_IF_ERROR(set.Visit({}, {}, [&](BytesView member, double score) {
    if (!inside && IsBelow(member, range.min)) return true;
    if (IsAbove(member, range.max)) {
      if (inside) found.end = OrderKey(score, member);
      return false;
    }
    if (!std::exchange(inside, true)) found = {OrderKey(score, member), std::nullopt};
    return true;
  }));
  return found;
}

}  // namespace

Result<OrderRange> ResolveLexRange(SortedSet& set, const LexRange& range) {
  using Kind = LexBound::Kind;
  const OrderRange nothing{"", ""};
  if (range.min.kind == Kind::kHighest || range.max.kind == Kind::kLowest) return nothing;
  CAIRN_ASSIGN_OR_RETURN(const std::vector<ScoredMember> first, set.List({}, {.limit = 1}));
  if (first.empty()) return nothing;
  CAIRN_ASSIGN_OR_RETURN(const std::vector<ScoredMember> last,
                         set.List({}, {.reverse = true, .limit = 1}));
  if (first[0].score != last[0].score) {
    if (IsBelow(last[0].member, range.min) || IsAbove(first[0].member, range.max)) return nothing;
    return WalkLexRange(set, range);
  }
  const auto key = [&](const LexBound& bound) { return OrderKey(first[0].score, bound.member); };
  OrderRange resolved;
  if (range.min.kind == Kind::kIncluded) resolved.begin = key(range.min);
  if (range.min.kind == Kind::kExcluded) resolved.begin = Behind(key(range.min));
  if (range.max.kind == Kind::kIncluded) resolved.end = Behind(key(range.max));
  if (range.max.kind == Kind::kExcluded) resolved.end = key(range.max);
  return resolved;
}

std::optional<SortedSet::Slice> RankSlice(uint64_t count, int64_t start, int64_t stop) {
  const auto size = static_cast<int64_t>(count);
  start = std::max<int64_t>(start < 0 ? start + size : start, 0);
  stop = std::min(stop < 0 ? stop + size : stop, size - 1);
  if (start > stop) return std::nullopt;
  return SortedSet::Slice{.offset = static_cast<uint64_t>(start),
                          .limit = static_cast<uint64_t>(stop - start + 1)};
}

void ReplyMembers(net::RespWriter& reply, const std::vector<ScoredMember>& members,
                  WithScores with_scores) {
  const bool scores = with_scores == WithScores::kYes;
  if (scores && reply.resp3()) return ReplyPairs(reply, members);
  reply.ArrayHeader(members.size() * (scores ? 2 : 1));
  for (const ScoredMember& each : members) {
    reply.Bulk(each.member);
    if (scores) reply.Double(each.score);
  }
}

void ReplyPairs(net::RespWriter& reply, const std::vector<ScoredMember>& members) {
  reply.ArrayHeader(members.size());
  for (const ScoredMember& each : members) {
    reply.ArrayHeader(2);
    reply.Bulk(each.member);
    reply.Double(each.score);
  }
}

Result<void> StoreMembers(doors::CommandContext& context, BytesView key,
                          const std::vector<ScoredMember>& members, std::string_view event) {
  CAIRN_ASSIGN_OR_RETURN(SortedSet target, SortedSet::Replace(context, key));
  if (members.empty()) {
    if (!target.exists()) return {};
    CAIRN_ASSIGN_OR_RETURN(Entry entry, Entry::Load(context, key));
    entry.Remove();
    context.Notify(doors::kEventGeneric, "del", key);
    return {};
  }
  for (const ScoredMember& each : members) {
    CAIRN_RETURN_IF_ERROR(target.PutNew(each.member, each.score));
  }
  return target.Save(context, event);
}

}  // namespace cairn::data
