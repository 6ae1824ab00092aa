#include "functions/schedule/ticks.h"

#include <gtest/gtest.h>

#include <string>

#include "functions/model/errors.h"

namespace cairn::functions {
namespace {

constexpr int64_t kNow = 1'700'000'000'000;  // 2023-11-14 22:13:20 UTC

Schedule Every(int64_t seconds) {
  Schedule schedule;
  schedule.every_seconds = seconds;
  return schedule;
}
Schedule By(std::string_view cron, std::string_view zone = "") {
  Schedule schedule;
  schedule.cron = cron;
  schedule.time_zone = zone;
  return schedule;
}
std::string ErrorOf(const Schedule& schedule) {
  const Result<Ticks> ticks = Ticks::Of(schedule);
  return ticks.ok() ? "" : ticks.error().message;
}

TEST(TicksTest, AnIntervalBeginsAtOnceAndKeepsItsGrid) {
  const Ticks ticks = *Ticks::Of(Every(30));
  EXPECT_EQ(ticks.First(kNow), kNow);
  EXPECT_EQ(ticks.Next(kNow), kNow + 30'000);
  EXPECT_EQ(ticks.NotBefore(kNow, kNow), kNow);
  EXPECT_EQ(ticks.NotBefore(kNow + 1, kNow), kNow + 30'000);
  EXPECT_EQ(ticks.NotBefore(kNow + 61'000, kNow), kNow + 90'000);
  EXPECT_EQ(ticks.NotBefore(kNow, kNow + 61'000), kNow + 1'000);
}

TEST(TicksTest, CronIsDueByTheClocksOfItsZone) {
  const Ticks utc = *Ticks::Of(By("0 3 * * *"));
  EXPECT_EQ(utc.First(kNow), kNow + ((4 * 60 + 46) * 60 + 40) * 1'000);
  const Ticks berlin = *Ticks::Of(By("0 3 * * *", "Europe/Berlin"));
  EXPECT_EQ(berlin.First(kNow), utc.First(kNow) - 3'600'000);
  EXPECT_EQ(berlin.NotBefore(berlin.First(kNow), kNow), berlin.First(kNow));
  EXPECT_EQ(berlin.Next(berlin.First(kNow)), berlin.First(kNow) + 86'400'000);
}

TEST(TicksTest, OnlyTheLastMissedOnesAreMadeUpFor) {
  const Ticks interval = *Ticks::Of(Every(10));
  EXPECT_EQ(interval.FirstOfLast(60, kNow, kNow), kNow);
  EXPECT_EQ(interval.FirstOfLast(60, kNow, kNow + 599'999), kNow);
  EXPECT_EQ(interval.FirstOfLast(60, kNow, kNow + 600'000), kNow + 10'000);
  EXPECT_EQ(interval.FirstOfLast(60, kNow, kNow + 86'400'000), kNow + 86'400'000 - 590'000);
  const Ticks seconds = *Ticks::Of(By("* * * * * *"));
  EXPECT_EQ(seconds.FirstOfLast(60, kNow, kNow + 86'400'000), kNow + 86'400'000 - 59'000);
  EXPECT_EQ(seconds.FirstOfLast(60, kNow, kNow + 10'000), kNow);
  const Ticks yearly = *Ticks::Of(By("@yearly"));
  const int64_t first = yearly.First(kNow);
  EXPECT_EQ(yearly.FirstOfLast(60, first, first + 10LL * 366 * 86'400'000), first);
}

TEST(TicksTest, WhatCannotBeDueIsRefused) {
  EXPECT_EQ(ErrorOf(Every(0)).find("CS_VALIDATION_FAILED every_seconds must be an integer from "),
            0U);
  EXPECT_NE(ErrorOf(Every(86'401)), "");
  EXPECT_NE(ErrorOf(By("61 * * * *")), "");
  EXPECT_NE(ErrorOf(By("0 0 30 2 *")), "");
  EXPECT_NE(ErrorOf(By("0 0 * * *", "Mars/Olympus")), "");
  Schedule both = Every(5);
  both.cron = "@daily";
  EXPECT_NE(ErrorOf(both), "");
  Schedule zone = Every(5);
  zone.time_zone = "UTC";
  EXPECT_NE(ErrorOf(zone), "");
}

}  // namespace
}  // namespace cairn::functions
