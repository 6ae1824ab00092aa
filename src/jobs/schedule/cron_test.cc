#include "jobs/schedule/cron.h"

#include <date/date.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "jobs/schedule/time_zone.h"

namespace cairn::jobs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Timestamp Utc(const std::string& text) {
  std::istringstream in(text);
  date::sys_seconds time;
  in >> date::parse("%Y-%m-%d %H:%M:%S", time);
  EXPECT_FALSE(in.fail()) << text;
  return {time.time_since_epoch().count() * 1'000'000};
}

std::string Text(Timestamp time, const TimeZone& zone) {
  const int64_t utc = time.us / 1'000'000;
  const int64_t offset = zone.SpanAt(utc).offset_seconds;
  const date::sys_seconds local{std::chrono::seconds(utc + offset)};
  return date::format("%F %T", local) + fmt::format(" {:+}", static_cast<double>(offset) / 3600);
}

Cron Parsed(std::string_view expression) {
  Result<Cron> cron = Cron::Parse(expression);
  EXPECT_TRUE(cron.ok()) << cron.error().message;
  return cron.ok() ? *cron : *Cron::Parse("@daily");
}

TimeZone Zone(std::string_view name) {
  Result<TimeZone> zone = TimeZone::Find(name);
  EXPECT_TRUE(zone.ok());
  return zone.ok() ? *zone : TimeZone::Utc();
}

// The next `count` times after `after` (UTC), as the clocks of the zone show them.
std::vector<std::string> Runs(std::string_view expression, std::string_view zone_name,
                              const std::string& after, int count) {
  const TimeZone zone = Zone(zone_name);
  const Cron cron = Parsed(expression);
  std::vector<std::string> runs;
  Timestamp at = Utc(after);
  for (int i = 0; i < count; ++i) {
    const Result<Timestamp> next = cron.Next(at, zone);
    if (!next.ok()) {
      runs.push_back(next.error().message);
      break;
    }
    EXPECT_GT(next->us, at.us);
    at = *next;
    runs.push_back(Text(at, zone));
  }
  return runs;
}

std::vector<std::string> InUtc(std::string_view expression, const std::string& after, int count) {
  std::vector<std::string> runs = Runs(expression, "UTC", after, count);
  for (std::string& run : runs) run = run.substr(0, run.find(" +"));
  return runs;
}

std::string Refusal(std::string_view expression) {
  const Result<Cron> cron = Cron::Parse(expression);
  return cron.ok() ? "accepted" : cron.error().message;
}

TEST(CronTest, FiveFieldsAreMinutesSixHaveSecondsFirst) {
  EXPECT_THAT(InUtc("30 9 * * *", "2026-03-01 09:30:00", 2),
              ElementsAre("2026-03-02 09:30:00", "2026-03-03 09:30:00"));
  EXPECT_THAT(InUtc("15 30 9 * * *", "2026-03-01 09:30:00", 2),
              ElementsAre("2026-03-01 09:30:15", "2026-03-02 09:30:15"));
  EXPECT_THAT(InUtc("*/20 * * * * *", "2026-12-31 23:59:30", 3),
              ElementsAre("2026-12-31 23:59:40", "2027-01-01 00:00:00", "2027-01-01 00:00:20"));
}

TEST(CronTest, ListsRangesStepsAndNames) {
  EXPECT_THAT(InUtc("5,10-12,50/5 * * * *", "2026-03-01 00:00:00", 7),
              ElementsAre("2026-03-01 00:05:00", "2026-03-01 00:10:00", "2026-03-01 00:11:00",
                          "2026-03-01 00:12:00", "2026-03-01 00:50:00", "2026-03-01 00:55:00",
                          "2026-03-01 01:05:00"));
  EXPECT_THAT(InUtc("0 8-18/5 * * *", "2026-03-01 00:00:00", 4),
              ElementsAre("2026-03-01 08:00:00", "2026-03-01 13:00:00", "2026-03-01 18:00:00",
                          "2026-03-02 08:00:00"));
  EXPECT_THAT(InUtc("0 0 1 JAN,jul ?", "2026-03-01 00:00:00", 2),
              ElementsAre("2026-07-01 00:00:00", "2027-01-01 00:00:00"));
  EXPECT_THAT(InUtc("0 12 ? * Fri-Sun", "2026-03-02 00:00:00", 4),  // a Monday
              ElementsAre("2026-03-06 12:00:00", "2026-03-07 12:00:00", "2026-03-08 12:00:00",
                          "2026-03-13 12:00:00"));
  EXPECT_EQ(InUtc("0 0 * * 7", "2026-03-02 00:00:00", 3),
            InUtc("0 0 * * sun", "2026-03-02 00:00:00", 3));
  EXPECT_THAT(InUtc("0 0 * * */3", "2026-03-01 00:00:00", 3),  // Sunday, Wednesday, Saturday
              ElementsAre("2026-03-04 00:00:00", "2026-03-07 00:00:00", "2026-03-08 00:00:00"));
}

