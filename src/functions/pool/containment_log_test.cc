#include "functions/pool/containment_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/clock.h"

namespace cairn::functions {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class ContainmentLogTest : public ::testing::Test {
 protected:
  // The lines that these ends of runs make.
  std::string LinesOf(const RunOutcome& outcome, int times = 1) {
    ::testing::internal::CaptureStderr();
    for (int i = 0; i < times; ++i) log_.Note("t_abc123", outcome);
    return ::testing::internal::GetCapturedStderr();
  }
  static RunOutcome Ended(std::string limit, std::string reason) {
    return {.error = {.type = "E", .message = std::move(reason)}, .limit_hit = std::move(limit)};
  }
  static size_t CountOf(std::string_view what, std::string_view text) {
    size_t count = 0;
    for (size_t at = 0; (at = text.find(what, at)) != std::string_view::npos; ++at) ++count;
    return count;
  }

  ManualClock clock_;
  ContainmentLog log_{Log(LogLevel::kInfo, LogFormat::kJson), clock_};
};

TEST_F(ContainmentLogTest, AProcessThatTheSandboxHasEndedIsAWarning) {
  EXPECT_THAT(LinesOf(Ended("crash",
                            "the function's process made a system call that is not "
                            "allowed")),
              AllOf(HasSubstr("warn"), HasSubstr("the process of a function was ended"),
                    HasSubstr("t_abc123"), HasSubstr("a system call that is not allowed")));
  EXPECT_THAT(LinesOf(Ended("crash", "killed by signal 11")), HasSubstr("killed by signal 11"));
}

TEST_F(ContainmentLogTest, ALimitIsToldAndASuccessIsNot) {
  EXPECT_THAT(LinesOf(Ended("memory", "used up")),
              AllOf(HasSubstr("a function was stopped at a limit"), HasSubstr("memory")));
  EXPECT_EQ(LinesOf(RunOutcome{}), "");
}

TEST_F(ContainmentLogTest, WhoCausesManyLinesFillsNoLog) {
  const std::string lines = LinesOf(Ended("crash", "again"), 100);
  EXPECT_EQ(CountOf("again", lines), ContainmentLog::kLinesPerSecond);
  clock_.AdvanceMillis(1'000);
  EXPECT_THAT(LinesOf(Ended("crash", "again")), HasSubstr("\"left_out\":90"));
}

}  // namespace
}  // namespace cairn::functions
