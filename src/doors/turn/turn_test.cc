#include "doors/turn/turn.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <chrono>
#include <future>
#include <memory>

#include "base/clock.h"
#include "base/log.h"
#include "doors/testing/gated_store.h"
#include "net/loop.h"
#include "store/rocks/open.h"
#include "tests/support/temp_directory.h"

namespace cairn::doors {
namespace {

using testing::GatedStore;

const store::Key kKey{store::Space::kSystem, "k"};

class TurnTest : public ::testing::Test {
 protected:
  TurnTest() {
    store::rocks::Options options;
    options.directory = directory_ / "data";
    options.memory = store::rocks::MemoryBudget::FromTotal(64 << 20);
    options.log_pool = false;
    options.durability = store::Durability::kOs;
    auto inner = store::rocks::Open(options, clock_, Log::Silent());
    EXPECT_TRUE(inner.ok());
    store_ = std::make_unique<GatedStore>(*std::move(inner));
    waiters_ = std::make_unique<Waiters>(*store_, [](const std::function<void()>&) {});
    turns_ = std::make_unique<Turns>(*store_, *waiters_);
    turn_ = turns_->Of(loops_.at(0));
    loops_.Start();
  }
  ~TurnTest() override {
    loops_.Stop();
    turn_.reset();
  }

  store::Commit Write() {
    const auto commit = store_->Run({}, [](store::Transaction& transaction) -> Result<void> {
      transaction.Put(kKey, "v");
      return {};
    });
    EXPECT_TRUE(commit.ok());
    return *commit;
  }
  std::future<Result<void>> Await(store::Dependency needs) {
    return boost::asio::co_spawn(loops_.at(0).io(), turn_->Durable(needs), boost::asio::use_future);
  }
  // After this the coroutine has gone as far as it can.
  void GoRoundOnce() {
    loops_.RunOnEach([](net::Loop&) {});
  }
  static bool Ready(const std::future<Result<void>>& future) {
    return future.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }

  cairn::testing::TempDirectory directory_;
  ManualClock clock_;
  std::unique_ptr<GatedStore> store_;
  std::unique_ptr<Waiters> waiters_;
  std::unique_ptr<Turns> turns_;
  net::LoopGroup loops_;
  std::shared_ptr<Turn> turn_;
};

TEST_F(TurnTest, ALoopHasOneTurn) {
  EXPECT_EQ(turns_->Of(loops_.at(0)), turn_);
  net::LoopGroup others(1);
  EXPECT_NE(turns_->Of(others.at(0)), turn_);
}

TEST_F(TurnTest, WhatIsDurableIsNotWaitedFor) {
  EXPECT_TRUE(Await({.commit = Write()}).get().ok());
}

TEST_F(TurnTest, AnAnswerWaitsUntilItsCommitIsDurable) {
  store_->CloseGate();
  std::future<Result<void>> waiting = Await({.commit = Write()});
  GoRoundOnce();
  EXPECT_FALSE(Ready(waiting));
  store_->MakeDurable();
  EXPECT_TRUE(waiting.get().ok());
}

TEST_F(TurnTest, AnAnswerThatNeverWillBeDurableIsAnError) {
  store_->CloseGate();
  std::future<Result<void>> waiting = Await({.commit = Write()});
  GoRoundOnce();
  store_->FailSync("disk is gone");
  const Result<void> result = waiting.get();
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message, "writes are stopped: disk is gone");
  EXPECT_FALSE(Await({.commit = Write()}).get().ok());
}

// A body that finds out what it needs, scope by scope.
class Greedy final : public Work {
 public:
  explicit Greedy(std::vector<store::Scopes> needs) : needs_(std::move(needs)) {
    access = store::Access::kWrite;
  }
  Result<void> Run(store::Transaction& transaction) override {
    held.wanted.Clear();
    ++runs;
    for (const store::Scopes& scopes : needs_) CAIRN_RETURN_IF_ERROR(held.Require(scopes));
    transaction.Put(kKey, "v");
    return {};
  }
  int runs = 0;

 private:
  const std::vector<store::Scopes> needs_;
};

store::Scopes ScopeOf(std::string_view name) {
  store::Scopes scopes;
  scopes.Add(store::Space::kSystem, name);
  return scopes;
}

TEST_F(TurnTest, WorkIsRunAgainWithTheScopesThatItAsksFor) {
  Greedy work({ScopeOf("a"), ScopeOf("b")});
  loops_.RunOnEach([&](net::Loop&) {
    const Result<store::Dependency> ran = turn_->Run(work);
    EXPECT_TRUE(ran.ok()) << ran.error().message;
    EXPECT_TRUE(turn_->Commit().ok());
  });
  EXPECT_EQ(work.runs, 3);
}

TEST_F(TurnTest, EverythingIsForThePool) {
  Greedy work({store::Scopes::Exclusive()});
  loops_.RunOnEach([&](net::Loop&) {
    const Result<store::Dependency> ran = turn_->Run(work);
    ASSERT_FALSE(ran.ok());
    EXPECT_EQ(ran.error().code, ErrorCode::kWouldBlock);
  });
  EXPECT_EQ(work.runs, 1);
  work.Widen();
  EXPECT_TRUE(RunWaiting(*store_, *waiters_, work).ok());
  EXPECT_EQ(work.runs, 2);
}

}  // namespace
}  // namespace cairn::doors
