#include "base/log.h"

#include <gtest/gtest.h>

namespace cairn {
namespace {

TEST(LogTest, TextQuotesOnlyWhatNeedsIt) {
  EXPECT_EQ(FormatLogLine(LogFormat::kText, "listening", {{"port", 6666}, {"why", "a b\n"}}),
            "listening port=6666 why=\"a b\\n\"");
}

TEST(LogTest, JsonKeepsNumbersAndEscapesText) {
  EXPECT_EQ(
      FormatLogLine(LogFormat::kJson, "say \"hi\"", {{"n", 5}, {"ok", true}, {"s", "\x01\\"}}),
      R"("message":"say \"hi\"","n":5,"ok":true,"s":"\u0001\\")");
}

TEST(LogTest, SilentWritesNothingAndLevelsFilter) {
  EXPECT_FALSE(Log::Silent().enabled(LogLevel::kError));
  const Log log(LogLevel::kWarn, LogFormat::kText);
  EXPECT_FALSE(log.enabled(LogLevel::kInfo));
  EXPECT_TRUE(log.enabled(LogLevel::kError));
}

}  // namespace
}  // namespace cairn
