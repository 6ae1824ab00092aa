#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "base/function_ref.h"
#include "base/result.h"
#include "data/keys.h"
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
class Elements {
 public:
  // A generation of 0 stands for a value that has no elements yet: nothing is found, and the first
  // Put gives it one.
  Elements(store::Transaction& transaction, uint8_t db, uint64_t generation);

  uint64_t generation() const { return generation_; }
  // Gives it one if it has none.
  void Begin();

  Result<std::optional<Bytes>> Get(BytesView suffix);
  void Put(BytesView suffix, BytesView value);
  void Delete(BytesView suffix);
  // Elements that are written or deleted by the visitor are not seen by the scan that runs it, if
  // they stand where it has been.
  Result<void> Scan(const SuffixRange& range, const store::ScanOptions& options,
                    ElementVisitor visit);

  // Puts a copy of each element under `target`, which has none yet.
  Result<void> CopyTo(Elements& target);

 private:
  store::Key KeyOf(BytesView suffix);

  store::Transaction* transaction_;
  uint64_t generation_;
  Bytes key_;  // the prefix, and behind it whatever was looked at last
};

}  // namespace cairn::data
