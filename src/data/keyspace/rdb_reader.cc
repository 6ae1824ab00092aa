#include "data/keyspace/rdb_reader.h"

#include <fmt/format.h>

#include <bit>
#include <limits>
#include <optional>
#include <utility>

#include "data/keyspace/lzf.h"
#include "data/keyspace/rdb_format.h"
#include "data/value/limits.h"

namespace cairn::data {

BytesView RdbReader::Take(uint64_t count) {
  if (!ok_ || count > rest_.size()) {
    ok_ = false;
    return {};
  }
  const BytesView taken = rest_.substr(0, count);
  rest_.remove_prefix(count);
  return taken;
}

uint64_t RdbReader::Big(size_t width) {
  uint64_t value = 0;
  for (const char byte : Take(width)) value = value << 8 | static_cast<uint8_t>(byte);
  return value;
}

uint64_t RdbReader::Little(size_t width) {
  uint64_t value = 0;
  size_t shift = 0;
  for (const char byte : Take(width)) {
    value |= uint64_t{static_cast<uint8_t>(byte)} << shift;
    shift += 8;
  }
  return value;
}

uint64_t RdbReader::LengthAfter(uint8_t first) {
  if (first < 0x40) return first;
  if (first < 0x80) return (first & 0x3fU) << 8U | Byte();
  if (first == 0x80) return Big(4);
  if (first == 0x81) return Big(8);
  Fail();
  return 0;
}

uint64_t RdbReader::Length() { return LengthAfter(Byte()); }

Bytes RdbReader::String() {
  const uint8_t first = Byte();
  switch (first) {
    case 0xc0:
      return fmt::to_string(static_cast<int8_t>(Little(1)));
    case 0xc1:
      return fmt::to_string(static_cast<int16_t>(Little(2)));
    case 0xc2:
      return fmt::to_string(static_cast<int32_t>(Little(4)));
    case 0xc3: {
      const uint64_t compressed_length = Length();
      const uint64_t length = Length();
      const BytesView compressed = Take(compressed_length);
      std::optional<Bytes> text;
      if (ok_ && length <= kMaxStringBytes) text = LzfDecompress(compressed, length);
      if (!text) Fail();
      return std::move(text).value_or("");
    }
    default:
      return Bytes(Take(LengthAfter(first)));
  }
}

double RdbReader::TextDouble() {
  const uint8_t length = Byte();
  if (length == 0xfe) return std::numeric_limits<double>::infinity();
  if (length == 0xff) return -std::numeric_limits<double>::infinity();
  const std::optional<double> value = length == 0xfd ? std::nullopt : ParseScoreText(Take(length));
  if (!value) Fail();
  return value.value_or(0);
}

double RdbReader::BinaryDouble() { return std::bit_cast<double>(Little(8)); }

}  // namespace cairn::data
