#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "data/elements.h"

// How many members stand before a place of a sorted set's order, without counting them all.
//
//   suffix                          value
//   ─────────────────────────────   ───────────────────
//   'r' level:1 first order key…    count:8 pages:4
//
// A page of level 1 is a piece of the order (sorted_set.h): from its first key up to the first key
// of the next page. A page of level n + 1 is a run of pages of level n, in the same way. `count` is
// how many members there are in the piece, `pages` how many pages of the level below (0 in level
// 1). Each level starts with a page whose first key is empty, so every key there may ever be
// belongs to a page.
//
//   level 2   [""            600][k              300]
//   level 1   ["" 200][f 150][h 250][k 100][p 200]
//   order      a b c … f … … h … … … k … … p … …
//
// Pages hold numbers only: to add a member writes one row per level and moves nothing. A page that
// passes kMaxPage is split at its middle, which takes one scan of it; one that gets empty is
// removed, unless it begins the page above. So a rank costs at most kMaxPage rows per level. A set
// that is small has no index: its members are counted.
namespace cairn::data {

class RankIndex {
 public:
  // Also the most members that are counted one by one.
  static constexpr uint64_t kMaxPage = 256;

  // What the set's record knows about the index.
  struct Shape {
    uint8_t levels = 0;      // 0: there is no index
    uint32_t top_pages = 0;  // of the highest level
    friend bool operator==(const Shape&, const Shape&) = default;
  };

  // All outlive the index; `shape` is kept up to date. No member stands before `floor`: scans of
  // the order start there, rather than among the remains of what was taken from its front.
  // Tests take small pages, which make for many levels.
  RankIndex(Elements& elements, Shape& shape, BytesView floor, uint64_t max_page = kMaxPage)
      : elements_(elements), shape_(shape), floor_(floor), max_page_(max_page) {}

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
  // The key that has so many smaller ones; nullopt if there are not so many keys.
  Result<std::optional<Bytes>> Select(uint64_t rank);

 private:
  struct Page {
    Bytes first;
    uint64_t count = 0;
    uint32_t pages = 0;
  };

  Result<Page> FindPage(uint8_t level, BytesView order_key);
  Result<std::vector<Page>> FindPath(BytesView order_key);
  Result<std::vector<Page>> PagesBelow(uint8_t level, const Page& page);
  Result<Bytes> EndOf(uint8_t level, BytesView first);
  void Write(uint8_t level, const Page& page);
  Result<void> Grow(uint8_t level, Page page);
  Result<Page> SplitLeaf(Page& page);
  Result<Page> SplitRun(uint8_t level, Page& page);
  void BuildLevel(uint8_t level, const std::vector<Page>& pages);

  Elements& elements_;
  Shape& shape_;
  const BytesView floor_;
  const uint64_t max_page_;
};

}  // namespace cairn::data
