// Children that are kept ready for an alias (min_warm).
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/value.hpp>
#include <charconv>
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

void AwaitWarm(FunctionsServer& server) {
  Await("the children to be warm", [&] {
    return Gauge(server, "cs_sandbox_warm_wanted") > 0 &&
           Gauge(server, "cs_sandbox_warm_missing") == 0;
  });
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
  AwaitWarm(server);
  Await("both to be idle", [&] { return Gauge(server, "cs_sandbox_idle") >= 2; });
  EXPECT_FALSE(FirstIsCold(server));
  EXPECT_EQ(server.server().Command({"ZRANGE", "cs:warm:index", "0", "-1"}),
            R"(["t_test01/shop/fast:live"])");
  server.Kill();
  AwaitWarm(server);
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
  AwaitWarm(server);
  // The alias points to another version now.
  server.Publish("fast", "export default () => 2");
  Await("the new version to be warm", [&] {
    return Gauge(server, "cs_invoker_cache_items") >= 2 &&
           Gauge(server, "cs_sandbox_warm_missing") == 0;
  });
  EXPECT_FALSE(FirstIsCold(server));
  // One that ends is started again.
  const double forks = Gauge(server, "cs_sandbox_forks_total");
  server.Publish(
      "dies", "export default () => { const a = []; for (;;) a.push('x'.repeat(1e6) + a.length); }",
      R"({"limits":{"timeoutMs":20000,"memoryMb":16,"maxConcurrency":1}})");
  (void)server.Invoke("dies");
  // One to compile it, and one in place of that which has died.
  Await("another child", [&] { return Gauge(server, "cs_sandbox_forks_total") >= forks + 2; });
  AwaitWarm(server);
  EXPECT_FALSE(FirstIsCold(server));
}

}  // namespace
}  // namespace cairn::testing
