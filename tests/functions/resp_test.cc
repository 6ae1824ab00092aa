// Functions over RESP: FN.INVOKE waits as a blocking command does, or queues in a transaction.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <string>
#include <thread>
#include <vector>

#include "tests/functions/functions_server.h"
#include "tests/support/await.h"

namespace cairn::testing {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;

constexpr std::string_view kEcho = R"(
  export default (event, ctx) => {
    console.log('asked by', ctx.principal.sub);
    return {body: `${event.name ?? 'nobody'} ${Math.random()}`};
  })";

// One connection.
class Caller {
 public:
  explicit Caller(FunctionsServer& server) : client_(*server.server().Connect()) {}

  // The reply as text; "-…" for an error.
  std::string Run(const std::vector<std::string>& args) {
    const auto reply = client_.Command(args);
    if (!reply.ok()) return "lost: " + reply.error().message;
    const std::string shown = reply->ToString();
    return shown.starts_with("(error)") ? shown : reply->text;
  }
  std::string Shown(const std::vector<std::string>& args) {
    const auto reply = client_.Command(args);
    return reply.ok() ? reply->ToString() : "lost: " + reply.error().message;
  }
  json::value Json(const std::vector<std::string>& args) {
    const std::string text = Run(args);
    boost::system::error_code error;
    json::value value = json::parse(text, error);
    EXPECT_FALSE(error) << text;
    return value;
  }

 private:
  net::RespClient client_;
};

TEST(FunctionCommandsTest, AnInvocationRepliesItsResult) {
  FunctionsServer server;
  server.Publish("echo", kEcho);
  Caller caller(server);
  const json::value answer =
      caller.Json({"FN.INVOKE", "t_test01/shop/echo", "live", "EVENT", R"({"name":"ann"})"});
  EXPECT_EQ(answer.at("status").as_string(), "success");
  EXPECT_THAT(std::string(answer.at("result").at("body").as_string()), HasSubstr("ann "));
  const std::string id(answer.at("activation_id").as_string());
  const json::value activation = caller.Json({"FN.ACTIVATION", "t_test01", id});
  EXPECT_EQ(activation.at("status").as_string(), "success");
  EXPECT_EQ(activation.at("ref").at("alias").as_string(), "live");
  EXPECT_THAT(caller.Run({"FN.LOGS", "t_test01", id}), HasSubstr("[info] asked by anonymous"));
  // A version in place of the alias, and many on one connection.
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(caller.Json({"FN.INVOKE", "t_test01/shop/echo", "1"}).at("status").as_string(),
              "success");
  }
}

TEST(FunctionCommandsTest, OneThatWaitsBlocksNobodyElse) {
  FunctionsServer server;
  server.Publish("slow", R"(
    export default async () => {
      while (!(await cs.kv.get('a:go'))) await new Promise((done) => setTimeout(done, 5));
      return {body: 'went'};
    })");
  std::string reply;
  std::thread waits([&] {
    Caller caller(server);
    reply = caller.Run({"FN.INVOKE", "t_test01/shop/slow", "live"});
  });
  Caller other(server);
  Await("the invocation to wait", [&] {
    return other.Run({"INFO", "clients"}).find("blocked_clients:1") != std::string::npos;
  });
  EXPECT_EQ(other.Shown({"SET", "x", "1"}), "OK");
  EXPECT_EQ(other.Shown({"SET", "cs:kv:t_test01:shop:a:go", "true"}), "OK");
  waits.join();
  EXPECT_THAT(reply, HasSubstr(R"("body":"went")"));
}

TEST(FunctionCommandsTest, ATransactionQueuesInvocationsWithItsOtherChanges) {
  FunctionsServer server;
  server.Publish("echo", kEcho);
  Caller caller(server);
  EXPECT_EQ(caller.Shown({"MULTI"}), "OK");
  EXPECT_EQ(caller.Shown({"SET", "order:1", "new"}), "QUEUED");
  EXPECT_EQ(caller.Shown({"FN.INVOKE", "t_test01/shop/echo", "live", "ASYNC"}), "QUEUED");
  EXPECT_EQ(caller.Shown({"FN.INVOKE", "t_test01/shop/echo", "live"}), "QUEUED");
  const std::string replies = caller.Shown({"EXEC"});
  EXPECT_THAT(replies, HasSubstr("queued"));
  EXPECT_THAT(replies, HasSubstr("say ASYNC"));
  const size_t at = replies.find("activation_id") + std::string("activation_id\":\"").size();
  EXPECT_EQ(server.Ended(replies.substr(at, 36)).at("status").as_string(), "success") << replies;

  EXPECT_EQ(caller.Shown({"MULTI"}), "OK");
  EXPECT_EQ(caller.Shown({"FN.INVOKE", "t_test01/shop/echo", "live", "ASYNC", "IDEMPOTENCY", "z"}),
            "QUEUED");
  EXPECT_EQ(caller.Shown({"DISCARD"}), "OK");
  EXPECT_THAT(caller.Run({"GET", "cs:act:t_test01:none:meta"}), HasSubstr(""));
}

