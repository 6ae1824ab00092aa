#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cairn {

// A time in nanoseconds since 1970 as RFC 3339 has it: "2025-11-05T10:30:15.123456789Z". The
// fraction has no trailing zeros.
std::string FormatTime(uint64_t ns);
// RFC 3339 with any offset, from 1970 to 2200; nullopt for anything else.
std::optional<uint64_t> ParseTime(std::string_view text);

}  // namespace cairn
