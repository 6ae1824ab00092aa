#include "admin/health.h"

#include <gtest/gtest.h>

#include "admin/backup.h"
#include "doors/testing/gated_store.h"
#include "store/rocks/open.h"
#include "tests/support/temp_directory.h"

namespace cairn::admin {
namespace {

using ::cairn::testing::TempDirectory;

class AdminStoreTest : public ::testing::Test {
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

TEST_F(AdminStoreTest, ReadyUntilDraining) {
  Health health(*store_);
  EXPECT_EQ(health.WhyNotReady(), std::nullopt);
  health.SetDraining();
  EXPECT_EQ(health.WhyNotReady(), "the server is stopping");
}

TEST_F(AdminStoreTest, NotReadyWhileACheckSaysSo) {
  Health health(*store_);
  std::optional<std::string> why;
  health.AddCheck([&] { return why; });
  EXPECT_EQ(health.WhyNotReady(), std::nullopt);
  why = "a script holds others up";
  EXPECT_EQ(health.WhyNotReady(), "a script holds others up");
}

TEST_F(AdminStoreTest, NotReadyOnceWritesHaveStoppedAndSaysWhy) {
  doors::testing::GatedStore gated(std::move(store_));
  const Health health(gated);
  EXPECT_EQ(health.WhyNotReady(), std::nullopt);
  gated.FailSync("no space left on device");
  ASSERT_TRUE(health.WhyNotReady().has_value());
  EXPECT_NE(health.WhyNotReady()->find("no space left on device"), std::string::npos);
}

TEST_F(AdminStoreTest, BackupReportsWhatItMade) {
  const Result<BackupReport> report = MakeBackup(*store_, directory_ / "backup", clock_);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->directory, directory_ / "backup");
  EXPECT_GT(report->bytes, 0U);
  EXPECT_FALSE(MakeBackup(*store_, directory_ / "backup", clock_).ok());
}

TEST(BackupReportTest, ReadsBackWhatItWrote) {
  const BackupReport report{"/b", 12, 34};
  const Result<BackupReport> read =
      BackupReport::FromJson(R"({"directory":"/b","bytes":12,"duration_ms":34})");
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->directory, report.directory);
  EXPECT_EQ(read->bytes, report.bytes);
  EXPECT_EQ(read->duration_ms, report.duration_ms);
  for (const char* text : {"", "[]", "{}", R"({"directory":1})", "nonsense"}) {
    EXPECT_FALSE(BackupReport::FromJson(text).ok()) << text;
  }
}

}  // namespace
}  // namespace cairn::admin
