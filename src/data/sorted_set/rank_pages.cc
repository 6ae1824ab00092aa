#include "data/sorted_set/rank_pages.h"

#include <utility>

namespace cairn::data {
namespace {

constexpr char kFamily = 'r';
constexpr size_t kHeadBytes = 2;  // the family and the level

Bytes PageKey(uint8_t level, BytesView first) {
  Bytes key(1, kFamily);
  key += static_cast<char>(level);
  key += first;
  return key;
}

// The end of a range that holds `key` as its last.
Bytes Behind(Bytes key) {
  key += '\0';
  return key;
}

uint64_t CountOf(BytesView value) { return BytesReader(value).Big64(); }

}  // namespace

Result<RankPages::Place> RankPages::Find(BytesView order_key) {
  Place place;
  for (uint8_t level = levels_; level >= 1; --level) {
    uint64_t last_count = 0;
    const SuffixRange pages{PageKey(level, place.first), Behind(PageKey(level, order_key))};
    const auto visit = [&](BytesView suffix, BytesView value) {
      last_count = CountOf(value);
      place.before += last_count;
      place.first = suffix.substr(kHeadBytes);
      return true;
    };
    CAIRN_RETURN_IF_ERROR(elements_.Scan(pages, {}, visit));
    place.before -= last_count;
  }
  return place;
}

Result<std::optional<RankPages::Place>> RankPages::FindRank(uint64_t rank) {
  Place place;
  for (uint8_t level = levels_; level >= 1; --level) {
    bool found = false;
    const auto visit = [&](BytesView suffix, BytesView value) {
      const uint64_t count = CountOf(value);
      found = rank - place.before < count;
      if (!found) {
        place.before += count;
        return true;
      }
      place.first = suffix.substr(kHeadBytes);
      return false;
    };
    CAIRN_RETURN_IF_ERROR(
        elements_.Scan({PageKey(level, place.first), PageKey(level + 1, {})}, {}, visit));
    if (!found) return std::optional<Place>();
  }
  return std::optional(std::move(place));
}

Result<std::vector<RankChild>> RankPages::List() {
  std::vector<RankChild> pages;
  const auto visit = [&](BytesView suffix, BytesView value) {
    const uint64_t count = CountOf(value);
    if (count == 0) return true;
    const BytesView first = suffix.substr(kHeadBytes);
    pages.push_back({Bytes(pages.empty() ? BytesView() : first), 0, count});
    return true;
  };
  CAIRN_RETURN_IF_ERROR(elements_.Scan({PageKey(1, {}), PageKey(2, {})}, {}, visit));
  return pages;
}

Result<void> RankPages::Drop() { return elements_.DeletePrefix(Bytes(1, kFamily)); }

}  // namespace cairn::data
