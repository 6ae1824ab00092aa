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

// What one interpreter may take of memory, and how many wait for the next script.
inline constexpr size_t kMaxScriptMemory = 256UL * 1024 * 1024;
inline constexpr size_t kMaxIdleScriptStates = 8;
// How often a running script is looked at.
inline constexpr int kInstructionsPerStep = 1000;
// Steps and nested calls after which a script leaves the event loop and starts again on the pool:
// about five milliseconds.
inline constexpr int kMaxScriptStepsOnLoop = 2'500;
// Steps that the code of a library may take while it is loaded: about half a second.
inline constexpr int kMaxLibraryLoadSteps = 100'000;
// How deep a script's reply may be nested.
inline constexpr int kMaxScriptReplyDepth = 1'000;
inline constexpr size_t kMaxScriptReplyBytes = 512UL * 1024 * 1024;
// What the functions of a script that call back into it (pcall, string.gsub, coroutines) may
// together take of the thread's stack.
inline constexpr ptrdiff_t kMaxScriptStackBytes = 1024L * 1024;
// How deep the values of cjson and cmsgpack may be nested, whatever their options say.
inline constexpr int kMaxScriptNesting = 4'000;
// Bytes of scripts that are remembered for EVALSHA. When they are exceeded all are forgotten, as
// after a restart: clients send them again.
inline constexpr size_t kMaxScriptCacheBytes = 256UL * 1024 * 1024;
// Bytes of one library of functions.
inline constexpr size_t kMaxLibraryBytes = 16UL * 1024 * 1024;

}  // namespace cairn::data