TEST(FunctionCommandsTest, AScriptQueuesAnInvocation) {
  FunctionsServer server;
  server.Publish("echo", kEcho);
  Caller caller(server);
  const json::value queued = caller.Json(
      {"EVAL",
       ("redis.call('SET', KEYS[1], '1') "
        "return redis.call('FN.INVOKE', 't_test01/shop/echo', 'live', 'ASYNC', 'EVENT', ARGV[1])"),
       "1", "order:2", R"({"name":"lua"})"});
  const json::value ended = server.Ended(queued.at("activation_id").as_string());
  EXPECT_THAT(std::string(ended.at("result").at("body").as_string()), HasSubstr("lua "));
  EXPECT_THAT(
      caller.Run({"EVAL", "return redis.call('FN.INVOKE', 't_test01/shop/echo', 'live')", "0"}),
      HasSubstr("say ASYNC"));
}

TEST(FunctionCommandsTest, TheSameKeyIsTheSameActivation) {
  FunctionsServer server;
  server.Publish("echo", kEcho);
  Caller caller(server);
  const auto run = [&](const std::string& key) {
    return caller.Json({"FN.INVOKE", "t_test01/shop/echo", "live", "IDEMPOTENCY", key});
  };
  const json::value first = run("17");
  EXPECT_EQ(run("17"), first);
  EXPECT_NE(run("18").at("activation_id"), first.at("activation_id"));
  // As over HTTP.
  const JsonAnswer http = server.Invoke("echo", "{}", {{"Idempotency-Key", "17"}});
  EXPECT_EQ(http.body.at("activation_id"), first.at("activation_id"));
  EXPECT_EQ(caller.Json({"FN.INVOKE", "t_test01/shop/echo", "live", "AWAIT",
                         std::string(first.at("activation_id").as_string())}),
            first);
}

TEST(FunctionCommandsTest, LogsAreWaitedFor) {
  FunctionsServer server;
  server.Publish("talks", R"(
    export default async () => {
      console.log('first');
      while (!(await cs.kv.get('a:go'))) await new Promise((done) => setTimeout(done, 5));
      console.log('last');
    })");
  Caller caller(server);
  const std::string id = server.InvokeLater("talks");
  const json::value first = caller.Json({"FN.LOGS", "t_test01", id, "BLOCK", "60000"});
  EXPECT_EQ(first.at("chunks").at(0).as_string(), "[info] first\n");
  std::string cursor(first.at("cursor").as_string());
  std::string more;
  std::thread waits([&] {
    Caller other(server);
    more = other.Run({"FN.LOGS", "t_test01", id, "FROM", cursor, "BLOCK", "60000"});
  });
  Await("somebody to wait for the log", [&] {
    return caller.Run({"INFO", "clients"}).find("blocked_clients:1") != std::string::npos;
  });
  EXPECT_EQ(caller.Shown({"SET", "cs:kv:t_test01:shop:a:go", "true"}), "OK");
  waits.join();
  EXPECT_THAT(more, HasSubstr("[info] last"));
  // When time is up the page is empty.
  server.Ended(id);
  EXPECT_EQ(caller.Json({"FN.LOGS", "t_test01", id, "FROM", "99", "BLOCK", "60000"})
                .at("chunks")
                .as_array()
                .size(),
            0U);
}

TEST(FunctionCommandsTest, WhatCannotBeRunIsRefused) {
  FunctionsServer server;
  server.Publish("echo", kEcho);
  Caller caller(server);
  const auto run = [&](std::vector<std::string> args) {
    args.insert(args.begin(), "FN.INVOKE");
    return caller.Run(args);
  };
  EXPECT_THAT(run({"echo", "live"}), HasSubstr("CS_VALIDATION_NAME_INVALID"));
  EXPECT_THAT(run({"t_test01/shop/nosuch", "live"}), HasSubstr("CS_NOT_FOUND"));
  EXPECT_THAT(run({"t_test01/shop/echo", "nosuch"}), HasSubstr("CS_NOT_FOUND"));
  EXPECT_THAT(run({"t_test01/shop/echo", "7"}), HasSubstr("CS_NOT_FOUND"));
  EXPECT_THAT(run({"t_test01/shop/echo", "live", "EVENT", "{"}), HasSubstr("EVENT must be JSON"));
  EXPECT_THAT(run({"t_test01/shop/echo", "live", "SOON"}), HasSubstr("is not an option"));
  EXPECT_THAT(run({"t_test01/shop/echo", "live", "AWAIT", "x"}), HasSubstr("AWAIT needs"));
  EXPECT_THAT(caller.Run({"FN.ACTIVATION", "t_test01", "00000000-0000-4000-8000-000000000000"}),
              HasSubstr("CS_NOT_FOUND"));
  EXPECT_THAT(caller.Run({"FN.LOGS", "t_test01", "x"}), HasSubstr("CS_VALIDATION_NAME_INVALID"));
  server.Publish("bad", "export default () => { throw new RangeError('no'); }");
  EXPECT_THAT(run({"t_test01/shop/bad", "live"}), HasSubstr("RangeError"));
  EXPECT_EQ(
      server.Call("POST", "/v1/tenants/t_test01/namespaces/shop/functions/echo/disable").status,
      200);
  EXPECT_THAT(run({"t_test01/shop/echo", "live"}), HasSubstr("CS_FUNCTION_DISABLED"));
}

}  // namespace
}  // namespace cairn::testing
