// Functions as their users see them: published and invoked over HTTP, run by the real binary in its
// sandbox.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <fstream>
#include <string>
#include <vector>

#include "tests/functions/functions_server.h"
#include "tests/support/await.h"
#include "tests/support/temp_directory.h"

namespace cairn::testing {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;

std::string TypeOf(const JsonAnswer& answer) {
  const json::value& error = answer.body.at("error");
  return error.is_null() ? "" : std::string(error.at("type").as_string());
}

std::string CodeOf(const JsonAnswer& answer) {
  return std::string(answer.body.at("error").at("code").as_string());
}

TEST(FunctionsTest, AFunctionAnswersWithWhatItReturns) {
  FunctionsServer server;
  server.Publish("hello", R"(
    export default async function (event, ctx) {
      console.log('asked by', event.name);
      await new Promise((done) => setTimeout(done, 1));
      return {statusCode: 201, headers: {'x-version': String(ctx.version)},
              body: `hello ${event.name}`};
    })");
  const JsonAnswer answer = server.Invoke("hello", R"({"name":"ann"})");
  ASSERT_EQ(answer.status, 200) << answer.text;
  EXPECT_EQ(answer.body.at("status").as_string(), "success") << answer.text;
  const json::value& result = answer.body.at("result");
  EXPECT_EQ(result.at("statusCode").as_int64(), 201);
  EXPECT_EQ(result.at("body").as_string(), "hello ann");
  EXPECT_EQ(result.at("headers").at("x-version").as_string(), "1");

  const std::string id(answer.body.at("activation_id").as_string());
  const json::value activation = server.Activation(id);
  EXPECT_EQ(activation.at("status").as_string(), "success");
  EXPECT_EQ(activation.at("resolved_version").as_int64(), 1);
  EXPECT_EQ(activation.at("ref"), json::parse(R"({"alias":"live","version":1})"));
  EXPECT_GT(activation.at("usage").at("peak_memory_bytes").as_int64(), 0);
  EXPECT_EQ(server.LogOf(id), "[info] asked by ann\n");
  // The record is where the layout says, for any Redis client.
  EXPECT_EQ(server.server().Command({"GET", "cs:act:t_test01:" + id + ":status"}), R"("success")");
}

TEST(FunctionsTest, TheGatewayPassesOnTheRequestAndTheResponse) {
  FunctionsServer server;
  server.Publish("echo", R"(
    export default (event) => ({
      statusCode: 418,
      headers: {'content-type': 'application/json', 'content-length': '7'},
      body: JSON.stringify({method: event.requestContext.http.method, path: event.rawPath,
                            query: event.rawQueryString, header: event.headers['x-a'],
                            auth: event.headers.authorization ?? null, body: atob(event.body)}),
    });)");
  const JsonAnswer answer = server.Call("PUT", "/v1/web/t_test01/shop/echo/live/a/b%20c?x=1&y=2",
                                        "the body", {{"X-A", "1"}, {"X-A", "2"}});
  EXPECT_EQ(answer.status, 418) << answer.text;
  EXPECT_EQ(answer.body.at("method").as_string(), "PUT");
  EXPECT_EQ(answer.body.at("path").as_string(), "/a/b%20c");
  EXPECT_EQ(answer.body.at("query").as_string(), "x=1&y=2");
  EXPECT_EQ(answer.body.at("header").as_string(), "1,2");
  EXPECT_EQ(answer.body.at("body").as_string(), "the body");
  EXPECT_TRUE(answer.headers.Has("X-Cairn-Activation"));
  // A version can be named instead of an alias.
  EXPECT_EQ(server.Call("GET", "/v1/web/t_test01/shop/echo/1").body.at("path").as_string(), "/");
  EXPECT_EQ(server.Call("GET", "/v1/web/t_test01/shop/echo/nosuch").status, 404);
}

TEST(FunctionsTest, WhatTheServerItselfRefusesHasACodeOfTheApiToo) {
  FunctionsServer server;
  const std::string functions = "/v1/tenants/t_test01/namespaces/shop/functions";
  const JsonAnswer nowhere = server.Call("GET", "/v1/tenants/t_test01/nowhere");
  EXPECT_EQ(nowhere.status, 404);
  EXPECT_EQ(CodeOf(nowhere), "CS_NOT_FOUND");
  const JsonAnswer method = server.Call("PATCH", functions);
  EXPECT_EQ(method.status, 405);
  EXPECT_EQ(CodeOf(method), "CS_VALIDATION_FAILED");
  const JsonAnswer body = server.Call("POST", functions, "{");
  EXPECT_EQ(body.status, 400);
  EXPECT_EQ(CodeOf(body), "CS_VALIDATION_FAILED");
  const JsonAnswer query = server.Call("GET", functions + "?nosuch=1");
  EXPECT_EQ(query.status, 400);
  EXPECT_EQ(CodeOf(query), "CS_VALIDATION_FAILED");
  const JsonAnswer large = server.Call("POST", "/v1/web/t_test01/shop/none/live",
                                       std::string(6UL * 1024 * 1024 + 1, 'x'));
  EXPECT_EQ(large.status, 413);
  EXPECT_EQ(CodeOf(large), "CS_TOO_LARGE");
}

TEST(FunctionsTest, EachCookieIsAHeaderOfItsOwn) {
  FunctionsServer server;
  server.Publish("cookies", R"(
    export default () => {
      const response = new Response('ok');
      response.headers.append('set-cookie', 'a=1; Path=/');
      response.headers.append('set-cookie', 'b=2, 3');
      return response;
    })");
  const JsonAnswer answer = server.Call("GET", "/v1/web/t_test01/shop/cookies/live");
  EXPECT_EQ(answer.status, 200) << answer.text;
  std::vector<std::string> cookies;
  for (const auto& [name, value] : answer.headers.fields()) {
    if (name == "Set-Cookie") cookies.push_back(value);
  }
  EXPECT_THAT(cookies, ::testing::ElementsAre("a=1; Path=/", "b=2, 3"));
  const JsonAnswer direct = server.Invoke("cookies");
  EXPECT_EQ(json::serialize(direct.body.at("result").at("cookies")), R"(["a=1; Path=/","b=2, 3"])");
}

TEST(FunctionsTest, WhatGoesWrongCostsOneActivationAndSaysWhy) {
  FunctionsServer server;
  const auto run = [&](std::string_view source, std::string_view manifest = "{}") {
    server.Publish("bad", source, manifest);
    return server.Invoke("bad");
  };
  EXPECT_EQ(TypeOf(run("export default () => { throw new RangeError('no'); }")), "RangeError");
  EXPECT_EQ(server.Call("GET", "/v1/web/t_test01/shop/bad/live").status, 500);

  constexpr std::string_view kShort =
      R"({"limits":{"timeoutMs":200,"memoryMb":32,"maxConcurrency":10}})";
  for (const std::string_view endless :
       {"export default () => { for (;;); }", "export default () => /(a+)+b/.test('a'.repeat(50))",
        "export default () => { try { for (;;); } finally { for (;;); } }",
        "export default () => new Promise((r) => setTimeout(r, 60000))"}) {
    const JsonAnswer answer = run(endless, kShort);
    ASSERT_EQ(answer.status, 200) << endless << answer.text;
    EXPECT_EQ(answer.body.at("status").as_string(), "timeout") << endless << answer.text;
  }
  EXPECT_EQ(server.Call("GET", "/v1/web/t_test01/shop/bad/live").status, 504);

  for (const std::string_view greedy :
       {"export default () => { const a = []; for (;;) a.push(new Array(100000).fill(1)); }",
        "export default () => { const a = []; for (;;) a.push(new Uint8Array(1 << 20).fill(1)); }",
        "export default () => { let s = 'ab'; for (;;) s = s + s + Math.random(); }"}) {
    const JsonAnswer answer =
        run(greedy, R"({"limits":{"timeoutMs":20000,"memoryMb":32,"maxConcurrency":10}})");
    ASSERT_EQ(answer.status, 200) << greedy << answer.text;
    EXPECT_EQ(answer.body.at("status").as_string(), "error") << greedy << answer.text;
  }
  // After all that, a function runs.
  EXPECT_EQ(run("export default () => 'well'").body.at("result").at("body").as_string(),
            R"("well")");
}

TEST(FunctionsTest, WhatCannotBeRunIsRefused) {
  FunctionsServer server;
  EXPECT_EQ(CodeOf(server.Invoke("nosuch")), "CS_NOT_FOUND");
  server.Publish("fine", "export default () => 1");
  const std::string target = "/v1/tenants/t_test01/namespaces/shop/functions/fine";
  const auto invoke = [&](std::string body) {
    return server.Call("POST", target + ":invoke", std::move(body));
  };
  EXPECT_EQ(invoke(R"({"ref":{"alias":"nosuch"}})").status, 404);
  EXPECT_EQ(invoke(R"({"ref":{"version":7}})").status, 404);
  EXPECT_EQ(CodeOf(invoke(R"({"ref":{}})")), "CS_VALIDATION_FAILED");
  EXPECT_EQ(CodeOf(invoke(R"({"ref":{"alias":"live"},"evnt":1})")), "CS_VALIDATION_FAILED");
  EXPECT_EQ(invoke("{").status, 400);
  EXPECT_EQ(server.Call("POST", target + "/disable").status, 200);
  EXPECT_THAT(server.Invoke("fine").text, HasSubstr("CS_FUNCTION_DISABLED"));
  EXPECT_EQ(server
                .Call("GET",
                      "/v1/tenants/t_test01/activations/"
                      "00000000-0000-4000-8000-000000000000")
                .status,
            404);
}

TEST(FunctionsTest, TheSameKeyIsTheSameActivation) {
  FunctionsServer server;
  server.Publish("once", "export default () => Math.random()");
  const net::HttpHeaders key = {{"Idempotency-Key", "order 17"}};
  const JsonAnswer first = server.Invoke("once", "{}", key);
  const JsonAnswer second = server.Invoke("once", "{}", key);
  EXPECT_EQ(first.body.at("result"), second.body.at("result"));
  EXPECT_EQ(first.body.at("activation_id"), second.body.at("activation_id"));
  EXPECT_NE(server.Invoke("once", "{}", {{"Idempotency-Key", "order 18"}}).body.at("result"),
            first.body.at("result"));
}

TEST(FunctionsTest, FunctionsKeepDataAndPublishWithinTheirManifest) {
  FunctionsServer server;
  server.Publish("count", R"(
    export default async (event) => {
      const n = (await cs.kv.get('a:n')) ?? 0;
      await cs.kv.set('a:n', n + 1);
      if (event.key) await cs.kv.get(event.key);
      if (event.topic) await cs.codeq.publish(event.topic, {n});
      return {body: String(n + 1)};
    })");
  const auto body = [&](std::string_view event) {
    const JsonAnswer answer = server.Invoke("count", event);
    const json::value& result = answer.body.at("result");
    return result.is_null() ? TypeOf(answer) + " " + answer.text
                            : std::string(result.at("body").as_string());
  };
  EXPECT_EQ(body("{}"), "1");
  EXPECT_EQ(body("{}"), "2");
  EXPECT_EQ(server.server().Command({"GET", "cs:kv:t_test01:shop:a:n"}), R"("2")");
  EXPECT_THAT(body(R"({"key":"b:n"})"), HasSubstr("capabilities.kv.prefixes"));
  EXPECT_EQ(body(R"({"topic":"orders"})"), "4");
  EXPECT_THAT(body(R"({"topic":"bills"})"), HasSubstr("publishTopics"));
  EXPECT_THAT(body(R"({"topic":"cs.invoke"})"), HasSubstr("the platform's"));
  const JsonAnswer claimed = server.Call("POST", "/v1/codeq/topics/orders/claim", "{}");
  EXPECT_EQ(claimed.body.at("messages").as_array().size(), 1U) << claimed.text;
}

TEST(FunctionsTest, RequestsGoOnlyWhereManifestAndServerAllow) {
  FunctionsServer server({"--functions-allow", "loopback"});
  FunctionsServer strict;
  const std::string source = fmt::format(R"(
    export default async (event) => {{
      const answer = await fetch(event.url);
      return {{body: answer.status + ' ' + (await answer.text()).length}};
    }})");
  server.Publish("get", source);
  strict.Publish("get", source);
  const std::string url = fmt::format("http://127.0.0.1:{}/healthz", server.server().http().port);
  const auto ask = [&](FunctionsServer& from, std::string_view what) {
    return from.Invoke("get", fmt::format(R"({{"url":"{}"}})", what)).text;
  };
  EXPECT_THAT(ask(server, url), HasSubstr("\"body\":\"200 "));
  EXPECT_THAT(ask(strict, url), HasSubstr("a loopback address"));
  EXPECT_THAT(ask(server, "http://localhost/"), HasSubstr("allowHosts"));
  EXPECT_THAT(ask(server, "file:///etc/passwd"), HasSubstr("\"status\":\"error\""));
}

TEST(FunctionsTest, AnAsynchronousInvocationIsTriedAgainAndItsFailureTold) {
  FunctionsServer server;
  server.Publish("flaky", R"(
    export default async () => {
      const n = ((await cs.kv.get('a:tries')) ?? 0) + 1;
      await cs.kv.set('a:tries', n);
      if (n < 2) throw new Error('not yet');
      return {body: String(n)};
    })",
                 "{}", R"({"max_retries":2})");
  const json::value ended = server.Ended(server.InvokeLater("flaky"));
  EXPECT_EQ(ended.at("status").as_string(), "success") << json::serialize(ended);
  EXPECT_EQ(ended.at("retries").as_int64(), 1);
  server.Publish("lost", "export default () => { throw new Error('never'); }", "{}",
                 R"({"on_failure":"orders"})");
  const std::string id = server.InvokeLater("lost");
  EXPECT_EQ(server.Ended(id).at("status").as_string(), "error");
  const JsonAnswer told =
      server.Call("POST", "/v1/codeq/topics/orders/claim", R"({"wait_ms":10000})");
  EXPECT_THAT(told.text, HasSubstr(id));
}

