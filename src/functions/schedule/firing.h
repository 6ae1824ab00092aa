#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "functions/schedule/schedules.h"
#include "jobs/model/ids.h"
#include "store/scopes.h"
#include "store/timers.h"
#include "store/transaction.h"

namespace cairn::functions {

// Who invokes a function when a schedule does: one of these roles is in invoke_schedule_roles, if
// the version has that list.
inline constexpr std::string_view kSchedulerSubject = "sp:cs-scheduler";
inline constexpr std::string_view kSchedulerRole = "role:worker";

// The activation of a tick: always the same one, so that a tick has one activation whatever fails
// on the way. A schedule that is deleted and created again has others.
std::string TickActivationId(const Schedule& schedule, int64_t tick_ms);

// What has become of ticks in this process. Ticks of schedules beyond the first kMaxTickSeries are
// counted together, under an empty name.
struct TickFigures {
  std::map<ScheduleName, int64_t> fired;
  int64_t skipped = 0;
  int64_t refused = 0;  // the activation was not accepted
};
inline constexpr size_t kMaxTickSeries = 1'000;

// Fires ticks. One transaction publishes the tick's request to cs.invoke, queues its activation,
// and moves the schedule on to its next tick:
//
//   the activation before has not ended   skip: the tick is left out
//                                         queue: its message is given out when that one has ended,
//                                         if no more than kMaxCatchUpTicks wait
//                                         parallel: it does not matter
//   the request is refused                the schedule says why (last_error), and goes on
//   ticks were missed                     the last kMaxCatchUpTicks of them are fired, one after
//                                         the other; those before are left out
//
// A timer that has failed is fired again later, with the same tick; where processes share a store,
// one of them fires timers (store/timers.h), and a tick that is no longer the schedule's next does
// nothing.
class ScheduleTimers final : public store::TimerHandler {
 public:
  void AddScopes(const store::Timer& timer, store::Scopes& scopes) const override;
  Result<void> Fire(store::Transaction& transaction, const store::Timer& timer) override;

  TickFigures figures() const;

 private:
  class Tick;

  jobs::Held LanesFor(const store::Timer& timer) const;
  void NoteWide(const Bytes& owner);

  mutable std::mutex mutex_;
  // Timers that have failed for want of scopes: next time they have all.
  std::set<Bytes> wide_;
  TickFigures figures_;
};

}  // namespace cairn::functions
