#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "base/bytes.h"
#include "base/function_ref.h"
#include "base/result.h"
#include "data/collection.h"
#include "doors/command.h"

// How a list is stored (collection.h):
//
//   header    first:8          the position of the first element
//   element   position:8       → the element
//
// Positions have no gaps, so the element at index i stands at first + i: ends and middle alike are
// found without reading others. A new list begins in the middle of all positions, which leaves 2^63
// on either side.
//
//   RPUSH l a b    first = 8000000000000000   a → 8000000000000000, b → 8000000000000001
//   LPUSH l z      first = 7fffffffffffffff   z → 7fffffffffffffff
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

  // The index that a client's number means: negative ones count from the right, -1 being the last.
  // nullopt if there is no such element.
  std::optional<uint64_t> FindIndex(int64_t index) const;

  Result<Bytes> Get(uint64_t index);
  // Visits `count` elements from `begin` on; with `reverse` the last of them first. Returns whether
  // to go on.
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
  void Set(uint64_t index, BytesView element);
  // `index` may be one past the last.
  Result<void> Insert(uint64_t index, BytesView element);
  // Keeps the `count` elements from `begin` on.
  void Trim(uint64_t begin, uint64_t count);
  // `indexes` ascend.
  Result<void> Remove(std::span<const uint64_t> indexes);

  // A list without elements is no key.
  void Save();

 private:
  explicit List(Collection collection) : collection_(std::move(collection)) {}

  void PutAt(uint64_t index, BytesView element);
  void DeleteAt(uint64_t index);
  // Makes room in front of `index` and behind it.
  Result<void> ShiftHeadLeft(uint64_t index);
  Result<void> ShiftTailRight(uint64_t index);

  Collection collection_;
  uint64_t first_ = uint64_t{1} << 63;
  uint64_t size_ = 0;
};

}  // namespace cairn::data
