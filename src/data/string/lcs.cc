#include "data/string/lcs.h"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace cairn::data {

size_t LcsTableBytes(std::string_view a, std::string_view b) {
  size_t cells = 0;
  if (__builtin_mul_overflow(a.size() + 1, b.size() + 1, &cells) ||
      cells > std::numeric_limits<size_t>::max() / sizeof(uint32_t)) {
    return std::numeric_limits<size_t>::max();
  }
  return cells * sizeof(uint32_t);
}

Lcs FindLcs(std::string_view a, std::string_view b) {
  // lengths[i][j]: of the longest common subsequence of the first i bytes of a and j bytes of b.
  const size_t width = b.size() + 1;
  std::vector<uint32_t> lengths((a.size() + 1) * width);
  const auto at = [&](size_t i, size_t j) -> uint32_t& { return lengths[i * width + j]; };
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      at(i, j) = a[i - 1] == b[j - 1] ? at(i - 1, j - 1) + 1 : std::max(at(i - 1, j), at(i, j - 1));
    }
  }

  // Back from the end, along one of the longest. Of several it is the one Redis takes.
  Lcs lcs;
  lcs.length = at(a.size(), b.size());
  size_t i = a.size();
  size_t j = b.size();
  while (i > 0 && j > 0) {
    if (a[i - 1] == b[j - 1]) {
      --i;
      --j;
      lcs.text += a[i];
      const bool extends =
          !lcs.matches.empty() && lcs.matches.back().a == i + 1 && lcs.matches.back().b == j + 1;
      if (extends) {
        lcs.matches.back() = {i, j, lcs.matches.back().length + 1};
      } else {
        lcs.matches.push_back({i, j, 1});
      }
    } else if (at(i - 1, j) > at(i, j - 1)) {
      --i;
    } else {
      --j;
    }
  }
  std::ranges::reverse(lcs.text);
  return lcs;
}

}  // namespace cairn::data
