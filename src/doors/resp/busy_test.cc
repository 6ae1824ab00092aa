#include "doors/resp/busy.h"

#include <gtest/gtest.h>

#include <optional>

namespace cairn::doors {
namespace {

constexpr uint64_t kMs = 1'000'000;

TEST(BusyTest, RefusesOncePastTheThreshold) {
  Busy busy;
  EXPECT_EQ(busy.Refusal(), std::nullopt);
  {
    Busy::Run run(busy, Busy::Kind::kScript, "sha", {}, 0);
    run.Check(5000 * kMs);
    EXPECT_EQ(busy.Refusal(), std::nullopt);
    run.Check(5001 * kMs);
    EXPECT_TRUE(busy.Refusal()->starts_with("BUSY"));
  }
  EXPECT_EQ(busy.Refusal(), std::nullopt);
}

TEST(BusyTest, NoThresholdNeverRefuses) {
  Busy busy;
  busy.set_threshold_ms(0);
  Busy::Run run(busy, Busy::Kind::kScript, "sha", {}, 0);
  run.Check(1'000'000 * kMs);
  EXPECT_EQ(busy.Refusal(), std::nullopt);
}

TEST(BusyTest, TheLimitEndsWhatHasWrittenToo) {
  Busy busy;
  busy.set_limit_ms(10'000);
  Busy::Run run(busy, Busy::Kind::kScript, "sha", {}, 5 * kMs);
  run.SetWritten();
  EXPECT_FALSE(run.past_limit(10'005 * kMs));
  EXPECT_TRUE(run.past_limit(10'006 * kMs));
}

TEST(BusyTest, WhatDoesNotLookAtTheTimeIsLateAllTheSame) {
  Busy busy;
  EXPECT_FALSE(busy.AnythingLate(100'000 * kMs));
  const Busy::Run run(busy, Busy::Kind::kScript, "sha", {}, 0);
  EXPECT_FALSE(busy.AnythingLate(5000 * kMs));
  EXPECT_TRUE(busy.AnythingLate(5001 * kMs));
  busy.set_threshold_ms(0);
  EXPECT_FALSE(busy.AnythingLate(5001 * kMs));
}

TEST(BusyTest, KillEndsWhatHasNotWritten) {
  Busy busy;
  EXPECT_TRUE(busy.Kill(Busy::Kind::kScript)->starts_with("NOTBUSY"));
  Busy::Run script(busy, Busy::Kind::kScript, "sha", {}, 0);
  EXPECT_TRUE(busy.Kill(Busy::Kind::kFunction)->starts_with("BUSY"));
  EXPECT_FALSE(script.killed());
  script.SetWritten();
  EXPECT_TRUE(busy.Kill(Busy::Kind::kScript)->starts_with("UNKILLABLE"));
  EXPECT_FALSE(script.killed());
  Busy::Run other(busy, Busy::Kind::kScript, "sha", {}, 0);
  EXPECT_EQ(busy.Kill(Busy::Kind::kScript), std::nullopt);
  EXPECT_TRUE(other.killed());
  EXPECT_FALSE(script.killed());
  busy.EndAll();
  EXPECT_TRUE(script.must_end());
}

TEST(BusyTest, TellsTheFunctionThatRuns) {
  Busy busy;
  EXPECT_FALSE(busy.RunningFunction().has_value());
  const std::string_view args[] = {"FCALL", "f", "0"};
  const Busy::Run run(busy, Busy::Kind::kFunction, "f", args, 7);
  ASSERT_TRUE(busy.RunningFunction().has_value());
  EXPECT_EQ(busy.RunningFunction()->name, "f");
  EXPECT_EQ(busy.RunningFunction()->args.size(), 3U);
}

}  // namespace
}  // namespace cairn::doors
