#include "doors/resp/clients.h"

#include <gtest/gtest.h>

namespace cairn::doors {
namespace {

constexpr Timestamp At(int64_t ms) { return Timestamp::FromMillis(ms); }

TEST(ClientPauseTest, HoldsWritesOrEverythingUntilItsEnd) {
  ClientPause pause;
  EXPECT_FALSE(pause.any());
  pause.Begin(At(100), ClientPause::Mode::kWrites, At(0));
  EXPECT_TRUE(pause.Holds(/*may_write=*/true, At(99)));
  EXPECT_FALSE(pause.Holds(/*may_write=*/false, At(99)));
  EXPECT_FALSE(pause.Holds(/*may_write=*/true, At(100)));
  pause.Begin(At(200), ClientPause::Mode::kAll, At(100));
  EXPECT_TRUE(pause.Holds(/*may_write=*/false, At(150)));
  pause.End();
  EXPECT_FALSE(pause.any());
}

TEST(ClientPauseTest, AnotherPauseDoesNotShortenOrWeakenARunningOne) {
  ClientPause pause;
  pause.Begin(At(200), ClientPause::Mode::kAll, At(0));
  pause.Begin(At(100), ClientPause::Mode::kWrites, At(10));
  EXPECT_TRUE(pause.Holds(/*may_write=*/false, At(150)));
  pause.Begin(At(300), ClientPause::Mode::kWrites, At(250));  // the first one is over
  EXPECT_FALSE(pause.Holds(/*may_write=*/false, At(260)));
}

}  // namespace
}  // namespace cairn::doors
