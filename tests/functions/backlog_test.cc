// Messages that cannot be run now: how many are run at once, and what those cost that wait.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/functions/functions_server.h"
#include "tests/support/await.h"

namespace cairn::testing {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;

constexpr std::string_view kOne =
    R"({"limits":{"timeoutMs":120000,"memoryMb":64,"maxConcurrency":1}})";
// Runs until the key is there.
constexpr std::string_view kGate = R"(
  export default async (event) => {
    await cs.kv.set('a:runs:' + event.n, ((await cs.kv.get('a:runs:' + event.n)) ?? 0) + 1);
    while ((await cs.kv.get('a:open')) === null) await new Promise((done) => setTimeout(done, 20));
    return {body: String(event.n)};
  })";

class BacklogTest : public ::testing::Test {
 protected:
  BacklogTest() {
    server_.Publish("gate", kGate, kOne);
    server_.Publish("open", "export default async () => { await cs.kv.set('a:open', 1); }");
    server_.Publish("other", "export default (event) => ({body: String(event.n)})");
  }

  // The sum over all labels.
  int64_t Figure(std::string_view name) {
    std::istringstream lines(server_.Call("GET", "/metrics").text);
    int64_t sum = 0;
    for (std::string line; std::getline(lines, line);) {
      const bool named = line.starts_with(name) && line.size() > name.size() &&
                         (line[name.size()] == ' ' || line[name.size()] == '{');
      if (named) sum += std::strtoll(line.c_str() + line.rfind(' '), nullptr, 10);
    }
    return sum;
  }
  void AwaitFigure(std::string_view name, int64_t value) {
    Await(fmt::format("{} to be {}", name, value), [&] { return Figure(name) == value; });
  }
  std::string Later(int number) {
    return server_.InvokeLater("gate", fmt::format(R"({{"n":{}}})", number));
  }

  FunctionsServer server_;
};

TEST_F(BacklogTest, ABacklogWaitsWithoutWorkAndRunsInOrder) {
  constexpr int kBacklog = 40;
  std::vector<std::string> ids = {Later(0)};
  AwaitFigure("cs_invoker_inflight", 1);
  for (int i = 1; i <= kBacklog; ++i) ids.push_back(Later(i));
  AwaitFigure("cs_invoker_parked", kBacklog);
  EXPECT_EQ(Figure("cs_invoker_parked_total"), kBacklog);
  // Others pass it by, and it is not looked at again meanwhile.
  for (int i = 0; i < 50; ++i) {
    const JsonAnswer answer = server_.Invoke("other", R"({"n":1})");
    EXPECT_EQ(answer.status, 200) << answer.text;
  }
  EXPECT_EQ(Figure("cs_invoker_parked_total"), kBacklog);

  EXPECT_EQ(server_.Invoke("open").status, 200);
  int64_t before = 0;
  int out_of_order = 0;
  for (const std::string& id : ids) {
    const json::value ended = server_.Ended(id);
    EXPECT_EQ(ended.at("status").as_string(), "success") << json::serialize(ended);
    const int64_t start = ended.at("start_ms").as_int64();
    if (start < before) ++out_of_order;
    before = start;
  }
  EXPECT_LE(out_of_order, kBacklog / 10);
  AwaitFigure("cs_invoker_parked", 0);
  // Each was parked once, but for those that met on their way.
  EXPECT_LE(Figure("cs_invoker_parked_total"), kBacklog * 3 / 2);
}

TEST_F(BacklogTest, ADuplicateOfWhatRunsDoesNotRun) {
  const std::string id = Later(7);
  AwaitFigure("cs_invoker_inflight", 1);
  const json::value running = server_.Activation(id);
  const std::string message = json::serialize(
      json::value({{"schema", "cs.envelope.v1"},
                   {"id", "msg_01JCZ5W2M8Q0S3B4X6V7K9T1RA"},
                   {"ts_ms", 1'700'000'000'000},
                   {"tenant", "t_test01"},
                   {"type", "InvocationRequest"},
                   {"body",
                    {{"activation_id", id},
                     {"request_id", running.at("request_id")},
                     {"tenant", "t_test01"},
                     {"namespace", "shop"},
                     {"ref", {{"function", "gate"}, {"alias", "live"}}},
                     {"trigger", {{"type", "api"}, {"source", json::object()}}},
                     {"principal", {{"sub", "user:1"}, {"roles", json::array({"role:admin"})}}},
                     {"deadline_ms", 4'000'000'000'000},
                     {"event", {{"n", 7}}}}}}));
  const JsonAnswer published = server_.Call("POST", "/v1/codeq/topics/cs.invoke/messages", message);
  ASSERT_LT(published.status, 300) << published.text;
  Await("the duplicate to wait", [&] {
    const JsonAnswer queue = server_.Call("GET", "/api/v1/queues/cs.invoke");
    return queue.text.find(R"("scheduled":1)") != std::string::npos;
  });
  EXPECT_EQ(server_.Invoke("open").status, 200);
  EXPECT_EQ(server_.Ended(id).at("status").as_string(), "success");
  EXPECT_EQ(server_.server().Command({"GET", "cs:kv:t_test01:shop:a:runs:7"}), R"("1")");
}

