// Who may invoke what, which version they get, how it is told when it goes wrong, and how long what
// came of it is kept.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tests/functions/functions_server.h"
#include "tests/support/await.h"
#include "tests/support/temp_directory.h"

namespace cairn::testing {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kFunctions = "/v1/tenants/t_test01/namespaces/shop/functions";

std::string CodeOf(const JsonAnswer& answer) {
  const json::object* const body = answer.body.if_object();
  const json::value* const error = body == nullptr ? nullptr : body->if_contains("error");
  if (error == nullptr || !error->is_object()) return answer.text;
  return fmt::format("{} {}", answer.status, std::string_view(error->at("code").as_string()));
}

// --- Aliases ------------------------------------------------------------------------------------

TEST(InvokedAliasTest, AShiftIsUndoneByInvocationsThatFail) {
  FunctionsServer server;
  server.Publish("work", "export default () => 'old'");
  server.Publish("work", "export default () => { throw new Error('new'); }");
  const std::string alias = fmt::format("{}/work/aliases/live", kFunctions);
  ASSERT_EQ(server.Call("PUT", alias, R"({"version":1})").status, 200);
  ASSERT_EQ(server
                .Call("POST", alias + "/shift",
                      R"({"to":2,"step_percent":90,"interval_seconds":86400,"max_error_rate":0.2})")
                .status,
            200);
  json::value stored;
  int failed = 0;
  Await("the shift to be undone", [&] {
    if (server.Invoke("work").body.at("status").as_string() == "error") ++failed;
    stored = server.Call("GET", alias).body;
    return stored.as_object().contains("last_shift");
  });
  EXPECT_GE(failed, 10);
  EXPECT_EQ(stored.at("version").as_int64(), 1) << json::serialize(stored);
  EXPECT_FALSE(stored.as_object().contains("weights") && !stored.at("weights").as_array().empty());
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(server.Invoke("work").body.at("status").as_string(), "success");
  }
}

TEST(InvokedAliasTest, WeightsDecideHowOftenAVersionRuns) {
  FunctionsServer server;
  server.Publish("work", "export default (event, ctx) => ({body: String(ctx.version)})");
  server.Publish("work", "export default (event, ctx) => ({body: String(ctx.version)})");
  const std::string alias = fmt::format("{}/work/aliases/live", kFunctions);
  const auto count = [&](std::string_view target) {
    EXPECT_EQ(server.Call("PUT", alias, std::string(target)).status, 200);
    std::map<std::string, int> seen;
    for (int i = 0; i < 200; ++i) {
      ++seen[std::string(server.Invoke("work").body.at("result").at("body").as_string())];
    }
    return seen;
  };
  // One in some 10^20 runs of this test has fewer of one of them.
  std::map<std::string, int> seen = count(R"({"version":1,"weights":[{"version":2,"weight":50}]})");
  EXPECT_GE(seen["1"], 40);
  EXPECT_GE(seen["2"], 40);
  EXPECT_EQ(seen.size(), 2U);
  EXPECT_EQ(count(R"({"version":2})")["2"], 200);
}

// --- Who ----------------------------------------------------------------------------------------

class RolesTest : public ::testing::Test {
 protected:
  RolesTest() {
    server_.Publish("work", "export default () => 1", "{}",
                    R"({"authz":{"invoke_http_roles":["role:operator"]}})");
    id_ = std::string(server_.Invoke("work").body.at("activation_id").as_string());
    admin_ = NewKey("root", R"("role":"admin")");
    worker_ = NewKey("worker", R"("role":"worker")");
    operator_ = NewKey("operator", R"("role":"operator")");
    // It is limited to queues, so no function is granted to it.
    limited_ = NewKey("limited", R"("role":"operator","queue_scope":"mine")");
  }

