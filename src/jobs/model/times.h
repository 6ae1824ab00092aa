#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// Times and durations as text. Times are nanoseconds since 1970, durations milliseconds.
namespace cairn::jobs {

// "2025-11-05T10:30:15.123456789Z"; the fraction has no trailing zeros.
std::string FormatTime(uint64_t ns);
// RFC 3339 with any offset; nullopt for anything else.
std::optional<uint64_t> ParseTime(std::string_view text);

// "1h30m", "5s", "250ms", "1.5h", "2d"; nullopt for anything else and above kMaxDelayMs.
std::optional<int64_t> ParseDuration(std::string_view text);

}  // namespace cairn::jobs
