#include "net/http/cors.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <string>
#include <utility>

#include "net/http/server.h"
#include "net/testing/http_fixture.h"

namespace cairn::net::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// --- The policy ---------------------------------------------------------------------------------

TEST(CorsPolicyTest, IsReadAndWritten) {
  for (const char* text : {"*", "none", "local", "https://app.example.com", "http://[::1]:8080",
                           "local,https://app.example.com,http://10.0.0.7:81"}) {
    const auto policy = ParseCorsPolicy(text);
    ASSERT_TRUE(policy.has_value()) << text;
    EXPECT_EQ(FormatCorsPolicy(*policy), text);
  }
  EXPECT_EQ(ParseCorsPolicy(" HTTPS://App.example.com , local "),
            (CorsPolicy{.local = true, .origins = {"https://app.example.com"}}));
}

TEST(CorsPolicyTest, WhatIsNoOriginIsRefused) {
  for (const char* text : {"",
                           ",",
                           "local,",
                           "*,local",
                           "none,local",
                           "null",
                           "app.example.com",
                           "://a",
                           "http://",
                           "http://a/",
                           "http://a/path",
                           "http://a b",
                           "http://*.example.com",
                           "http://a:",
                           "http://a:x",
                           "http://a:123456",
                           "http://[::1",
                           "http://[]",
                           "http://[::1]x",
                           "http://u@a",
                           "http://a?b"}) {
    EXPECT_EQ(ParseCorsPolicy(text), std::nullopt) << text;
  }
}

TEST(CorsPolicyTest, LocalAllowsPagesOfThisMachineOnAnyPort) {
  const CorsPolicy local{.local = true};
  for (const char* origin : {"http://localhost", "http://localhost:5173", "https://127.0.0.1:8443",
                             "http://127.9.9.9", "http://[::1]:3000"}) {
    EXPECT_TRUE(Allows(local, origin)) << origin;
  }
  for (const char* origin :
       {"http://example.com", "http://localhost.example.com", "http://127.0.0.1.example.com",
        "http://10.0.0.1", "null", "file://localhost", "http://[::2]", ""}) {
    EXPECT_FALSE(Allows(local, origin)) << origin;
  }
}

TEST(CorsPolicyTest, AListAllowsWhatItNames) {
  const CorsPolicy list{.origins = {"https://app.example.com"}};
  EXPECT_TRUE(Allows(list, "https://app.example.com"));
  EXPECT_FALSE(Allows(list, "http://app.example.com"));
  EXPECT_FALSE(Allows(list, "https://app.example.com:8443"));
  EXPECT_FALSE(Allows(list, "http://localhost"));
}

TEST(CorsPolicyTest, AnyAllowsAlsoPagesWithoutAnOrigin) {
  EXPECT_TRUE(Allows(CorsPolicy{.any = true}, "null"));
  EXPECT_FALSE(Allows(CorsPolicy{}, "null"));
}

TEST(ForeignOriginTest, IsThatOfAnotherHostOrPort) {
  const auto foreign = [](std::string origin, std::string host) {
    return ForeignOrigin({{"Origin", std::move(origin)}, {"Host", std::move(host)}});
  };
  EXPECT_EQ(foreign("http://localhost:8080", "localhost:8080"), "");
  EXPECT_EQ(foreign("https://Cairn.example.com", "cairn.example.com"), "");
  EXPECT_EQ(foreign("http://[::1]:8080", "[::1]:8080"), "");
  EXPECT_EQ(foreign("http://localhost:5173", "localhost:8080"), "http://localhost:5173");
  EXPECT_EQ(foreign("HTTP://Evil.example", "localhost:8080"), "http://evil.example");
  EXPECT_EQ(foreign("null", "localhost:8080"), "null");
  EXPECT_EQ(ForeignOrigin({{"Host", "localhost:8080"}}), "");
}

// --- What a server answers ----------------------------------------------------------------------

class CorsTest : public HttpServerTest {
 protected:
  void StartWith(CorsPolicy policy) {
    policy_ = std::move(policy);
    HttpServerOptions options;
    options.cors = [this]() -> const CorsPolicy& { return policy_; };
    Start(options);
  }

  // The answer to `method` `target`, as it came, of a page of `origin`.
  std::string Ask(std::string_view method, std::string_view target, std::string_view origin,
                  std::string_view fields = "") const {
    return Exchange(
        fmt::format("{} {} HTTP/1.1\r\nHost: cairn\r\nOrigin: {}\r\nConnection: close\r\n{}\r\n",
                    method, target, origin, fields));
  }

  static constexpr std::string_view kPage = "https://app.example.com";
  static constexpr std::string_view kAllowed =
      "Access-Control-Allow-Origin: https://app.example.com\r\n";

  CorsPolicy policy_;
};

