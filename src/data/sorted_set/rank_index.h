#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "data/sorted_set/rank_node.h"
#include "data/sorted_set/rank_pages.h"
#include "data/value/elements.h"

// How many members stand before a place of a sorted set's order, without counting them all.
//
// The order (sorted_set.h) is cut into pages of some hundred keys. A tree of nodes knows where each
// page begins and how many keys it has; rank_node.h draws a node's rows.
//
//   root      [""                600][k               300]
//   nodes     ["" 200][f 150][h 250]  ["" 100][p 200]
//   order      a b c … f … … h … …     k … …   p … …
//
// A page is nothing but a line in a node of the lowest level: to add a member changes one count in
// each level, moves nothing, and reads rows by their names only. What begins a page is some key
// between the last key of the page before and its own first, as short as it can be.
//
// A page with too many keys is split at its middle, which takes one scan of it, and a node with too
// many children likewise; what gets empty is removed. A node's rows are small, so that a value
// cache keeps them, whatever the size of the set. The root's counts are in the set's record, which
// every change writes anyway: a set with one level writes nothing else for its index.
//
// A set that is small has no index: its members are counted.
namespace cairn::data {

class RankIndex {
 public:
  // Also the most members that are counted one by one.
  static constexpr uint64_t kMaxPage = 256;

  struct Limits {
    uint64_t page = kMaxPage;  // keys in a page
    size_t children = 64;      // in a node
    // What begins the children of a node, together; but as many as kMinSplit have their place in a
    // node however long their keys are.
    size_t bound_bytes = 2048;
  };

  // What the set's record knows about the index.
  struct Shape {
    uint8_t levels = 0;      // 0: there is no index
    bool nodes = false;      // else what levels there are are those of rank_pages.h
    uint32_t last_node = 0;  // the highest id given so far; with pages, how many the top level has
    Bytes counts;            // of the root's children; empty with pages
    friend bool operator==(const Shape&, const Shape&) = default;
  };

  // All outlive the index; `shape` is kept up to date. No member stands before `floor`: scans of
  // the order start there, rather than among the remains of what was taken from its front.
  RankIndex(Elements& elements, Shape& shape, BytesView floor)
      : RankIndex(elements, shape, floor, Limits()) {}
  // Tests take small limits, which make for many levels.
  RankIndex(Elements& elements, Shape& shape, BytesView floor, const Limits& limits)
      : elements_(elements), shape_(shape), floor_(floor), limits_(limits) {}

  bool exists() const { return shape_.levels > 0; }

  // Tell that a key was put into the order, or taken out. Without an index they do nothing.
  Result<void> Added(BytesView order_key);
  Result<void> Removed(BytesView order_key);

  // Makes the index from the order as it is, in one scan.
  Result<void> Build();
  // Removes the index.
  Result<void> Drop();

  // How many keys are smaller than `order_key`.
  Result<uint64_t> Rank(BytesView order_key);
  // The key at rank `rank`, the smallest being 0; nullopt if there are fewer keys.
  Result<std::optional<Bytes>> Select(uint64_t rank);

 private:
  static constexpr size_t kMinSplit = 4;  // so that both halves have two

  // A node on the way from the root to a page, and the child that the way takes.
  struct Step {
    uint32_t node = kRankRoot;
    Bytes bounds;
    Bytes counts;
    size_t at = 0;
  };
  struct Path {
    std::vector<Step> steps;  // the root first
    Bytes from;               // where the page begins
  };
  using Children = std::vector<RankChild>;

  Result<Step> ReadNode(uint32_t node);
  Result<Path> FindPath(BytesView order_key);
  Result<Children> Decode(const Step& step) const;
  void WriteCounts(uint32_t node, Bytes counts);
  void WriteNode(uint32_t node, const Children& children);
  void DeleteNode(uint32_t node);

  bool TooLarge(const Children& children) const;
  Result<RankChild> SplitPage(BytesView from, uint64_t count);
  Result<void> Grow(Path path);
  RankChild SplitNode(Children& children);
  Result<void> Shrink(Path path);
  Result<void> LowerRoot(Children children);
  void BuildFrom(Children pages);
  // Replaces what rank_pages.h draws.
  Result<void> ReplacePages();

  Result<RankPages::Place> FindPage(BytesView order_key);
  Result<std::optional<RankPages::Place>> FindRankedPage(uint64_t rank);

  Elements& elements_;
  Shape& shape_;
  const BytesView floor_;
  const Limits limits_;
};

}  // namespace cairn::data
