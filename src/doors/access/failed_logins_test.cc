#include "doors/access/failed_logins.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string_view>

namespace cairn::doors {
namespace {

using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(FailedLoginsTest, TheDelayDoublesUpToABound) {
  EXPECT_EQ(FailedLogins::DelayAfter(1), milliseconds(100));
  EXPECT_EQ(FailedLogins::DelayAfter(2), milliseconds(200));
  EXPECT_EQ(FailedLogins::DelayAfter(6), milliseconds(3200));
  EXPECT_EQ(FailedLogins::DelayAfter(1'000'000), milliseconds(3200));
}

TEST(FailedLoginsTest, EveryFailureIsCounted) {
  FailedLogins failed;
  for (int i = 0; i < 5; ++i) failed.Note(1, "127.0.0.1:1", Log::Silent());
  EXPECT_EQ(failed.count(), 5U);
}

TEST(FailedLoginsTest, OneLineInTenSecondsTellsOfAllSinceTheOneBefore) {
  FailedLogins failed;
  const Log log(LogLevel::kInfo, LogFormat::kText);
  const auto told = [&](uint64_t seconds, std::string_view peer) {
    ::testing::internal::CaptureStderr();
    failed.Note(seconds * 1'000'000'000, peer, log);
    return ::testing::internal::GetCapturedStderr();
  };
  EXPECT_THAT(told(100, "10.0.0.1:5"),
              AllOf(HasSubstr("failed logins: wrong password, user or key"), HasSubstr("count=1"),
                    HasSubstr("last_client=10.0.0.1:5")));
  EXPECT_EQ(told(100, "10.0.0.1:6"), "");
  EXPECT_EQ(told(109, "10.0.0.1:7"), "");
  EXPECT_THAT(told(110, "10.0.0.1:8"),
              AllOf(HasSubstr("count=3"), HasSubstr("last_client=10.0.0.1:8")));
}

}  // namespace
}  // namespace cairn::doors