  std::string NewKey(std::string_view name, std::string_view members) {
    const JsonAnswer made =
        server_.Call("POST", "/api/v1/auth/keys",
                     fmt::format(R"({{"name":"{}",{}}})", name, members), Bearer(admin_));
    EXPECT_EQ(made.status, 201) << made.text;
    return std::string(made.body.at("key").as_string());
  }
  static net::HttpHeaders Bearer(const std::string& key) {
    if (key.empty()) return {};
    return {{"Authorization", "Bearer " + key}};
  }
  JsonAnswer Ask(const std::string& key, std::string_view method, const std::string& target,
                 std::string body = "") {
    return server_.Call(method, target, std::move(body), Bearer(key));
  }
  JsonAnswer Invoke(const std::string& key) {
    return Ask(key, "POST", fmt::format("{}/work:invoke", kFunctions),
               R"({"ref":{"alias":"live"}})");
  }
  std::string OverResp(const std::string& key, const std::vector<std::string>& args) {
    auto client = *server_.server().Connect();
    const auto authenticated = client.Command({"AUTH", key});
    EXPECT_TRUE(authenticated.ok());
    const auto reply = client.Command(args);
    return reply.ok() ? reply->ToString() : reply.error().message;
  }

  FunctionsServer server_;
  std::string id_;
  std::string admin_;
  std::string worker_;
  std::string operator_;
  std::string limited_;
};

TEST_F(RolesTest, AVersionIsInvokedByItsRolesAtEachDoor) {
  EXPECT_EQ(CodeOf(Invoke(worker_)), "403 CS_AUTHZ_ROLE_MISSING");
  EXPECT_EQ(CodeOf(Ask(worker_, "GET", "/v1/web/t_test01/shop/work/live")),
            "403 CS_AUTHZ_ROLE_MISSING");
  const std::vector<std::string> command = {"FN.INVOKE", "t_test01/shop/work", "live"};
  EXPECT_THAT(OverResp(worker_, command), HasSubstr("CS_AUTHZ_ROLE_MISSING"));
  for (const std::string& key : {operator_, admin_}) {
    EXPECT_EQ(Invoke(key).status, 200);
    EXPECT_EQ(Ask(key, "GET", "/v1/web/t_test01/shop/work/live").status, 200);
    EXPECT_THAT(OverResp(key, command), HasSubstr("success"));
  }
}

TEST_F(RolesTest, AKeyWithoutTheFunctionSeesNothingOfIt) {
  const std::string activation = "/v1/tenants/t_test01/activations/" + id_;
  for (const JsonAnswer& answer :
       {Invoke(limited_), Ask(limited_, "GET", "/v1/web/t_test01/shop/work/live"),
        Ask(limited_, "GET", activation), Ask(limited_, "GET", activation + "/logs")}) {
    EXPECT_EQ(answer.status, 403) << answer.text;
  }
  EXPECT_THAT(OverResp(limited_, {"FN.INVOKE", "t_test01/shop/work", "live"}),
              HasSubstr("(error)"));
  EXPECT_THAT(OverResp(limited_, {"FN.ACTIVATION", "t_test01", id_}), HasSubstr("(error)"));
  EXPECT_THAT(OverResp(limited_, {"FN.LOGS", "t_test01", id_}), HasSubstr("(error)"));
  EXPECT_EQ(Ask(operator_, "GET", activation).status, 200);
  EXPECT_EQ(Ask(operator_, "GET", activation + "/logs").status, 200);
}

// --- What is kept -------------------------------------------------------------------------------

TEST(InvokeRulesTest, AnIdempotencyKeyIsOfOneNamespace) {
  FunctionsServer server;
  server.Publish("work", "export default (event, ctx) => ({body: ctx.namespace})");
  // The same function once more, elsewhere.
  const std::string other = "/v1/tenants/t_test01/namespaces/other/functions";
  const std::string manifest = R"({"schema":"cs.function.script.v1","runtime":"cs-js",
    "entry":"function.js","handler":"default",
    "limits":{"timeoutMs":3000,"memoryMb":64,"maxConcurrency":10},
    "capabilities":{"kv":{},"codeq":{},"http":{}}})";
  ASSERT_EQ(server.Call("POST", other, R"({"name":"work"})").status, 201);
  const json::object files{
      {"function.js", Base64("export default (event, ctx) => ({body: ctx.namespace})")},
      {"manifest.json", Base64(manifest)}};
  ASSERT_EQ(server
                .Call("POST", other + "/work/versions",
                      json::serialize(json::object{{"files", files}, {"alias", "live"}}))
                .status,
            201);
  const auto invoke = [&](std::string_view functions) {
    return server
        .Call("POST", fmt::format("{}/work:invoke", functions), R"({"ref":{"alias":"live"}})",
              {{"Idempotency-Key", "the same"}})
        .body;
  };
  const json::value here = invoke(kFunctions);
  const json::value there = invoke(other);
  EXPECT_EQ(here.at("result").at("body").as_string(), "shop");
  EXPECT_EQ(there.at("result").at("body").as_string(), "other");
  EXPECT_NE(here.at("activation_id"), there.at("activation_id"));
  EXPECT_EQ(invoke(kFunctions).at("activation_id"), here.at("activation_id"));
}

