#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/bytes.h"

// Bits of a string, numbered from the most significant bit of its first byte on, as all bit
// commands count them:
//
//   byte     0               1
//   bit      0 1 2 3 4 5 6 7 8 9 …
//   value   80 40 20 10 …
namespace cairn::data {

// How many bits are set.
size_t CountBits(BytesView bytes);
// Where the first bit with this value is.
std::optional<size_t> FindBit(BytesView bytes, bool value);

// The bits from `first_bit` on as a number, most significant bit first; zeros beyond the end.
// `width` is 1 to 64.
uint64_t ReadBits(BytesView bytes, size_t first_bit, size_t width);
// `bytes` reaches as far as the bits.
void WriteBits(Bytes& bytes, size_t first_bit, size_t width, uint64_t value);

// An integer of BITFIELD: i1 to i64, u1 to u63.
struct FieldType {
  bool is_signed = false;
  size_t width = 0;

  friend bool operator==(const FieldType&, const FieldType&) = default;
};
std::optional<FieldType> ParseFieldType(std::string_view text);

// The integer whose bits ReadBits has found.
int64_t FieldFromBits(FieldType type, uint64_t bits);

enum class Overflow {
  kWrap,      // the low bits are kept
  kSaturate,  // the nearest number that fits is taken
  kFail,
};
// `value` + `increment` as the type can hold it; nullopt if it cannot and that is to fail. To fit a
// number in, add 0. A negative number counts as too large for an unsigned type, as in Redis, unless
// the increment has made it so.
std::optional<int64_t> FitField(FieldType type, int64_t value, int64_t increment,
                                Overflow overflow);

}  // namespace cairn::data
