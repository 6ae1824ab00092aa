#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "functions/schedule/schedules.h"

// The JSON that both doors take and give of schedules. Objects are closed, as in
// control/requests.h.
namespace cairn::functions {

// A schedule of what is given, and of the usual where nothing is.
Schedule NewScheduleOf(const ScheduleUpdate& given);

struct NewSchedule {
  ScheduleName name;
  Schedule schedule;
};
// {"name","every_seconds" or "cron" and "time_zone","overlap_policy","ref":{"function","alias" or
//  "version"},"payload","enabled"}
Result<NewSchedule> ParseNewSchedule(const NamespaceName& ns, std::string_view text);
// The same without "name"; all of them may be missing.
Result<ScheduleUpdate> ParseScheduleUpdate(std::string_view text);

// The record, and behind its members "state":{…} and "next_ticks_ms":[…].
std::string DetailText(const ScheduleDetail& detail);
// {"schedules":[…],"cursor":"…" or null}
std::string PageText(const SchedulePage& page);

}  // namespace cairn::functions
