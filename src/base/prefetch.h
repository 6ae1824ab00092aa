#pragma once

#include <cstddef>

namespace cairn {

inline constexpr size_t kCacheLineBytes = 64;

// Asks memory for the cache line at `address`, which need not be valid, and does not wait for it.
inline void Prefetch(const void* address) {
  __builtin_prefetch(address);
  // g++ takes a function that only prefetches for one without effect, and drops calls to it.
  asm volatile("");
}

}  // namespace cairn
