#include "doors/turn/route_store.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <chrono>
#include <future>
#include <string>
#include <thread>

#include "doors/testing/test_server.h"
#include "net/loop.h"
#include "tests/support/await.h"

namespace cairn::doors {
namespace {

namespace asio = boost::asio;
using asio::awaitable;
using store::Space;

const store::Key kKey{Space::kSystem, "test/key"};

class RouteStoreTest : public ::testing::Test {
 protected:
  RouteStoreTest() { scopes_.Add(Space::kSystem, "test/key"); }
  ~RouteStoreTest() override {
    loops_.Stop();
    server_.instance().pools().store.Stop();
  }

  awaitable<Result<void>> Put(std::string value) {
    const RouteStore::Task task = [value](store::Transaction& transaction) -> Result<void> {
      transaction.Put(kKey, value);
      return {};
    };
    co_return co_await routes_.Write(scopes_, task);
  }

  awaitable<std::string> Get() {
    std::string found;
    const RouteStore::Task task = [&](store::Transaction& transaction) -> Result<void> {
      CAIRN_ASSIGN_OR_RETURN(const auto value, transaction.Get(kKey));
      found = value.value_or("nothing");
      return {};
    };
    const Result<void> done = co_await routes_.Read(scopes_, task);
    co_return done.ok() ? found : done.error().message;
  }

  // Tells by writing how often it was woken.
  awaitable<int> Listen(store::Topic topic, std::promise<void>& listening) {
    RouteStore::Signal signal(routes_, topic);
    listening.set_value();
    int woken = 0;
    while (woken < 2) {
      const bool heard = co_await signal.Wait();
      woken += heard ? 1 : 0;
      const Result<void> written = co_await Put("heard " + std::to_string(woken));
      EXPECT_TRUE(written.ok());
    }
    co_return woken;
  }

  template <typename T>
  std::future<T> Start(awaitable<T> coroutine) {
    return asio::co_spawn(loops_.at(0).io(), std::move(coroutine), asio::use_future);
  }

  // Whether the commit is there, durable or not.
  bool IsStored(const std::string& value) {
    const auto snapshot = server_.store().Read();
    return *(*snapshot)->Get(kKey) == value;
  }

  testing::TestServer server_;
  net::LoopGroup loops_{1};
  RouteStore routes_{server_.instance().traffic().turns, loops_, server_.instance().pools().store};
  store::Scopes scopes_;
};

TEST_F(RouteStoreTest, AReaderSeesWhatWasWritten) {
  loops_.Start();
  EXPECT_TRUE(Start(Put("v")).get().ok());
  EXPECT_EQ(Start(Get()).get(), "v");
}

TEST_F(RouteStoreTest, AnErrorOfTheBodyIsHandedOnAndNothingRemains) {
  loops_.Start();
  const RouteStore::Task task = [](store::Transaction& transaction) -> Result<void> {
    transaction.Put(kKey, "half");
    return Error{ErrorCode::kConflict, "no"};
  };
  const Result<void> done = Start(routes_.Write(scopes_, task)).get();
  EXPECT_EQ(done.error(), (Error{ErrorCode::kConflict, "no"}));
  EXPECT_EQ(Start(Get()).get(), "nothing");
}

TEST_F(RouteStoreTest, NeitherWriterNorReaderGoesOnBeforeItIsDurable) {
  loops_.Start();
  server_.store().CloseGate();
  std::future<Result<void>> written = Start(Put("v"));
  cairn::testing::Await("the commit", [&] { return IsStored("v"); });
  std::future<std::string> read = Start(Get());
  // Were they released, it would be by what the loop has to do before this.
  for (int i = 0; i < 2; ++i) loops_.RunOnEach([](net::Loop&) {});
  EXPECT_EQ(written.wait_for(std::chrono::milliseconds(0)), std::future_status::timeout);
  EXPECT_EQ(read.wait_for(std::chrono::milliseconds(0)), std::future_status::timeout);
  server_.store().MakeDurable();
  EXPECT_TRUE(written.get().ok());
  EXPECT_EQ(read.get(), "v");
}

TEST_F(RouteStoreTest, AWriterIsToldThatTheDiskFailed) {
  loops_.Start();
  server_.store().CloseGate();
  std::future<Result<void>> written = Start(Put("v"));
  cairn::testing::Await("the commit", [&] { return IsStored("v"); });
  server_.store().FailSync("the disk is gone");
  EXPECT_FALSE(written.get().ok());
}

TEST_F(RouteStoreTest, WhatTakesLongRunsOnThePool) {
  loops_.Start();
  std::thread::id ran_on;
  const RouteStore::Task task = [&](store::Transaction& transaction) -> Result<void> {
    ran_on = std::this_thread::get_id();
    transaction.Put(kKey, "v");
    return {};
  };
  EXPECT_TRUE(Start(routes_.WriteOnPool(scopes_, task)).get().ok());
  std::thread::id loop;
  loops_.RunOnEach([&](net::Loop&) { loop = std::this_thread::get_id(); });
  EXPECT_NE(ran_on, loop);
  EXPECT_EQ(Start(Get()).get(), "v");
}

TEST_F(RouteStoreTest, ASignalTellsOfEachWake) {
  loops_.Start();
  const store::Topic topic = store::Topic::Of(Space::kSystem, "test/topic");
  std::promise<void> listening;
  std::future<int> heard = Start(Listen(topic, listening));
  listening.get_future().get();
  for (const char* before : {"heard 1", "heard 2"}) {
    ASSERT_TRUE(server_.store()
                    .Run(scopes_,
                         [&](store::Transaction& transaction) -> Result<void> {
                           transaction.Wake(topic);
                           transaction.Put({Space::kSystem, "test/other"}, before);
                           return {};
                         })
                    .ok());
    cairn::testing::Await("the listener to be woken", [&] { return IsStored(before); });
  }
  EXPECT_EQ(heard.get(), 2);
}

awaitable<bool> WaitUntil(RouteStore& routes, store::Topic topic,
                          std::chrono::steady_clock::time_point deadline) {
  RouteStore::Signal signal(routes, topic);
  co_return co_await signal.Wait(deadline);
}

TEST_F(RouteStoreTest, ASignalIsWaitedForUntilADeadline) {
  loops_.Start();
  const store::Topic topic = store::Topic::Of(Space::kSystem, "test/topic");
  EXPECT_FALSE(Start(WaitUntil(routes_, topic, std::chrono::steady_clock::now())).get());
}

}  // namespace
}  // namespace cairn::doors
