#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cairn::house {

// Sizes and times as people write them. Parsing is strict: nullopt for anything that is not exactly
// a number and a unit, so that "2G B" is refused instead of guessed at.

// "64MiB", "2GiB", "1500" (bytes). KB, MB, GB, TB are powers of 1000; KiB, MiB, GiB, TiB of 1024.
// Case does not matter; a fraction is not accepted.
std::optional<uint64_t> ParseSize(std::string_view text);
// The largest unit that loses nothing: 2147483648 is "2GiB", 1500 is "1500".
std::string FormatSize(uint64_t bytes);
// Rounded for reading: "1.5 GiB".
std::string ReadableSize(uint64_t bytes);

// "250ms", "10s", "5m", "1h"; a bare "0" too. A bare number other than 0 has no unit and is
// refused.
std::optional<std::chrono::milliseconds> ParseDuration(std::string_view text);
// The largest unit that loses nothing: 60000 ms is "1m", 0 is "0s".
std::string FormatDuration(std::chrono::milliseconds duration);

// Decimal digits only, no sign, no space.
std::optional<uint64_t> ParseWhole(std::string_view text);

}  // namespace cairn::house
