#include "data/keyspace/lzf.h"

#include <algorithm>
#include <cstdint>

namespace cairn::data {

std::optional<Bytes> LzfDecompress(BytesView compressed, size_t size) {
  // What a compressed byte can make of itself at the most: keeps a false size from taking memory.
  constexpr size_t kMaxRatio = 264;
  if (size / kMaxRatio > compressed.size()) return std::nullopt;
  Bytes out;
  out.reserve(size);
  BytesReader reader(compressed);
  while (!reader.AtEnd()) {
    const uint8_t control = reader.Byte();
    if (control < 0x20) {
      out += reader.Take(size_t{control} + 1);
    } else {
      size_t length = (control >> 5) + size_t{2};
      if (length == 9) length += reader.Byte();
      const size_t back = (size_t{control} & 0x1f) << 8 | reader.Byte();
      if (!reader.ok() || back + 1 > out.size()) return std::nullopt;
      // Byte by byte: what is copied may reach into what was just written.
      for (size_t from = out.size() - back - 1; length > 0; --length) out += out[from++];
    }
    if (!reader.ok() || out.size() > size) return std::nullopt;
  }
  if (out.size() != size) return std::nullopt;
  return out;
}

}  // namespace cairn::data
