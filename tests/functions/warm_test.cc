// Children that are kept ready for an alias (min_warm).
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/value.hpp>
#include <cstdlib>
#include <string>

#include "tests/functions/functions_server.h"
#include "tests/support/await.h"

namespace cairn::testing {
namespace {

// A gauge of /metrics without labels.
double Gauge(FunctionsServer& server, std::string_view name) {
  const std::string text = server.Call("GET", "/metrics").text;
  const size_t at = text.find(fmt::format("\n{} ", name));
  if (at == std::string::npos) return -1;
  return std::strtod(text.c_str() + at + name.size() + 2, nullptr);
}

void SetWarm(FunctionsServer& server, int children) {
  const JsonAnswer answer =
      server.Call("PUT", "/v1/tenants/t_test01/namespaces/shop/functions/fast/aliases/live",
                  fmt::format(R"({{"version":1,"min_warm":{}}})", children));
  ASSERT_EQ(answer.status, 200) << answer.text;
}

// Until so many children have been made ready since the server started.
void AwaitLoads(FunctionsServer& server, int loads) {
  Await(fmt::format("{} children to be ready", loads),
        [&] { return Gauge(server, "cs_sandbox_warm_loads_total") >= loads; });
  EXPECT_GT(Gauge(server, "cs_sandbox_warm_wanted"), 0);
}

bool FirstIsCold(FunctionsServer& server) {
  const JsonAnswer answer = server.Invoke("fast");
  const boost::json::value activation =
      server.Activation(answer.body.at("activation_id").as_string());
  return activation.at("usage").at("cold").as_bool();
}

TEST(WarmTest, AnAliasHasItsChildrenReadyAlsoAfterARestart) {
  FunctionsServer server;
  server.Publish("fast", "export default () => 1");
  EXPECT_EQ(Gauge(server, "cs_sandbox_children"), 0);
  SetWarm(server, 2);
  AwaitLoads(server, 2);
  EXPECT_GE(Gauge(server, "cs_sandbox_idle"), 2);
  EXPECT_FALSE(FirstIsCold(server));
  EXPECT_EQ(server.server().Command({"ZRANGE", "cs:warm:index", "0", "-1"}),
            R"(["t_test01/shop/fast:live"])");
  server.Kill();
  AwaitLoads(server, 2);
  EXPECT_FALSE(FirstIsCold(server));
  SetWarm(server, 0);
  Await("no child to be wanted", [&] { return Gauge(server, "cs_sandbox_warm_wanted") == 0; });
  server.Kill();
  // It looks when it starts, and finds no such alias.
  EXPECT_EQ(server.Call("GET", "/healthz").status, 200);
  EXPECT_EQ(Gauge(server, "cs_sandbox_children"), 0);
}

TEST(WarmTest, TheyFollowTheAliasAndAreReplaced) {
  FunctionsServer server;
  server.Publish("fast", "export default () => 1");
  SetWarm(server, 1);
  AwaitLoads(server, 1);
  // The alias points to another version now.
  server.Publish("fast",
                 "export default (event) => { const a = []; "
                 "while (event.fills) a.push('x'.repeat(1e6) + a.length); return 2; }");
  AwaitLoads(server, 2);
  EXPECT_FALSE(FirstIsCold(server));
  // The one that was ready is of no more use after this.
  EXPECT_EQ(server.Invoke("fast", R"({"fills":true})").body.at("status").as_string(), "error");
  AwaitLoads(server, 3);
  EXPECT_FALSE(FirstIsCold(server));
}

}  // namespace
}  // namespace cairn::testing
