#pragma once

#include <cstddef>
#include <cstdint>

namespace cairn::data {

// The longest string value, as Redis bounds it (proto-max-bulk-len).
inline constexpr size_t kMaxStringBytes = 512UL * 1024 * 1024;

// Memory that one LCS may take for its table.
inline constexpr size_t kMaxLcsBytes = 512UL * 1024 * 1024;

// SCAN positions that are remembered between calls, over all clients.
inline constexpr size_t kMaxScanCursors = 16'384;
inline constexpr size_t kMaxScanCursorBytes = 64UL * 1024 * 1024;

// Entries that an approximate trim of a stream (MAXLEN ~) removes at most, unless LIMIT says else.
inline constexpr uint64_t kStreamTrimLimit = 10'000;

}  // namespace cairn::data
