#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"

// The bytes of a rank index's nodes (rank_index.h). A node is two rows, because its counts change
// with every member and its bounds hardly ever:
//
//   suffix          value
//   ─────────────   ─────────────────────────────
//   'n' id:4 'b'    (size:v from… child:v)…          bounds
//   'n' id:4 'c'    (count:v)…                       counts, as many
//
// :v is a varint (varint.h). `child` is the id of the node that has this piece of the order, or 0
// for a page. The root has the id 0; its counts stand in the set's record instead.
namespace cairn::data {

inline constexpr uint32_t kRankRoot = 0;

Bytes RankBoundsSuffix(uint32_t id);
Bytes RankCountsSuffix(uint32_t id);
// What the suffixes of all nodes begin with.
inline constexpr BytesView kRankNodePrefix = "n";

// A piece of the order: the keys from `from` on, up to the `from` of the next.
struct RankChild {
  Bytes from;         // empty in a node's first child: it begins where the node does
  uint32_t node = 0;  // 0: a page
  uint64_t count = 0;

  friend bool operator==(const RankChild&, const RankChild&) = default;
};

Bytes EncodeRankBounds(const std::vector<RankChild>& children);
Bytes EncodeRankCounts(const std::vector<RankChild>& children);
// nullopt for bytes that are not drawn above.
std::optional<std::vector<RankChild>> DecodeRankNode(BytesView bounds, BytesView counts);

// The following read and change the bytes as they are: with every member that is added, this is
// what is done with a node.

struct RankPlace {
  size_t at = 0;  // which child
  BytesView from;
  uint32_t node = 0;
};
// The child that a key belongs to. nullopt for unreadable bytes, as below.
std::optional<RankPlace> FindRankChild(BytesView bounds, BytesView order_key);
std::optional<RankPlace> RankChildAt(BytesView bounds, size_t at);

// How many keys the children before that one have.
std::optional<uint64_t> RankBefore(BytesView counts, size_t at);

struct RankedPlace {
  size_t at = 0;
  uint64_t before = 0;  // how many keys the children before it have
};
// The child with the key that has so many smaller ones in the node. Also nullopt if the node has
// not so many.
std::optional<RankedPlace> FindRank(BytesView counts, uint64_t rank);

// Changes the count of one child by one; returns what it is then. Also nullopt, and nothing is
// changed, if it would be less than nothing.
enum class RankChange { kAdd, kRemove };
std::optional<uint64_t> ChangeRankCount(Bytes& counts, size_t at, RankChange change);

}  // namespace cairn::data
