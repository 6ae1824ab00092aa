#include "functions/invoker/rate_limits.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace cairn::functions {
namespace {

TEST(RateLimitsTest, SoManyASecondAndThenAsTheyComeBack) {
  ManualClock clock;
  RateLimits limits(clock);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(limits.Take("t_abc123", 20), std::nullopt) << i;
  EXPECT_EQ(limits.Take("t_abc123", 20), 50);
  clock.AdvanceMillis(50);
  EXPECT_EQ(limits.Take("t_abc123", 20), std::nullopt);
  EXPECT_EQ(limits.Take("t_abc123", 20), 50);
}

TEST(RateLimitsTest, NamesDoNotShare) {
  ManualClock clock;
  RateLimits limits(clock);
  EXPECT_EQ(limits.Take("a", 1), std::nullopt);
  EXPECT_EQ(limits.Take("b", 1), std::nullopt);
  EXPECT_EQ(limits.Take("a", 1), 1000);
}

TEST(RateLimitsTest, NoLimitTakesNothing) {
  ManualClock clock;
  RateLimits limits(clock);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(limits.Take("a", 0), std::nullopt);
}

TEST(RateLimitsTest, WhatWasForgottenIsFullAgain) {
  ManualClock clock;
  RateLimits limits(clock);
  for (int i = 0; i < 10'000; ++i) EXPECT_EQ(limits.Take(fmt::format("n{}", i), 1), std::nullopt);
  EXPECT_EQ(limits.Take("n1", 1), 1000);  // not forgotten: it is not full
  clock.AdvanceMillis(1'000);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(limits.Take(fmt::format("m{}", i), 1), std::nullopt);
  EXPECT_EQ(limits.Take("n1", 1), std::nullopt);
}

}  // namespace
}  // namespace cairn::functions
