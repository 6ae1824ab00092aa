#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "jobs/model/limits.h"

// What the view accepts and holds at most. The ones that users meet are in docs/jobs-search.md.
namespace cairn::view {

inline constexpr int64_t kDefaultPage = 50;
inline constexpr int64_t kMaxPage = 1'000;
inline constexpr int64_t kMaxFullTextPage = 500;
// A page ends before this is passed, with its cursor, though not before its first job.
inline constexpr size_t kMaxPageBytes = jobs::kMaxAnswerBytes;

// Containers in containers of the texts that are read: as deep as a payload may be.
inline constexpr size_t kMaxDepth = jobs::kMaxJsonDepth;

// How long an answer waits for a view that is behind, if nobody insists, and if somebody does.
inline constexpr std::chrono::seconds kPolite{2};
inline constexpr std::chrono::seconds kInsistent{30};
// How long a query, and building the view anew, may run.
inline constexpr std::chrono::seconds kQueryLimit{10};
inline constexpr std::chrono::minutes kRebuildLimit{10};
// Searches that wait for a thread; more are refused.
inline constexpr size_t kMaxWaitingSearches = 1'000;

// Jobs that a bulk action changes before it is answered; more are changed in the background.
inline constexpr int64_t kMaxBulkAtOnce = 1'000;
// Ids that one bulk action may name.
inline constexpr size_t kMaxBulkIds = 100'000;

// Jobs remembered as written ahead: some 20 MB.
inline constexpr size_t kMaxAhead = 200'000;
// Events the view may be behind before it stops leaving time to others: half of what the log keeps.
// The other half is the time to catch up in.
inline constexpr uint64_t kMaxBehind = jobs::kEventsKept / 2;

}  // namespace cairn::view
