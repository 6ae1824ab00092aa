#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace date {
class time_zone;
}

namespace cairn::jobs {

// Seconds of a calendar and a clock on the wall, counted from 1970-01-01 00:00:00 as that clock
// shows it, with no regard to its offset from UTC.
struct LocalSeconds {
  int64_t count = 0;
  friend constexpr auto operator<=>(const LocalSeconds&, const LocalSeconds&) = default;
};

// A span of time in which a zone keeps one offset from UTC, [begin, end) in seconds since 1970 UTC.
struct OffsetSpan {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t offset_seconds = 0;
};

// A zone of the IANA database ("Europe/Berlin"), read from the system's zone files when it is first
// asked for. A cheap value; the database lives as long as the process. Safe to use from any thread.
class TimeZone {
 public:
  // kInvalid, naming it, if the system knows no such zone.
  static Result<TimeZone> Find(std::string_view name);
  static TimeZone Utc() { return TimeZone(nullptr, "UTC"); }

  const std::string& name() const { return name_; }

  OffsetSpan SpanAt(int64_t utc_seconds) const;

  // When the clocks of the zone show `local`. Of a time that they show twice, the first; of one
  // that they skip, the instant at which they skipped it.
  int64_t ToUtc(LocalSeconds local) const;

 private:
  TimeZone(const date::time_zone* zone, std::string name) : zone_(zone), name_(std::move(name)) {}

  const date::time_zone* zone_;  // null: UTC, which needs no file
  std::string name_;
};

}  // namespace cairn::jobs
