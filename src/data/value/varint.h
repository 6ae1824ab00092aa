#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.h"

// A varint: seven bits a byte, the lowest first, the high bit set in all but the last.
namespace cairn::data {

inline void AppendVarint(uint64_t value, Bytes& out) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

// Takes a varint off the front; nullopt, and some bytes gone, if there is none.
inline std::optional<uint64_t> TakeVarint(BytesView& bytes) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<uint8_t>(bytes.front());
    bytes.remove_prefix(1);
    value |= uint64_t{byte & 0x7FU} << shift;
    if ((byte & 0x80) == 0) return value;
  }
  return std::nullopt;
}

}  // namespace cairn::data
