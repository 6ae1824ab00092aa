#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "base/result.h"
#include "functions/model/records.h"
#include "jobs/schedule/cron.h"
#include "jobs/schedule/time_zone.h"

namespace cairn::functions {

// When a schedule is due. Times are milliseconds since 1970.
//
//   every_seconds   first_ms, first_ms + n seconds, first_ms + 2n seconds …
//   cron            whole seconds that fit the expression, in its time zone (jobs/schedule/cron.h)
//
// A value. Safe to use from any thread.
class Ticks {
 public:
  // CS_VALIDATION_FAILED, naming the member, for a schedule that says neither or both, or something
  // that cannot be due.
  static Result<Ticks> Of(const Schedule& schedule);

  // The first tick of a schedule that begins at `now_ms`: at once for one with an interval. 0:
  // there is none.
  int64_t First(int64_t now_ms) const;
  // The tick that comes after `tick_ms`, which is one; 0: there is none.
  int64_t Next(int64_t tick_ms) const;
  // The first tick that is not before `from_ms`, where `tick_ms` is any of them.
  int64_t NotBefore(int64_t from_ms, int64_t tick_ms) const;
  // Of the ticks from `tick_ms` to `now_ms`, the first of the last `most`.
  int64_t FirstOfLast(int64_t most, int64_t tick_ms, int64_t now_ms) const;

 private:
  Ticks() = default;

  int64_t every_ms_ = 0;
  std::optional<jobs::Cron> cron_;
  jobs::TimeZone zone_ = jobs::TimeZone::Utc();
};

}  // namespace cairn::functions
