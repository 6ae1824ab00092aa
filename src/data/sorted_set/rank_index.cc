#include "data/sorted_set/rank_index.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <utility>

#include "data/sorted_set/sorted_set.h"

namespace cairn::data {
namespace {

Error Unreadable() { return {ErrorCode::kCorruption, "a node of a rank index cannot be read"}; }

uint64_t CountOf(const std::vector<RankChild>& children) {
  uint64_t count = 0;
  for (const RankChild& child : children) count += child.count;
  return count;
}

// The shortest beginning of `second` that is larger than `first`.
Bytes Between(BytesView first, BytesView second) {
  const auto [_, differs] = std::ranges::mismatch(first, second);
  return Bytes(second.begin(), differs + 1);
}

}  // namespace

// --- Rows ---------------------------------------------------------------------------------------

Result<RankIndex::Step> RankIndex::ReadNode(uint32_t node) {
  Step step{.node = node};
  if (node == kRankRoot) {
    CAIRN_ASSIGN_OR_RETURN(std::optional<Bytes> bounds, elements_.Get(RankBoundsSuffix(node)));
    if (!bounds) return Unreadable();
    step.bounds = *std::move(bounds);
    step.counts = shape_.counts;
    return step;
  }
  const std::array rows = {RankBoundsSuffix(node), RankCountsSuffix(node)};
  CAIRN_ASSIGN_OR_RETURN(std::vector<std::optional<Bytes>> values, elements_.GetMany(rows));
  if (!values[0] || !values[1]) return Unreadable();
  step.bounds = *std::move(values[0]);
  step.counts = *std::move(values[1]);
  return step;
}

Result<RankIndex::Path> RankIndex::FindPath(BytesView order_key) {
  Path path;
  path.steps.reserve(shape_.levels);
  uint32_t node = kRankRoot;
  for (uint8_t level = shape_.levels; level >= 1; --level) {
    CAIRN_ASSIGN_OR_RETURN(Step step, ReadNode(node));
    const std::optional<RankPlace> place = FindRankChild(step.bounds, order_key);
    if (!place || (place->node == 0) != (level == 1)) return Unreadable();
    step.at = place->at;
    node = place->node;
    if (!place->from.empty()) path.from = place->from;
    path.steps.push_back(std::move(step));
  }
  return path;
}

Result<RankIndex::Children> RankIndex::Decode(const Step& step) const {
  std::optional<Children> children = DecodeRankNode(step.bounds, step.counts);
  if (!children || step.at >= children->size()) return Unreadable();
  return *std::move(children);
}

void RankIndex::WriteCounts(uint32_t node, Bytes counts) {
  if (node == kRankRoot) {
    shape_.counts = std::move(counts);
  } else {
    elements_.Put(RankCountsSuffix(node), counts);
  }
}

void RankIndex::WriteNode(uint32_t node, const Children& children) {
  elements_.Put(RankBoundsSuffix(node), EncodeRankBounds(children));
  WriteCounts(node, EncodeRankCounts(children));
}

void RankIndex::DeleteNode(uint32_t node) {
  elements_.Delete(RankBoundsSuffix(node));
  elements_.Delete(RankCountsSuffix(node));
}

// --- Growing ------------------------------------------------------------------------------------

Result<void> RankIndex::Added(BytesView order_key) {
  if (!exists()) return {};
  CAIRN_RETURN_IF_ERROR(ReplacePages());
  CAIRN_ASSIGN_OR_RETURN(Path path, FindPath(order_key));
  uint64_t in_page = 0;
  for (Step& step : path.steps) {
    const std::optional<uint64_t> count = ChangeRankCount(step.counts, step.at, RankChange::kAdd);
    if (!count) return Unreadable();
    in_page = *count;
  }
  if (in_page > limits_.page) {
    for (const Step& step : path.steps) WriteCounts(step.node, step.counts);
    return Grow(std::move(path));
  }
  for (Step& step : path.steps) WriteCounts(step.node, std::move(step.counts));
  return {};
}

bool RankIndex::TooLarge(const Children& children) const {
  if (children.size() > limits_.children) return true;
  if (children.size() < kMinSplit) return false;
  size_t bytes = 0;
  for (const RankChild& child : children) bytes += child.from.size();
  return bytes > limits_.bound_bytes;
}

// What the second half of a page will be.
Result<RankChild> RankIndex::SplitPage(BytesView from, uint64_t count) {
  const uint64_t half = count / 2;
  RankChild second{.count = count - half};
  Bytes last;  // of the first half
  uint64_t seen = 0;
  const auto visit = [&](BytesView suffix, BytesView) {
    const BytesView key = OrderKeyOf(suffix);
    ++seen;
    if (seen == half) last = key;
    if (seen <= half) return true;
    second.from = Between(last, key);
    return false;
  };
  CAIRN_RETURN_IF_ERROR(
      elements_.Scan({OrderSuffix(std::max<BytesView>(from, floor_)), OrderEnd()}, {}, visit));
  if (seen <= half) return Unreadable();
  return second;
}

// Takes the second half of a node away from it, as a child of the node above.
RankChild RankIndex::SplitNode(Children& children) {
  const auto middle = children.begin() + static_cast<std::ptrdiff_t>(children.size() / 2);
  Children second(std::make_move_iterator(middle), std::make_move_iterator(children.end()));
  children.erase(middle, children.end());
  RankChild child{std::exchange(second.front().from, {}), ++shape_.last_node, CountOf(second)};
  WriteNode(child.node, second);
  return child;
}

// Splits the page at the end of the path, and each node above that this makes too large.
Result<void> RankIndex::Grow(Path path) {
  CAIRN_ASSIGN_OR_RETURN(Children children, Decode(path.steps.back()));
  CAIRN_ASSIGN_OR_RETURN(RankChild second,
                         SplitPage(path.from, children[path.steps.back().at].count));
  for (;;) {
    const Step& step = path.steps.back();
    children[step.at].count -= second.count;
    children.insert(children.begin() + static_cast<std::ptrdiff_t>(step.at) + 1, std::move(second));
    if (!TooLarge(children)) {
      WriteNode(step.node, children);
      return {};
    }
    second = SplitNode(children);
    if (step.node == kRankRoot) break;
    WriteNode(step.node, children);
    path.steps.pop_back();
    CAIRN_ASSIGN_OR_RETURN(children, Decode(path.steps.back()));
  }
  // The root stays what it is called: both halves go below it.
  const RankChild first{{}, ++shape_.last_node, CountOf(children)};
  WriteNode(first.node, children);
  WriteNode(kRankRoot, {first, second});
  ++shape_.levels;
  return {};
}

// --- Shrinking ----------------------------------------------------------------------------------

Result<void> RankIndex::Removed(BytesView order_key) {
  if (!exists()) return {};
  CAIRN_RETURN_IF_ERROR(ReplacePages());
  CAIRN_ASSIGN_OR_RETURN(Path path, FindPath(order_key));
  uint64_t in_page = 0;
  for (Step& step : path.steps) {
    const std::optional<uint64_t> count =
        ChangeRankCount(step.counts, step.at, RankChange::kRemove);
    if (!count) return Unreadable();
    in_page = *count;
    WriteCounts(step.node, step.counts);
  }
  if (in_page == 0) return Shrink(std::move(path));
  return {};
}

// Removes the empty page at the end of the path, and each node above that has no other child.
Result<void> RankIndex::Shrink(Path path) {
  for (;;) {
    const Step& step = path.steps.back();
    CAIRN_ASSIGN_OR_RETURN(Children children, Decode(step));
    children.erase(children.begin() + static_cast<std::ptrdiff_t>(step.at));
    if (children.empty() && step.node != kRankRoot) {
      DeleteNode(step.node);
      path.steps.pop_back();
      continue;
    }
    if (children.empty()) {  // so is the set: what may be added again belongs to one page
      shape_.levels = 1;
      children.emplace_back();
    }
    children.front().from.clear();
    if (step.node == kRankRoot) return LowerRoot(std::move(children));
    WriteNode(step.node, children);
    return {};
  }
}

// Writes the root; while it has but one node below it, that one takes its place.
Result<void> RankIndex::LowerRoot(Children children) {
  while (children.size() == 1 && shape_.levels > 1) {
    const uint32_t only = children.front().node;
    CAIRN_ASSIGN_OR_RETURN(const Step step, ReadNode(only));
    CAIRN_ASSIGN_OR_RETURN(children, Decode(step));
    DeleteNode(only);
    --shape_.levels;
  }
  WriteNode(kRankRoot, children);
  return {};
}

// --- As a whole ---------------------------------------------------------------------------------

void RankIndex::BuildFrom(Children pages) {
  // Nodes are made fuller than by splitting, so that there are few, and leave room.
  const size_t filled = limits_.children * 3 / 4;
  const size_t filled_bytes = limits_.bound_bytes * 3 / 4;
  shape_ = {.levels = 1, .nodes = true};
  Children level = std::move(pages);
  while (TooLarge(level)) {
    Children above;
    Children node;
    size_t bytes = 0;
    const auto end_node = [&] {
      above.push_back({std::exchange(node.front().from, {}), ++shape_.last_node, CountOf(node)});
      WriteNode(above.back().node, node);
      node.clear();
      bytes = 0;
    };
    for (RankChild& child : level) {
      if (node.size() >= filled || (node.size() >= kMinSplit - 1 && bytes > filled_bytes)) {
        end_node();
      }
      bytes += child.from.size();
      node.push_back(std::move(child));
    }
    end_node();
    level = std::move(above);
    ++shape_.levels;
  }
  WriteNode(kRankRoot, level);
}

Result<void> RankIndex::Build() {
  const uint64_t filled = limits_.page * 3 / 4;
  Children pages(1);
  Bytes last;  // of a full page
  const auto visit = [&](BytesView suffix, BytesView) {
    const BytesView key = OrderKeyOf(suffix);
    if (pages.back().count == filled) pages.push_back({.from = Between(last, key)});
    if (++pages.back().count == filled) last = key;
    return true;
  };
  CAIRN_RETURN_IF_ERROR(elements_.Scan({OrderSuffix(floor_), OrderEnd()}, {}, visit));
  BuildFrom(std::move(pages));
  return {};
}

Result<void> RankIndex::ReplacePages() {
  if (shape_.nodes) return {};
  RankPages pages(elements_, shape_.levels);
  CAIRN_ASSIGN_OR_RETURN(Children children, pages.List());
  if (children.empty()) return Unreadable();
  CAIRN_RETURN_IF_ERROR(pages.Drop());
  BuildFrom(std::move(children));
  return {};
}

Result<void> RankIndex::Drop() {
  if (shape_.nodes) {
    CAIRN_RETURN_IF_ERROR(elements_.DeletePrefix(kRankNodePrefix));
  } else {
    CAIRN_RETURN_IF_ERROR(RankPages(elements_, shape_.levels).Drop());
  }
  shape_ = {};
  return {};
}

// --- Looking ------------------------------------------------------------------------------------

// Without an index there are no levels of pages to go through: all is one page.
Result<RankPages::Place> RankIndex::FindPage(BytesView order_key) {
  if (!shape_.nodes) return RankPages(elements_, shape_.levels).Find(order_key);
  CAIRN_ASSIGN_OR_RETURN(Path path, FindPath(order_key));
  RankPages::Place place{.first = std::move(path.from)};
  for (const Step& step : path.steps) {
    const std::optional<uint64_t> before = RankBefore(step.counts, step.at);
    if (!before) return Unreadable();
    place.before += *before;
  }
  return place;
}

Result<std::optional<RankPages::Place>> RankIndex::FindRankedPage(uint64_t rank) {
  if (!shape_.nodes) return RankPages(elements_, shape_.levels).FindRank(rank);
  RankPages::Place place;
  uint32_t node = kRankRoot;
  for (uint8_t level = shape_.levels; level >= 1; --level) {
    CAIRN_ASSIGN_OR_RETURN(const Step step, ReadNode(node));
    const std::optional<RankedPlace> ranked = FindRank(step.counts, rank - place.before);
    if (!ranked) return std::optional<RankPages::Place>();
    const std::optional<RankPlace> child = RankChildAt(step.bounds, ranked->at);
    if (!child || (child->node == 0) != (level == 1)) return Unreadable();
    place.before += ranked->before;
    if (!child->from.empty()) place.first = child->from;
    node = child->node;
  }
  return std::optional(std::move(place));
}

Result<uint64_t> RankIndex::Rank(BytesView order_key) {
  CAIRN_ASSIGN_OR_RETURN(const RankPages::Place page, FindPage(order_key));
  uint64_t rank = page.before;
  const BytesView first = std::max<BytesView>(page.first, floor_);
  if (order_key <= first) return rank;
  const auto count = [&](BytesView, BytesView) {
    ++rank;
    return true;
  };
  CAIRN_RETURN_IF_ERROR(elements_.Scan({OrderSuffix(first), OrderSuffix(order_key)}, {}, count));
  return rank;
}

Result<std::optional<Bytes>> RankIndex::Select(uint64_t rank) {
  CAIRN_ASSIGN_OR_RETURN(const std::optional<RankPages::Place> page, FindRankedPage(rank));
  if (!page) return std::optional<Bytes>();
  uint64_t skipped = page->before;
  std::optional<Bytes> key;
  const auto visit = [&](BytesView suffix, BytesView) {
    if (skipped++ < rank) return true;
    key = OrderKeyOf(suffix);
    return false;
  };
  const BytesView first = std::max<BytesView>(page->first, floor_);
  CAIRN_RETURN_IF_ERROR(elements_.Scan({OrderSuffix(first), OrderEnd()}, {}, visit));
  return key;
}

}  // namespace cairn::data