TEST(CronTest, Nicknames) {
  EXPECT_THAT(InUtc("@yearly", "2026-03-01 00:00:00", 1), ElementsAre("2027-01-01 00:00:00"));
  EXPECT_THAT(InUtc("@annually", "2026-03-01 00:00:00", 1), ElementsAre("2027-01-01 00:00:00"));
  EXPECT_THAT(InUtc("@monthly", "2026-03-01 00:00:00", 1), ElementsAre("2026-04-01 00:00:00"));
  EXPECT_THAT(InUtc("@weekly", "2026-03-02 00:00:00", 1), ElementsAre("2026-03-08 00:00:00"));
  EXPECT_THAT(InUtc("@Daily", "2026-03-01 00:00:00", 1), ElementsAre("2026-03-02 00:00:00"));
  EXPECT_THAT(InUtc("@midnight", "2026-03-01 00:00:00", 1), ElementsAre("2026-03-02 00:00:00"));
  EXPECT_THAT(InUtc("@hourly", "2026-03-01 00:00:00", 1), ElementsAre("2026-03-01 01:00:00"));
}

TEST(CronTest, EitherOfTwoRestrictedDaysIsEnough) {
  EXPECT_THAT(InUtc("0 0 13 * fri", "2026-03-01 00:00:00", 4),
              ElementsAre("2026-03-06 00:00:00", "2026-03-13 00:00:00", "2026-03-20 00:00:00",
                          "2026-03-27 00:00:00"));
  // A field that begins with a star takes nothing in, it only leaves out.
  EXPECT_THAT(InUtc("0 0 */2 * mon", "2026-03-01 00:00:00", 3),
              ElementsAre("2026-03-09 00:00:00", "2026-03-23 00:00:00", "2026-04-13 00:00:00"));
}

TEST(CronTest, LastAndNthDays) {
  EXPECT_THAT(InUtc("0 0 L * *", "2027-12-01 00:00:00", 4),
              ElementsAre("2027-12-31 00:00:00", "2028-01-31 00:00:00", "2028-02-29 00:00:00",
                          "2028-03-31 00:00:00"));
  EXPECT_THAT(InUtc("0 0 15,L-2 2 *", "2026-01-01 00:00:00", 2),
              ElementsAre("2026-02-15 00:00:00", "2026-02-26 00:00:00"));
  EXPECT_THAT(InUtc("0 0 * * 5L", "2026-01-01 00:00:00", 3),
              ElementsAre("2026-01-30 00:00:00", "2026-02-27 00:00:00", "2026-03-27 00:00:00"));
  EXPECT_THAT(InUtc("0 0 ? * mon#1,wed#5", "2026-03-01 00:00:00", 4),
              ElementsAre("2026-03-02 00:00:00", "2026-04-06 00:00:00", "2026-04-29 00:00:00",
                          "2026-05-04 00:00:00"));
}

TEST(CronTest, LeapYears) {
  EXPECT_THAT(InUtc("0 0 29 2 *", "2026-01-01 00:00:00", 2),
              ElementsAre("2028-02-29 00:00:00", "2032-02-29 00:00:00"));
  EXPECT_THAT(InUtc("0 0 29 2 *", "2096-03-01 00:00:00", 1),  // 2100 has none
              ElementsAre("2104-02-29 00:00:00"));
  EXPECT_THAT(InUtc("0 0 31 * *", "2026-03-31 00:00:00", 2),
              ElementsAre("2026-05-31 00:00:00", "2026-07-31 00:00:00"));
  // The 29th of February that is a Monday.
  EXPECT_THAT(InUtc("0 0 */28 2 mon#5", "2026-01-01 00:00:00", 1),
              ElementsAre("2044-02-29 00:00:00"));
}

TEST(CronTest, WhatNeverComesIsRefused) {
  EXPECT_THAT(Refusal("0 0 30 2 *"), HasSubstr("'0 0 30 2 *' never comes"));
  EXPECT_THAT(Refusal("0 0 31 feb,apr,jun,sep,nov *"), HasSubstr("never comes"));
  EXPECT_THAT(Refusal("0 0 L-30 2 *"), HasSubstr("never comes"));
  EXPECT_EQ(Refusal("0 0 30 2 mon"), "accepted");  // Mondays of February
}

