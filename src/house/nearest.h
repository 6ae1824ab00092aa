#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cairn::house {

// The candidate that `word` most likely meant, nullopt when none is near.
std::optional<std::string> Nearest(std::string_view word,
                                   const std::vector<std::string>& candidates);

// " (did you mean 'resp'?)", or nothing.
std::string DidYouMean(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace cairn::house
