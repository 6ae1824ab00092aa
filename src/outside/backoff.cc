#include "outside/backoff.h"

#include <algorithm>

namespace cairn::outside {

std::chrono::milliseconds Backoff::PauseAfter(int64_t failures, Random& random) const {
  std::chrono::milliseconds pause = first;
  for (int64_t i = 1; i < failures && pause < longest; ++i) pause *= 2;
  pause = std::min(pause, longest);
  const auto quarter = static_cast<uint64_t>(pause.count() / 4);
  return pause - std::chrono::milliseconds(random.Below(quarter + 1));
}

}  // namespace cairn::outside
