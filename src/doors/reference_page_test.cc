#include "doors/reference_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <regex>
#include <string>
#include <utility>
#include <variant>

#include "net/loop.h"

namespace cairn::doors {
namespace {

using boost::asio::awaitable;
using net::HttpReply;
using net::HttpResponse;
using ::testing::HasSubstr;
using ::testing::Not;

awaitable<Result<HttpReply>> Nothing(const RouteCall& /*call*/) {
  co_return HttpReply(HttpResponse::Empty(204));
}

Command Row(std::string_view name, std::string_view group, std::string_view syntax = "") {
  return {.name = name,
          .arity = -1,
          .flags = kReadOnly | kFast,
          .categories = kCategoryString,
          .group = group,
          .since = "1.2.3",
          .complexity = "O(1)",
          .summary = "Reads \"a\" <thing> & more.",
          .syntax = syntax,
          .connection = [](ConnectionContext&) {}};
}

size_t Count(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

class ReferencePageTest : public ::testing::Test {
 protected:
  ReferencePageTest() : routes_({.title = "Cairn <test>", .version = "1.2.3"}) {
    AddReferenceRoutes(commands_, routes_);
    AddThing("GET", "/v1/things/{id}");
    AddThing("POST", "/v1/things/{id}");
    AddThing("GET", "/v1/things");
    commands_.Add(Row("get", "string", "key:key [NX | XX]"));
    commands_.Add({.name = "client",
                   .arity = -2,
                   .group = "connection",
                   .since = "1.0.0",
                   .summary = "About clients."});
    commands_.Add(Row("client|list", "connection"));
    html_ = MakeReferencePage(routes_, commands_).html;
  }

  void AddThing(std::string_view method, std::string_view path) {
    routes_.Add({.method = method,
                 .path = path,
                 .permission = "things.<x>",
                 .summary = "A <thing> & \"more\".",
                 .tag = "things",
                 .query = {{"limit", "How <many>.", "integer", true}},
                 .request_schema = R"({"type":"object","required":["size"],"properties":{
                     "size":{"type":"integer","description":"Below <5>."}}})",
                 .responses = {{201, "Made.", R"({"type":"array","items":{"type":"string"}})"}},
                 .handler = Nothing});
  }

  HttpResponse Ask(std::string_view method, std::string path, net::HttpHeaders headers = {}) {
    net::HttpRequest request;
    request.method = method;
    if (path.size() > 1) request.segments = {path.substr(1)};
    request.path = std::move(path);
    request.headers = std::move(headers);
    const auto door = routes_.MakeHandler(loop_);
    boost::asio::io_context io;
    auto reply =
        boost::asio::co_spawn(io, door->Handle(std::move(request)), boost::asio::use_future);
    io.run();
    return std::get<HttpResponse>(reply.get());
  }

  CommandTable commands_;
  RouteTable routes_;
  net::Loop loop_;
  std::string html_;
};

TEST_F(ReferencePageTest, HasEveryRouteOnceAndItsLinkInTheIndex) {
  for (const char* anchor : {"GET/openapi.json", "GET/docs", "GET/", "GET/v1/things/:id",
                             "POST/v1/things/:id", "GET/v1/things"}) {
    EXPECT_EQ(Count(html_, "<article id=\"" + std::string(anchor) + "\">"), 1U) << anchor;
    EXPECT_EQ(Count(html_, "<li><a class=\"name\" href=\"#" + std::string(anchor) + "\">"), 1U)
        << anchor;
  }
  EXPECT_EQ(Count(html_, "<article "), routes_.size() + commands_.row_count());
}

TEST_F(ReferencePageTest, HasEveryCommandOnceAndItsLinkInTheIndex) {
  for (const char* anchor : {"command/get", "command/client", "command/client/list"}) {
    EXPECT_EQ(Count(html_, "<article id=\"" + std::string(anchor) + "\">"), 1U) << anchor;
    EXPECT_EQ(Count(html_, "<li><a class=\"name\" href=\"#" + std::string(anchor) + "\">"), 1U)
        << anchor;
  }
}

