#include "admin/loop_latency.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/support/await.h"

namespace cairn::admin {
namespace {

uint64_t Count(const LoopLatency::Histogram& histogram) {
  return std::accumulate(histogram.counts.begin(), histogram.counts.end(), uint64_t{0});
}

TEST(LoopLatencyTest, CountsOnEveryLoop) {
  net::LoopGroup loops(2);
  loops.Start();
  const SystemClock clock;
  LoopLatency latency(loops, clock, std::chrono::milliseconds(1));
  ASSERT_EQ(latency.histograms().size(), 2U);
  cairn::testing::Await("both loops to be measured three times", [&] {
    const auto histograms = latency.histograms();
    return Count(histograms[0]) > 2 && Count(histograms[1]) > 2;
  });
}

TEST(LoopLatencyTest, ABlockedLoopFallsIntoALaterBucket) {
  net::LoopGroup loops(1);
  loops.Start();
  // The clock jumps while the timer waits, as if the loop had been held up for that long.
  ManualClock clock;
  LoopLatency latency(loops, clock, std::chrono::milliseconds(1));
  LoopLatency::Histogram histogram;
  cairn::testing::Await("a measurement in the last bucket", [&] {
    clock.AdvanceMillis(2001);
    histogram = latency.histograms()[0];
    return histogram.counts.back() != 0;
  });
  EXPECT_GE(histogram.sum_seconds, 2.0);
}

}  // namespace
}  // namespace cairn::admin
