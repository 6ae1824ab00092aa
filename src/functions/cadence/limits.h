#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

// The bounds of what is said with Cadence. docs/functions.md has them as a table.
namespace cairn::functions {

// Worker bindings; model/limits.h has what their records say.
inline constexpr size_t kMaxBindings = 1'000;  // of a namespace
inline constexpr size_t kMaxActivityNameBytes = 256;

// A task as the frontend gives it: its input, and what stands around it.
inline constexpr size_t kMaxTaskInputBytes = 4UL * 1024 * 1024;
inline constexpr size_t kMaxTaskTokenBytes = 16UL * 1024;
inline constexpr size_t kMaxTaskTextBytes = 4096;  // of each of its names and ids
inline constexpr size_t kMaxPollAnswerBytes = 8UL * 1024 * 1024;
inline constexpr size_t kMaxCallAnswerBytes = 64UL * 1024;  // of the other calls
inline constexpr size_t kMaxHeartbeatBytes = 64UL * 1024;

// Of one process: polls at once, and all requests at once.
inline constexpr size_t kMaxPolls = 1'024;
inline constexpr size_t kMaxFrontendCalls = 4'096;
inline constexpr size_t kMaxWaitingCalls = 65'536;
inline constexpr size_t kMaxCadenceSeries = 1'000;

// A heartbeat of one activation is not sent sooner after the one before.
inline constexpr std::chrono::milliseconds kHeartbeatPause{500};
// How long one poll may take: a frontend holds it for a minute if there is nothing to do.
inline constexpr std::chrono::milliseconds kGrpcPollTimeout{70'000};
inline constexpr std::chrono::milliseconds kJsonPollTimeout{20'000};
inline constexpr std::chrono::milliseconds kCallTimeout{15'000};
inline constexpr std::chrono::milliseconds kFrontendConnectTimeout{5'000};

}  // namespace cairn::functions