TEST(InvokeRulesTest, WhatCameOfAnActivationIsKeptForSevenDays) {
  FunctionsServer server;
  server.Publish("work", "export default () => { console.log('here'); }");
  const std::string id(server.Invoke("work").body.at("activation_id").as_string());
  constexpr int64_t kWeekMs = 7LL * 24 * 60 * 60 * 1000;
  for (const std::string& key :
       {"cs:act:t_test01:" + id + ":meta", "cs:act:t_test01:" + id + ":status",
        "cs:log:t_test01:" + id + ":000000000000", "cs:log:t_test01:" + id + ":chunks"}) {
    const std::string reply = server.server().Command({"PTTL", key});
    ASSERT_TRUE(reply.starts_with("(integer) ")) << key << ": " << reply;
    const int64_t left_ms = std::atoll(reply.c_str() + std::string_view("(integer) ").size());
    EXPECT_LE(left_ms, kWeekMs) << key;
    EXPECT_GT(left_ms, kWeekMs - 600'000) << key;
  }
}

// --- When it goes wrong -------------------------------------------------------------------------

TEST(InvokeRulesTest, AResultThatDoesNotComeIsToldAtEachDoor) {
  FunctionsServer server;
  server.Publish("work", "export default () => 1", "{}", R"({"timeout_ms":50})");
  // Nobody is given its request.
  ASSERT_EQ(server.server().Command({"QUEUE.PAUSE", "cs.invoke"}).find("(error)"),
            std::string::npos);
  EXPECT_EQ(CodeOf(server.Invoke("work")), "504 CS_CODEQ_CORRELATION_TIMEOUT");
  EXPECT_EQ(CodeOf(server.Call("GET", "/v1/web/t_test01/shop/work/live")),
            "504 CS_CODEQ_CORRELATION_TIMEOUT");
  EXPECT_THAT(server.server().Command({"FN.INVOKE", "t_test01/shop/work", "live"}),
              HasSubstr("CS_CODEQ_CORRELATION_TIMEOUT"));
}

TEST(InvokeRulesTest, TheGatewayTellsHowAFunctionFailed) {
  FunctionsServer server;
  const auto ask = [&](std::string_view source, std::string_view config = "{}") {
    server.Publish("work", source, "{}", config);
    const JsonAnswer answer = server.Call("GET", "/v1/web/t_test01/shop/work/live");
    EXPECT_TRUE(answer.headers.Has("X-Cairn-Activation")) << answer.text;
    return CodeOf(answer);
  };
  EXPECT_EQ(ask("export default () => { throw new Error('secret words'); }"),
            "500 CS_RUNTIME_EXCEPTION");
  EXPECT_EQ(ask("export default () => new Promise(() => setTimeout(() => {}, 60000))",
                R"({"timeout_ms":100})"),
            "504 CS_RUNTIME_TIMEOUT");
  EXPECT_EQ(ask("export default () => { for (;;); }", R"({"timeout_ms":100})"),
            "504 CS_RUNTIME_TIMEOUT");
  EXPECT_EQ(
      ask("export default () => { const a = []; for (;;) a.push('x'.repeat(1e6) + a.length); }",
          R"({"memory_mb":16})"),
      "500 CS_RUNTIME_MEMORY_LIMIT");
  EXPECT_THAT(server.Call("GET", "/v1/web/t_test01/shop/work/live").text,
              Not(HasSubstr("secret words")));
  EXPECT_EQ(CodeOf(server.Call("GET", "/v1/web/t_test01/shop/gone/live")), "404 CS_NOT_FOUND");
  ASSERT_EQ(server.Call("POST", fmt::format("{}/work/disable", kFunctions)).status, 200);
  EXPECT_THAT(CodeOf(server.Call("GET", "/v1/web/t_test01/shop/work/live")), HasSubstr("CS_"));
}

TEST(InvokeRulesTest, SecretsAreKeptOutOfErrorsAndSurviveANewKey) {
  TempDirectory directory;
  const std::string file = directory / "secrets";
  const std::string first = "an example of a secret that is long enough";
  std::ofstream(file) << first << "\n";
  FunctionsServer server({"--functions-secret-file", file});
  constexpr std::string_view kConfig = R"({"env":{"TOKEN":"hunter2hunter2"},"secrets":["TOKEN"]})";
  constexpr std::string_view kThrows = R"(
    export default (event, ctx) => {
      if (!event.fail) return {body: ctx.env.TOKEN};
      const error = new Error('told ' + ctx.env.TOKEN);
      error.stack = 'at ' + ctx.env.TOKEN;
      throw error;
    })";
  server.Publish("env", kThrows, "{}", kConfig);
  const json::value failed = server.Invoke("env", R"({"fail":true})").body;
  EXPECT_EQ(failed.at("status").as_string(), "error");
  EXPECT_EQ(failed.at("error").at("message").as_string(), "told [redacted]");
  const std::string id(failed.at("activation_id").as_string());
  EXPECT_THAT(json::serialize(server.Activation(id)), Not(HasSubstr("hunter2")));
  EXPECT_THAT(server.server().Command({"GET", "cs:act:t_test01:" + id + ":meta"}),
              Not(HasSubstr("hunter2")));

  const auto answer = [&](int version) {
    const JsonAnswer told =
        server.Call("POST", fmt::format("{}/env:invoke", kFunctions),
                    fmt::format(R"({{"ref":{{"version":{}}},"event":{{}}}})", version));
    const json::value& result = told.body.at("result");
    return result.is_object() ? std::string(result.at("body").as_string()) : told.text;
  };
  std::ofstream(file) << "another secret, which is newer and long enough\n" << first << "\n";
  server.Kill();
  EXPECT_EQ(answer(1), "hunter2hunter2");
  server.Publish("env", kThrows, "{}", kConfig);
  EXPECT_EQ(answer(2), "hunter2hunter2");
  // Without the old key, what was published with it cannot be read; the rest can.
  std::ofstream(file) << "another secret, which is newer and long enough\n";
  server.Kill();
  EXPECT_THAT(answer(1), HasSubstr("CS_"));
  EXPECT_EQ(answer(2), "hunter2hunter2");
}

