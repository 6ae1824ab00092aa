#include "admin/loop_latency.h"

#include <gtest/gtest.h>

#include <numeric>
#include <thread>

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
  for (;;) {
    const auto histograms = latency.histograms();
    ASSERT_EQ(histograms.size(), 2U);
    if (Count(histograms[0]) > 2 && Count(histograms[1]) > 2) break;
    std::this_thread::yield();
  }
}

TEST(LoopLatencyTest, ABlockedLoopFallsIntoALaterBucket) {
  net::LoopGroup loops(1);
  loops.Start();
  // The clock jumps while the timer waits, as if the loop had been held up for that long.
  ManualClock clock;
  LoopLatency latency(loops, clock, std::chrono::milliseconds(1));
  LoopLatency::Histogram histogram;
  do {
    clock.AdvanceMillis(2001);
    std::this_thread::yield();
    histogram = latency.histograms()[0];
  } while (histogram.counts.back() == 0);
  EXPECT_GE(histogram.sum_seconds, 2.0);
}

}  // namespace
}  // namespace cairn::admin
