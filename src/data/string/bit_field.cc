#include "data/string/bit_field.h"

#include <bit>
#include <cstring>

#include "doors/resp/arg_parser.h"

namespace cairn::data {
namespace {

constexpr size_t kWordBytes = sizeof(uint64_t);

uint64_t LoadWord(BytesView bytes, size_t at) {
  uint64_t word = 0;
  std::memcpy(&word, bytes.data() + at, kWordBytes);
  return word;
}

uint8_t ByteAt(BytesView bytes, size_t at) { return static_cast<uint8_t>(bytes[at]); }

}  // namespace

size_t CountBits(BytesView bytes) {
  size_t count = 0;
  size_t at = 0;
  for (; at + kWordBytes <= bytes.size(); at += kWordBytes) {
    count += static_cast<size_t>(std::popcount(LoadWord(bytes, at)));
  }
  for (; at < bytes.size(); ++at) count += static_cast<size_t>(std::popcount(ByteAt(bytes, at)));
  return count;
}

std::optional<size_t> FindBit(BytesView bytes, bool value) {
  const uint8_t skipped = value ? 0x00 : 0xff;
  const uint64_t skipped_word = value ? 0 : ~uint64_t{0};
  size_t at = 0;
  while (at + kWordBytes <= bytes.size() && LoadWord(bytes, at) == skipped_word) at += kWordBytes;
  while (at < bytes.size() && ByteAt(bytes, at) == skipped) ++at;
  if (at == bytes.size()) return std::nullopt;
  const auto wanted = static_cast<uint8_t>(ByteAt(bytes, at) ^ skipped);
  return at * 8 + static_cast<size_t>(std::countl_zero(wanted));
}

uint64_t ReadBits(BytesView bytes, size_t first_bit, size_t width) {
  uint64_t value = 0;
  for (size_t bit = first_bit; bit < first_bit + width; ++bit) {
    const uint8_t byte = bit / 8 < bytes.size() ? ByteAt(bytes, bit / 8) : 0;
    value = value << 1 | (byte >> (7 - bit % 8) & 1U);
  }
  return value;
}

void WriteBits(Bytes& bytes, size_t first_bit, size_t width, uint64_t value) {
  for (size_t i = 0; i < width; ++i) {
    const size_t bit = first_bit + i;
    const auto mask = static_cast<uint8_t>(0x80U >> bit % 8);
    const bool set = (value >> (width - 1 - i) & 1U) != 0;
    const uint8_t byte = ByteAt(bytes, bit / 8);
    bytes[bit / 8] = static_cast<char>(set ? byte | mask : byte & ~mask);
  }
}

std::optional<FieldType> ParseFieldType(std::string_view text) {
  if (text.empty() || (text[0] != 'i' && text[0] != 'u')) return std::nullopt;
  const bool is_signed = text[0] == 'i';
  const std::optional<int64_t> width = doors::ParseInteger(text.substr(1));
  if (!width || *width < 1 || *width > (is_signed ? 64 : 63)) return std::nullopt;
  return FieldType{is_signed, static_cast<size_t>(*width)};
}

int64_t FieldFromBits(FieldType type, uint64_t bits) {
  const size_t unused = 64 - type.width;
  // The sign bit is moved to the front and, in signed types, back over all others.
  const uint64_t shifted = bits << unused;
  return type.is_signed ? static_cast<int64_t>(shifted) >> unused
                        : static_cast<int64_t>(shifted >> unused);
}

std::optional<int64_t> FitField(FieldType type, int64_t value, int64_t increment,
                                Overflow overflow) {
  const size_t value_bits = type.is_signed ? type.width - 1 : type.width;  // at most 63
  const auto max = static_cast<int64_t>((uint64_t{1} << value_bits) - 1);
  const int64_t min = type.is_signed ? -max - 1 : 0;
  int64_t sum = 0;
  const bool wrapped = __builtin_add_overflow(value, increment, &sum);
  // As in Redis, a value so low that the way up to the largest one is not a 64-bit number counts as
  // too large.
  int64_t way_up = 0;
  const bool far_below =
      type.is_signed && type.width < 64 && __builtin_sub_overflow(max, value, &way_up);
  const bool too_large =
      (wrapped ? increment > 0 : sum > max) || (!type.is_signed && value < 0) || far_below;
  const bool too_small = wrapped ? increment < 0 : sum < min;
  if (!too_large && !too_small) return sum;
  switch (overflow) {
    case Overflow::kWrap:
      return FieldFromBits(type, static_cast<uint64_t>(sum));
    case Overflow::kSaturate:
      return too_large ? max : min;
    case Overflow::kFail:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace cairn::data
