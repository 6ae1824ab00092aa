#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "data/sorted_set/sorted_set.h"
#include "doors/resp/arg_parser.h"
#include "doors/resp/command.h"
#include "net/resp/writer.h"

// What the commands of sorted sets share: how they read scores and ranges, and how they reply with
// members.
namespace cairn::data {

inline constexpr std::string_view kNotAScoreRange = "ERR min or max is not a float";
inline constexpr std::string_view kNotALexRange = "ERR min or max not valid string range item";

// nullopt for what Redis does not take for a double: surrounding space, trailing text, NaN, a
// number that is too large or too small. "inf" and hexadecimal are numbers.
std::optional<double> ParseDouble(std::string_view text);
double TakeDouble(doors::ArgParser& parser, std::string_view error = doors::kNotAFloat);

// "1.5", "(1.5", "-inf": less strict than ParseDouble.
std::optional<ScoreBound> ParseScoreBound(std::string_view text);
// The next two arguments as a range of scores.
OrderRange TakeScoreRange(doors::ArgParser& parser, bool max_first = false);

// "[a", "(a", "-" and "+".
struct LexBound {
  enum class Kind { kLowest, kHighest, kIncluded, kExcluded };
  Kind kind = Kind::kLowest;
  Bytes member;
};
struct LexRange {
  LexBound min;
  LexBound max;
};
LexRange TakeLexRange(doors::ArgParser& parser, bool max_first = false);
// A range of members in a set whose members all have the same score. Of another set it is some
// piece.
Result<OrderRange> ResolveLexRange(SortedSet& set, const LexRange& range);

// The members from `start` to `stop`, both included; negative ones count from the end.
std::optional<SortedSet::Slice> RankSlice(uint64_t count, int64_t start, int64_t stop);

enum class WithScores { kNo, kYes };
// The members as ZRANGE lists them: with scores in one list, in RESP3 in pairs.
void ReplyMembers(net::RespWriter& reply, const std::vector<ScoredMember>& members,
                  WithScores with_scores);
// Members with scores as an array of pairs, in every protocol.
void ReplyPairs(net::RespWriter& reply, const std::vector<ScoredMember>& members);

// Makes the key a sorted set of these members (in order, each once), in place of what it has;
// removes it if there are none. Tells listeners of `event`.
Result<void> StoreMembers(doors::CommandContext& context, BytesView key,
                          const std::vector<ScoredMember>& members, std::string_view event);

}  // namespace cairn::data
