#pragma once

#include <chrono>

namespace cairn::doors {

// Until when a wait of a turn lasts: Signal::Wait, LineWait::Served, SideTask::Sleep. It is the
// only time that does not come from a Clock, because the timers of a loop know the machine's time
// only.
using Deadline = std::chrono::steady_clock::time_point;

inline Deadline DeadlineIn(std::chrono::steady_clock::duration time) {
  return std::chrono::steady_clock::now() + time;
}

}  // namespace cairn::doors
