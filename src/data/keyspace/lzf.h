#pragma once

#include <cstddef>
#include <optional>

#include "base/bytes.h"

namespace cairn::data {

// Undoes LZF, the compression of long strings in Redis's dumps. A compressed text is a row of
//
//   000lllll bytes…               l + 1 bytes as they are
//   lllooooo [more:1] oooooooo    l + more + 2 bytes from o + 1 bytes back; more is there if l is 7
//
// nullopt if that is not what it is, or it does not make exactly `size` bytes.
std::optional<Bytes> LzfDecompress(BytesView compressed, size_t size);

}  // namespace cairn::data
