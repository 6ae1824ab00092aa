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

// JSON: containers in containers; bytes of one text that is read or written; bytes of one path, and
// brackets in its filters; values that evaluating a path may visit; steps in the locations of what
// it finds.
inline constexpr size_t kMaxJsonDepth = 128;
inline constexpr size_t kMaxJsonTextBytes = 64UL * 1024 * 1024;
inline constexpr size_t kMaxJsonPathBytes = 64UL * 1024;
inline constexpr size_t kMaxJsonFilterDepth = 32;
inline constexpr size_t kMaxJsonPathVisits = 10'000'000;
inline constexpr size_t kMaxJsonMatchSteps = 4'000'000;
// A JSON array or object whose encoding is larger than this is stored by member.
inline constexpr size_t kMaxInlineJsonBytes = 1024;

}  // namespace cairn::data
