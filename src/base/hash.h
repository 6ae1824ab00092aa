#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace cairn {

// A fast 64-bit hash for tables in memory. Not stable between versions: never stored, never sent.
// Not meant against an attacker who chooses keys to collide; what uses it stays correct (only
// slower) when hashes collide.
uint64_t Hash64(BytesView bytes, uint64_t seed = 0);

}  // namespace cairn
