#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "jobs/schedule/time_zone.h"

namespace cairn::jobs {

// When something is due, again and again: a cron expression.
//
//   minute hour day-of-month month day-of-week             0 9 * * mon-fri
//   second minute hour day-of-month month day-of-week      */10 * * * * *
//
//   *          every value              a,b        several              a-b      a range
//   */n a-b/n  every n-th of a range    a/n        every n-th from a    ?        like *, for days
//   jan … dec  sun … sat                names in any case; 7 is Sunday too
//   L  L-n     in day-of-month: the last day of the month, or n days before it
//   5L  fri#2  in day-of-week: the last Friday of the month, its second Friday
//   @yearly @annually @monthly @weekly @daily @midnight @hourly
//
// Days: if both day fields are restricted, a day that fits either of them fits. A field that begins
// with * does not restrict in this sense (`0 0 */2 * mon` is Mondays with an odd date), as in other
// crons.
//
// Where clocks change, every wall-clock time that the expression names comes once: one that is
// skipped in spring at the moment of the change, one that is shown twice in autumn the first time.
// An expression for all hours is one of intervals rather than of wall-clock times: it goes on in
// the repeated hour and is owed nothing for the skipped one, so that `*/5 * * * *` is five minutes
// apart all year round.
//
// A value. Safe to use from any thread.
class Cron {
 public:
  // kInvalid, naming the field and what is wrong with it; also for an expression that no date ever
  // fits, such as the 30th of February.
  static Result<Cron> Parse(std::string_view expression);

  // The first instant after `after` at which it is due: a whole second. kInvalid beyond the year
  // kLastYear.
  Result<Timestamp> Next(Timestamp after, const TimeZone& zone) const;

  static constexpr int kLastYear = 9999;

 private:
  // A date of the calendar, with what the fields ask about it.
  struct Day;

  Cron() = default;

  bool Fits(const Day& day) const;
  bool FitsDate(const Day& day) const;
  bool FitsWeekday(const Day& day) const;
  // The first second of a day, at or after `from`, that fits; nullopt if none is left.
  std::optional<int64_t> TimeOfDay(int64_t from) const;
  // The first wall-clock time at or after `from` that fits; nullopt if there is none up to
  // kLastYear.
  std::optional<LocalSeconds> FirstFrom(LocalSeconds from) const;
  // After the second `after`, in seconds since 1970 UTC.
  std::optional<int64_t> NextByClock(int64_t after, const TimeZone& zone) const;
  std::optional<int64_t> NextByInterval(int64_t after, const TimeZone& zone) const;

  friend class CronParser;

  std::bitset<60> seconds_;
  std::bitset<60> minutes_;
  std::bitset<24> hours_;
  std::bitset<13> months_;     // 1 to 12
  std::bitset<32> dates_;      // 1 to 31
  std::bitset<31> from_last_;  // n: n days before the last of the month
  std::bitset<7> weekdays_;    // Sunday is 0
  std::bitset<7> last_weekdays_;
  std::array<std::bitset<6>, 7> nth_weekdays_;  // 1 to 5
  bool dates_restricted_ = false;
  bool weekdays_restricted_ = false;
};

}  // namespace cairn::jobs
