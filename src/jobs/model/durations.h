#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace cairn::jobs {

// "1h30m", "5s", "250ms", "1.5h", "2d" in milliseconds; nullopt for anything else and above
// kMaxDelayMs.
std::optional<int64_t> ParseDuration(std::string_view text);

}  // namespace cairn::jobs
