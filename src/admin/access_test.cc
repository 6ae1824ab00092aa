#include "admin/access.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <optional>
#include <utility>

#include "doors/access/why_not.h"

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

  static std::shared_ptr<doors::Principal> NewAli() {
    return std::make_shared<doors::Principal>("ali", "worker", std::vector<std::string_view>(),
                                              nullptr);
  }

  std::shared_ptr<doors::Principal> ali_ = NewAli();
  int asked_ = 0;  // how often it was asked whose the secret is
  Guard guard_{
      {.identify = [this](std::string_view secret) -> std::shared_ptr<const doors::Principal> {
         ++asked_;
         return secret == "sesame" ? ali_ : nullptr;
       },
       .default_body_limit = 9},
      std::make_unique<Echo>()};
};

TEST_F(GuardTest, WithoutTheSecretTheAnswerIs401AndSaysHow) {
  const net::HttpResponse response = Ask("/metrics");
  EXPECT_EQ(response.status, 401);
  EXPECT_EQ(response.headers.Get("WWW-Authenticate"), "Bearer");
  EXPECT_NE(response.body.find("\"unauthorized\""), std::string::npos);
  EXPECT_NE(response.body.find("r-1"), std::string::npos);
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
  ali_ = NewAli();  // the key was changed
  EXPECT_EQ(Handle(request).status, 200) << "identified again";
  EXPECT_EQ(asked_, asked + 1);
}

TEST_F(GuardTest, WhoHasEndedIsToldSo) {
  ali_->End();
  const net::HttpResponse response = Ask("/metrics", {{"X-API-Key", "sesame"}});
  EXPECT_EQ(response.status, 401);
  EXPECT_NE(response.body.find(doors::kExpiredKey), std::string::npos) << response.body;
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
