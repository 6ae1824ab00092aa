#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "data/value/entry.h"
#include "seats/seat.h"
#include "store/transaction.h"

// Where the free seats of a section are, so that finding some costs the same in a section of a
// hundred and of a million seats. A string beside the section's bits:
//
//   version:8 longest:1 × groups
//
// A group is a number of neighbouring rows: one row where a section has up to kMaxRowGroups rows,
// else as many as make that many groups at most. `longest` is how many free seats stand side by
// side at most in a row of the group, 255 for that many and more.
//
// A section of up to kMaxUnindexedSeats is read as a whole instead: it has no such string.
//
// The bits alone say what is free; this is a hint. `version` is that of the bits' record as this
// layer wrote it, in the same transaction. If the bits have another one, somebody else has written
// them (BITFIELD, SETBIT), and the index is made again from them, which costs reading the section
// once.
namespace cairn::seats {

// Runs of free seats in one row, from left to right.
struct Run {
  int64_t row = 0;    // from 0 on
  int64_t start = 0;  // seat in the row, from 0 on
  int64_t length = 0;
  friend bool operator==(const Run&, const Run&) = default;
};

// A section's index as a transaction found it, or made it. Lives inside the transaction's body.
class RowIndex {
 public:
  static Result<RowIndex> Load(store::Transaction& transaction, uint8_t db, const std::string& key,
                               SeatBits& bits);
  // Of a section all of whose seats are free.
  static Result<RowIndex> Fresh(store::Transaction& transaction, uint8_t db, const std::string& key,
                                const Shape& shape);

  int64_t groups() const { return static_cast<int64_t>(longest_.size()); }
  int64_t GroupOf(int64_t row) const { return row / group_rows_; }
  uint8_t longest(int64_t group) const { return longest_[static_cast<size_t>(group)]; }
  // Over the whole section.
  uint8_t longest() const;

  // The free runs of the rows of a group.
  Result<std::vector<Run>> ReadRuns(int64_t group, SeatBits& bits) const;
  // Looks again at the whole section.
  Result<void> Rebuild(SeatBits& bits);
  // Looks again at the groups of these seats.
  Result<void> Refresh(const std::vector<int64_t>& indexes, SeatBits& bits);
  // Whether sections of this shape have one.
  static bool IsStored(const Shape& shape);
  // With the version that the bits have once this transaction has saved them. Does nothing for a
  // section that has none.
  void Save();

  // What the stored index says that the bits do not, for verify; empty if it says nothing wrong.
  static Result<std::string> FindFault(store::Transaction& transaction, uint8_t db,
                                       const std::string& key, SeatBits& bits);

 private:
  RowIndex(std::optional<data::Entry> entry, const Shape& shape);
  // Whether what is stored was made from these bits.
  bool Decode(const SeatBits& bits);
  std::optional<data::Entry> entry_;  // none if it is not stored
  Shape shape_;
  int64_t group_rows_;
  std::vector<uint8_t> longest_;
};

}  // namespace cairn::seats
