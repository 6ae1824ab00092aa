#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "seats/booking.h"
#include "seats/event.h"
#include "seats/feed.h"

// What this layer tells, as JSON text: the same over RESP, HTTP and to subscribers.
namespace cairn::seats {

void AppendInteger(int64_t value, std::string& out);
// {"available":…,"reserved":…,"sold":…,"blocked":…,"total":…}
void AppendCounts(const Counts& counts, std::string& out);
// {"section_stats":{…},"event_stats":{…}}
std::string CountsJson(const Counts& section, const Counts& event);
std::string ChangeJson(const Event& event, const Section& section, const Change& change,
                       Timestamp now);
// {"id":…,"event_id":…,"section":…,"mode":…,"status":…,"quantity":…,"seats":[…],…}
std::string BookingJson(const Booking& booking, Timestamp now);
// {"booking":{…},"section_stats":{…},"event_stats":{…}}
std::string AnswerJson(const Booking& booking, const Counts& section, const Counts& event,
                       Timestamp now);

// ["1-1","1-2"]
void AppendStrings(const std::vector<std::string>& strings, std::string& out);

}  // namespace cairn::seats
