#include "doors/access/failed_logins.h"

#include <gtest/gtest.h>

#include <chrono>

namespace cairn::doors {
namespace {

using std::chrono::milliseconds;

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

}  // namespace
}  // namespace cairn::doors