TEST(FunctionsTest, SecretsReachTheFunctionAndNoLog) {
  TempDirectory directory;
  const std::string file = directory / "secrets";
  std::ofstream(file) << "an example of a secret that is long enough\n";
  FunctionsServer server({"--functions-secret-file", file});
  server.Publish("env", R"(
    export default (event, ctx) => { console.log(ctx.env.TOKEN); return {body: ctx.env.TOKEN}; })",
                 "{}", R"({"env":{"TOKEN":"hunter2hunter2"},"secrets":["TOKEN"]})");
  const JsonAnswer answer = server.Invoke("env");
  EXPECT_EQ(answer.body.at("result").at("body").as_string(), "hunter2hunter2") << answer.text;
  EXPECT_EQ(server.LogOf(answer.body.at("activation_id").as_string()), "[info] [redacted]\n");
  EXPECT_THAT(server.server().Command({"GET", "cs:fn:t_test01:shop:env:ver:1:env"}),
              ::testing::Not(HasSubstr("hunter2")));
}

TEST(FunctionsTest, AMessageWhoseDeadlineHasPassedIsAnsweredAndNotRun) {
  FunctionsServer server;
  server.Publish("late", "export default async () => { await cs.kv.set('a:ran', 1); }");
  constexpr std::string_view kId = "6f1c2a34-0b1c-4d2e-8f30-a1b2c3d4e5f6";
  const std::string message = fmt::format(
      R"({{"schema":"cs.envelope.v1","id":"msg_01HZZZZZZZZZZZZZZZZZZZZZZZ","ts_ms":1730000000000,)"
      R"("tenant":"t_test01","type":"InvocationRequest","body":{{"activation_id":"{}",)"
      R"("request_id":"req_12345678","tenant":"t_test01","namespace":"shop",)"
      R"("ref":{{"function":"late","alias":"live"}},"trigger":{{"type":"api","source":{{}}}},)"
      R"("principal":{{"sub":"user:1","roles":[]}},"deadline_ms":1730000003000,"event":{{}}}}}})",
      kId);
  const JsonAnswer sent = server.Call("POST", "/v1/codeq/topics/cs.invoke/messages", message);
  ASSERT_LT(sent.status, 300) << sent.text;
  EXPECT_EQ(server.Ended(kId).at("status").as_string(), "timeout");
  EXPECT_EQ(server.server().Command({"EXISTS", "cs:kv:t_test01:shop:a:ran"}), "(integer) 0");
}

TEST(FunctionsTest, NoMoreRunAtOnceThanTheVersionAllows) {
  FunctionsServer server;
  server.Publish("slow", "export default () => new Promise((r) => setTimeout(r, 1500))",
                 R"({"limits":{"timeoutMs":10000,"memoryMb":32,"maxConcurrency":1}})");
  const std::string first = server.InvokeLater("slow");
  Await("the first to run",
        [&] { return server.Activation(first).at("status").as_string() == "running"; });
  const JsonAnswer refused = server.Invoke("slow");
  EXPECT_EQ(refused.status, 429) << refused.text;
  EXPECT_TRUE(refused.headers.Has("Retry-After"));
  // One that can wait does.
  const std::string second = server.InvokeLater("slow");
  EXPECT_EQ(server.Ended(first).at("status").as_string(), "success");
  EXPECT_EQ(server.Ended(second).at("status").as_string(), "success");
}

}  // namespace
}  // namespace cairn::testing
