#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace cairn::view {

// How much of the machine the view takes from those it is a copy of.
//
// Nobody waits for the view unless they have asked for it; whoever commits jobs meanwhile has
// somebody waiting. So where processors are scarce a step of the feed is followed by a rest in
// proportion to the time it took, which leaves it a tenth of a processor, and lets changes of one
// job gather that are then written as one. There is no rest
//   - when somebody has asked: they are answered as soon as can be;
//   - when nothing was committed during the step: the machine has nothing better to do;
//   - when the step hardly had to wait for a processor: it takes nothing from anybody;
//   - when so many events wait that the log might forget some before they are read.
struct Pace {
  // Of one step.
  std::chrono::nanoseconds took = {};
  std::chrono::nanoseconds queued = {};  // of that, how long it could have run and did not
  bool asked = false;                    // somebody waits for what the view does not have yet
  bool busy = false;                     // events were committed while it was taken
  uint64_t waiting = 0;                  // events that are left for later steps

  // How long to rest after it.
  std::chrono::nanoseconds Rest() const;
};

// How long the calling thread has been ready to run in its life while others were running; nullopt
// where the system does not tell.
std::optional<std::chrono::nanoseconds> QueuedForProcessor();

}  // namespace cairn::view
