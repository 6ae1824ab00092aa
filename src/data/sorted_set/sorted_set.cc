#include "data/sorted_set/sorted_set.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "data/value/fields.h"

namespace cairn::data {
namespace {

constexpr char kMemberFamily = 'm';
constexpr char kOrderFamily = 's';
constexpr uint64_t kSignBit = uint64_t{1} << 63;
// In the header, beside the levels.
constexpr uint8_t kIndexOfNodes = 0x80;
constexpr uint8_t kHasFilter = 0x40;

Error Unreadable() { return {ErrorCode::kCorruption, "an element of a sorted set cannot be read"}; }

uint64_t SaturatedSum(uint64_t a, uint64_t b) {
  return a > std::numeric_limits<uint64_t>::max() - b ? std::numeric_limits<uint64_t>::max()
                                                      : a + b;
}

}  // namespace

Bytes EncodeScore(double score) {
  // Adding makes the zeros one.
  const auto bits = std::bit_cast<uint64_t>(score + 0.0);
  Bytes out;
  AppendBig64(out, (bits & kSignBit) != 0 ? ~bits : bits | kSignBit);
  return out;
}

std::optional<double> DecodeScore(BytesView bytes) {
  BytesReader reader(bytes);
  const uint64_t bits = reader.Big64();
  if (!reader.AtEnd()) return std::nullopt;
  return std::bit_cast<double>((bits & kSignBit) != 0 ? bits & ~kSignBit : ~bits);
}

Bytes OrderKey(double score, BytesView member) {
  Bytes key = EncodeScore(score);
  key += member;
  return key;
}

Bytes OrderSuffix(BytesView order_key) {
  Bytes suffix(1, kOrderFamily);
  suffix += order_key;
  return suffix;
}

BytesView OrderKeyOf(BytesView suffix) { return suffix.substr(1); }

Bytes OrderEnd() { return Bytes(1, kOrderFamily + 1); }

Bytes MemberSuffix(BytesView member) {
  Bytes suffix(1, kMemberFamily);
  suffix += member;
  return suffix;
}

OrderRange ScoreRange(const ScoreBound& min, const ScoreBound& max) {
  const Bytes first = EncodeScore(min.score);
  const Bytes last = EncodeScore(max.score);
  // No score has all bits set, so there always is a next one.
  return {min.excluded ? *PrefixSuccessor(first) : first,
          max.excluded ? last : *PrefixSuccessor(last)};
}

SortedSet::SortedSet(Collection collection)
    : collection_(std::move(collection)),
      floor_(kScoreBytes, '\0'),
      count_(collection_.wrong_type() ? 0 : collection_.count()) {}

Result<SortedSet> SortedSet::Open(Collection collection) {
  SortedSet set(std::move(collection));
  if (set.wrong_type()) return set;
  if (set.count_ == 0) {
    set.filter_ = MemberFilter::OfNothing();
  } else {
    CAIRN_RETURN_IF_ERROR(set.DecodeHeader(set.collection_.header()));
  }
  return set;
}

Result<void> SortedSet::DecodeHeader(BytesView header) {
  BytesReader reader(header);
  const uint8_t levels = reader.Byte();
  shape_.nodes = (levels & kIndexOfNodes) != 0;
  shape_.levels = levels & ~(kIndexOfNodes | kHasFilter);
  shape_.last_node = reader.Big32();
  floor_ = reader.Take(kScoreBytes);
  const BytesView filter = (levels & kHasFilter) != 0 ? reader.Take(reader.Big16()) : BytesView();
  std::optional<MemberFilter> decoded = MemberFilter::Decode(filter);
  shape_.counts = reader.Rest();
  if (!reader.ok() || !decoded || shape_.counts.empty() == shape_.nodes) return Unreadable();
  filter_ = *std::move(decoded);
  return {};
}

Bytes SortedSet::EncodeHeader() const {
  const BytesView filter = filter_.bytes();
  uint8_t levels = shape_.levels;
  if (shape_.nodes) levels |= kIndexOfNodes;
  if (!filter.empty()) levels |= kHasFilter;
  Bytes header;
  header.reserve(1 + 4 + kScoreBytes + 2 + filter.size() + shape_.counts.size());
  header += static_cast<char>(levels);
  AppendBig32(header, shape_.last_node);
  header += floor_;
  if (!filter.empty()) {
    AppendBig16(header, static_cast<uint16_t>(filter.size()));
    header += filter;
  }
  header += shape_.counts;
  return header;
}

Result<SortedSet> SortedSet::Load(doors::CommandContext& context, BytesView key) {
  CAIRN_ASSIGN_OR_RETURN(Collection collection,
                         Collection::Load(context, key, ValueType::kSortedSet));
  return Open(std::move(collection));
}

Result<SortedSet> SortedSet::Load(store::Transaction& transaction, uint8_t db, BytesView key) {
  CAIRN_ASSIGN_OR_RETURN(Collection collection,
                         Collection::Load(transaction, db, key, ValueType::kSortedSet));
  return Open(std::move(collection));
}

Result<SortedSet> SortedSet::Replace(doors::CommandContext& context, BytesView key) {
  CAIRN_ASSIGN_OR_RETURN(Collection collection,
                         Collection::Replace(context, key, ValueType::kSortedSet));
  return Open(std::move(collection));
}

Result<std::optional<double>> SortedSet::Score(BytesView member) {
  if (!filter_.MayHave(FieldHash(member))) return std::optional<double>();
  CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> value,
                         collection_.elements().Get(MemberSuffix(member)));
  if (!value) return std::optional<double>();
  const std::optional<double> score = DecodeScore(*value);
  if (!score) return Unreadable();
  return score;
}

