#include "view/pace.h"

#include <algorithm>
#include <fstream>

#include "jobs/model/limits.h"
#include "view/limits.h"

namespace cairn::view {
namespace {

// Nine parts of rest to one of work.
constexpr int kRestPerWork = 9;
// Processors are scarce if more than this part of a step was spent in the queue for one.
constexpr int kQueuedPart = 20;
// A step that took long, a file built anew, is no reason for a long silence.
constexpr std::chrono::nanoseconds kLongestRest = std::chrono::seconds(1);

}  // namespace

std::chrono::nanoseconds Pace::Rest() const {
  if (asked || !busy || queued < took / kQueuedPart || waiting >= kMaxBehind) return {};
  return std::min(took * kRestPerWork, kLongestRest);
}

std::optional<std::chrono::nanoseconds> QueuedForProcessor() {
  std::ifstream file("/proc/thread-self/schedstat");  // ran, queued, times
  int64_t ran = 0;
  int64_t queued = 0;
  if (!(file >> ran >> queued)) return std::nullopt;
  return std::chrono::nanoseconds(queued);
}

}  // namespace cairn::view
