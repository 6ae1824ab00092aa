#include "doors/durable.h"

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

class DurableAwaitTest : public ::testing::Test {
 protected:
  DurableAwaitTest() {
    store::rocks::Options options;
    options.directory = directory_ / "data";
    options.memory = store::rocks::MemoryBudget::FromTotal(64 << 20);
    options.log_pool = false;
    options.durability = store::Durability::kOs;
    auto inner = store::rocks::Open(options, clock_, Log::Silent());
    EXPECT_TRUE(inner.ok());
    store_ = std::make_unique<GatedStore>(*std::move(inner));
    loops_.Start();
  }
  ~DurableAwaitTest() override { loops_.Stop(); }

  store::Commit Write() {
    const auto commit = store_->Run({}, [](store::Transaction& transaction) -> Result<void> {
      transaction.Put({store::Space::kSystem, "k"}, "v");
      return {};
    });
    EXPECT_TRUE(commit.ok());
    return *commit;
  }
  std::future<Result<void>> Await(store::Commit commit) {
    return boost::asio::co_spawn(loops_.at(0).io(), DurableAwait(loops_.at(0), *store_, commit),
                                 boost::asio::use_future);
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
  net::LoopGroup loops_;
};

TEST_F(DurableAwaitTest, DoesNotWaitForWhatIsDurable) { EXPECT_TRUE(Await(Write()).get().ok()); }

TEST_F(DurableAwaitTest, WaitsUntilTheCommitIsDurable) {
  store_->CloseGate();
  const store::Commit first = Write();
  std::future<Result<void>> waiting = Await(first);
  GoRoundOnce();
  EXPECT_FALSE(Ready(waiting));
  store_->MakeDurable();
  EXPECT_TRUE(waiting.get().ok());
}

TEST_F(DurableAwaitTest, FailsWhenItNeverWillBe) {
  store_->CloseGate();
  std::future<Result<void>> waiting = Await(Write());
  GoRoundOnce();
  store_->FailSync("disk is gone");
  const Result<void> result = waiting.get();
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message, "writes are stopped: disk is gone");
  EXPECT_FALSE(Await(Write()).get().ok());
}

}  // namespace
}  // namespace cairn::doors
