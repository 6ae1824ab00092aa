#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "data/sorted_set/rank_node.h"
#include "data/value/elements.h"

// The rank index in the form that sets have which were last changed before there were nodes
// (rank_index.h). It is read, and replaced with the set's next change; nothing writes it.
//
//   suffix                          value
//   ─────────────────────────────   ───────────────────
//   'r' level:1 first order key…    count:8 pages:4
//
// A page of level 1 is a piece of the order, from its first key up to the first key of the next
// page. A page of level n + 1 is a run of pages of level n, in the same way. `count` is how many
// members there are in the piece, `pages` how many pages of the level below (0 in level 1). Each
// level starts with a page whose first key is empty.
//
//   level 2   [""            600][k              300]
//   level 1   ["" 200][f 150][h 250][k 100][p 200]
//   order      a b c … f … … h … … … k … … p … …
namespace cairn::data {

class RankPages {
 public:
  // With no levels, all of the order is one page.
  RankPages(Elements& elements, uint8_t levels) : elements_(elements), levels_(levels) {}

  // Where a page of level 1 is.
  struct Place {
    Bytes first;
    uint64_t before = 0;  // how many members the pages before it have
  };
  // The page that a key belongs to.
  Result<Place> Find(BytesView order_key);
  // The page with the key that has so many smaller ones; nullopt if there are not so many keys.
  Result<std::optional<Place>> FindRank(uint64_t rank);

  // All of level 1 that is not empty, as the children of a node.
  Result<std::vector<RankChild>> List();
  // Removes all rows.
  Result<void> Drop();

 private:
  Elements& elements_;
  const uint8_t levels_;
};

}  // namespace cairn::data
