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

TEST(NotificationsTest, KeysThatAreMadeAndKeysThatAreMissedTell) {
  DataServer server;
  server.Play("CONFIG SET notify-keyspace-events Enm => OK\nSET old 1");
  TestClient listener = server.Connect();
  listener.Run({"PSUBSCRIBE", "*"});
  const auto event = [&](const std::string& name, const std::string& key) {
    EXPECT_EQ(listener.Receive(),
              "[\"pmessage\", \"*\", \"__keyevent@0__:" + name + "\", \"" + key + "\"]");
  };
  server.Play(R"(
    SET old 2
    SET k 1
    SET k 2
    HSET h f v
    HSET h g v
    RENAME k renamed
    COPY renamed copied
    GET old
    GET nosuch
    HGET nosuch f
    JSON.SET j $ {}
    GETDEL nosuch
    GETSET got 1
    GETEX nosuch
    OBJECT ENCODING nosuch
    MEMORY USAGE nosuch
    SADD s a
    SUNIONSTORE su s nosuch
    ZUNIONSTORE zu 1 s
    GEOADD g 1 1 x
    GEOSEARCHSTORE gs g FROMLONLAT 1 1 BYRADIUS 1 km
    BITOP NOT bits nosuch
    COPY nosuch nowhere
    HSET h2 f v
    LMOVE nosuch nowhere LEFT LEFT
    SMOVE nosuch nowhere m
  )");
  event("new", "k");
  event("new", "h");
  event("new", "renamed");
  event("new", "copied");
  event("keymiss", "nosuch");
  event("keymiss", "nosuch");
  event("new", "j");
  event("keymiss", "nosuch");
  event("keymiss", "got");
  event("new", "got");
  event("keymiss", "nosuch");
  event("new", "s");
  event("keymiss", "nosuch");
  event("new", "su");
  event("new", "zu");
  event("new", "g");
  event("new", "gs");
  event("keymiss", "nosuch");
  event("keymiss", "nosuch");
  event("new", "h2");
  server.Play("MOVE k2 1 => (integer) 0\nSET k2 1\nMOVE k2 1 => (integer) 1");
  event("new", "k2");
  EXPECT_EQ(listener.Receive(), "[\"pmessage\", \"*\", \"__keyevent@1__:new\", \"k2\"]");
  EXPECT_EQ(listener.Run({"PING"}), "[\"pong\", \"\"]");
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
