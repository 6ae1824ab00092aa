#include "data/list/list.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace cairn::data {
namespace {

// Read together by Visit: some tens of kilobytes.
constexpr uint64_t kPagesAtOnce = 64;
// Up to as many rows are found quicker by their names than by a scan.
constexpr uint64_t kPagesByName = 8;

Bytes PositionSuffix(uint64_t position) {
  Bytes suffix;
  AppendBig64(suffix, position);
  return suffix;
}

Bytes PageSuffix(uint64_t page) {
  Bytes suffix(1, kListPageFamily);
  AppendBig64(suffix, page);
  return suffix;
}

Error Unreadable(const Entry& entry) {
  return {ErrorCode::kCorruption,
          fmt::format("the list {} cannot be read", Printable(entry.user_key()))};
}

}  // namespace

// --- The record ----------------------------------------------------------------------------------

Result<List> List::Load(doors::CommandContext& context, BytesView key) {
  CAIRN_ASSIGN_OR_RETURN(Collection collection, Collection::Load(context, key, ValueType::kList));
  List list(std::move(collection));
  if (!list.exists() || list.wrong_type()) return list;
  if (!list.DecodeHeader(list.collection_.header())) return Unreadable(list.collection_.entry());
  return list;
}

bool List::DecodeHeader(BytesView header) {
  BytesReader reader(header);
  first_ = reader.Big64();
  size_ = collection_.count();
  BytesView rest = reader.Rest();
  const uint64_t most = std::numeric_limits<uint64_t>::max() - kListPage;
  if (!reader.ok() || first_ > most || size_ > most - first_) return false;
  if (rest.empty()) {
    left_ = ListPage::OfRows(LeftSize());
    right_ = ListPage::OfRows(RightSize());
    return true;
  }
  std::optional<ListPage> left = ListPage::Take(rest, LeftSize());
  std::optional<ListPage> right = ListPage::Take(rest, RightSize());
  if (!left || !right || !rest.empty()) return false;
  left_ = *std::move(left);
  right_ = *std::move(right);
  return true;
}

void List::Save() {
  Bytes header;
  AppendBig64(header, first_);
  if (!left_.AllRows() || !right_.AllRows()) {
    header += left_.bytes();
    header += right_.bytes();
  }
  collection_.Save(size_, header);
}

// --- Pages ---------------------------------------------------------------------------------------

size_t List::LeftSize() const {
  const uint64_t in_page = std::min(end(), (first_page() + 1) * kListPage) - first_;
  return in_page == kListPage ? 0 : in_page;
}

size_t List::RightSize() const {
  return size_ == 0 || first_page() == last_page() ? 0 : end() % kListPage;
}

ListPage& List::PageAt(ListEnd end) {
  return end == ListEnd::kLeft || first_page() == last_page() ? left_ : right_;
}

ListPage* List::PageInRecord(uint64_t page) {
  if (page == first_page() && !left_.empty()) return &left_;
  if (page == last_page() && !right_.empty()) return &right_;
  return nullptr;
}

uint64_t List::BeginOf(uint64_t page) const { return std::max(first_, page * kListPage); }

Result<ListPage> List::DecodePage(BytesView row) const {
  std::optional<ListPage> page = ListPage::Take(row, kListPage);
  if (!page || !row.empty()) return Unreadable(collection_.entry());
  return *std::move(page);
}

Result<ListPage> List::ReadPage(uint64_t page) {
  CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> row,
                         collection_.elements().Get(PageSuffix(page)));
  if (!row) return ListPage::OfRows(kListPage);
  return DecodePage(*row);
}

Result<std::vector<ListPage>> List::ReadPages(uint64_t first, uint64_t last) {
  std::vector<ListPage> pages(last - first + 1, ListPage::OfRows(kListPage));
  std::vector<Bytes> names;
  for (uint64_t page = first; page <= last; ++page) {
    const ListPage* held = PageInRecord(page);
    if (held != nullptr) pages[page - first] = *held;
    if (held == nullptr) names.push_back(PageSuffix(page));
  }
  std::optional<Error> error;
  const auto decode = [&](BytesView suffix, BytesView row) {
    Result<ListPage> page = DecodePage(row);
    if (!page.ok()) {
      error = page.error();
      return false;
    }
    pages[BytesReader(suffix.substr(1)).Big64() - first] = *std::move(page);
    return true;
  };
  if (names.size() > kPagesByName) {
    CAIRN_RETURN_IF_ERROR(
        collection_.elements().Scan({names.front(), PageSuffix(last + 1)}, {}, decode));
  } else if (!names.empty()) {
    CAIRN_ASSIGN_OR_RETURN(const auto rows, collection_.elements().GetMany(names));
    for (size_t i = 0; i < rows.size(); ++i) {
      if (rows[i]) decode(names[i], *rows[i]);
    }
  }
  if (error) return *error;
  return pages;
}

