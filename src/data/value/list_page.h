#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/bytes.h"

namespace cairn::data {

// How many places of a list a page has.
inline constexpr uint64_t kListPage = 8;
// The first byte of a page's suffix; positions never grow so far as to begin with it.
inline constexpr char kListPageFamily = 'p';
// What is longer has a row of its own: to push or pop one element writes its whole page.
inline constexpr size_t kMaxPagedBytes = 128;

// Elements of a list that stand next to each other, in one piece:
//
//   (size:v element…)…      one more than the size; or 0: the element has a row of its own
//
// :v is a varint (varint.h). How many there are is known from elsewhere. Nothing is unpacked: there
// is one buffer, short enough to be walked through.
class ListPage {
 public:
  ListPage() = default;
  // All have rows of their own.
  static ListPage OfRows(size_t count);
  // Takes `count` elements off the front of `bytes`; nullopt if they are not there.
  static std::optional<ListPage> Take(BytesView& bytes, size_t count);

  BytesView bytes() const { return bytes_; }
  size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  bool full() const { return count_ == kListPage; }
  // All have rows of their own.
  bool AllRows() const { return bytes_.find_first_not_of('\0') == Bytes::npos; }

  // A view until the next change; nullopt: it has a row of its own.
  std::optional<BytesView> At(size_t index) const;
  // Puts an element in front of `index`, which may be one past the last.
  void Insert(size_t index, std::optional<BytesView> element);
  void Erase(size_t index);

 private:
  // Where an element is, or would be.
  struct Place {
    size_t at = 0;
    size_t size = 0;
    std::optional<BytesView> element;
  };
  Place Find(size_t index) const;

  size_t count_ = 0;
  Bytes bytes_;
};

}  // namespace cairn::data
