#include <gtest/gtest.h>

#include <string>

#include "data/testing/script.h"

namespace cairn::data {
namespace {

using doors::testing::TestClient;
using testing::DataServer;

TEST(NotificationsTest, AKeyThatExpiresTells) {
  DataServer server;
  server.Play("CONFIG SET notify-keyspace-events Ex => OK");
  TestClient listener = server.Connect();
  listener.Run({"SUBSCRIBE", "__keyevent@0__:expired"});
  server.Play(R"(
    SET gone 1 PX 10
    SET kept 1 PX 1000
    SET stays 1
  )");
  server.clock().AdvanceMillis(10);
  server.FireTimers();
  EXPECT_EQ(listener.Receive(), "[\"message\", \"__keyevent@0__:expired\", \"gone\"]");
  EXPECT_EQ(listener.Run({"PING"}), "[\"pong\", \"\"]");
  server.CheckConsistency();
}

TEST(NotificationsTest, TheSettingIsGivenBackInItsShortestForm) {
  DataServer server;
  server.Play(R"(
    CONFIG GET notify-keyspace-events      => ["notify-keyspace-events", ""]
    CONFIG SET notify-keyspace-events KEA  => OK
    CONFIG GET notify-keyspace-events      => ["notify-keyspace-events", "AKE"]
    CONFIG SET notify-keyspace-events q    => (error) ERR CONFIG SET failed (possibly related to argument 'notify-keyspace-events') - Invalid event class character. Use 'Ag$lshzxeKEtmdn'.
  )");
}

}  // namespace
}  // namespace cairn::data
