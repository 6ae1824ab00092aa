#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/function_ref.h"
#include "base/result.h"
#include "data/value/collection.h"
#include "data/value/list_page.h"
#include "doors/resp/command.h"

// How a list is stored (collection.h). Elements have positions without gaps, so the one at index i
// stands at first + i: ends and middle alike are found without reading others. Eight positions,
// from a multiple of eight on, are a page (list_page.h). A page whose positions are all taken is a
// row; the elements at either end that do not fill a page stand in the record. So most pushes and
// pops write the record alone, and a list of some short elements is nothing but its record.
//
//   header          first:8 left… right…    the position of the first element, and the elements
//                                           that stand in the record; none if all have own rows
//   'p' page:8      (size:v element…)×8     a page; none if all its elements have own rows
//   position:8      element…                one that is longer than kMaxPagedBytes
//
// A new list begins in the middle of all positions, which leaves 2^63 on either side.
//
//   RPUSH l a … i   first = 8000000000000000   p 1000000000000000 → a … h    right = i
//   LPUSH l z       first = 7fffffffffffffff   left = z
//   RPOP l          first = 7fffffffffffffff   left = z                      right =
//   RPOP l          first = 7fffffffffffffff   left = z                      right = a … g
//
// When all elements that are left stand in one page that is not full, they are `left`. Lists of
// format version 2 and before have a row for each element: pages that are not there, as it seems.
//
// What is inserted into the middle or taken from it moves the elements on the shorter side.
namespace cairn::data {

enum class ListEnd { kLeft, kRight };

// A list of one key, as a transaction found it. Indexes count from 0 at the left and are within
// the list. Changes count together with Save, which ends them. Lives inside the transaction's body.
class List {
 public:
  static Result<List> Load(doors::CommandContext& context, BytesView key);

  // The key holds something else. Then nothing else may be used.
  bool wrong_type() const { return collection_.wrong_type(); }
  bool exists() const { return collection_.exists(); }
  // 0 for a key that does not exist.
  uint64_t size() const { return size_; }
  // See Entry::Gather.
  Result<void> Gather(size_t bytes) { return collection_.Gather(bytes); }

  // The index that a client's number means: negative ones count from the right, -1 being the last.
  // nullopt if there is no such element.
  std::optional<uint64_t> FindIndex(int64_t index) const;

  Result<Bytes> Get(uint64_t index);
  // Visits `count` elements from `begin` on; with `reverse` the last of them first. Returns whether
  // to go on. The list is not changed meanwhile.
  using Visitor = FunctionRef<bool(uint64_t index, BytesView element)>;
  struct Slice {
    uint64_t begin = 0;
    uint64_t count = 0;
    bool reverse = false;
  };
  Result<void> Visit(const Slice& slice, Visitor visit);

  void Push(ListEnd end, BytesView element);
  // Of a list that is not empty.
  Result<Bytes> Pop(ListEnd end);
  Result<void> Set(uint64_t index, BytesView element);
  // `index` may be one past the last.
  Result<void> Insert(uint64_t index, BytesView element);
  // Keeps the `count` elements from `begin` on.
  Result<void> Trim(uint64_t begin, uint64_t count);
  // `indexes` ascend.
  Result<void> Remove(std::span<const uint64_t> indexes);

  // A list without elements is no key.
  void Save();

 private:
  struct Piece {
    uint64_t begin = 0;  // positions
    uint64_t end = 0;
    bool reverse = false;
  };

  explicit List(Collection collection) : collection_(std::move(collection)) {}
  bool DecodeHeader(BytesView header);

  uint64_t end() const { return first_ + size_; }
  uint64_t PositionAt(ListEnd at) const { return at == ListEnd::kLeft ? first_ : end() - 1; }
  // A page is called by its number: a position divided by kListPage.
  uint64_t first_page() const { return first_ / kListPage; }
  uint64_t last_page() const { return (end() - 1) / kListPage; }
  // The position of its first element.
  uint64_t BeginOf(uint64_t page) const;
  // How many elements stand in the record, as positions tell.
  size_t LeftSize() const;
  size_t RightSize() const;
  // What the record has of the page at an end: nothing if the page is full.
  ListPage& PageAt(ListEnd end);
  // Null if it has a row, or all its elements have.
  ListPage* PageInRecord(uint64_t page);

  // Of pages that are full; ReadPages of any.
  Result<ListPage> ReadPage(uint64_t page);
  Result<std::vector<ListPage>> ReadPages(uint64_t first, uint64_t last);
  Result<ListPage> DecodePage(BytesView row) const;
  void WritePage(uint64_t page, const ListPage& content);
  Result<Bytes> ReadRow(uint64_t position);
  // The element as its page holds it. If that does not hold it, its row is written.
  std::optional<BytesView> Store(uint64_t position, BytesView element);

  Result<void> Open(ListEnd end);
  Result<void> Drop(ListEnd end, uint64_t count);
  Result<std::vector<Bytes>> PopMany(ListEnd end, uint64_t count);
  Result<bool> VisitPiece(const Piece& piece, Visitor visit);

  Collection collection_;
  uint64_t first_ = uint64_t{1} << 63;
  uint64_t size_ = 0;
  ListPage left_;   // of the first page, unless it is full
  ListPage right_;  // of the last page, unless it is full or the first
};

}  // namespace cairn::data
