#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/function_ref.h"
#include "base/result.h"
#include "data/value/keys.h"
#include "data/value/member_filter.h"
#include "data/value/member_order.h"
#include "data/value/packed_rows.h"
#include "store/transaction.h"

namespace cairn::data {

// Some of the elements of one value: those with begin <= suffix, and suffix < end where there is an
// end.
struct SuffixRange {
  Bytes begin;
  std::optional<Bytes> end;

  static SuffixRange All() { return {}; }
  static SuffixRange Prefix(BytesView prefix) { return {Bytes(prefix), PrefixSuccessor(prefix)}; }
};

// Called for each element in order; the views last until it returns. Returns whether to go on.
using ElementVisitor = FunctionRef<bool(BytesView suffix, BytesView value)>;

// The elements of one value (keys.h), ordered by their suffixes, as a transaction sees them. What a
// suffix means is the type's own affair. Lives inside the transaction's body.
//
// They are rows, each written as it is put; or, for a type that wants it so and as long as they are
// few and short, they are packed into the value's record, which the type writes (collection.h).
// Packed ones become rows with the Put that makes them too large, and stay rows.
//
// Packed ones are in the order in which they were added. Where that order is to outlive the change
// to rows, it becomes one more row, of an empty suffix (member_order.h), which is none of the
// elements: only ReadOrder and WriteOrder see it.
class Elements {
 public:
  enum class AddedOrder { kForgotten, kKept };

  // A generation of 0 stands for a value that has no elements yet: nothing is found, and the first
  // Put gives it one.
  Elements(store::Transaction& transaction, uint8_t db, uint64_t generation);

  // Rows whose suffixes begin with a hash:4, as found in the record; the filter knows these hashes.
  Elements(store::Transaction& transaction, uint8_t db, uint64_t generation, MemberFilter filter);

  // Packed ones, as found in the record. When they become rows, these have a filter.
  Elements(store::Transaction& transaction, uint8_t db, PackedRows packed,
           AddedOrder order = AddedOrder::kForgotten);

  // Null for rows.
  const PackedRows* packed() const { return packed_ ? &*packed_ : nullptr; }
  // 0 for packed ones, and for none.
  uint64_t generation() const { return generation_; }
  // Goes into the record, where suffixes begin with a hash.
  const MemberFilter& filter() const { return filter_; }
  // Makes them rows, under a generation.
  void Begin();

  Result<std::optional<Bytes>> Get(BytesView suffix);
  // In one round trip, where the engine has such.
  Result<std::vector<std::optional<Bytes>>> GetMany(std::span<const Bytes> suffixes);
  void Put(BytesView suffix, BytesView value);
  void Delete(BytesView suffix);
  // Deletes those whose suffixes begin with `prefix`, one by one.
  Result<void> DeletePrefix(BytesView prefix);
  // Elements that are written or deleted by the visitor are not seen by the scan that runs it, if
  // they stand where it has been.
  Result<void> Scan(const SuffixRange& range, const store::ScanOptions& options,
                    ElementVisitor visit);

  // In what order the elements were added, if they are rows for which that is known.
  Result<std::optional<MemberOrder>> ReadOrder();
  // nullopt: it is not known any more.
  void WriteOrder(const std::optional<MemberOrder>& order);

  // Puts a copy of each row under `target`, which has none yet. `gather` is told of the memory that
  // each row takes until all are written (Entry::Gather); its failure ends the copy.
  Result<void> CopyTo(Elements& target, FunctionRef<Result<void>(size_t)> gather);

 private:
  store::Key KeyOf(BytesView suffix);
  void PutRow(BytesView suffix, BytesView value);
  void ScanPacked(const SuffixRange& range, const store::ScanOptions& options,
                  ElementVisitor visit) const;

  store::Transaction* transaction_;
  uint64_t generation_;
  Bytes key_;  // the prefix, and behind it whatever was looked at last
  std::optional<PackedRows> packed_;
  AddedOrder order_ = AddedOrder::kForgotten;  // of packed ones
  bool members_ = false;  // hashes are in front of suffixes, and an order may be among the rows
  MemberFilter filter_;   // of rows; without hashes it lets everything pass
};

}  // namespace cairn::data
