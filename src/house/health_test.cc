#include "house/health.h"

#include <gtest/gtest.h>

#include "doors/testing/gated_store.h"
#include "store/rocks/open.h"
#include "tests/support/temp_directory.h"

namespace cairn::house {
namespace {

using ::cairn::testing::TempDirectory;

class HealthTest : public ::testing::Test {
 protected:
  void SetUp() override {
    store::rocks::Options options;
    options.directory = directory_ / "data";
    options.memory = store::rocks::MemoryBudget::FromTotal(64 << 20);
    auto store = store::rocks::Open(options, clock_, Log::Silent());
    ASSERT_TRUE(store.ok()) << store.error().message;
    store_ = *std::move(store);
  }

  TempDirectory directory_;
  SystemClock clock_;
  std::unique_ptr<store::Store> store_;
};

TEST_F(HealthTest, ReadyUntilDraining) {
  Health health(*store_);
  EXPECT_EQ(health.WhyNotReady(), std::nullopt);
  health.SetDraining();
  EXPECT_EQ(health.WhyNotReady(), "the server is stopping");
}

TEST_F(HealthTest, NotReadyWhileACheckSaysSo) {
  Health health(*store_);
  std::optional<std::string> why;
  health.AddCheck([&] { return why; });
  EXPECT_EQ(health.WhyNotReady(), std::nullopt);
  why = "a script holds others up";
  EXPECT_EQ(health.WhyNotReady(), "a script holds others up");
}

TEST_F(HealthTest, NotReadyOnceWritesHaveStoppedAndSaysWhy) {
  doors::testing::GatedStore gated(std::move(store_));
  const Health health(gated);
  EXPECT_EQ(health.WhyNotReady(), std::nullopt);
  gated.FailSync("no space left on device");
  ASSERT_TRUE(health.WhyNotReady().has_value());
  EXPECT_NE(health.WhyNotReady()->find("no space left on device"), std::string::npos);
}

}  // namespace
}  // namespace cairn::house