Result<void> SortedSet::Insert(BytesView member, double score) {
  const Bytes encoded = EncodeScore(score);
  const Bytes suffix = OrderSuffix(OrderKey(score, member));
  floor_ = std::min(floor_, encoded);
  filter_.Add(FieldHash(member));
  collection_.elements().Put(MemberSuffix(member), encoded);
  collection_.elements().Put(suffix, {});
  ++count_;
  return index().Added(OrderKeyOf(suffix));
}

Result<void> SortedSet::Erase(BytesView member, double score) {
  const Bytes order_key = OrderKey(score, member);
  collection_.elements().Delete(MemberSuffix(member));
  collection_.elements().Delete(OrderSuffix(order_key));
  --count_;
  return index().Removed(order_key);
}

Result<void> SortedSet::PutNew(BytesView member, double score) { return Insert(member, score); }

Result<void> SortedSet::Move(BytesView member, double old_score, double score) {
  if (old_score == score) return {};
  CAIRN_RETURN_IF_ERROR(Erase(member, old_score));
  return Insert(member, score);
}

Result<std::optional<double>> SortedSet::Put(BytesView member, double score) {
  CAIRN_ASSIGN_OR_RETURN(const std::optional<double> old_score, Score(member));
  if (old_score) {
    CAIRN_RETURN_IF_ERROR(Move(member, *old_score, score));
  } else {
    CAIRN_RETURN_IF_ERROR(Insert(member, score));
  }
  return old_score;
}

Result<bool> SortedSet::Remove(BytesView member) {
  CAIRN_ASSIGN_OR_RETURN(const std::optional<double> score, Score(member));
  if (!score) return false;
  CAIRN_RETURN_IF_ERROR(Erase(member, *score));
  return true;
}

Result<std::optional<OrderRange>> SortedSet::Skip(const OrderRange& range, const Slice& slice) {
  OrderRange rest = range;
  if (!slice.reverse) {
    CAIRN_ASSIGN_OR_RETURN(const uint64_t before, index().Rank(range.begin));
    CAIRN_ASSIGN_OR_RETURN(std::optional<Bytes> first,
                           index().Select(SaturatedSum(before, slice.offset)));
    if (!first) return std::optional<OrderRange>();
    rest.begin = *std::move(first);
    return std::optional(std::move(rest));
  }
  uint64_t until = count_;
  if (range.end) {
    CAIRN_ASSIGN_OR_RETURN(until, index().Rank(*range.end));
  }
  if (slice.offset >= until) return std::optional<OrderRange>();
  CAIRN_ASSIGN_OR_RETURN(std::optional<Bytes> last, index().Select(until - 1 - slice.offset));
  if (!last) return Unreadable();
  rest.end = *std::move(last) + Bytes(1, '\0');
  return std::optional(std::move(rest));
}