TEST_F(CorsTest, EveryAnswerOfAnOpenServerMayBeReadByEveryPage) {
  StartWith({.any = true});
  for (const char* target : {"/echo", "/nothing", "/throw", "/events/1", "/status/204", "/.."}) {
    const std::string answer = Ask("GET", target, kPage);
    EXPECT_THAT(answer, HasSubstr("Access-Control-Allow-Origin: *\r\n")) << target;
    EXPECT_THAT(answer, HasSubstr("Access-Control-Expose-Headers: X-Request-Id, X-Cairn-Commit, "
                                  "Server-Timing, Retry-After\r\n"))
        << target;
    EXPECT_THAT(answer, Not(HasSubstr("Access-Control-Allow-Credentials"))) << target;
    EXPECT_THAT(answer, Not(HasSubstr("Vary"))) << target;
  }
  EXPECT_THAT(Ask("POST", "/limit/1", kPage, "Content-Length: 2\r\n"),
              AllOf(StartsWith("HTTP/1.1 413"), HasSubstr("Access-Control-Allow-Origin: *\r\n")));
}

TEST_F(CorsTest, APageOnTheListMayReadItsAnswers) {
  StartWith({.origins = {std::string(kPage)}});
  for (const char* target : {"/echo", "/events/1", "/throw"}) {
    const std::string answer = Ask("GET", target, kPage);
    EXPECT_THAT(answer, HasSubstr(std::string(kAllowed))) << target;
    EXPECT_THAT(answer, HasSubstr("Vary: Origin\r\n")) << target;
  }
}

TEST_F(CorsTest, APageThatIsNotAllowedReachesNoHandler) {
  StartWith({.origins = {std::string(kPage)}});
  for (const char* method : {"GET", "POST", "OPTIONS"}) {
    const std::string answer = Ask(method, "/echo", "https://evil.example");
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 403 ")) << method;
    EXPECT_THAT(answer, HasSubstr("\"forbidden\"")) << method;
    EXPECT_THAT(answer, HasSubstr("https://evil.example may not use this server")) << method;
    EXPECT_THAT(answer, Not(HasSubstr("Access-Control-Allow-Origin"))) << method;
  }
  EXPECT_EQ(log_.handled, 0);
}

TEST_F(CorsTest, AWebSocketIsOpenedOnlyByAPageThatIsAllowed) {
  StartWith({.local = true});
  const auto ask = [&](std::string_view origin) {
    RespClient client = Raw();
    EXPECT_TRUE(client
                    .SendRaw(fmt::format(
                        "GET /socket HTTP/1.1\r\nHost: cairn\r\nOrigin: {}\r\n"
                        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
                        origin))
                    .ok());
    shutdown(client.fd(), SHUT_WR);
    return All(client);
  };
  EXPECT_THAT(ask("https://evil.example"), StartsWith("HTTP/1.1 403 "));
  EXPECT_EQ(log_.handled, 0);
  EXPECT_THAT(ask("http://localhost:5173"),
              AllOf(StartsWith("HTTP/1.1 101 "),
                    HasSubstr("Access-Control-Allow-Origin: http://localhost:5173\r\n")));
}

TEST_F(CorsTest, PagesOfTheServersOwnOriginAreNotAskedAbout) {
  StartWith({});
  EXPECT_THAT(Ask("POST", "/echo", "http://cairn"), StartsWith("HTTP/1.1 200 "));
  EXPECT_EQ(log_.handled, 1);
}

TEST_F(CorsTest, APreflightIsAnsweredWithoutAHandler) {
  StartWith({.origins = {std::string(kPage)}});
  const std::string answer = Ask("OPTIONS", "/echo", kPage,
                                 "Access-Control-Request-Method: PUT\r\n"
                                 "Access-Control-Request-Headers: authorization\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(answer, HasSubstr(std::string(kAllowed)));
  EXPECT_THAT(answer, HasSubstr("Access-Control-Allow-Methods: GET, POST, PUT, PATCH, DELETE, "
                                "OPTIONS\r\n"));
  EXPECT_THAT(answer, HasSubstr("Access-Control-Allow-Headers: Content-Type, Authorization, "
                                "X-API-Key, X-Corvo-Namespace, "));
  EXPECT_THAT(answer, HasSubstr("Last-Event-ID"));
  EXPECT_EQ(log_.handled, 0);
}

TEST_F(CorsTest, CookiesOfAnotherOriginDoNotCount) {
  StartWith({.any = true});
  const std::string cookie = "Cookie: cairn_api_key=sesame\r\n";
  EXPECT_THAT(Ask("GET", "/describe", "http://cairn", cookie),
              HasSubstr("cookie cairn_api_key=sesame\n"));
  EXPECT_THAT(Ask("GET", "/describe", kPage, cookie), HasSubstr("cookie -\n"));
}

TEST_F(CorsTest, ThePolicyOfTheMomentCounts) {
  StartWith({.any = true});
  EXPECT_THAT(Ask("GET", "/echo", kPage), StartsWith("HTTP/1.1 200 "));
  OnLoop([&] { policy_ = {}; });
  EXPECT_THAT(Ask("GET", "/echo", kPage), StartsWith("HTTP/1.1 403 "));
}

}  // namespace
}  // namespace cairn::net::testing
