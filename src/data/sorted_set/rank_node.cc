#include "data/sorted_set/rank_node.h"

#include <limits>
#include <utility>

#include "data/value/varint.h"

namespace cairn::data {
namespace {

constexpr char kBounds = 'b';
constexpr char kCounts = 'c';

Bytes RowSuffix(uint32_t id, char row) {
  Bytes suffix(kRankNodePrefix);
  AppendBig32(suffix, id);
  suffix += row;
  return suffix;
}

struct Bound {
  BytesView from;
  uint32_t node = 0;
};

std::optional<Bound> TakeBound(BytesView& bounds) {
  const std::optional<uint64_t> size = TakeVarint(bounds);
  if (!size || *size > bounds.size()) return std::nullopt;
  const BytesView from = bounds.substr(0, *size);
  bounds.remove_prefix(*size);
  const std::optional<uint64_t> node = TakeVarint(bounds);
  if (!node || *node > std::numeric_limits<uint32_t>::max()) return std::nullopt;
  return Bound{from, static_cast<uint32_t>(*node)};
}

}  // namespace

Bytes RankBoundsSuffix(uint32_t id) { return RowSuffix(id, kBounds); }
Bytes RankCountsSuffix(uint32_t id) { return RowSuffix(id, kCounts); }

Bytes EncodeRankBounds(const std::vector<RankChild>& children) {
  Bytes bounds;
  for (const RankChild& child : children) {
    AppendVarint(child.from.size(), bounds);
    bounds += child.from;
    AppendVarint(child.node, bounds);
  }
  return bounds;
}

Bytes EncodeRankCounts(const std::vector<RankChild>& children) {
  Bytes counts;
  for (const RankChild& child : children) AppendVarint(child.count, counts);
  return counts;
}

std::optional<std::vector<RankChild>> DecodeRankNode(BytesView bounds, BytesView counts) {
  std::vector<RankChild> children;
  while (!bounds.empty()) {
    const std::optional<Bound> bound = TakeBound(bounds);
    const std::optional<uint64_t> count = TakeVarint(counts);
    if (!bound || !count) return std::nullopt;
    if (bound->from.empty() != children.empty()) return std::nullopt;
    children.push_back({Bytes(bound->from), bound->node, *count});
  }
  if (children.empty() || !counts.empty()) return std::nullopt;
  return children;
}

std::optional<RankPlace> FindRankChild(BytesView bounds, BytesView order_key) {
  std::optional<RankPlace> found;
  for (size_t at = 0; !bounds.empty(); ++at) {
    const std::optional<Bound> bound = TakeBound(bounds);
    if (!bound) return std::nullopt;
    if (bound->from > order_key) break;
    found = {at, bound->from, bound->node};
  }
  return found;
}

std::optional<RankPlace> RankChildAt(BytesView bounds, size_t at) {
  std::optional<Bound> bound;
  for (size_t i = 0; i <= at; ++i) {
    bound = TakeBound(bounds);
    if (!bound) return std::nullopt;
  }
  return RankPlace{at, bound->from, bound->node};
}

std::optional<uint64_t> RankBefore(BytesView counts, size_t at) {
  uint64_t before = 0;
  for (size_t i = 0; i < at; ++i) {
    const std::optional<uint64_t> count = TakeVarint(counts);
    if (!count) return std::nullopt;
    before += *count;
  }
  return before;
}

std::optional<RankedPlace> FindRank(BytesView counts, uint64_t rank) {
  RankedPlace place;
  for (;; ++place.at) {
    const std::optional<uint64_t> count = TakeVarint(counts);
    if (!count) return std::nullopt;
    if (rank - place.before < *count) return place;
    place.before += *count;
  }
}

std::optional<uint64_t> ChangeRankCount(Bytes& counts, size_t at, RankChange change) {
  BytesView rest = counts;
  for (size_t i = 0; i < at; ++i) {
    if (!TakeVarint(rest)) return std::nullopt;
  }
  const size_t begin = counts.size() - rest.size();
  const std::optional<uint64_t> count = TakeVarint(rest);
  if (!count || (change == RankChange::kRemove && *count == 0)) return std::nullopt;
  const uint64_t changed = change == RankChange::kAdd ? *count + 1 : *count - 1;
  Bytes encoded;
  AppendVarint(changed, encoded);
  counts.replace(begin, counts.size() - rest.size() - begin, encoded);
  return changed;
}

}  // namespace cairn::data
