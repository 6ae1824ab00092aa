#include "doors/resp/latency_events.h"

#include <gtest/gtest.h>

namespace cairn::doors {
namespace {

constexpr Timestamp Second(int64_t second) { return {second * 1'000'000}; }

TEST(LatencyEventsTest, NothingIsAnEventWithoutAThreshold) {
  LatencyEvents events;
  EXPECT_FALSE(events.Wants(1'000'000'000));
  events.set_threshold_ms(10);
  EXPECT_FALSE(events.Wants(9'999));
  EXPECT_TRUE(events.Wants(10'000));
}

TEST(LatencyEventsTest, ASecondKeepsItsLongest) {
  LatencyEvents events;
  events.Add("command", Second(5), 20);
  events.Add("command", Second(5), 30);
  events.Add("command", Second(5), 25);
  events.Add("command", Second(7), 10);
  const auto history = events.History("command");
  ASSERT_EQ(history.size(), 2U);
  EXPECT_EQ(history[0].second, 5);
  EXPECT_EQ(history[0].ms, 30);
  EXPECT_EQ(history[1].ms, 10);
  ASSERT_EQ(events.Summaries().size(), 1U);
  EXPECT_EQ(events.Summaries()[0].latest.second, 7);
  EXPECT_EQ(events.Summaries()[0].max_ms, 30);
}

TEST(LatencyEventsTest, KeepsABoundedNumberOfSamples) {
  LatencyEvents events;
  constexpr int64_t kAll = LatencyEvents::kSamples + 5;
  for (int64_t i = 0; i < kAll; ++i) events.Add("command", Second(i), i);
  const auto history = events.History("command");
  ASSERT_EQ(history.size(), LatencyEvents::kSamples);
  EXPECT_EQ(history.front().second, 5);
  EXPECT_EQ(history.back().second, kAll - 1);
}

TEST(LatencyEventsTest, ResetForgetsTheNamedOrAll) {
  LatencyEvents events;
  events.Add("command", Second(1), 1);
  events.Add("fast-command", Second(1), 1);
  constexpr std::string_view kNames[] = {"command", "nosuch"};
  EXPECT_EQ(events.Reset(kNames), 1U);
  EXPECT_TRUE(events.History("command").empty());
  EXPECT_EQ(events.Reset({}), 1U);
  EXPECT_TRUE(events.Summaries().empty());
}

}  // namespace
}  // namespace cairn::doors
