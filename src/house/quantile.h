#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace cairn::house {

// The value that `part` of the values (0 to 1) are below; 0 without values. Sorts them.
inline double Quantile(std::vector<double>& values, double part) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const auto at = static_cast<size_t>(part * static_cast<double>(values.size()));
  return values[std::min(values.size() - 1, at)];
}

}  // namespace cairn::house
