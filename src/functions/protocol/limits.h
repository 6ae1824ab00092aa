#pragma once

#include <cstddef>
#include <cstdint>

#include "functions/model/limits.h"

// What a bundle, an activation and its messages may be between server and child, at most: both
// sides check it. What users may have is in functions/model/limits.h, and fits in here.
namespace cairn::functions::wire {

inline constexpr size_t kMaxBundleFiles = 1'024;
inline constexpr size_t kMaxBundlePathBytes = 512;
inline constexpr size_t kMaxBundleBytes = size_t{16} << 20U;
// A bundle's text as the engine's own code.
inline constexpr size_t kMaxCompiledBytes = size_t{96} << 20U;
inline constexpr size_t kMaxEventBytes = size_t{24} << 20U;  // a body of 6 MiB, as JSON writes it
inline constexpr size_t kMaxContextBytes = size_t{256} << 10U;
inline constexpr size_t kMaxEnvBytes = size_t{1} << 20U;

using functions::kMaxErrorMessageBytes;
using functions::kMaxErrorTypeBytes;
using functions::kMaxResultBytes;
using functions::kMaxResultHeaderBytes;
using functions::kMaxResultHeaders;
using functions::kMaxStackBytes;
inline constexpr size_t kMaxLogLineBytes = 65'536;
inline constexpr size_t kMaxLogLevelBytes = 16;
// What a child sends of one activation; the server ends one that sends twice as many.
inline constexpr size_t kMaxLogLines = 50'000;

inline constexpr size_t kMaxHostCallsInFlight = 64;
inline constexpr size_t kMaxHostOperationBytes = 64;
inline constexpr size_t kMaxHostCallBytes = size_t{12} << 20U;
// Of an answer that is sent as it is made: a piece of it, and what may be on its way to a client
// that has not taken it. The piece with which that is exceeded is still sent.
inline constexpr size_t kMaxStreamPieceBytes = size_t{64} << 10U;
inline constexpr uint64_t kStreamWindowBytes = uint64_t{256} << 10U;
inline constexpr size_t kMaxAbortReasonBytes = 1'024;
// What a child may say in one message while it runs a function.
inline constexpr size_t kMaxRunMessageBytes = kMaxHostCallBytes + (size_t{64} << 10U);
inline constexpr size_t kMaxHostReplyBytes = size_t{24} << 20U;
inline constexpr size_t kMaxTimers = 10'000;
// How many programs a child remembers.
inline constexpr size_t kMaxChildPrograms = 16;

}  // namespace cairn::functions::wire
