#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <vector>

namespace cairn {
namespace {

TEST(ThreadPoolTest, RunsEverythingItAcceptedBeforeItStops) {
  std::atomic<int> ran = 0;
  {
    ThreadPool pool({.name = "test", .threads = 3});
    for (int i = 0; i < 1000; ++i) ASSERT_TRUE(pool.Submit([&] { ++ran; }));
  }
  EXPECT_EQ(ran, 1000);
}

TEST(ThreadPoolTest, OneThreadKeepsTheOrder) {
  std::vector<int> order;
  ThreadPool pool({.name = "test", .threads = 1});
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(pool.Submit([&order, i] { order.push_back(i); }));
  pool.Stop();
  ASSERT_EQ(order.size(), 100U);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(order[i], i);
}

TEST(ThreadPoolTest, RefusesBeyondItsQueueLimit) {
  std::promise<void> started;
  std::promise<void> go;
  ThreadPool pool({.name = "test", .threads = 1, .queue_limit = 2});
  ASSERT_TRUE(pool.Submit([&] {
    started.set_value();
    go.get_future().wait();
  }));
  started.get_future().wait();
  EXPECT_TRUE(pool.Submit([] {}));
  EXPECT_TRUE(pool.Submit([] {}));
  EXPECT_EQ(pool.queued(), 2U);
  EXPECT_FALSE(pool.Submit([] {}));
  go.set_value();
}

TEST(ThreadPoolTest, RefusesAfterStop) {
  ThreadPool pool({.name = "test", .threads = 1});
  pool.Stop();
  EXPECT_FALSE(pool.Submit([] {}));
}

}  // namespace
}  // namespace cairn
