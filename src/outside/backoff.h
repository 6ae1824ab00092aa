#pragma once

#include <chrono>
#include <cstdint>

#include "base/random.h"

namespace cairn::outside {

// How long to wait before something that failed is tried again.
struct Backoff {
  std::chrono::milliseconds first = std::chrono::milliseconds(100);
  std::chrono::milliseconds longest = std::chrono::seconds(30);

  // After `failures` in a row, at least one: doubles with each, up to the longest. Up to a quarter
  // less at random, so that those that failed together do not come back together.
  std::chrono::milliseconds PauseAfter(int64_t failures, Random& random) const;
};

}  // namespace cairn::outside
