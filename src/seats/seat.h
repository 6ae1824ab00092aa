#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "data/value/string_value.h"
#include "seats/keys.h"
#include "store/transaction.h"

// Seats and their states as a section keeps them: a string with two bits a seat, row after row,
// without padding between rows, most significant bits first as BITFIELD counts them.
//
//   seat index   (row - 1) × cols + (seat - 1)      rows and seats count from 1
//   bits         2 × index, 2 × index + 1           00 available  01 reserved  10 sold  11 blocked
//
// What lies beyond the end of the string is available.
namespace cairn::seats {

enum class SeatState : uint8_t { kAvailable = 0, kReserved = 1, kSold = 2, kBlocked = 3 };

std::string_view StateName(SeatState state);  // "available"
char StateLetter(SeatState state);            // '.', 'r', 's', 'x', as maps draw it

// The rectangle of a section.
struct Shape {
  int64_t rows = 0;
  int64_t cols = 0;

  int64_t seats() const { return rows * cols; }
  int64_t Index(int64_t row, int64_t seat) const { return (row - 1) * cols + (seat - 1); }
  friend bool operator==(const Shape&, const Shape&) = default;
};

// "2-11": row 2, seat 11.
std::string SeatName(const Shape& shape, int64_t index);

// The index of each seat named, in order. Refuses what is not written so, is not in the section, or
// was named before.
Result<std::vector<int64_t>> ParseSeats(const Shape& shape, std::string_view section,
                                        const std::vector<std::string>& names);

// The seats of one section as a transaction found them. Changes count only together with Save.
// Lives inside the transaction's body.
class SeatBits {
 public:
  // Refuses a key that holds something else than a string.
  static Result<SeatBits> Load(store::Transaction& transaction, uint8_t db, const std::string& key,
                               const Shape& shape);

  // All available, in place of whatever the key has, once it is saved. Costs nothing for what is
  // not stored: a long string of zeros is not.
  static Result<SeatBits> Create(store::Transaction& transaction, uint8_t db,
                                 const std::string& key, const Shape& shape);

  const Shape& shape() const { return shape_; }
  // The version of the key as it was loaded; 0 if there is none.
  uint64_t version() const { return string_.entry().version(); }

  // `count` states from `first` on.
  Result<std::vector<SeatState>> Read(int64_t first, int64_t count);
  Result<SeatState> Get(int64_t index);
  Result<void> Set(const std::vector<int64_t>& indexes, SeatState state);

  void Save() { string_.Save(); }

 private:
  SeatBits(data::StringValue string, const Shape& shape)
      : string_(std::move(string)), shape_(shape) {}

  data::StringValue string_;
  Shape shape_;
};

}  // namespace cairn::seats
