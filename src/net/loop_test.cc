#include "net/loop.h"

#include <gtest/gtest.h>

#include <future>
#include <string>
#include <vector>

namespace cairn::net {
namespace {

using std::chrono::milliseconds;

// Runs `function` on the loop and waits for it.
void RunOn(Loop& loop, const std::function<void()>& function) {
  std::promise<void> done;
  loop.Post([&] {
    function();
    done.set_value();
  });
  done.get_future().wait();
}

TEST(LoopTest, PostedFunctionsRunInOrderOnTheLoopsThread) {
  LoopGroup group;
  Loop& loop = group.at(0);
  group.Start();
  std::vector<int> order;
  for (int i = 0; i < 100; ++i) {
    loop.Post([&order, i, &loop] {
      EXPECT_TRUE(loop.InLoop());
      order.push_back(i);
    });
  }
  RunOn(loop, [] {});
  ASSERT_EQ(order.size(), 100U);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(order[static_cast<size_t>(i)], i);
  EXPECT_FALSE(loop.InLoop());
}

TEST(LoopTest, TurnEndComesAfterEverythingThatWasReady) {
  LoopGroup group;
  Loop& loop = group.at(0);
  std::string order;
  std::promise<void> done;
  // All queued before the loop starts, so all ready in its first turn.
  for (const char name : {'a', 'b', 'c'}) {
    loop.Post([&order, &loop, name] {
      order.push_back(name);
      loop.RunAtTurnEnd([&order, name] { order.push_back(static_cast<char>(name - 'a' + 'A')); });
    });
  }
  loop.Post([&] { loop.RunAtTurnEnd([&] { done.set_value(); }); });
  group.Start();
  done.get_future().wait();
  EXPECT_EQ(order, "abcABC");
}

TEST(LoopTest, ATurnEndThatRegistersAnotherDefersItToTheNextTurn) {
  LoopGroup group;
  Loop& loop = group.at(0);
  std::string order;
  std::promise<void> done;
  loop.Post([&] {
    loop.RunAtTurnEnd([&] {
      order += "1";
      loop.RunAtTurnEnd([&] {
        order += "3";
        done.set_value();
      });
    });
    loop.RunAtTurnEnd([&] { order += "2"; });
  });
  group.Start();
  done.get_future().wait();
  EXPECT_EQ(order, "123");
}

TEST(LoopTest, ATimerCallsOnce) {
  LoopGroup group;
  Loop& loop = group.at(0);
  group.Start();
  std::promise<void> called;
  Timer timer;
  RunOn(loop, [&] { timer = loop.After(milliseconds(1), [&] { called.set_value(); }); });
  called.get_future().wait();
  RunOn(loop, [&] { timer.Cancel(); });
}

TEST(LoopTest, ACancelledOrDestroyedTimerNeverCalls) {
  LoopGroup group;
  Loop& loop = group.at(0);
  group.Start();
  bool called = false;
  std::promise<void> later;
  Timer last;
  RunOn(loop, [&] {
    Timer cancelled = loop.After(milliseconds(0), [&] { called = true; });
    const Timer destroyed = loop.After(milliseconds(0), [&] { called = true; });
    Timer replaced = loop.After(milliseconds(0), [&] { called = true; });
    replaced = Timer();
    cancelled.Cancel();
    last = loop.After(milliseconds(5), [&] { later.set_value(); });
  });
  later.get_future().wait();
  RunOn(loop, [&] { last = Timer(); });
  EXPECT_FALSE(called);
}

TEST(LoopTest, ATimersFunctionMayDestroyItsTimer) {
  LoopGroup group;
  Loop& loop = group.at(0);
  group.Start();
  auto timer = std::make_unique<Timer>();
  std::promise<void> done;
  RunOn(loop, [&] {
    *timer = loop.After(milliseconds(0), [&] {
      timer.reset();
      done.set_value();
    });
  });
  done.get_future().wait();
  EXPECT_EQ(timer, nullptr);
}

TEST(LoopGroupTest, RunsOnEveryLoopWithOrWithoutThreads) {
  LoopGroup group(3);
  int before = 0;
  group.RunOnEach([&](Loop&) { ++before; });
  EXPECT_EQ(before, 3);
  group.Start();
  std::atomic<int> running = 0;
  group.RunOnEach([&](Loop& loop) {
    EXPECT_TRUE(loop.InLoop());
    ++running;
  });
  EXPECT_EQ(running, 3);
  group.Stop();
  group.Stop();
  EXPECT_FALSE(group.running());
}

TEST(LoopGroupTest, StopDropsWhatIsQueuedAndDestroysItsCaptures) {
  const auto held = std::make_shared<int>(1);
  {
    LoopGroup group;
    group.Start();
    group.Stop();
    group.at(0).Post([held] { FAIL(); });
    EXPECT_EQ(held.use_count(), 2);
  }
  EXPECT_EQ(held.use_count(), 1);
}

}  // namespace
}  // namespace cairn::net
