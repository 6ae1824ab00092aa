#pragma once

#include <cstdint>

#include "base/hash.h"
#include "store/space.h"

namespace cairn::store {

// What the store's tables in memory find a key by: computed once for a key that several of them are
// asked for.
inline uint64_t HashOf(Key key) { return Hash64(key.bytes, static_cast<uint64_t>(key.space)); }

}  // namespace cairn::store
