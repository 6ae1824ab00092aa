#include "admin/access.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "admin/limits.h"

namespace cairn::admin {
namespace {

class Echo final : public doors::RouteDoor {
 public:
  size_t BodyLimit(net::HttpRequest& head) override {
    return head.path == "/special" ? 7 : net::kDefaultBodyLimit;
  }
  boost::asio::awaitable<net::HttpReply> Handle(net::HttpRequest request) override {
    co_return net::HttpResponse::Text(200, request.path);
  }
  boost::asio::awaitable<net::HttpReply> HandleFor(
      std::shared_ptr<const doors::Principal> principal, net::HttpRequest request) override {
    co_return net::HttpResponse::Text(200, principal->name() + " " + request.path);
  }
};

class GuardTest : public ::testing::Test {
 protected:
  net::HttpResponse Ask(std::string path, net::HttpHeaders headers = {},
                        std::string method = "GET") {
    net::HttpRequest request;
    request.method = std::move(method);
    request.path = std::move(path);
    request.headers = std::move(headers);
    request.request_id = "r-1";
    return Handle(std::move(request));
  }

  net::HttpResponse Handle(net::HttpRequest request) {
    boost::asio::io_context io;
    auto reply =
        boost::asio::co_spawn(io, guard_.Handle(std::move(request)), boost::asio::use_future);
    io.run();
    return std::get<net::HttpResponse>(reply.get());
  }

