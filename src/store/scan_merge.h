#pragma once

#include <concepts>

#include "store/space.h"
#include "store/transaction.h"
#include "store/write_set.h"

namespace cairn::store {

// Where a scan reads committed rows from: an engine's iterator over one range, in one direction.
template <typename T>
concept RowSource = requires(T source, const T& looked_at) {
  source.Start();  // stands on the first row, if there is one
  source.Step();
  { looked_at.Valid() } -> std::same_as<bool>;
  { looked_at.key() } -> std::convertible_to<BytesView>;
  { looked_at.value() } -> std::convertible_to<BytesView>;
  // Why there is no valid row: the end, or an error.
  { looked_at.status() } -> std::same_as<Result<void>>;
};

// The transaction's own rows beside the committed ones: which comes first, how to step.
template <RowSource Source>
struct ScanMerge {
  Source& base;
  WriteSet* writes;
  const Range& range;
  bool reverse;
  const WriteSet::Row* row = nullptr;

  void Start() {
    base.Start();
    if (writes == nullptr) return;
    if (!reverse) {
      row = writes->Seek(range, range.begin);
      return;
    }
    row = writes->SeekBackward(range, nullptr);
  }

  // Whether the store's row comes next; both may stand on the same key.
  bool BaseFirst() const {
    if (!base.Valid()) return false;
    if (row == nullptr) return true;
    const BytesView key = base.key();
    return reverse ? key > row->key : key < row->key;
  }

  void StepRow() {
    // The row's key is looked up again, since a visitor may have written to the set. The successor
    // of a key is the key with a zero byte behind it.
    const BytesView key = row->key;
    if (reverse) {
      row = writes->SeekBackward(range, &key);
    } else {
      Bytes next(key);
      next.push_back('\0');
      row = writes->Seek(range, next);
    }
  }
};

// Visits the rows of `source`, which reads `range` in the direction of `options`, merged with the
// uncommitted `writes` where given.
template <RowSource Source>
Result<void> ScanMerged(Source& source, WriteSet* writes, const Range& range,
                        const ScanOptions& options, RowVisitor visit) {
  if (range.empty()) return {};
  ScanMerge<Source> merge{source, writes, range, options.reverse};
  merge.Start();
  size_t visited = 0;
  while (visited < options.limit && (source.Valid() || merge.row != nullptr)) {
    // A source that could not read on is not at its end: the transaction's own later rows do not
    // come next.
    if (!source.Valid() && !source.status().ok()) break;
    if (merge.BaseFirst()) {
      const BytesView key = source.key();
      const bool deleted = writes != nullptr && writes->has_deleted_ranges() &&
                           writes->RangeDeleted({range.space, key});
      if (!deleted) {
        ++visited;
        if (!visit(key, source.value())) return {};
      }
      source.Step();
      continue;
    }
    const WriteSet::Row row = *merge.row;
    if (source.Valid() && source.key() == row.key) source.Step();
    if (row.state == WriteSet::State::kPut) {
      ++visited;
      if (!visit(row.key, row.value)) return {};
    }
    merge.StepRow();
  }
  return source.status();
}

}  // namespace cairn::store
