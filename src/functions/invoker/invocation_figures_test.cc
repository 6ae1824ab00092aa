#include "functions/invoker/invocation_figures.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <numeric>

namespace cairn::functions {
namespace {

Activation Ended(std::string_view function, Status status, int64_t took_ms) {
  Activation activation;
  activation.tenant = "t_abc123";
  activation.ns = "payments";
  activation.ref.function = function;
  activation.resolved_version = 3;
  activation.trigger.type = TriggerType::kSchedule;
  activation.status = status;
  activation.duration_ms = took_ms;
  return activation;
}

TEST(InvocationFiguresTest, EndsAreToldApart) {
  InvocationFigures figures;
  figures.Count(Ended("one", Status::kSuccess, 1));
  figures.Count(Ended("one", Status::kSuccess, 2));
  figures.Count(Ended("one", Status::kError, 7));
  figures.Count(Ended("two", Status::kTimeout, 900'000));
  const InvocationFigures::Snapshot taken = figures.Take();
  EXPECT_EQ(taken.ended.size(), 3U);
  EXPECT_EQ(
      taken.ended.at({"t_abc123", "payments", "one", 3, TriggerType::kSchedule, Status::kSuccess}),
      2);
  const Durations& one =
      taken.durations.at({"t_abc123", "payments", "one", 3, TriggerType::kSchedule});
  EXPECT_EQ(one.counts.front(), 1U);  // up to and with 1 ms
  EXPECT_EQ(one.counts[1], 1U);
  EXPECT_EQ(one.counts[3], 1U);
  EXPECT_EQ(one.sum_ms, 10);
  const Durations& two =
      taken.durations.at({"t_abc123", "payments", "two", 3, TriggerType::kSchedule});
  EXPECT_EQ(two.counts.back(), 1U);
  EXPECT_EQ(two.sum_ms, 900'000);
}

TEST(InvocationFiguresTest, ManyFunctionsTakeBoundedRoom) {
  InvocationFigures figures;
  constexpr int kMore = 100;
  constexpr int kAll = static_cast<int>(InvocationFigures::kMaxSeries) + kMore;
  for (int i = 0; i < kAll; ++i) {
    figures.Count(Ended(fmt::format("f{}", i), Status::kSuccess, 1));
  }
  const InvocationFigures::Snapshot taken = figures.Take();
  EXPECT_EQ(taken.ended.size(), InvocationFigures::kMaxSeries + 1);
  EXPECT_EQ(taken.ended.at({.trigger = TriggerType::kSchedule, .status = Status::kSuccess}), kMore);
  EXPECT_EQ(taken.durations.size(), InvocationFigures::kMaxDurationSeries + 1);
  const Durations& rest = taken.durations.at({.trigger = TriggerType::kSchedule});
  EXPECT_EQ(rest.counts.front(), kAll - InvocationFigures::kMaxDurationSeries);
  const int64_t all =
      std::accumulate(taken.ended.begin(), taken.ended.end(), int64_t{0},
                      [](int64_t sum, const auto& one) { return sum + one.second; });
  EXPECT_EQ(all, kAll);
}

}  // namespace
}  // namespace cairn::functions
