// What the route table lets a principal do, and keeps of it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <memory>
#include <string>
#include <vector>

#include "doors/http/route_table.h"
#include "net/loop.h"

namespace cairn::doors {
namespace {

using boost::asio::awaitable;
using net::HttpReply;
using net::HttpResponse;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

awaitable<Result<HttpReply>> Who(const RouteCall& call) {
  co_return HttpReply(
      HttpResponse::Text(200, call.principal == nullptr ? "nobody" : call.principal->name()));
}

awaitable<HttpResponse> Conflict() { co_return HttpResponse::Text(409, "later"); }

awaitable<Result<HttpReply>> Late(const RouteCall& /*call*/) {
  net::HttpLateResponse late;
  late.run = Conflict;
  co_return HttpReply(std::move(late));
}

class RouteAccessTest : public ::testing::Test {
 protected:
  RouteAccessTest() {
    const auto add = [&](std::string_view method, std::string_view path, Touches touches,
                         awaitable<Result<HttpReply>> (*handler)(const RouteCall&)) {
      table_.Add({.method = method,
                  .path = path,
                  .permission = method == "GET" ? "x.read" : "x.write",
                  .touches = touches,
                  .summary = "One of them.",
                  .query = {{"a", "One."}, {"d", "Another."}},
                  .responses = {{200, "It."}},
                  .handler = handler});
    };
    add("GET", "/all", Touches::Anything(), Who);
    add("GET", "/scoped", Touches::Only("thing"), Who);
    add("GET", "/none", Touches::Nothing(), Who);
    add("POST", "/scoped", Touches::Only("thing"), Who);
    add("POST", "/late", Touches::Only("thing"), Late);
    table_.SetAudit([](const Route& route) { return route.permission == "x.write"; }, clock_,
                    [this](AuditEntry entry) { return Keep(std::move(entry)); });
    door_ = table_.MakeHandler(loop_);
  }

  awaitable<void> Keep(AuditEntry entry) {
    kept_.push_back(entry.principal + " " + entry.method + " " + entry.path + "?" + entry.query +
                    " " + std::to_string(entry.status));
    co_return;
  }

  static std::shared_ptr<const Principal> Make(std::vector<std::string_view> permissions,
                                               std::string_view things = "",
                                               std::string kind = "thing") {
    std::shared_ptr<Grants> grants;
    if (!things.empty()) {
      grants = std::make_shared<Grants>();
      grants->Add(std::move(kind), *NamePatterns::Parse(things));
    }
    return std::make_shared<const Principal>("ali", "tester", std::move(permissions),
                                             std::move(grants));
  }

  HttpResponse Ask(std::shared_ptr<const Principal> who, std::string method,
                   const std::string& target) {
    net::HttpRequest request;
    request.method = std::move(method);
    auto parsed = net::ParseTarget(target);
    request.path = parsed->path;
    request.segments = parsed->segments;
    request.query = parsed->query;
    boost::asio::io_context io;
    auto made = boost::asio::co_spawn(io, door_->HandleFor(std::move(who), std::move(request)),
                                      boost::asio::use_future);
    io.run();
    HttpReply reply = made.get();
    if (auto* late = std::get_if<net::HttpLateResponse>(&reply)) {
      auto response = boost::asio::co_spawn(io, late->run(), boost::asio::use_future);
      io.restart();
      io.run();
      return response.get();
    }
    return std::get<HttpResponse>(reply);
  }

  const SystemClock clock_;
  net::Loop loop_;
  RouteTable table_;
  std::unique_ptr<RouteDoor> door_;
  std::vector<std::string> kept_;
};

TEST_F(RouteAccessTest, ARowIsForThoseWhoHaveItsPermission) {
  EXPECT_EQ(Ask(Make({"x.read"}), "GET", "/all").body, "ali");
  const HttpResponse refused = Ask(Make({"x.write"}), "GET", "/all");
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(refused.body, HasSubstr("the role tester does not allow x.read"));
  EXPECT_EQ(Ask(Make({}), "GET", "/openapi.json").status, 200);
  EXPECT_EQ(Ask(nullptr, "GET", "/all").body, "nobody");
}

TEST_F(RouteAccessTest, ARowIsForThoseWhoMayTouchWhatItTouches) {
  EXPECT_EQ(Ask(Make({"x.read"}, "q"), "GET", "/scoped").status, 200);
  EXPECT_EQ(Ask(Make({"x.read"}, "q"), "GET", "/none").status, 200);
  const HttpResponse refused = Ask(Make({"x.read"}, "q,r*"), "GET", "/all");
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(refused.body, HasSubstr("limited to thing q,r*; GET /all touches more"));
  EXPECT_EQ(Ask(Make({"x.read"}, "q", "other"), "GET", "/scoped").status, 403);
}

TEST_F(RouteAccessTest, WhatIsAuditedIsKeptWithItsOutcome) {
  Ask(Make({"x.read"}), "GET", "/scoped");
  Ask(Make({"x.write"}), "POST", "/scoped?a=b%20c&d=e");
  Ask(Make({"x.read"}), "POST", "/scoped");
  Ask(Make({"x.write"}), "POST", "/late");
  EXPECT_THAT(kept_, ElementsAre("ali POST /scoped?a=b%20c&d=e 200", "ali POST /scoped? 403",
                                 "ali POST /late? 409"));
}

}  // namespace
}  // namespace cairn::doors
