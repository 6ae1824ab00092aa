#pragma once

#include <cstddef>
#include <cstdint>

namespace cairn::data {

// The longest string value, as Redis bounds it (proto-max-bulk-len).
inline constexpr size_t kMaxStringBytes = 512UL * 1024 * 1024;

// Names and values of a stream that RESTORE reads: a dump that names fields once may have many
// entries with them.
inline constexpr size_t kMaxRestoredStreamBytes = 512UL * 1024 * 1024;

// Memory that one LCS may take for its table.
inline constexpr size_t kMaxLcsBytes = 512UL * 1024 * 1024;

// Keys and elements that SWAPDB moves, all in one transaction. (To swap two names instead, every
// command would first have to read which rows a database's number stands for.)
inline constexpr size_t kMaxSwappedRows = 1'000'000;

// Keys and elements up to which FLUSHDB deletes them one by one, not as a range.
inline constexpr size_t kMaxRowsFlushedSingly = 10'000;

// SCAN positions that are remembered between calls, over all clients.
inline constexpr size_t kMaxScanCursors = 16'384;
inline constexpr size_t kMaxScanCursorBytes = 64UL * 1024 * 1024;
// What one SCAN, HSCAN, SSCAN or ZSCAN returns; it ends early, and the cursor tells that there is
// more.
inline constexpr size_t kMaxScanReplyBytes = 1024UL * 1024;

// The most members that SRANDMEMBER and its like return when they may return one again.
inline constexpr uint64_t kMaxRandomPicks = 1'048'576;

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

// What one interpreter may take of memory, and how many wait for the next script.
inline constexpr size_t kMaxScriptMemory = 256UL * 1024 * 1024;
inline constexpr size_t kMaxIdleScriptStates = 8;
// How often a running script is looked at.
inline constexpr int kInstructionsPerStep = 1000;
// Memory of a script that one instruction may go through, times the instructions of a step: about a
// fifth of a second, if all of them do.
inline constexpr size_t kMaxScriptBytesPerStep = 1024UL * 1024 * 1024;
// How often a script that takes memory is looked at.
inline constexpr size_t kScriptGrowthPerStep = 64UL * 1024;
// Steps and nested calls after which a script leaves the event loop and starts again on the pool:
// about five milliseconds. So does one that takes longer or more memory than this.
inline constexpr int kMaxScriptStepsOnLoop = 2'500;
inline constexpr uint64_t kMaxScriptNsOnLoop = 10'000'000;
inline constexpr size_t kMaxScriptMemoryOnLoop = 512UL * 1024;
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

// What one approximate trim of a stream (MAXLEN ~) removes at most, unless it has a LIMIT: nodes;
// entries of these; entries where the size of a node is not bounded.
inline constexpr uint64_t kStreamTrimNodes = 100;
inline constexpr uint64_t kStreamTrimEntries = 1'000'000;
inline constexpr uint64_t kStreamTrimEntriesUnbounded = 10'000;

// Lua: elements that table.sort sorts outside of the interpreter, whose memory is bounded; captures
// of a pattern, and captures and repetitions inside each other, each of which takes some of the
// thread's stack; containers in containers that cmsgpack packs, as nil beyond.
inline constexpr int kMaxScriptSortElements = 1'000'000;
inline constexpr size_t kMaxPatternCaptures = 32;
inline constexpr int kMaxPatternDepth = 200;
inline constexpr int kMaxPackedDepth = 16;

// The source of all libraries of functions in one dump.
inline constexpr size_t kMaxRestoredFunctionBytes = 512UL * 1024 * 1024;

}  // namespace cairn::data