Result<void> SortedSet::Visit(const OrderRange& range, const Slice& slice, ScoredVisitor visit) {
  if (range.empty() || slice.limit == 0 || slice.offset >= count_) return {};
  if (slice.offset > RankIndex::kMaxPage && index().exists()) {
    CAIRN_ASSIGN_OR_RETURN(const std::optional<OrderRange> rest, Skip(range, slice));
    if (!rest) return {};
    return Visit(*rest, {.reverse = slice.reverse, .limit = slice.limit}, visit);
  }
  const SuffixRange rows{OrderSuffix(std::max(range.begin, floor_)),
                         range.end ? OrderSuffix(*range.end) : OrderEnd()};
  if (*rows.end <= rows.begin) return {};
  uint64_t skipped = 0;
  bool readable = true;
  const auto visit_row = [&](BytesView suffix, BytesView) {
    if (skipped < slice.offset) {
      ++skipped;
      return true;
    }
    const BytesView order_key = OrderKeyOf(suffix);
    const std::optional<double> score = DecodeScore(order_key.substr(0, kScoreBytes));
    readable = score.has_value();
    return readable && visit(order_key.substr(kScoreBytes), *score);
  };
  const store::ScanOptions options{.reverse = slice.reverse,
                                   .limit = SaturatedSum(slice.offset, slice.limit)};
  CAIRN_RETURN_IF_ERROR(collection_.elements().Scan(rows, options, visit_row));
  if (!readable) return Unreadable();
  return {};
}

Result<std::vector<ScoredMember>> SortedSet::List(const OrderRange& range, const Slice& slice) {
  std::vector<ScoredMember> members;
  Result<void> room;
  CAIRN_RETURN_IF_ERROR(Visit(range, slice, [&](BytesView member, double score) {
    members.push_back({Bytes(member), score});
    room = Gather(member.size());
    return room.ok();
  }));
  if (!room.ok()) return room.error();
  return members;
}

Result<std::vector<ScoredMember>> SortedSet::Take(const OrderRange& range, const Slice& slice) {
  CAIRN_ASSIGN_OR_RETURN(std::vector<ScoredMember> taken, List(range, slice));
  if (taken.empty()) return taken;
  if (taken.size() == count_) {
    count_ = 0;  // the elements go with the record
    return taken;
  }
  for (const ScoredMember& each : taken) {
    CAIRN_RETURN_IF_ERROR(Erase(each.member, each.score));
  }
  const bool from_the_front = range.begin <= floor_ && slice.offset == 0 && !slice.reverse;
  if (from_the_front) floor_ = EncodeScore(taken.back().score);
  return taken;
}

Result<uint64_t> SortedSet::CountIn(const OrderRange& range) {
  if (range.empty() || count_ == 0) return uint64_t{0};
  uint64_t until = count_;
  if (range.end) {
    CAIRN_ASSIGN_OR_RETURN(until, index().Rank(*range.end));
  }
  CAIRN_ASSIGN_OR_RETURN(const uint64_t before, index().Rank(range.begin));
  return until - before;
}

Result<std::optional<ScoredMember>> SortedSet::Select(uint64_t rank) {
  CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> key, index().Select(rank));
  if (!key) return std::optional<ScoredMember>();
  const std::optional<double> score = DecodeScore(BytesView(*key).substr(0, kScoreBytes));
  if (!score) return Unreadable();
  return std::optional(ScoredMember{key->substr(kScoreBytes), *score});
}

Result<void> SortedSet::Save(doors::CommandContext& context, std::string_view event) {
  CAIRN_RETURN_IF_ERROR(Save());
  const BytesView key = collection_.entry().user_key();
  context.Notify(doors::kEventSortedSet, event, key);
  if (count_ == 0) context.Notify(doors::kEventGeneric, "del", key);
  return {};
}

Result<void> SortedSet::Save() {
  if (count_ > RankIndex::kMaxPage && !index().exists()) {
    CAIRN_RETURN_IF_ERROR(index().Build());
  } else if (count_ > 0 && count_ <= RankIndex::kMaxPage / 2 && index().exists()) {
    CAIRN_RETURN_IF_ERROR(index().Drop());
  }
  collection_.Save(count_, EncodeHeader());
  return {};
}

}  // namespace cairn::data