// --- 429 ----------------------------------------------------------------------------------------

TEST_F(BacklogTest, SynchronousOnesBeyondMaxConcurrencyAreRefusedAtBothDoors) {
  std::jthread first([this] { EXPECT_EQ(server_.Invoke("gate", R"({"n":1})").status, 200); });
  AwaitFigure("cs_invoker_inflight", 1);
  for (const std::string_view method : {"POST", "GET"}) {
    const JsonAnswer refused = method == "POST"
                                   ? server_.Invoke("gate", R"({"n":2})")
                                   : server_.Call("GET", "/v1/web/t_test01/shop/gate/live");
    EXPECT_EQ(refused.status, 429) << refused.text;
    EXPECT_EQ(refused.body.at("error").at("code").as_string(), "CS_CONCURRENCY_LIMITED");
    EXPECT_TRUE(refused.headers.Has("Retry-After"));
  }
  EXPECT_THAT(server_.server().Command({"FN.INVOKE", "t_test01/shop/gate", "live"}),
              HasSubstr("CS_CONCURRENCY_LIMITED"));
  EXPECT_EQ(server_.Invoke("open").status, 200);
}

TEST_F(BacklogTest, ABurstOfSynchronousOnesRunsOneAtATime) {
  constexpr int kCallers = 8;
  std::vector<int> statuses(kCallers);
  {
    std::vector<std::jthread> callers;
    for (int i = 0; i < kCallers; ++i) {
      callers.emplace_back(
          [&, i] { statuses[i] = server_.Invoke("gate", fmt::format(R"({{"n":{}}})", i)).status; });
    }
    // All but one are told at once.
    Await("one to run", [&] { return Figure("cs_invoker_inflight") == 1; });
    std::jthread([&] { EXPECT_EQ(server_.Invoke("open").status, 200); }).join();
  }
  for (const int status : statuses) EXPECT_THAT(status, ::testing::AnyOf(200, 429));
  EXPECT_THAT(statuses, ::testing::Contains(200));
}

class RatesTest : public ::testing::Test {
 protected:
  // Asks until it is too often.
  static JsonAnswer TooOften(FunctionsServer& server, std::string_view name) {
    JsonAnswer answer;
    Await("429", [&] {
      answer = server.Invoke(name);
      return answer.status == 429;
    });
    EXPECT_EQ(answer.body.at("error").at("code").as_string(), "CS_RATE_LIMITED");
    EXPECT_TRUE(answer.headers.Has("Retry-After"));
    return answer;
  }
  static constexpr std::string_view kFast = "export default () => 1";
};

TEST_F(RatesTest, OfATenantAtBothDoors) {
  FunctionsServer server({"--functions-tenant-rate", "1"});
  server.Publish("fast", kFast);
  EXPECT_THAT(TooOften(server, "fast").text, HasSubstr("the tenant t_test01"));
  std::string reply;
  Await("an error of RESP", [&] {
    reply = server.server().Command({"FN.INVOKE", "t_test01/shop/fast", "live", "ASYNC"});
    return reply.find("CS_RATE_LIMITED") != std::string::npos;
  });
  // Asynchronous ones count too.
  Await("429 of an asynchronous one", [&] { return server.InvokeLater("fast").empty(); });
}

TEST_F(RatesTest, OfAFunctionAndOfAVersion) {
  FunctionsServer server({"--functions-function-rate", "1000000"});
  server.Publish("fast", kFast);
  server.Publish("slow", kFast, "{}", R"({"rate_limit":1})");
  EXPECT_THAT(TooOften(server, "slow").text, HasSubstr("t_test01/shop/slow"));
  EXPECT_EQ(server.Invoke("fast").status, 200);
  FunctionsServer strict({"--functions-function-rate", "1"});
  strict.Publish("fast", kFast);
  EXPECT_THAT(TooOften(strict, "fast").text, HasSubstr("t_test01/shop/fast"));
}

TEST_F(RatesTest, OfAnAddress) {
  FunctionsServer server({"--functions-client-rate", "1"});
  server.Publish("fast", kFast);
  EXPECT_THAT(TooOften(server, "fast").text, HasSubstr("the client 127.0.0.1"));
  Await("429 of the gateway",
        [&] { return server.Call("GET", "/v1/web/t_test01/shop/fast/live").status == 429; });
}

}  // namespace
}  // namespace cairn::testing
