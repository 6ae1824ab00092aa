#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cairn::data {

// The longest common subsequence of two strings, as LCS shows it.
struct Lcs {
  // Bytes that stand together in both strings and are part of the subsequence.
  struct Match {
    size_t a;  // where it begins in the one
    size_t b;  // and in the other
    size_t length;
  };

  size_t length = 0;
  std::string text;
  std::vector<Match> matches;  // from the ends of the strings to their beginnings
};

// Takes memory and time in proportion to LcsTableBytes.
Lcs FindLcs(std::string_view a, std::string_view b);

size_t LcsTableBytes(std::string_view a, std::string_view b);

}  // namespace cairn::data
