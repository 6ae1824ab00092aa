#include "data/rank_index.h"

#include <algorithm>
#include <utility>

#include "data/sorted_set.h"

namespace cairn::data {
namespace {

constexpr char kFamily = 'r';
constexpr size_t kHeadBytes = 2;  // the family and the level

Bytes PageKey(uint8_t level, BytesView first) {
  Bytes key;
  key.reserve(kHeadBytes + first.size());
  key += kFamily;
  key += static_cast<char>(level);
  key += first;
  return key;
}

// The end of a range that holds `key` as its last.
Bytes Behind(Bytes key) {
  key += '\0';
  return key;
}

Error Unreadable() { return {ErrorCode::kCorruption, "a page of a rank index cannot be read"}; }

}  // namespace

void RankIndex::Write(uint8_t level, const Page& page) {
  Bytes value;
  AppendBig64(value, page.count);
  AppendBig32(value, page.pages);
  elements_.Put(PageKey(level, page.first), value);
}

Result<RankIndex::Page> RankIndex::FindPage(uint8_t level, BytesView order_key) {
  std::optional<Page> page;
  const auto visit = [&](BytesView suffix, BytesView value) {
    BytesReader reader(value);
    Page found{Bytes(suffix.substr(kHeadBytes)), reader.Big64(), reader.Big32()};
    if (reader.AtEnd()) page = std::move(found);
    return false;
  };
  CAIRN_RETURN_IF_ERROR(elements_.Scan({PageKey(level, {}), Behind(PageKey(level, order_key))},
                                       {.reverse = true, .limit = 1}, visit));
  if (!page) return Unreadable();
  return *std::move(page);
}

// The page of each level that the key belongs to, level 1 first.
Result<std::vector<RankIndex::Page>> RankIndex::FindPath(BytesView order_key) {
  std::vector<Page> path;
  for (uint8_t level = 1; level <= shape_.levels; ++level) {
    CAIRN_ASSIGN_OR_RETURN(Page page, FindPage(level, order_key));
    path.push_back(std::move(page));
  }
  return path;
}

Result<void> RankIndex::Added(BytesView order_key) {
  if (!exists()) return {};
  CAIRN_ASSIGN_OR_RETURN(std::vector<Page> path, FindPath(order_key));
  for (size_t i = 0; i < path.size(); ++i) {
    ++path[i].count;
    Write(static_cast<uint8_t>(i + 1), path[i]);
  }
  if (path.front().count > max_page_) return Grow(1, std::move(path.front()));
  return {};
}

// Splits a page that has become too large, and tells the level above, which may be too large then.
Result<void> RankIndex::Grow(uint8_t level, Page page) {
  CAIRN_ASSIGN_OR_RETURN(Page second, level == 1 ? SplitLeaf(page) : SplitRun(level, page));
  Write(level, page);
  Write(level, second);
  if (level < shape_.levels) {
    CAIRN_ASSIGN_OR_RETURN(Page above, FindPage(level + 1, page.first));
    ++above.pages;
    Write(level + 1, above);
    if (above.pages > max_page_) return Grow(level + 1, std::move(above));
    return {};
  }
  if (++shape_.top_pages <= max_page_) return {};
  CAIRN_ASSIGN_OR_RETURN(const std::vector<Page> all, PagesBelow(level + 1, Page{}));
  Page top;
  for (const Page& each : all) top.count += each.count;
  top.pages = static_cast<uint32_t>(all.size());
  shape_ = {static_cast<uint8_t>(level + 1), 1};
  return Grow(level + 1, std::move(top));
}

// Takes the second half of a page of level 1 away from it.
Result<RankIndex::Page> RankIndex::SplitLeaf(Page& page) {
  Page second;
  uint64_t seen = 0;
  const uint64_t half = page.count / 2;
  const auto visit = [&](BytesView suffix, BytesView) {
    if (seen++ < half) return true;
    second.first = OrderKeyOf(suffix);
    return false;
  };
  CAIRN_RETURN_IF_ERROR(elements_.Scan(
      {OrderSuffix(std::max<BytesView>(page.first, floor_)), OrderEnd()}, {}, visit));
  if (seen <= half) return Unreadable();
  second.count = page.count - half;
  page.count = half;
  return second;
}

// Takes the second half of the pages below away from a page of a higher level.
Result<RankIndex::Page> RankIndex::SplitRun(uint8_t level, Page& page) {
  CAIRN_ASSIGN_OR_RETURN(const std::vector<Page> below, PagesBelow(level, page));
  const size_t half = below.size() / 2;
  if (half == 0) return Unreadable();
  Page second{.first = below[half].first};
  for (size_t i = half; i < below.size(); ++i) second.count += below[i].count;
  second.pages = static_cast<uint32_t>(below.size() - half);
  page.count -= second.count;
  page.pages = static_cast<uint32_t>(half);
  return second;
}

// Where the pages below a page of `level` end: at the next page of its level, if there is one.
Result<Bytes> RankIndex::EndOf(uint8_t level, BytesView first) {
  Bytes end = PageKey(level, {});
  const auto visit = [&](BytesView suffix, BytesView) {
    end = PageKey(level - 1, suffix.substr(kHeadBytes));
    return false;
  };
  CAIRN_RETURN_IF_ERROR(
      elements_.Scan({Behind(PageKey(level, first)), PageKey(level + 1, {})}, {.limit = 1}, visit));
  return end;
}

Result<std::vector<RankIndex::Page>> RankIndex::PagesBelow(uint8_t level, const Page& page) {
  CAIRN_ASSIGN_OR_RETURN(Bytes end, EndOf(level, page.first));
  std::vector<Page> pages;
  bool readable = true;
  const auto visit = [&](BytesView suffix, BytesView value) {
    BytesReader reader(value);
    pages.push_back({Bytes(suffix.substr(kHeadBytes)), reader.Big64(), reader.Big32()});
    readable = reader.AtEnd();
    return readable;
  };
  CAIRN_RETURN_IF_ERROR(
      elements_.Scan({PageKey(level - 1, page.first), std::move(end)}, {}, visit));
  if (!readable) return Unreadable();
  return pages;
}

Result<void> RankIndex::Removed(BytesView order_key) {
  if (!exists()) return {};
  CAIRN_ASSIGN_OR_RETURN(std::vector<Page> path, FindPath(order_key));
  // From the top: a page may go when it is empty and does not begin a page that stays. One that is
  // empty has nothing below it but the pages that begin it.
  bool above_goes = false;
  Bytes above_first;  // the first pages of all levels stay
  for (uint8_t level = shape_.levels; level >= 1; --level) {
    Page& page = path[level - 1];
    if (page.count == 0) return Unreadable();
    --page.count;
    const bool goes = page.count == 0 && (above_goes || page.first != above_first);
    if (!goes) {
      above_first = page.first;
      Write(level, page);
      continue;
    }
    for (uint8_t below = level; below >= 1; --below) {
      elements_.Delete(PageKey(below, page.first));
    }
    if (above_goes) continue;
    above_goes = true;
    if (level == shape_.levels) {
      --shape_.top_pages;
    } else {
      --path[level].pages;
      Write(level + 1, path[level]);
    }
  }
  return {};
}

void RankIndex::BuildLevel(uint8_t level, const std::vector<Page>& pages) {
  for (const Page& page : pages) Write(level, page);
  shape_ = {level, static_cast<uint32_t>(pages.size())};
}

Result<void> RankIndex::Build() {
  // Pages are made fuller than by splitting, so that there are few, and leave room.
  const uint64_t filled = max_page_ * 3 / 4;
  std::vector<Page> pages(1);
  const auto visit = [&](BytesView suffix, BytesView) {
    if (pages.back().count == filled) pages.push_back({.first = Bytes(OrderKeyOf(suffix))});
    ++pages.back().count;
    return true;
  };
  CAIRN_RETURN_IF_ERROR(elements_.Scan({OrderSuffix(floor_), OrderEnd()}, {}, visit));
  BuildLevel(1, pages);
  while (shape_.top_pages > max_page_) {
    std::vector<Page> above(1);
    for (const Page& page : pages) {
      if (above.back().pages == filled) above.push_back({.first = page.first});
      above.back().count += page.count;
      ++above.back().pages;
    }
    pages = std::move(above);
    BuildLevel(shape_.levels + 1, pages);
  }
  return {};
}

Result<void> RankIndex::Drop() {
  std::vector<Bytes> rows;
  const auto visit = [&](BytesView suffix, BytesView) {
    rows.emplace_back(suffix);
    return true;
  };
  CAIRN_RETURN_IF_ERROR(elements_.Scan(SuffixRange::Prefix(Bytes(1, kFamily)), {}, visit));
  for (const Bytes& row : rows) elements_.Delete(row);
  shape_ = {};
  return {};
}

Result<uint64_t> RankIndex::Rank(BytesView order_key) {
  uint64_t rank = 0;
  Bytes first;
  for (uint8_t level = shape_.levels; level >= 1; --level) {
    uint64_t last_count = 0;
    const SuffixRange pages{PageKey(level, first), Behind(PageKey(level, order_key))};
    const auto visit = [&](BytesView suffix, BytesView value) {
      last_count = BytesReader(value).Big64();
      rank += last_count;
      first = suffix.substr(kHeadBytes);
      return true;
    };
    CAIRN_RETURN_IF_ERROR(elements_.Scan(pages, {}, visit));
    rank -= last_count;
  }
  first = std::max<BytesView>(first, floor_);
  if (order_key <= first) return rank;
  const auto count = [&](BytesView, BytesView) {
    ++rank;
    return true;
  };
  CAIRN_RETURN_IF_ERROR(elements_.Scan({OrderSuffix(first), OrderSuffix(order_key)}, {}, count));
  return rank;
}

Result<std::optional<Bytes>> RankIndex::Select(uint64_t rank) {
  Bytes first;
  for (uint8_t level = shape_.levels; level >= 1; --level) {
    bool found = false;
    const auto visit = [&](BytesView suffix, BytesView value) {
      const uint64_t count = BytesReader(value).Big64();
      found = rank < count;
      if (!found) {
        rank -= count;
        return true;
      }
      first = suffix.substr(kHeadBytes);
      return false;
    };
    CAIRN_RETURN_IF_ERROR(
        elements_.Scan({PageKey(level, first), PageKey(level + 1, {})}, {}, visit));
    if (!found) return std::optional<Bytes>();
  }
  std::optional<Bytes> key;
  const auto visit = [&](BytesView suffix, BytesView) {
    if (rank-- > 0) return true;
    key = OrderKeyOf(suffix);
    return false;
  };
  CAIRN_RETURN_IF_ERROR(
      elements_.Scan({OrderSuffix(std::max<BytesView>(first, floor_)), OrderEnd()}, {}, visit));
  return key;
}

}  // namespace cairn::data
