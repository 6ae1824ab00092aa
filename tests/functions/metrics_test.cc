// What /metrics tells of functions, by the names of the API.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <sstream>
#include <string>

#include "tests/functions/functions_server.h"
#include "tests/support/await.h"

namespace cairn::testing {
namespace {

using ::testing::HasSubstr;

std::string MetricsOf(FunctionsServer& server) { return server.Call("GET", "/metrics").text; }

// The names in rows "| `cs_…` |" of the operations guide.
std::set<std::string> Documented() {
  std::set<std::string> names;
  std::istringstream lines(ReadWholeFile("docs/operations.md"));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("| `cs_")) names.insert(line.substr(3, line.find('`', 3) - 3));
  }
  return names;
}

std::set<std::string> Served(const std::string& text) {
  std::set<std::string> names;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# HELP cs_")) names.insert(line.substr(7, line.find(' ', 7) - 7));
  }
  return names;
}

TEST(FunctionMetricsTest, WhatHappensIsCountedByTheNamesOfTheApi) {
  FunctionsServer server;
  server.Publish("quick", "export default () => 1");
  server.Publish("slow", "export default () => new Promise(() => setTimeout(() => {}, 60000))",
                 R"({"limits":{"timeoutMs":60000,"memoryMb":32,"maxConcurrency":2}})");
  EXPECT_EQ(server.Invoke("quick").status, 200);
  EXPECT_EQ(server.Invoke("none").status, 404);
  EXPECT_EQ(server.Call("GET", "/v1/web/t_test01/shop/quick/live/x").status, 200);
  EXPECT_EQ(server
                .Call("POST", "/v1/tenants/t_test01/namespaces/shop/schedules",
                      R"({"name":"hourly","every_seconds":3600,
                          "ref":{"function":"quick","alias":"live"}})")
                .status,
            201);
  const std::string running = server.InvokeLater("slow");
  ASSERT_NE(running, "");
  const std::string labels = R"({tenant="t_test01",namespace="shop",function=)";
  const std::string inflight = "cs_invoker_inflight" + labels + R"("slow",version="1"} 1)" + "\n";
  Await("a running function in /metrics",
        [&] { return MetricsOf(server).find(inflight) != std::string::npos; });
  const std::string tick =
      R"(cs_scheduler_ticks_total{tenant="t_test01",namespace="shop",schedule="hourly"} 1)";
  Await("the schedule's first tick",
        [&] { return MetricsOf(server).find(tick) != std::string::npos; });

  const std::string text = MetricsOf(server);
  EXPECT_EQ(Served(text), Documented());
  const std::string invoke =
      R"({route="/v1/tenants/{tenant}/namespaces/{namespace}/functions/{name}:invoke",method="POST")";
  EXPECT_THAT(text, HasSubstr("cs_api_requests_total" + invoke + R"(,status="200"} 1)"));
  EXPECT_THAT(text, HasSubstr("cs_api_requests_total" + invoke + R"(,status="202"} 1)"));
  EXPECT_THAT(text, HasSubstr("cs_api_requests_total" + invoke + R"(,status="404"} 1)"));
  EXPECT_THAT(text, HasSubstr("cs_api_request_duration_ms_bucket" + invoke + R"(,le="+Inf"} 3)"));
  EXPECT_THAT(text, HasSubstr("/v1/web/{tenant}/{namespace}/{name}/{ref}/{path...}"));
  EXPECT_THAT(text, HasSubstr("cs_invocations_total" + labels +
                              R"("quick",version="1",trigger="http",status="success"} 1)"));
  EXPECT_THAT(text, HasSubstr("cs_invocation_duration_ms_bucket" + labels +
                              R"("quick",version="1",trigger="http",le="+Inf"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(cs_invoker_queue_lag_ms{topic="cs.invoke"} 0)"));
}

TEST(FunctionMetricsTest, MessagesThatNobodyTakesLag) {
  FunctionsServer server;
  server.Publish("quick", "export default () => 1");
  EXPECT_EQ(server.Call("POST", "/api/v1/queues/cs.invoke/pause").status, 200);
  ASSERT_NE(server.InvokeLater("quick"), "");
  Await("a lag of cs.invoke", [&] {
    return MetricsOf(server).find(R"(cs_invoker_queue_lag_ms{topic="cs.invoke"} 0)") ==
           std::string::npos;
  });
}

}  // namespace
}  // namespace cairn::testing
