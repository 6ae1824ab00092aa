// The gateway and :invoke, where HTTP itself is concerned: limits, methods, codes, trace contexts.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/time_text.h"
#include "tests/functions/functions_server.h"
#include "tests/support/await.h"

namespace cairn::testing {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;

constexpr size_t kKiB = 1024;
constexpr std::string_view kTrace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

// "413 CS_TOO_LARGE"
std::string Refusal(const JsonAnswer& answer) {
  if (!answer.body.is_object() || !answer.body.as_object().contains("error")) return answer.text;
  const json::value& error = answer.body.at("error");
  return fmt::format("{} {}", answer.status, std::string_view(error.at("code").as_string()));
}

TEST(GatewayTest, TheLimitsOfQueryAndHeadersAreThoseOfTheGuide) {
  FunctionsServer server;
  server.Publish("sizes", R"(export default (event) => ({body: JSON.stringify({
      query: event.rawQueryString.length, header: (event.headers['x-large'] ?? '').length})}))");
  const std::string path = "/v1/web/t_test01/shop/sizes/live";
  const auto query = [&](size_t bytes) {
    return server.Call("GET", path + "?" + std::string(bytes, 'q'));
  };
  EXPECT_EQ(query(16 * kKiB).body.at("query"), 16 * kKiB);
  EXPECT_EQ(Refusal(query(16 * kKiB + 1)), "413 CS_TOO_LARGE");
  // In two fields: a field has up to 64 KiB itself. Names and values of all fields count, also
  // those that every client sends.
  const auto headers = [&](size_t bytes) {
    return server.Call("GET", path, "",
                       {{"X-Large", std::string(bytes / 2, 'h')},
                        {"X-Large", std::string(bytes - bytes / 2, 'h')}});
  };
  EXPECT_EQ(headers(63 * kKiB).body.at("header"), 63 * kKiB + 1);  // joined with a comma
  EXPECT_EQ(Refusal(headers(64 * kKiB)), "413 CS_TOO_LARGE");
  // Beyond what any route may take, the server does not read on.
  EXPECT_EQ(headers(100 * kKiB).status, 431);
  EXPECT_EQ(query(100 * kKiB).status, 431);
}

TEST(GatewayTest, EachFailureHasItsCode) {
  FunctionsServer server;
  const std::string limits = R"({"limits":{"timeoutMs":2000,"memoryMb":16,"maxConcurrency":1}})";
  server.Publish("throws", "export default () => { throw new Error('no'); }");
  server.Publish("hungry", R"(export default () => {
      const all = [];
      for (;;) all.push(new Uint8Array(1 << 20).fill(1));
    })",
                 limits);
  server.Publish("endless", "export default () => { for (;;); }",
                 R"({"limits":{"timeoutMs":300,"memoryMb":16,"maxConcurrency":1}})");
  const auto get = [&](std::string_view name) {
    return server.Call("GET", fmt::format("/v1/web/t_test01/shop/{}/live", name));
  };
  EXPECT_EQ(Refusal(get("throws")), "500 CS_RUNTIME_EXCEPTION");
  EXPECT_EQ(Refusal(get("hungry")), "500 CS_RUNTIME_MEMORY_LIMIT");
  EXPECT_EQ(Refusal(get("endless")), "504 CS_RUNTIME_TIMEOUT");
  EXPECT_EQ(Refusal(get("none")), "404 CS_NOT_FOUND");
  // With :invoke the call has worked, whatever the function has done.
  EXPECT_EQ(server.Invoke("hungry").status, 200);
}

TEST(GatewayTest, WhoIsNotLetInIsToldWhy) {
  FunctionsServer server({"--password", "sesame-of-the-shop"});
  const auto ask = [&](const net::HttpHeaders& headers) {
    return Refusal(
        server.Call("GET", "/v1/tenants/t_test01/namespaces/shop/functions", "", headers));
  };
  const net::HttpHeaders admin = {{"Authorization", "Bearer sesame-of-the-shop"}};
  EXPECT_EQ(ask({}), "401 CS_AUTHN_MISSING_TOKEN");
  EXPECT_EQ(ask({{"Authorization", "Bearer guess"}}), "401 CS_AUTHN_INVALID_TOKEN");
  EXPECT_EQ(ask({{"X-API-Key", "guess"}}), "401 CS_AUTHN_INVALID_TOKEN");
  const std::string key = "a-key-that-ends-soon";
  const std::string soon =
      FormatTime(static_cast<uint64_t>(SystemClock().Now().us + 1'500'000) * 1'000);
  EXPECT_EQ(server
                .Call("POST", "/api/v1/auth/keys",
                      fmt::format(R"({{"name":"brief","role":"operator","key":"{}",
                                       "expires_at":"{}"}})",
                                  key, soon),
                      admin)
                .status,
            201);
  Await("the end of the key", [&] {
    return ask({{"X-API-Key", key}}) == "401 CS_AUTHN_EXPIRED_TOKEN";
  });
}

TEST(GatewayTest, TheTraceContextGoesWithAnInvocationWhereverItCameFrom) {
  FunctionsServer server;
  server.Publish("trace",
                 "export default (event, ctx) => ({body: JSON.stringify(ctx.trigger.source)})");
  const std::string trace(kTrace);
  const std::string expected = fmt::format(R"("traceparent":"{}")", kTrace);
  const auto source = [](const JsonAnswer& answer) {
    return std::string(answer.body.at("result").at("body").as_string());
  };
  EXPECT_THAT(
      server.Call("GET", "/v1/web/t_test01/shop/trace/live", "", {{"traceparent", trace}}).text,
      HasSubstr(expected));
  const std::string sync = source(server.Invoke("trace", "{}", {{"traceparent", trace}}));
  EXPECT_EQ(sync, fmt::format(R"({{"mode":"sync",{}}})", expected));
  EXPECT_EQ(source(server.Invoke("trace")), R"({"mode":"sync"})");
  const std::string over_resp =
      server.server().Command({"FN.INVOKE", "t_test01/shop/trace", "live", "TRACEPARENT", trace});
  EXPECT_THAT(over_resp, HasSubstr("4bf92f3577b34da6a3ce929d0e0e4736"));
  EXPECT_THAT(server.server().Command(
                  {"FN.INVOKE", "t_test01/shop/trace", "live", "TRACEPARENT", "nonsense"}),
              HasSubstr("TRACEPARENT"));
  // The message too, for whoever consumes it.
  EXPECT_EQ(server.Call("POST", "/api/v1/queues/cs.invoke/pause").status, 200);
  ASSERT_NE(server.InvokeLater("trace", "{}", {{"traceparent", trace}}), "");
  const JsonAnswer jobs =
      server.Call("POST", "/api/v1/jobs/search", R"({"queue":"cs.invoke","state":["pending"]})");
  ASSERT_EQ(jobs.status, 200) << jobs.text;
  const std::string id(jobs.body.at("jobs").at(0).at("id").as_string());
  EXPECT_THAT(server.Call("GET", "/v1/codeq/tasks/" + id).text, HasSubstr(trace));
}

}  // namespace
}  // namespace cairn::testing