  const std::shared_ptr<doors::Principal> ali_ =
      std::make_shared<doors::Principal>("ali", "worker", std::vector<std::string_view>(), nullptr);
  std::vector<int64_t> delays_ms_;
  int asked_ = 0;  // how often it was asked whose the secret is
  Guard guard_{
      {.identify = [this](std::string_view secret) -> std::shared_ptr<const doors::Principal> {
         ++asked_;
         return secret == "sesame" ? ali_ : nullptr;
       },
       .default_body_limit = 9,
       .pause = [this](std::chrono::milliseconds delay) -> boost::asio::awaitable<void> {
         delays_ms_.push_back(delay.count());
         co_return;
       }},
      std::make_unique<Echo>()};
};

TEST_F(GuardTest, WithoutTheSecretTheAnswerIs401AndSaysHow) {
  const net::HttpResponse response = Ask("/metrics");
  EXPECT_EQ(response.status, 401);
  EXPECT_EQ(response.headers.Get("WWW-Authenticate"), "Bearer");
  EXPECT_NE(response.body.find("\"unauthorized\""), std::string::npos);
  EXPECT_NE(response.body.find("r-1"), std::string::npos);
}

TEST_F(GuardTest, TheAnswerToAWrongSecretComesLaterEachTime) {
  const auto ask = [&](const std::string& peer, const std::string& secret) {
    net::HttpRequest request;
    request.method = "GET";
    request.path = "/metrics";
    request.peer = peer;
    if (!secret.empty()) request.headers.Set("X-API-Key", secret);
    return Handle(std::move(request)).status;
  };
  for (int i = 0; i < 7; ++i) EXPECT_EQ(ask("10.0.0.1:5", "no"), 401);
  EXPECT_EQ(delays_ms_, (std::vector<int64_t>{100, 200, 400, 800, 1600, 3200, 3200}));
  // A connection of its own begins anew, and so does one that had the secret.
  EXPECT_EQ(ask("10.0.0.1:6", "no"), 401);
  EXPECT_EQ(ask("10.0.0.1:5", "sesame"), 200);
  EXPECT_EQ(ask("10.0.0.1:5", "no"), 401);
  EXPECT_EQ(ask("10.0.0.1:7", ""), 401) << "who presents nothing does not guess";
  EXPECT_EQ(std::vector<int64_t>(delays_ms_.begin() + 7, delays_ms_.end()),
            (std::vector<int64_t>{100, 100}));
}

TEST(GuessersTest, AreForgottenWhenThereAreTooMany) {
  Guessers guessers;
  EXPECT_EQ(guessers.Failed("first"), 1U);
  EXPECT_EQ(guessers.Failed("first"), 2U);
  for (size_t i = 0; i + 1 < kMaxGuessers; ++i) guessers.Failed(std::to_string(i));
  EXPECT_EQ(guessers.Failed("first"), 3U) << "still the last but not too many";
  for (size_t i = 0; i < kMaxGuessers; ++i) guessers.Failed(std::to_string(i));
  EXPECT_EQ(guessers.Failed("first"), 1U);
}

TEST_F(GuardTest, BothHeadersCarryTheSecret) {
  EXPECT_EQ(Ask("/metrics", {{"Authorization", "Bearer sesame"}}).status, 200);
  EXPECT_EQ(Ask("/metrics", {{"authorization", "bearer  sesame"}}).status, 200);
  EXPECT_EQ(Ask("/metrics", {{"X-API-Key", "sesame"}}).status, 200);
}

TEST_F(GuardTest, TheRoutesLearnWhoAsks) {
  EXPECT_EQ(Ask("/metrics", {{"X-API-Key", "sesame"}}).body, "ali /metrics");
  EXPECT_EQ(Ask("/healthz", {{"X-API-Key", "sesame"}}).body, "/healthz");
}

TEST_F(GuardTest, ACookieCarriesTheSecretOfWhatOnlyReads) {
  const auto ask = [&](std::string cookies, std::string method = "GET") {
    return Ask("/api/v1/events", {{"Cookie", std::move(cookies)}}, std::move(method)).status;
  };
  EXPECT_EQ(ask("cairn_api_key=sesame"), 200);
  EXPECT_EQ(ask("a=1; corvo_api_key=ses%61me; b"), 200);
  EXPECT_EQ(ask("cairn_api_key=sesam; a=sesame"), 401);
  EXPECT_EQ(ask("xcairn_api_key=sesame"), 401);
  EXPECT_EQ(ask("cairn_api_key"), 401);
  EXPECT_EQ(ask("cairn_api_key=%zz"), 401);
  EXPECT_EQ(ask(""), 401);
  // Another site can have a browser send it.
  EXPECT_EQ(ask("cairn_api_key=sesame", "POST"), 401);
  EXPECT_EQ(ask("cairn_api_key=sesame", "DELETE"), 401);
  // A header that is there is the one that counts.
  EXPECT_EQ(Ask("/x", {{"X-API-Key", "no"}, {"Cookie", "cairn_api_key=sesame"}}).status, 401);
}

TEST_F(GuardTest, WhatIsNotTheSecretIsRefused) {
  for (const char* value :
       {"Bearer sesam", "Bearer sesame2", "Bearer", "Bearer ", "Basic sesame", "sesame", ""}) {
    EXPECT_EQ(Ask("/metrics", {{"Authorization", value}}).status, 401) << value;
  }
  EXPECT_EQ(Ask("/metrics", {{"X-API-Key", "Sesame"}}).status, 401);
}

TEST_F(GuardTest, HealthNeedsNoSecretAndNothingBesideItIsLetThrough) {
  EXPECT_EQ(Ask("/healthz").status, 200);
  EXPECT_EQ(Ask("/readyz").status, 200);
  for (const char* path : {"/healthz/", "//healthz", "/healthz/x", "/HEALTHZ", "/healthz%2F"}) {
    EXPECT_EQ(Ask(path).status, 401) << path;
  }
}

TEST_F(GuardTest, WhoAsksIsFoundOutOncePerRequestUnlessTheKeyEndsMeanwhile) {
  net::HttpRequest request;
  request.path = "/special";
  request.method = "GET";
  request.headers.Add("X-API-Key", "sesame");
  guard_.BodyLimit(request);
  const int asked = asked_;
  EXPECT_EQ(Handle(request).status, 200);
  EXPECT_EQ(asked_, asked);
  ali_->End();
  EXPECT_EQ(Handle(request).status, 200) << "identified again";
  EXPECT_EQ(asked_, asked + 1);
}

TEST_F(GuardTest, BodyLimitIsTheHandlersOwnForThoseLetThrough) {
  net::HttpRequest head;
  head.path = "/special";
  EXPECT_NE(guard_.BodyLimit(head), 7U);
  head.headers.Add("X-API-Key", "sesame");
  EXPECT_EQ(guard_.BodyLimit(head), 7U);
  head.path = "/other";
  EXPECT_EQ(guard_.BodyLimit(head), 9U);
}

}  // namespace
}  // namespace cairn::admin