TEST(CronTest, RefusalsNameTheField) {
  EXPECT_EQ(Refusal("60 * * * *"), "cron: minute '60': expected a number from 0 to 59");
  EXPECT_EQ(Refusal("* 24 * * *"), "cron: hour '24': expected a number from 0 to 23");
  EXPECT_EQ(Refusal("* * 0 * *"), "cron: day-of-month '0': expected a number from 1 to 31");
  EXPECT_EQ(Refusal("* * * foo *"), "cron: month 'foo': expected a number from 1 to 12 or a name");
  EXPECT_EQ(Refusal("* * * * 8"), "cron: day-of-week '8': expected a number from 0 to 7 or a name");
  EXPECT_EQ(Refusal("*/0 * * * *"), "cron: minute '*/0': a step is a number from 1");
  EXPECT_EQ(Refusal("* 22-2 * * *"),
            "cron: hour '22-2': the range runs backwards; write it as two");
  EXPECT_EQ(Refusal("1,,2 * * * *"), "cron: minute '1,,2': a value is missing");
  EXPECT_EQ(Refusal("? * * * *"), "cron: minute '?': ? stands for a day only");
  EXPECT_EQ(Refusal("* * L3 * *"), "cron: day-of-month 'l3': expected L, or L-n with n up to 30");
  EXPECT_EQ(Refusal("* * * * mon#6"), "cron: day-of-week 'mon#6': expected 1 to 5 after #");
  EXPECT_THAT(Refusal("* * * *"), HasSubstr("'* * * *' has 4 fields; expected minute hour"));
  EXPECT_THAT(Refusal(""), HasSubstr("has 0 fields"));
  EXPECT_THAT(Refusal("@reboot"), HasSubstr("'@reboot' is not known"));
  for (const char* wrong : {"-1 * * * *", "1- * * * *", "+1 * * * *", "1/ * * * *", "* * * * L",
                            "99999999999 * * * *", "1.5 * * * *", "* * * * #1", "* * 15W * *",
                            "*5 * * * *", "1-2-3 * * * *", "*/2/2 * * * *"}) {
    EXPECT_NE(Refusal(wrong), "accepted") << wrong;
  }
}

TEST(CronTest, SpringInBerlinRunsOnceAtTheEndOfTheGap) {
  // 2026-03-29: 02:00 +1 is 03:00 +2.
  EXPECT_THAT(
      Runs("30 2 * * *", "Europe/Berlin", "2026-03-28 00:00:00", 3),
      ElementsAre("2026-03-28 02:30:00 +1", "2026-03-29 03:00:00 +2", "2026-03-30 02:30:00 +2"));
  // Several times inside the gap, and the one at its end, are one.
  EXPECT_THAT(
      Runs("*/30 2,3 * * *", "Europe/Berlin", "2026-03-28 23:00:00", 3),
      ElementsAre("2026-03-29 03:00:00 +2", "2026-03-29 03:30:00 +2", "2026-03-30 02:00:00 +2"));
}

TEST(CronTest, AutumnInBerlinRunsOnceTheFirstTime) {
  // 2026-10-25: 03:00 +2 is 02:00 +1.
  EXPECT_THAT(Runs("30 2 * * *", "Europe/Berlin", "2026-10-24 12:00:00", 2),
              ElementsAre("2026-10-25 02:30:00 +2", "2026-10-26 02:30:00 +1"));
  // Asked in the middle of the second time around.
  EXPECT_THAT(Runs("0,15,45 2 * * *", "Europe/Berlin", "2026-10-25 01:20:00", 1),
              ElementsAre("2026-10-26 02:00:00 +1"));
  EXPECT_THAT(Runs("0 2,3 * * *", "Europe/Berlin", "2026-10-24 22:00:00", 2),
              ElementsAre("2026-10-25 02:00:00 +2", "2026-10-25 03:00:00 +1"));
}

TEST(CronTest, AllHoursAreIntervals) {
  EXPECT_THAT(
      Runs("*/20 * * * *", "Europe/Berlin", "2026-10-25 00:30:00", 6),
      ElementsAre("2026-10-25 02:40:00 +2", "2026-10-25 02:00:00 +1", "2026-10-25 02:20:00 +1",
                  "2026-10-25 02:40:00 +1", "2026-10-25 03:00:00 +1", "2026-10-25 03:20:00 +1"));
  EXPECT_THAT(Runs("30 * * * *", "Europe/Berlin", "2026-03-29 00:00:00", 2),
              ElementsAre("2026-03-29 01:30:00 +1", "2026-03-29 03:30:00 +2"));
}

