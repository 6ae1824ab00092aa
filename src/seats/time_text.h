#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace cairn::seats {

// "2025-11-05T10:30:15.123456+00:00", the only form this layer writes and reads.
std::string FormatTime(Timestamp time);
std::optional<Timestamp> ParseTime(std::string_view text);

// "327.665556": seconds with microseconds.
std::string FormatSeconds(int64_t us);

}  // namespace cairn::seats
