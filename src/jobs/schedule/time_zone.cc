#include "jobs/schedule/time_zone.h"

#include <date/tz.h>
#include <fmt/format.h>

#include <chrono>
#include <exception>
#include <limits>

#include "base/bytes.h"

namespace cairn::jobs {
namespace {

using std::chrono::seconds;

date::sys_seconds ToSys(int64_t utc_seconds) { return date::sys_seconds(seconds(utc_seconds)); }

}  // namespace

Result<TimeZone> TimeZone::Find(std::string_view name) {
  if (name == "UTC") return Utc();
  // The library tells by exceptions what it does not find, and reads a zone's file at its first
  // use.
  try {
    const date::time_zone* zone = date::locate_zone(std::string(name));
    zone->get_info(ToSys(0));
    return TimeZone(zone, std::string(name));
  } catch (const std::exception&) {
    return Error{ErrorCode::kInvalid,
                 fmt::format("unknown time zone '{}': expected a name such as Europe/Berlin or UTC",
                             Printable(name))};
  }
}

OffsetSpan TimeZone::SpanAt(int64_t utc_seconds) const {
  if (zone_ == nullptr) {
    return {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max(), 0};
  }
  const date::sys_info info = zone_->get_info(ToSys(utc_seconds));
  return {info.begin.time_since_epoch().count(), info.end.time_since_epoch().count(),
          info.offset.count()};
}

int64_t TimeZone::ToUtc(LocalSeconds local) const {
  if (zone_ == nullptr) return local.count;
  const date::local_info info = zone_->get_info(date::local_seconds(seconds(local.count)));
  if (info.result == date::local_info::nonexistent) {
    return info.first.end.time_since_epoch().count();
  }
  return local.count - info.first.offset.count();
}

}  // namespace cairn::jobs
