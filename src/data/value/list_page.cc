#include "data/value/list_page.h"

#include "data/value/varint.h"

namespace cairn::data {
namespace {

struct Slot {
  bool readable = false;
  std::optional<BytesView> element;
};

Slot TakeSlot(BytesView& rest) {
  const std::optional<uint64_t> size = TakeVarint(rest);
  if (!size || *size > rest.size() + 1) return {};
  if (*size == 0) return {.readable = true};
  const BytesView element = rest.substr(0, *size - 1);
  rest.remove_prefix(*size - 1);
  return {.readable = true, .element = element};
}

}  // namespace

ListPage ListPage::OfRows(size_t count) {
  ListPage page;
  page.count_ = count;
  page.bytes_.assign(count, '\0');
  return page;
}

std::optional<ListPage> ListPage::Take(BytesView& bytes, size_t count) {
  BytesView rest = bytes;
  for (size_t i = 0; i < count; ++i) {
    if (!TakeSlot(rest).readable) return std::nullopt;
  }
  ListPage page;
  page.count_ = count;
  page.bytes_ = bytes.substr(0, bytes.size() - rest.size());
  bytes = rest;
  return page;
}

ListPage::Place ListPage::Find(size_t index) const {
  BytesView rest = bytes_;
  for (size_t i = 0; i < index; ++i) TakeSlot(rest);
  Place place{.at = bytes_.size() - rest.size()};
  if (index == count_) return place;
  place.element = TakeSlot(rest).element;
  place.size = bytes_.size() - rest.size() - place.at;
  return place;
}

std::optional<BytesView> ListPage::At(size_t index) const { return Find(index).element; }

void ListPage::Insert(size_t index, std::optional<BytesView> element) {
  Bytes slot;
  AppendVarint(element ? element->size() + 1 : 0, slot);
  if (element) slot += *element;
  bytes_.insert(Find(index).at, slot);
  ++count_;
}

void ListPage::Erase(size_t index) {
  const Place place = Find(index);
  bytes_.erase(place.at, place.size);
  --count_;
}

}  // namespace cairn::data
