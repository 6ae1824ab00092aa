#include "doors/resp/monitor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "doors/testing/test_server.h"

namespace cairn::doors {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using testing::TestClient;
using testing::TestServer;

TEST(MonitorTest, ShowsCommandsOfAllLoopsQuoted) {
  TestServer server({.loops = 2});
  TestClient monitor = server.Connect();
  EXPECT_EQ(monitor.Run({"MONITOR"}), "OK");
  TestClient one = server.Connect();
  TestClient two = server.Connect();
  one.RunValue({"ECHO", "a\"b\n\x01"});
  EXPECT_THAT(monitor.Receive(), EndsWith("] \"ECHO\" \"a\\\"b\\n\\x01\""));
  EXPECT_EQ(two.Run({"SELECT", "3"}), "OK");
  EXPECT_THAT(monitor.Receive(), EndsWith("] \"SELECT\" \"3\""));
  EXPECT_EQ(two.Run({"PING"}), "PONG");
  EXPECT_THAT(monitor.Receive(), HasSubstr(" [3 127.0.0.1:"));
}

TEST(MonitorTest, KeepsSecretsAndWhatOperatorsDo) {
  TestServer server;
  TestClient monitor = server.Connect();
  monitor.Run({"MONITOR"});
  TestClient client = server.Connect();
  client.Run({"AUTH", "default", "hunter2"});
  client.Run({"HELLO", "2", "AUTH", "default", "hunter2", "SETNAME", "me"});
  client.Run({"CLIENT", "LIST"});
  client.Run({"PING"});
  EXPECT_THAT(monitor.Receive(), EndsWith("\"AUTH\" \"(redacted)\" \"(redacted)\""));
  EXPECT_THAT(
      monitor.Receive(),
      EndsWith("\"HELLO\" \"2\" \"AUTH\" \"(redacted)\" \"(redacted)\" \"SETNAME\" \"me\""));
  EXPECT_THAT(monitor.Receive(), EndsWith("\"PING\""));
}

TEST(MonitorTest, EndsWithReset) {
  TestServer server;
  TestClient monitor = server.Connect();
  monitor.Run({"MONITOR"});
  EXPECT_THAT(server.Connect().RunValue({"CLIENT", "LIST"}).text, HasSubstr("flags=O "));
  EXPECT_EQ(monitor.Run({"RESET"}), "RESET");
  server.Run({"PING"});
  EXPECT_EQ(monitor.Run({"ECHO", "x"}), "\"x\"");
}

}  // namespace
}  // namespace cairn::doors
