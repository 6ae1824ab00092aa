#include "admin/backup.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "store/rocks/open.h"
#include "tests/support/temp_directory.h"

namespace cairn::admin {
namespace {

namespace fs = std::filesystem;

class PlaceOfBackupTest : public ::testing::Test {
 protected:
  // "refused" or the place below the directory of backups.
  std::string PlaceOf(const std::string& wanted) const {
    const Result<std::string> place = PlaceOfBackup(backups(), wanted);
    if (!place.ok()) {
      EXPECT_EQ(place.error().code, ErrorCode::kForbidden) << place.error().message;
      EXPECT_NE(place.error().message.find("backup.directory"), std::string::npos);
      return "refused";
    }
    return fs::path(*place).lexically_relative(fs::canonical(backups())).string();
  }
  std::string backups() const { return directory_ / "backups"; }

  testing::TempDirectory directory_;
};

TEST_F(PlaceOfBackupTest, APathIsBelowTheDirectoryOrRelativeToIt) {
  EXPECT_EQ(PlaceOf("monday"), "monday");
  EXPECT_EQ(PlaceOf("2026/monday"), "2026/monday");
  EXPECT_EQ(PlaceOf("./monday/"), "monday");
  EXPECT_EQ(PlaceOf(backups() + "/tuesday"), "tuesday");
  EXPECT_TRUE(fs::is_directory(backups() + "/2026"));
  EXPECT_FALSE(fs::exists(backups() + "/2026/monday"));
}

TEST_F(PlaceOfBackupTest, WhatWouldBeElsewhereIsRefused) {
  for (const std::string& wanted :
       {std::string("/etc/cairn"), directory_ / "elsewhere", std::string("../elsewhere"),
        std::string("a/../../elsewhere"), std::string("a/.."), std::string("."), backups(),
        backups() + "/", backups() + "-2/x", std::string("/"), std::string("a\0b", 3)}) {
    EXPECT_EQ(PlaceOf(wanted), "refused") << wanted;
  }
  EXPECT_FALSE(fs::exists(directory_ / "elsewhere"));
  EXPECT_FALSE(fs::exists(backups() + "-2"));
}

TEST_F(PlaceOfBackupTest, ALinkThatLeadsAwayIsRefused) {
  fs::create_directories(directory_ / "elsewhere");
  fs::create_directories(backups() + "/real");
  fs::create_symlink(directory_ / "elsewhere", backups() + "/link");
  fs::create_symlink(directory_ / "missing", backups() + "/dangling");
  fs::create_symlink("real", backups() + "/inside");
  EXPECT_EQ(PlaceOf("link"), "refused");
  EXPECT_EQ(PlaceOf("link/x"), "refused");
  EXPECT_EQ(PlaceOf("dangling"), "refused");
  EXPECT_EQ(PlaceOf("dangling/x"), "refused");
  EXPECT_EQ(PlaceOf("inside/x"), "real/x");
  EXPECT_FALSE(fs::exists(directory_ / "missing"));
  EXPECT_TRUE(fs::is_empty(directory_ / "elsewhere"));
}

TEST_F(PlaceOfBackupTest, TheDirectoryItselfMayBeReachedByALink) {
  fs::create_directories(directory_ / "disk");
  fs::create_directory_symlink(directory_ / "disk", backups());
  EXPECT_EQ(PlaceOf("monday"), "monday");
  EXPECT_EQ(PlaceOf(backups() + "/tuesday"), "tuesday");
  EXPECT_EQ(PlaceOf(directory_ / "disk/wednesday"), "wednesday");
}

TEST_F(PlaceOfBackupTest, ADirectoryThatCannotBeMadeIsNamed) {
  std::ofstream(backups()) << "a file";
  const Result<std::string> place = PlaceOfBackup(backups(), "monday");
  ASSERT_FALSE(place.ok());
  EXPECT_NE(place.error().message.find(backups()), std::string::npos);
}

TEST(BackupTest, ReportsWhatItMade) {
  const testing::TempDirectory directory;
  const SystemClock clock;
  store::rocks::Options options;
  options.directory = directory / "data";
  options.memory = store::rocks::MemoryBudget::FromTotal(64 << 20);
  const auto opened = store::rocks::Open(options, clock, Log::Silent());
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  store::Store& store = **opened;
  const Result<BackupReport> report = MakeBackup(store, directory / "backup", clock);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->directory, directory / "backup");
  EXPECT_GT(report->bytes, 0U);
  EXPECT_FALSE(MakeBackup(store, directory / "backup", clock).ok());
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