void List::WritePage(uint64_t page, const ListPage& content) {
  if (content.AllRows()) {
    collection_.elements().Delete(PageSuffix(page));
  } else {
    collection_.elements().Put(PageSuffix(page), content.bytes());
  }
}

std::optional<BytesView> List::Store(uint64_t position, BytesView element) {
  if (element.size() <= kMaxPagedBytes) return element;
  collection_.elements().Put(PositionSuffix(position), element);
  return std::nullopt;
}

// --- The ends ------------------------------------------------------------------------------------

void List::Push(ListEnd end, BytesView element) {
  if (end == ListEnd::kLeft) {
    // A page of its own begins; what there was of the list is now its right end.
    if (first_ % kListPage == 0 && !left_.empty()) right_ = std::exchange(left_, {});
    --first_;
  }
  ++size_;
  ListPage& page = PageAt(end);
  page.Insert(end == ListEnd::kLeft ? 0 : page.size(), Store(PositionAt(end), element));
  if (!page.full()) return;
  if (!page.AllRows()) WritePage(PositionAt(end) / kListPage, page);
  page = {};
}

// Takes the page at an end out of its row, if it has one: it is not going to stay full.
Result<void> List::Open(ListEnd end) {
  ListPage& page = PageAt(end);
  if (!page.empty()) return {};
  const uint64_t number = PositionAt(end) / kListPage;
  CAIRN_ASSIGN_OR_RETURN(page, ReadPage(number));
  if (!page.AllRows()) collection_.elements().Delete(PageSuffix(number));
  return {};
}

Result<void> List::Drop(ListEnd end, uint64_t count) {
  for (; count > 0; --count) {
    CAIRN_RETURN_IF_ERROR(Open(end));
    ListPage& page = PageAt(end);
    const size_t at = end == ListEnd::kLeft ? 0 : page.size() - 1;
    if (!page.At(at)) collection_.elements().Delete(PositionSuffix(PositionAt(end)));
    page.Erase(at);
    if (end == ListEnd::kLeft) ++first_;
    --size_;
    if (left_.empty() && size_ > 0 && first_page() == last_page()) {
      left_ = std::exchange(right_, {});
    }
  }
  return {};
}

Result<Bytes> List::Pop(ListEnd end) {
  CAIRN_RETURN_IF_ERROR(Open(end));
  CAIRN_ASSIGN_OR_RETURN(Bytes element, Get(end == ListEnd::kLeft ? 0 : size_ - 1));
  CAIRN_RETURN_IF_ERROR(Drop(end, 1));
  return element;
}

Result<std::vector<Bytes>> List::PopMany(ListEnd end, uint64_t count) {
  std::vector<Bytes> popped;
  popped.reserve(count);
  for (; count > 0; --count) {
    CAIRN_ASSIGN_OR_RETURN(popped.emplace_back(), Pop(end));
    CAIRN_RETURN_IF_ERROR(Gather(popped.back().size()));
  }
  return popped;
}

// --- By index ------------------------------------------------------------------------------------

std::optional<uint64_t> List::FindIndex(int64_t index) const {
  if (index >= 0) {
    const auto at = static_cast<uint64_t>(index);
    return at < size_ ? std::optional(at) : std::nullopt;
  }
  const uint64_t back = ~static_cast<uint64_t>(index) + 1;
  return back <= size_ ? std::optional(size_ - back) : std::nullopt;
}

Result<Bytes> List::ReadRow(uint64_t position) {
  CAIRN_ASSIGN_OR_RETURN(std::optional<Bytes> element,
                         collection_.elements().Get(PositionSuffix(position)));
  if (!element) return Unreadable(collection_.entry());
  return *std::move(element);
}

Result<Bytes> List::Get(uint64_t index) {
  const uint64_t position = first_ + index;
  const uint64_t number = position / kListPage;
  const ListPage* page = PageInRecord(number);
  ListPage read;
  if (page == nullptr) {
    CAIRN_ASSIGN_OR_RETURN(read, ReadPage(number));
    page = &read;
  }
  const std::optional<BytesView> element = page->At(position - BeginOf(number));
  if (!element) return ReadRow(position);
  return Bytes(*element);
}

