#include "view/pace.h"

#include <gtest/gtest.h>

#include "jobs/model/limits.h"

namespace cairn::view {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

// A step while others work and nobody waits.
constexpr Pace kStep = {
    .took = milliseconds(20), .queued = milliseconds(1), .busy = true, .waiting = 100'000};

TEST(PaceTest, AStepBesideOthersLeavesNineTenths) { EXPECT_EQ(kStep.Rest(), milliseconds(180)); }

TEST(PaceTest, WhoAsksWaitsForNoRest) {
  Pace pace = kStep;
  pace.asked = true;
  EXPECT_EQ(pace.Rest(), nanoseconds(0));
}

TEST(PaceTest, AnIdleServerIsCaughtUpWithAtFullSpeed) {
  Pace pace = kStep;
  pace.busy = false;
  EXPECT_EQ(pace.Rest(), nanoseconds(0));
}

TEST(PaceTest, WhereProcessorsAreLeftOverItDoesNotRest) {
  Pace pace = kStep;
  pace.queued -= nanoseconds(1);
  EXPECT_EQ(pace.Rest(), nanoseconds(0));
}

TEST(PaceTest, WhatTheLogMightForgetIsReadWithoutRest) {
  Pace pace = kStep;
  pace.waiting = jobs::kEventsKept / 2 - 1;
  EXPECT_GT(pace.Rest(), nanoseconds(0));
  pace.waiting = jobs::kEventsKept / 2;
  EXPECT_EQ(pace.Rest(), nanoseconds(0));
}

TEST(PaceTest, TheTimeInTheQueueGrows) {
  const auto before = QueuedForProcessor();
  const auto after = QueuedForProcessor();
  EXPECT_EQ(before.has_value(), after.has_value());
  EXPECT_LE(before, after);
}

TEST(PaceTest, NoRestIsLong) {
  Pace pace = kStep;
  pace.took = seconds(30);
  pace.queued = seconds(3);
  EXPECT_EQ(pace.Rest(), seconds(1));
}

}  // namespace
}  // namespace cairn::view
