#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/function_ref.h"
#include "base/result.h"
#include "data/sorted_set/rank_index.h"
#include "data/value/collection.h"
#include "data/value/member_filter.h"
#include "doors/resp/command.h"

// Sorted sets: members with a score each, in the order of scores and, among equal scores, of the
// members' bytes. Each member is two elements (elements.h), and a set that is not small has some
// more for its rank index:
//
//   suffix                       value
//   ──────────────────────────   ─────────────────
//   'm' member…                  score:8
//   's' score:8 member…          nothing
//   'n' id:4 row:1               see rank_node.h
//   'r' level:1 order key…       see rank_pages.h
//
// `score:8 member…` is called an order key. A score is written so that the order of bytes is that
// of numbers: a double's bits, all inverted if it is negative, else with the sign bit set. There is
// one zero. The header in the record's payload, behind the count of members, is
//
//   levels:1 last_node:4 floor:8 [size:2 filter…] counts…
//
// the index's shape, a score that none is below, and which members there may be (member_filter.h).
// Without an index the levels are 0. With one of nodes they have bit 80, and the root's counts
// follow. Without the bit the index is one of pages, and what stands for last_node is how many
// pages its highest level has. Bit 40 says that there is a filter.
//
// The floor lets pops from the front skip the rows that earlier pops have deleted.
namespace cairn::data {

inline constexpr size_t kScoreBytes = 8;
Bytes EncodeScore(double score);
std::optional<double> DecodeScore(BytesView bytes);
Bytes OrderKey(double score, BytesView member);
// The suffix of an order key's element, and back. OrderEnd is behind all of them.
Bytes OrderSuffix(BytesView order_key);
BytesView OrderKeyOf(BytesView suffix);
Bytes OrderEnd();
Bytes MemberSuffix(BytesView member);

struct ScoredMember {
  Bytes member;
  double score = 0;
  friend bool operator==(const ScoredMember&, const ScoredMember&) = default;
};

// A piece of the order: the members whose order keys k are begin <= k, and k < end where there is
// an end.
struct OrderRange {
  Bytes begin;
  std::optional<Bytes> end;

  bool empty() const { return end && *end <= begin; }
};

struct ScoreBound {
  double score = 0;
  bool excluded = false;
};
OrderRange ScoreRange(const ScoreBound& min, const ScoreBound& max);

// Called for each member; the view lasts until it returns. Returns whether to go on.
using ScoredVisitor = FunctionRef<bool(BytesView member, double score)>;

// A sorted set as a transaction found it. A key that does not exist is one without members.
//
//   CAIRN_ASSIGN_OR_RETURN(SortedSet set, SortedSet::Load(context, key));
//   if (set.wrong_type()) return context.Fail(kWrongType);
//   CAIRN_RETURN_IF_ERROR(set.Put(member, score));
//   CAIRN_RETURN_IF_ERROR(set.Save(context, "zadd"));
//
// Changes count only together with Save. Lives inside the transaction's body.
class SortedSet {
 public:
  static Result<SortedSet> Load(doors::CommandContext& context, BytesView key);
  // For what is no command: no lookup is counted, and nobody is told of keys.
  static Result<SortedSet> Load(store::Transaction& transaction, uint8_t db, BytesView key);
  // Without members and expiry, in place of whatever the key has, once it is saved.
  static Result<SortedSet> Replace(doors::CommandContext& context, BytesView key);

  // The key holds something else. Then nothing else may be called.
  bool wrong_type() const { return collection_.wrong_type(); }
  // Whether there is a key, of any type.
  bool exists() const { return collection_.exists(); }
  // With the changes so far.
  uint64_t count() const { return count_; }

  Result<std::optional<double>> Score(BytesView member);
  // Adds the member, or moves it. Returns the score that it had.
  Result<std::optional<double>> Put(BytesView member, double score);
  // Adds a member that is known not to be there.
  Result<void> PutNew(BytesView member, double score);
  // Moves a member that has `old_score`.
  Result<void> Move(BytesView member, double old_score, double score);
  // Returns whether it was there.
  Result<bool> Remove(BytesView member);

  struct Slice {
    bool reverse = false;  // from the end of the range
    uint64_t offset = 0;
    uint64_t limit = UINT64_MAX;
  };
  Result<void> Visit(const OrderRange& range, const Slice& slice, ScoredVisitor visit);
  // See Entry::Gather.
  Result<void> Gather(size_t bytes) { return collection_.Gather(bytes); }
  Result<std::vector<ScoredMember>> List(const OrderRange& range, const Slice& slice);
  // Takes away and returns what List would return.
  Result<std::vector<ScoredMember>> Take(const OrderRange& range, const Slice& slice);

  Result<uint64_t> CountIn(const OrderRange& range);
  // How many members stand before one that has this score.
  Result<uint64_t> Rank(BytesView member, double score) {
    return index().Rank(OrderKey(score, member));
  }
  Result<std::optional<ScoredMember>> Select(uint64_t rank);

  // Writes the record; without members there will be no key. Tells listeners that `event` happened,
  // and that the key is gone if it is.
  Result<void> Save(doors::CommandContext& context, std::string_view event);
  // The same, telling nobody.
  Result<void> Save();

  Elements& elements() { return collection_.elements(); }
  const Entry& entry() const { return collection_.entry(); }

 private:
  explicit SortedSet(Collection collection);
  static Result<SortedSet> Open(Collection collection);
  Result<void> DecodeHeader(BytesView header);
  Bytes EncodeHeader() const;

  Result<void> Insert(BytesView member, double score);
  Result<void> Erase(BytesView member, double score);
  // The range without what the offset skips, by rank; nullopt if that is everything.
  Result<std::optional<OrderRange>> Skip(const OrderRange& range, const Slice& slice);
  RankIndex index() { return {collection_.elements(), shape_, floor_}; }

  Collection collection_;
  RankIndex::Shape shape_;
  Bytes floor_;  // an encoded score
  MemberFilter filter_;
  uint64_t count_;
};

}  // namespace cairn::data