TEST(CronTest, OtherZonesOtherRules) {
  EXPECT_THAT(Runs("30 2 * * *", "America/New_York", "2026-03-07 12:00:00", 2),
              ElementsAre("2026-03-08 03:00:00 -4", "2026-03-09 02:30:00 -4"));
  EXPECT_THAT(Runs("30 1 * * *", "America/New_York", "2026-10-31 12:00:00", 2),
              ElementsAre("2026-11-01 01:30:00 -4", "2026-11-02 01:30:00 -5"));
  // Half an hour of daylight saving, in the southern spring.
  EXPECT_THAT(Runs("15 2 * * *", "Australia/Lord_Howe", "2026-10-03 00:00:00", 2),
              ElementsAre("2026-10-04 02:30:00 +11", "2026-10-05 02:15:00 +11"));
  EXPECT_THAT(Runs("45 1 * * *", "Australia/Lord_Howe", "2026-04-04 00:00:00", 2),
              ElementsAre("2026-04-05 01:45:00 +11", "2026-04-06 01:45:00 +10.5"));
  // Clocks that skip midnight, and a zone that skipped a day.
  EXPECT_THAT(Runs("@daily", "America/Santiago", "2026-09-05 12:00:00", 2),
              ElementsAre("2026-09-06 01:00:00 -3", "2026-09-07 00:00:00 -3"));
  EXPECT_THAT(
      Runs("0 12 * * *", "Pacific/Apia", "2011-12-29 00:00:00", 3),
      ElementsAre("2011-12-29 12:00:00 -10", "2011-12-31 00:00:00 +14", "2011-12-31 12:00:00 +14"));
  EXPECT_THAT(Runs("0 9 * * *", "Asia/Kolkata", "2026-01-01 00:00:00", 1),
              ElementsAre("2026-01-01 09:00:00 +5.5"));
  EXPECT_THAT(Runs("30 2 * * *", "Europe/Berlin", "2036-03-30 00:00:00", 1),
              ElementsAre("2036-03-30 03:00:00 +2"));
}

TEST(CronTest, EveryHourOfAYearComesOnceInEveryZone) {
  // However the clocks change, a schedule for each of the 24 hours by name has one run for each
  // wall-clock hour, so it is as many as in a year without changes, less those that fell together.
  const Cron cron = Parsed("0 0-22 * * *");
  for (const char* name : {"Europe/Berlin", "America/New_York", "Australia/Lord_Howe",
                           "America/Santiago", "Africa/Casablanca", "Asia/Kolkata"}) {
    const TimeZone zone = Zone(name);
    Timestamp at = Utc("2026-01-01 12:00:00");
    const Timestamp end = Utc("2027-01-01 12:00:00");
    int runs = 0;
    std::string last;
    while (true) {
      const Result<Timestamp> next = cron.Next(at, zone);
      ASSERT_TRUE(next.ok());
      if (*next > end) break;
      const std::string text = Text(*next, zone).substr(0, 19);
      EXPECT_GT(text, last) << name;  // never a wall-clock time twice
      last = text;
      at = *next;
      ++runs;
    }
    EXPECT_NEAR(runs, 365 * 23, 2) << name;
  }
}

TEST(CronTest, PartsOfASecondAndTheEndOfTime) {
  const Cron cron = Parsed("* * * * * *");
  EXPECT_EQ(cron.Next({1'500'000}, TimeZone::Utc())->us, 2'000'000);
  EXPECT_EQ(cron.Next({1'000'000}, TimeZone::Utc())->us, 2'000'000);
  EXPECT_EQ(cron.Next({-1'500'000}, TimeZone::Utc())->us, -1'000'000);
  EXPECT_FALSE(cron.Next({std::numeric_limits<int64_t>::max()}, TimeZone::Utc()).ok());
  EXPECT_FALSE(cron.Next({std::numeric_limits<int64_t>::min()}, TimeZone::Utc()).ok());
  EXPECT_THAT(InUtc("@yearly", "9998-12-31 00:00:00", 2),
              ElementsAre("9999-01-01 00:00:00", "cron: beyond the year 9999"));
}

TEST(TimeZoneTest, UnknownZonesAreRefusedByName) {
  for (const char* name :
       {"", "Mars/Olympus", "../../etc/passwd", "Europe", "zone.tab", "Europe/Berlin "}) {
    const Result<TimeZone> zone = TimeZone::Find(name);
    ASSERT_FALSE(zone.ok()) << name;
    EXPECT_THAT(zone.error().message, HasSubstr(fmt::format("unknown time zone '{}'", name)));
  }
  EXPECT_EQ(Zone("Etc/UTC").SpanAt(0).offset_seconds, 0);
  EXPECT_EQ(Zone("UTC").name(), "UTC");
}

}  // namespace
}  // namespace cairn::jobs