TEST(InvokeRulesTest, AFailureThatNobodyCanBeToldOfIsCounted) {
  FunctionsServer server;
  server.Publish("lost", "export default () => { throw new Error('never'); }", "{}",
                 R"({"on_failure":"orders"})");
  // Published before such names were refused.
  const std::string key = "cs:fn:t_test01:shop:lost:ver:1:meta";
  std::string meta =
      json::serialize(server.Call("GET", fmt::format("{}/lost/versions/1", kFunctions)).body);
  const std::string before = R"("on_failure":"orders")";
  ASSERT_NE(meta.find(before), std::string::npos) << meta;
  meta.replace(meta.find(before), before.size(), R"("on_failure":"cs.results")");
  ASSERT_EQ(server.server().Command({"SET", key, meta}), "OK");
  const std::string id = server.InvokeLater("lost");
  EXPECT_EQ(server.Ended(id).at("status").as_string(), "error");
  EXPECT_THAT(server.Call("GET", "/metrics").text,
              HasSubstr("\ncs_invoker_untold_failures_total 1\n"));
  // Nobody is published to in the platform's name.
  const std::string functions(kFunctions);
  const JsonAnswer refused = server.Call(
      "POST", functions + "/lost/versions",
      json::serialize(json::object{{"files", {{"function.js", ""}, {"manifest.json", ""}}},
                                   {"config", {{"on_failure", "cs.results"}}}}));
  EXPECT_EQ(CodeOf(refused), "400 CS_VALIDATION_FAILED");
  EXPECT_THAT(refused.text, HasSubstr("on_failure"));
}

}  // namespace
}  // namespace cairn::testing
