#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "seats/row_index.h"
#include "seats/seat.h"

// Best available: picks the seats for a request of N seats in one section.
//
// The rows are looked at in the order of `prefer`. The first row with as many free seats side by
// side gives them, from the left end of its first such run, or with kCenter as near to the middle
// as they can be. Where no row has that many, and that is allowed, the longest runs are taken
// first, among equals in the order of rows and seats, until there are enough; of the last one its
// left end.
namespace cairn::seats {

enum class Prefer : uint8_t {
  kFront,   // row 1 first
  kCenter,  // the middle row first, of two equally near ones the front one
  kBack,    // the last row first
};

struct FindOptions {
  int64_t quantity = 1;
  Prefer prefer = Prefer::kFront;
  // Of the choices there are, takes the first that leaves no free seat alone between taken ones
  // which was not alone before; if every choice does, takes the first.
  bool avoid_orphans = false;
  bool adjacent_only = false;
};

// Indexes in the order in which they are given; none if there are not enough. Reads a bounded part
// of the section, unless avoid_orphans has to look through it.
Result<std::vector<int64_t>> FindSeats(const RowIndex& index, SeatBits& bits,
                                       const FindOptions& options);

}  // namespace cairn::seats
