#include "tests/support/process.h"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>

#include "tests/support/temp_directory.h"

namespace cairn::testing {
namespace {

using std::chrono::milliseconds;

ProcessOptions Shell(const std::string& script) { return {{"/bin/sh", "-c", script}, {}, {}}; }

TEST(ProcessTest, OutputAndExitCodeAreCaptured) {
  const Finished finished = RunToEnd(Shell("echo to out; echo to err >&2; exit 7"));
  EXPECT_EQ(finished.status.code, 7);
  EXPECT_EQ(finished.status.signal, std::nullopt);
  EXPECT_EQ(finished.out, "to out\n");
  EXPECT_EQ(finished.err, "to err\n");
}

TEST(ProcessTest, ADeathBySignalIsToldApartFromAnExit) {
  const Finished finished = RunToEnd(Shell("kill -9 $$"));
  EXPECT_EQ(finished.status.code, std::nullopt);
  EXPECT_EQ(finished.status.signal, SIGKILL);
}

TEST(ProcessTest, OnlyTheNamedEnvironmentArrives) {
  ProcessOptions options = Shell("echo $GIVEN ${CAIRN_BINARY:-none}");
  options.environment["GIVEN"] = "yes";
  EXPECT_EQ(RunToEnd(options).out, "yes none\n");
}

TEST(ProcessTest, StartsInTheGivenDirectory) {
  TempDirectory directory;
  ProcessOptions options = Shell("pwd");
  options.directory = directory.path();
  EXPECT_EQ(RunToEnd(options).out, directory.path() + "\n");
}

TEST(ProcessTest, AMissingProgramExitsWith127) {
  EXPECT_EQ(RunToEnd({{"/no/such/program"}, {}, {}}).status.code, 127);
}

TEST(ProcessTest, WaitGivesUpWhileItRunsAndTheDestructorEndsIt) {
  pid_t pid = -1;
  {
    Result<Process> process = Process::Start(Shell("exec sleep 1000"));
    ASSERT_TRUE(process.ok());
    pid = process->pid();
    EXPECT_EQ(process->Wait(milliseconds(1)), std::nullopt);
    EXPECT_TRUE(process->running());
  }
  EXPECT_EQ(kill(pid, 0), -1);
}

TEST(ProcessTest, MuchOutputDoesNotBlockTheChild) {
  const Finished finished = RunToEnd(Shell("head -c 4000000 /dev/zero"));
  EXPECT_TRUE(finished.status.ok());
  EXPECT_EQ(finished.out.size(), 4'000'000U);
}

TEST(ProcessTest, PastTheLimitItIsKilled) {
  EXPECT_EQ(RunToEnd(Shell("exec sleep 1000"), milliseconds(10)).status.signal, SIGKILL);
}

}  // namespace
}  // namespace cairn::testing
