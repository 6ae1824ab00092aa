// Responses that are made while the client is watched.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <string>
#include <thread>

#include "net/http/server.h"
#include "net/testing/certificate.h"
#include "net/testing/http_fixture.h"
#include "tests/support/temp_directory.h"

namespace cairn::net::testing {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

class LateResponseTest : public HttpServerTest {
 protected:
  static constexpr std::string_view kLate = "GET /late HTTP/1.1\r\nHost: t\r\n\r\n";

  void AwaitWaiting(int count) {
    WaitUntil([&] { return log_.late_waiting == count; });
  }
};

TEST_F(LateResponseTest, IsSentWhenItIsThereAndTheConnectionGoesOn) {
  Start();
  HttpClient client = Client();
  std::thread proceed([&] {
    AwaitWaiting(1);
    Proceed();
  });
  const auto response = client.Get("/late");
  proceed.join();
  ASSERT_TRUE(response.ok()) << response.error().message;
  EXPECT_EQ(response->body, "late");
  EXPECT_EQ(client.Post("/echo", "next")->body, "next");
  EXPECT_EQ(server_->stats().connections_received, 1U);
  EXPECT_EQ(log_.late_unsent, 0);
}

TEST_F(LateResponseTest, AClientThatLeavesEndsTheWait) {
  Start();
  {
    RespClient client = Raw();
    ASSERT_TRUE(client.SendRaw(kLate).ok());
    AwaitWaiting(1);
  }
  WaitUntil([&] { return log_.late_unsent == 1; });
  WaitUntil([&] { return server_->stats().connections_open == 0; });
}

TEST_F(LateResponseTest, RequestsSentAheadAreAnsweredInTheirTurn) {
  Start();
  RespClient client = Raw();
  ASSERT_TRUE(client.SendRaw(kLate).ok());
  AwaitWaiting(1);
  ASSERT_TRUE(client
                  .SendRaw("POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: 5\r\n"
                           "Connection: close\r\n\r\nahead")
                  .ok());
  Proceed();
  const std::string all = All(client);
  EXPECT_LT(all.find("\r\n\r\nlate"), all.find("\r\n\r\nahead")) << all;
  EXPECT_THAT(all, HasSubstr("\r\n\r\nahead"));
}

TEST_F(LateResponseTest, SoManyRequestsAheadThatTheClientIsNotWatched) {
  Start();
  RespClient client = Raw();
  ASSERT_TRUE(client.SendRaw(kLate).ok());
  AwaitWaiting(1);
  constexpr int kAhead = 1'000;
  std::string ahead;
  for (int i = 0; i < kAhead; ++i) ahead += "GET /status/204 HTTP/1.1\r\nHost: t\r\n\r\n";
  ahead += "GET /echo HTTP/1.0\r\n\r\n";
  ASSERT_TRUE(client.SendRaw(ahead).ok());
  Proceed();
  EXPECT_THAT(All(client), HasSubstr("\r\n\r\nlate"));
  EXPECT_EQ(log_.handled, kAhead + 2);
}

TEST_F(LateResponseTest, ADrainEndsTheWaitAndTheResponseIsStillSent) {
  Start();
  RespClient client = Raw();
  ASSERT_TRUE(client.SendRaw(kLate).ok());
  AwaitWaiting(1);
  server_->Drain(seconds(30));
  EXPECT_THAT(All(client), HasSubstr("\r\n\r\ncancelled"));
  EXPECT_EQ(log_.late_unsent, 0);
}

TEST_F(LateResponseTest, OverTlsToo) {
  const cairn::testing::TempDirectory directory;
  const TestCertificate certificate(directory.path());
  auto tls = TlsContext::Load({certificate.certificate_file(), certificate.key_file(), {}});
  ASSERT_TRUE(tls.ok()) << tls.error().message;
  Start({}, *tls);
  HttpClient client(address(), {.tls = true, .ca_file = certificate.certificate_file()});
  std::thread proceed([&] {
    AwaitWaiting(1);
    Proceed();
  });
  const auto response = client.Get("/late");
  proceed.join();
  ASSERT_TRUE(response.ok()) << response.error().message;
  EXPECT_EQ(response->body, "late");
  EXPECT_EQ(client.Post("/echo", "next")->body, "next");
  EXPECT_EQ(server_->stats().connections_received, 1U);
}

}  // namespace
}  // namespace cairn::net::testing
