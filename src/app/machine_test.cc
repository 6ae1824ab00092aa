#include "app/machine.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/temp_directory.h"

namespace cairn::app {
namespace {

using ::cairn::testing::TempDirectory;

class MemoryLimitTest : public ::testing::Test {
 protected:
  void Write(const std::string& path, const std::string& content) {
    std::filesystem::create_directories(std::filesystem::path(root_ / path).parent_path());
    root_.Write(path, content);
  }
  MemoryLimit Find() { return FindMemoryLimit(root_.path() + "/"); }

  TempDirectory root_;
};

TEST_F(MemoryLimitTest, WithoutGroupsTheMachineCounts) {
  Write("proc/meminfo", "MemTotal:       2048 kB\nMemFree: 1 kB\n");
  EXPECT_EQ(Find().bytes, 2048U * 1024);
  EXPECT_FALSE(Find().from_control_group);
}

TEST_F(MemoryLimitTest, TheSmallestLimitOnTheWayUpCounts) {
  Write("proc/meminfo", "MemTotal: 1000000 kB\n");
  Write("proc/self/cgroup", "0::/system.slice/cairn.service\n");
  Write("sys/fs/cgroup/system.slice/cairn.service/memory.max", "max\n");
  Write("sys/fs/cgroup/system.slice/memory.max", "3000000\n");
  EXPECT_EQ(Find().bytes, 3'000'000U);
  EXPECT_TRUE(Find().from_control_group);
  Write("sys/fs/cgroup/system.slice/cairn.service/memory.max", "2000000\n");
  EXPECT_EQ(Find().bytes, 2'000'000U);
}

TEST_F(MemoryLimitTest, AContainersLimitStandsAtTheRoot) {
  Write("proc/meminfo", "MemTotal: 1000000 kB\n");
  Write("proc/self/cgroup", "0::/\n");
  Write("sys/fs/cgroup/memory.max", "4000000\n");
  EXPECT_EQ(Find().bytes, 4'000'000U);
}

TEST_F(MemoryLimitTest, TheFirstVersionOfGroupsCountsToo) {
  Write("proc/meminfo", "MemTotal: 1000000 kB\n");
  Write("proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/box\n");
  Write("sys/fs/cgroup/memory/box/memory.limit_in_bytes", "5000000\n");
  EXPECT_EQ(Find().bytes, 5'000'000U);
}

TEST_F(MemoryLimitTest, ALimitAboveTheMachineChangesNothing) {
  Write("proc/meminfo", "MemTotal: 1000 kB\n");
  Write("proc/self/cgroup", "0::/\n");
  Write("sys/fs/cgroup/memory.max", "9223372036854771712\n");
  EXPECT_EQ(Find().bytes, 1'024'000U);
  EXPECT_FALSE(Find().from_control_group);
}

TEST(MachineTest, ThisMachineHasMemoryAndFiles) {
  EXPECT_GT(FindMemoryLimit().bytes, 64U << 20);
  EXPECT_GT(OpenFileLimit().soft, 0U);
  EXPECT_EQ(RaiseOpenFileLimit().soft, OpenFileLimit().hard);
}

TEST(MachineTest, MeasuringSyncLeavesNothingBehind) {
  TempDirectory directory;
  const Result<SyncSpeed> speed = MeasureSync(directory.path(), 5);
  ASSERT_TRUE(speed.ok());
  EXPECT_LE(speed->median, speed->worst);
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

TEST(MachineTest, MeasuringSyncInAMissingDirectoryNamesIt) {
  const Result<SyncSpeed> speed = MeasureSync("/no/such/directory", 5);
  ASSERT_FALSE(speed.ok());
  EXPECT_NE(speed.error().message.find("/no/such/directory"), std::string::npos);
}

}  // namespace
}  // namespace cairn::app
