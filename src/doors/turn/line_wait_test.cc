#include "doors/turn/line_wait.h"

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "doors/testing/test_server.h"
#include "net/loop.h"
#include "tests/support/await.h"

namespace cairn::doors {
namespace {

namespace asio = boost::asio;
using asio::awaitable;
using std::chrono::steady_clock;
using store::Space;

const store::Key kStock{Space::kSystem, "test/stock"};

// Things are put on stock, and those who wait take one each.
class LineWaitTest : public ::testing::Test {
 protected:
  LineWaitTest() {
    scopes_.Add(Space::kSystem, kStock.bytes);
    loops_.Start();
  }
  ~LineWaitTest() override {
    loops_.Stop();
    server_.instance().pools().store.Stop();
  }

  void Deliver(int64_t count) {
    ASSERT_TRUE(server_.store()
                    .Run(scopes_,
                         [&](store::Transaction& transaction) -> Result<void> {
                           transaction.Add(kStock, count);
                           transaction.Wake(topic_);
                           return {};
                         })
                    .ok());
  }

  // Takes one if there is one.
  class TakeOne final : public Work {
   public:
    TakeOne(const store::Scopes& under, std::atomic<int>& looks) : looks_(looks) {
      scopes = under;
      access = store::Access::kWrite;
    }
    Result<void> Run(store::Transaction& transaction) override {
      CAIRN_ASSIGN_OR_RETURN(const auto stock, transaction.Get(kStock));
      found_ = stock && BytesReader(*stock).Big64() > 0;
      if (found_) transaction.Add(kStock, -1);
      ++looks_;
      return {};
    }
    bool found() const override { return found_; }

   private:
    std::atomic<int>& looks_;
    bool found_ = false;
  };

  awaitable<bool> WaitForOne(steady_clock::time_point deadline) {
    const auto make_work = [this] { return std::make_unique<TakeOne>(scopes_, looks_); };
    LineWait line(routes_, {&topic_, 1}, {.name = "test", .takes = true}, make_work);
    const Result<std::shared_ptr<Work>> served = co_await line.Served(deadline);
    co_return served.ok() && *served != nullptr;
  }

  // Delivers from the same loop, and takes one back in the next body of the same turn: whether
  // there was any left.
  awaitable<bool> DeliverAndTakeBack(int64_t count) {
    const RouteStore::Task deliver = [&](store::Transaction& transaction) -> Result<void> {
      transaction.Add(kStock, count);
      transaction.Wake(topic_);
      return {};
    };
    const Result<void> delivered = co_await routes_.Write(scopes_, deliver);
    EXPECT_TRUE(delivered.ok());
    TakeOne take(scopes_, looks_);
    const Result<void> taken = co_await routes_.Run(take);
    EXPECT_TRUE(taken.ok());
    co_return take.found();
  }

  std::future<bool> Start(steady_clock::time_point deadline = steady_clock::time_point::max()) {
    return asio::co_spawn(loops_.at(0).io(), WaitForOne(deadline), asio::use_future);
  }
  void AwaitWaiters(size_t count) {
    cairn::testing::Await("the clients to stand in line",
                          [&] { return server_.instance().traffic().waiters.count() == count; });
  }

  testing::TestServer server_;
  net::LoopGroup loops_{1};
  RouteStore routes_{server_.instance().traffic().turns, loops_, server_.instance().pools().store};
  store::Scopes scopes_;
  std::atomic<int> looks_{0};
  const store::Topic topic_ = store::Topic::Of(Space::kSystem, "test/topic");
};

TEST_F(LineWaitTest, EachOfThoseWhoWaitTakesOne) {
  std::vector<std::future<bool>> waiting;
  for (int i = 0; i < 5; ++i) waiting.push_back(Start());
  AwaitWaiters(5);
  Deliver(3);
  AwaitWaiters(2);
  Deliver(2);
  for (std::future<bool>& one : waiting) EXPECT_TRUE(one.get());
  AwaitWaiters(0);
}

TEST_F(LineWaitTest, WhatIsThereAlreadyIsFoundWhenJoining) {
  Deliver(1);
  EXPECT_TRUE(Start().get());
}

TEST_F(LineWaitTest, NobodyComesBeforeTheDeadline) {
  EXPECT_FALSE(Start(steady_clock::now()).get());
  AwaitWaiters(0);
}

TEST_F(LineWaitTest, WhoWaitsIsServedByTheCommitThatHasSomething) {
  for (int i = 0; i < 50; ++i) {
    looks_ = 0;
    std::future<bool> waiting = Start();
    AwaitWaiters(1);
    // The line is passed over once because of the joining; from then on it is not asked to look.
    cairn::testing::Await("the line to look", [&] { return looks_ != 0; });
    loops_.RunOnEach([](net::Loop&) {});
    std::future<bool> left =
        asio::co_spawn(loops_.at(0).io(), DeliverAndTakeBack(1), asio::use_future);
    EXPECT_FALSE(left.get()) << "the next request saw what the waiting one takes";
    EXPECT_TRUE(waiting.get());
  }
}

TEST_F(LineWaitTest, ThoseOfOtherLoopsAreServedToo) {
  net::LoopGroup others(1);
  others.Start();
  RouteStore elsewhere(server_.instance().traffic().turns, others,
                       server_.instance().pools().store);
  const auto wait = [&]() -> awaitable<bool> {
    const auto make_work = [this] { return std::make_unique<TakeOne>(scopes_, looks_); };
    LineWait line(elsewhere, {&topic_, 1}, {.name = "test", .takes = true}, make_work);
    const Result<std::shared_ptr<Work>> served =
        co_await line.Served(steady_clock::time_point::max());
    co_return served.ok() && *served != nullptr;
  };
  std::future<bool> waiting = asio::co_spawn(others.at(0).io(), wait(), asio::use_future);
  AwaitWaiters(1);
  asio::co_spawn(loops_.at(0).io(), DeliverAndTakeBack(2), asio::use_future).get();
  EXPECT_TRUE(waiting.get());
  others.Stop();
}

TEST_F(LineWaitTest, TheNextIsServedBeforeTheFirstIsDurable) {
  server_.store().CloseGate();
  std::future<bool> first = Start();
  AwaitWaiters(1);
  std::future<bool> second = Start();
  AwaitWaiters(2);
  Deliver(2);
  AwaitWaiters(0);  // both have taken theirs, and wait for the disk
  EXPECT_EQ(first.wait_for(std::chrono::milliseconds(0)), std::future_status::timeout);
  server_.store().MakeDurable();
  EXPECT_TRUE(first.get());
  EXPECT_TRUE(second.get());
}

}  // namespace
}  // namespace cairn::doors
