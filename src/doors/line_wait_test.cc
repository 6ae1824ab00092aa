#include "doors/line_wait.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "doors/testing/test_server.h"
#include "net/loop.h"

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
    server_.instance().pool().Stop();
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

  awaitable<bool> TakeOne(LineWait& line) {
    bool found = false;
    const RouteStore::Task task = [&](store::Transaction& transaction) -> Result<void> {
      CAIRN_ASSIGN_OR_RETURN(const auto stock, transaction.Get(kStock));
      found = stock && BytesReader(*stock).Big64() > 0;
      if (!found) return {};
      transaction.Add(kStock, -1);
      line.LeaveAfterCommit(transaction);
      return {};
    };
    const Result<void> done = co_await routes_.Write(scopes_, task);
    co_return done.ok() && found;
  }

  awaitable<bool> WaitForOne(steady_clock::time_point deadline) {
    LineWait line(routes_, server_.instance().waiters(), {&topic_, 1},
                  {.name = "test", .takes = true});
    while (true) {
      const bool turn = co_await line.Turn(deadline);
      if (!turn) co_return false;
      const bool found = co_await TakeOne(line);
      if (found) co_return true;
      line.FoundNothing();
    }
  }

  std::future<bool> Start(steady_clock::time_point deadline = steady_clock::time_point::max()) {
    return asio::co_spawn(loops_.at(0).io(), WaitForOne(deadline), asio::use_future);
  }
  void AwaitWaiters(size_t count) {
    while (server_.instance().waiters().count() != count) std::this_thread::yield();
  }

  testing::TestServer server_;
  net::LoopGroup loops_{1};
  RouteStore routes_{server_.store(), loops_, server_.instance().pool()};
  store::Scopes scopes_;
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