Result<void> List::Set(uint64_t index, BytesView element) {
  const uint64_t position = first_ + index;
  const uint64_t number = position / kListPage;
  ListPage* page = PageInRecord(number);
  ListPage read;
  if (page == nullptr) {
    CAIRN_ASSIGN_OR_RETURN(read, ReadPage(number));
    page = &read;
  }
  const size_t at = position - BeginOf(number);
  const bool had_row = !page->At(at);
  const std::optional<BytesView> stored = Store(position, element);
  if (had_row && stored) collection_.elements().Delete(PositionSuffix(position));
  if (had_row && !stored) return {};
  page->Erase(at);
  page->Insert(at, stored);
  if (page == &read) WritePage(number, read);
  return {};
}

Result<void> List::Insert(uint64_t index, BytesView element) {
  const ListEnd end = index < size_ / 2 ? ListEnd::kLeft : ListEnd::kRight;
  CAIRN_ASSIGN_OR_RETURN(const std::vector<Bytes> moved,
                         PopMany(end, end == ListEnd::kLeft ? index : size_ - index));
  Push(end, element);
  std::for_each(moved.rbegin(), moved.rend(), [&](const Bytes& each) { Push(end, each); });
  return {};
}

Result<void> List::Trim(uint64_t begin, uint64_t count) {
  if (count == 0) {  // the elements are reclaimed with the key
    size_ = 0;
    left_ = right_ = {};
    return {};
  }
  CAIRN_RETURN_IF_ERROR(Drop(ListEnd::kRight, size_ - begin - count));
  return Drop(ListEnd::kLeft, begin);
}

Result<void> List::Remove(std::span<const uint64_t> indexes) {
  if (indexes.empty()) return {};
  if (indexes.size() == size_) return Trim(0, 0);
  // Those on the shorter side are taken off, and the ones that stay are put back.
  const bool left = indexes.back() < size_ - indexes.front();
  const ListEnd end = left ? ListEnd::kLeft : ListEnd::kRight;
  const uint64_t last = size_ - 1;
  CAIRN_ASSIGN_OR_RETURN(const std::vector<Bytes> moved,
                         PopMany(end, left ? indexes.back() + 1 : size_ - indexes.front()));
  for (uint64_t i = moved.size(); i-- > 0;) {
    if (!std::ranges::binary_search(indexes, left ? i : last - i)) Push(end, moved[i]);
  }
  return {};
}

// --- All of it -----------------------------------------------------------------------------------

Result<void> List::Visit(const Slice& slice, Visitor visit) {
  uint64_t begin = first_ + slice.begin;
  uint64_t end = begin + slice.count;
  while (begin < end) {
    Piece piece{begin, end, slice.reverse};
    if (slice.reverse) {
      piece.begin = std::max(begin, ((end - 1) / kListPage - (kPagesAtOnce - 1)) * kListPage);
      end = piece.begin;
    } else {
      piece.end = std::min(end, (begin / kListPage + kPagesAtOnce) * kListPage);
      begin = piece.end;
    }
    CAIRN_ASSIGN_OR_RETURN(const bool go_on, VisitPiece(piece, visit));
    if (!go_on) return {};
  }
  return {};
}

// First what stands in pages, up to an element that has a row; the rest while rows are scanned.
Result<bool> List::VisitPiece(const Piece& piece, Visitor visit) {
  const uint64_t first = piece.begin / kListPage;
  CAIRN_ASSIGN_OR_RETURN(const std::vector<ListPage> pages,
                         ReadPages(first, (piece.end - 1) / kListPage));
  const uint64_t count = piece.end - piece.begin;
  uint64_t visited = 0;
  bool go_on = true;
  const auto next = [&] { return piece.reverse ? piece.end - 1 - visited : piece.begin + visited; };
  const auto visit_paged = [&] {
    for (; go_on && visited < count; ++visited) {
      const uint64_t page = next() / kListPage;
      const std::optional<BytesView> element = pages[page - first].At(next() - BeginOf(page));
      if (!element) return;
      go_on = visit(next() - first_, *element);
    }
  };
  visit_paged();
  if (!go_on || visited == count) return go_on;
  const auto visit_row = [&](BytesView suffix, BytesView element) {
    if (BytesReader(suffix).Big64() != next()) return false;
    go_on = visit(next() - first_, element);
    ++visited;
    visit_paged();
    return go_on && visited < count;
  };
  const SuffixRange rows{PositionSuffix(piece.reverse ? piece.begin : next()),
                         PositionSuffix(piece.reverse ? next() + 1 : piece.end)};
  CAIRN_RETURN_IF_ERROR(collection_.elements().Scan(rows, {.reverse = piece.reverse}, visit_row));
  if (go_on && visited < count) return Unreadable(collection_.entry());
  return go_on;
}

}  // namespace cairn::data
