#include "functions/schedule/ticks.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <utility>

#include "functions/model/errors.h"
#include "functions/model/limits.h"

namespace cairn::functions {

Result<Ticks> Ticks::Of(const Schedule& schedule) {
  Ticks ticks;
  if (schedule.cron.empty()) {
    if (schedule.every_seconds < kMinEverySeconds || schedule.every_seconds > kMaxEverySeconds) {
      return Refuse(Code::kValidation, fmt::format("every_seconds must be an integer from {} to "
                                                   "{}, or cron must be there instead",
                                                   kMinEverySeconds, kMaxEverySeconds));
    }
    if (!schedule.time_zone.empty()) {
      return Refuse(Code::kValidation, "time_zone is for schedules with cron; remove it");
    }
    ticks.every_ms_ = schedule.every_seconds * kSecondMs;
    return ticks;
  }
  if (schedule.every_seconds != 0) {
    return Refuse(Code::kValidation, "every_seconds and cron exclude each other; give one of them");
  }
  Result<jobs::Cron> cron = jobs::Cron::Parse(schedule.cron);
  if (!cron.ok()) return Refuse(Code::kValidation, "cron is wrong: " + cron.error().message);
  ticks.cron_ = *std::move(cron);
  if (schedule.time_zone.empty()) return ticks;
  Result<jobs::TimeZone> zone = jobs::TimeZone::Find(schedule.time_zone);
  if (!zone.ok()) return Refuse(Code::kValidation, "time_zone is wrong: " + zone.error().message);
  ticks.zone_ = *std::move(zone);
  return ticks;
}

int64_t Ticks::First(int64_t now_ms) const { return cron_ ? Next(now_ms) : now_ms; }

int64_t Ticks::Next(int64_t tick_ms) const {
  if (!cron_) return tick_ms + every_ms_;
  const Result<Timestamp> next = cron_->Next(Timestamp::FromMillis(tick_ms), zone_);
  return next.ok() ? next->millis() : 0;
}

int64_t Ticks::NotBefore(int64_t from_ms, int64_t tick_ms) const {
  if (cron_) return Next(from_ms - 1);
  if (tick_ms >= from_ms) return tick_ms - (tick_ms - from_ms) / every_ms_ * every_ms_;
  return tick_ms + (from_ms - tick_ms + every_ms_ - 1) / every_ms_ * every_ms_;
}

int64_t Ticks::FirstOfLast(int64_t most, int64_t tick_ms, int64_t now_ms) const {
  if (!cron_) {
    const int64_t behind = std::max<int64_t>(0, (now_ms - tick_ms) / every_ms_ + 1 - most);
    return tick_ms + behind * every_ms_;
  }
  // Looks back in steps that double, so that a tick of each second does not cost the seconds of a
  // long absence.
  for (int64_t back_ms = most * kSecondMs;; back_ms *= 2) {
    const bool all = back_ms >= now_ms - tick_ms;
    std::deque<int64_t> last;
    int64_t next = all ? tick_ms : Next(now_ms - back_ms);
    for (; next != 0 && next <= now_ms; next = Next(next)) {
      last.push_back(next);
      if (static_cast<int64_t>(last.size()) > most) last.pop_front();
    }
    if (all) return last.empty() ? tick_ms : last.front();
    if (static_cast<int64_t>(last.size()) == most) return last.front();
  }
}

}  // namespace cairn::functions