TEST_F(ReferencePageTest, EveryLinkInsideLeadsSomewhere) {
  const std::regex link("href=\"#([^\"]*)\"");
  for (std::sregex_iterator at(html_.begin(), html_.end(), link), end; at != end; ++at) {
    const std::string anchor = (*at)[1];
    EXPECT_EQ(Count(html_, "id=\"" + anchor + "\""), 1U) << anchor;
  }
}

TEST_F(ReferencePageTest, TellsWhatARowSays) {
  EXPECT_THAT(html_, HasSubstr("needs <code>things.&lt;x&gt;</code>"));
  EXPECT_THAT(html_, HasSubstr("<code>limit</code> <i>integer</i> <b>required</b> How "));
  EXPECT_THAT(html_, HasSubstr("<code>size</code> <i>integer</i> <b>required</b> Below "));
  EXPECT_THAT(html_, HasSubstr("<summary><code>201</code> Made.</summary><p><i>array of string"));
  EXPECT_THAT(html_, HasSubstr("GET</a> <span class=\"args\">key [NX | XX]</span>"));
  EXPECT_THAT(html_, HasSubstr("CLIENT LIST</a>"));
  EXPECT_THAT(html_, HasSubstr("CLIENT</a> <span class=\"args\">subcommand [argument ...]</span>"));
  EXPECT_THAT(html_, HasSubstr("<span>O(1)</span><span>since 1.2.3</span>"
                               "<span>@read @string @fast</span><span>readonly fast</span>"));
}

TEST_F(ReferencePageTest, WhatTheTablesSayIsNoMarkup) {
  EXPECT_THAT(html_, HasSubstr("Cairn &lt;test&gt; 1.2.3"));
  EXPECT_THAT(html_, HasSubstr("A &lt;thing&gt; &amp; &quot;more&quot;."));
  EXPECT_THAT(html_, HasSubstr("Reads &quot;a&quot; &lt;thing&gt; &amp; more."));
  for (const char* raw : {"<thing>", "<many>", "<5>", "<test>", "<x>"}) {
    EXPECT_THAT(html_, Not(HasSubstr(raw)));
  }
}

TEST_F(ReferencePageTest, TakesNothingFromElsewhere) {
  for (const char* foreign : {"http://", "https://", "src=", "url(", "@import", "<link", "//cdn"}) {
    EXPECT_THAT(html_, Not(HasSubstr(foreign)));
  }
  const std::regex link("href=\"([^#/]|//)");
  EXPECT_FALSE(std::regex_search(html_, link));
}

TEST_F(ReferencePageTest, IsServedWithWhatItMayRun) {
  const HttpResponse page = Ask("GET", "/docs");
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.headers.Get("Content-Type"), "text/html; charset=utf-8");
  EXPECT_EQ(page.body, html_);
  const std::string policy(page.headers.Get("Content-Security-Policy").value_or(""));
  EXPECT_THAT(policy, ::testing::StartsWith("default-src 'none'; style-src 'sha256-"));
  EXPECT_THAT(policy, Not(HasSubstr("unsafe")));
}

TEST_F(ReferencePageTest, IsNotSentAgainToWhoHasIt) {
  const std::string etag(Ask("GET", "/docs").headers.Get("ETag").value_or(""));
  ASSERT_FALSE(etag.empty());
  const HttpResponse again = Ask("GET", "/docs", {{"If-None-Match", "\"other\", " + etag}});
  EXPECT_EQ(again.status, 304);
  EXPECT_EQ(again.body, "");
  EXPECT_EQ(again.headers.Get("ETag"), etag);
  EXPECT_EQ(Ask("GET", "/docs", {{"If-None-Match", "\"other\""}}).status, 200);
}

TEST_F(ReferencePageTest, TheFrontDoorLeadsToIt) {
  const HttpResponse front = Ask("GET", "/");
  EXPECT_EQ(front.status, 302);
  EXPECT_EQ(front.headers.Get("Location"), "/docs");
}

}  // namespace
}  // namespace cairn::doors
