// Functions with steps in the real binary: at all doors, with server and processes killed at any
// moment, on two nodes.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <cstdlib>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/functions/functions_server.h"
#include "tests/support/await.h"
#include "tests/support/postgres_cluster.h"
#include "tests/support/test_store.h"

namespace cairn::testing {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;

std::string PathOf(const std::string& id, std::string_view rest) {
  return fmt::format("/v1/tenants/t_test01/activations/{}{}", id, rest);
}

// A reply without the quotes and escapes that show it.
std::string Plain(std::string reply) {
  std::erase_if(reply, [](char c) { return c == '"' || c == '\\'; });
  return reply;
}

// Waits until the activation waits for something of this kind.
void AwaitSuspended(FunctionsServer& server, const std::string& id, const std::string& kind) {
  Await(fmt::format("the activation {} to wait for a {}", id, kind), [&] {
    const std::string shown = json::serialize(server.Activation(id));
    return shown.find("\"suspended\":{") != std::string::npos &&
           shown.find(fmt::format(R"("kind":"{}")", kind)) != std::string::npos;
  });
}

std::string BodyOf(const json::value& activation) {
  if (activation.at("status").as_string() != "success") return json::serialize(activation);
  return std::string(activation.at("result").at("body").as_string());
}

TEST(StepsServerTest, AFunctionWaitsWithoutAProcessAndIsWokenAtEachDoor) {
  FunctionsServer server;
  server.Publish("waits", R"(
    export default async (event, ctx) => {
      const first = await ctx.step('first', () => 'one');
      const heard = [];
      for (const name of ['http', 'multi', 'lua']) heard.push(await ctx.waitForEvent(name));
      return {body: first + heard.join()};
    })");
  const std::string id = server.InvokeLater("waits");
  AwaitSuspended(server, id, "event");
  EXPECT_THAT(server.Call("GET", "/metrics").text, HasSubstr("cs_invoker_inflight 0"));
  const JsonAnswer steps = server.Call("GET", PathOf(id, "/steps"));
  EXPECT_EQ(steps.body.at("steps").as_array().size(), 2U) << steps.text;
  EXPECT_EQ(steps.body.at("steps").at(0).at("value").as_string(), "one");
  EXPECT_EQ(server.Call("POST", PathOf(id, "/events/http"), R"("h")").status, 202);
  EXPECT_THAT(server.server().Command({"FN.SIGNAL", "t_test01", id, "lua", "\"early\""}),
              HasSubstr("2"));
  const std::string script = "return redis.call('FN.SIGNAL', 't_test01', ARGV[1], 'multi', '7')";
  EXPECT_THAT(server.server().Command({"EVAL", script, "0", id}), HasSubstr("3"));
  EXPECT_EQ(BodyOf(server.Ended(id)), "oneh,7,early");
  EXPECT_THAT(server.server().Command({"FN.STEPS", "t_test01", id, "FROM", "3"}),
              HasSubstr("early"));
}

TEST(StepsServerTest, BadRequestsAreRefusedByName) {
  FunctionsServer server;
  server.Publish("waits", "export default async (event, ctx) => { await ctx.waitForEvent('e'); }");
  server.Publish("plain", "export default () => 1");
  const std::string id = server.InvokeLater("waits");
  AwaitSuspended(server, id, "event");
  const std::string unknown = "00000000-0000-4000-8000-000000000000";
  EXPECT_EQ(server.Call("POST", PathOf(unknown, "/events/e"), "1").status, 404);
  EXPECT_EQ(server.Call("GET", PathOf(unknown, "/steps")).status, 404);
  EXPECT_EQ(server.Call("POST", PathOf(id, "/events/e"), "{").status, 400);
  EXPECT_EQ(server.Call("POST", PathOf(id, "/events/%0A"), "1").status, 400);
  EXPECT_EQ(
      server.Call("POST", PathOf(id, "/events/e"), "\"" + std::string(70'000, 'x') + "\"").status,
      413);
  EXPECT_EQ(server.Call("POST", PathOf(id, "/restart"), R"({"from":0})").status, 409);
  EXPECT_EQ(server.Call("POST", PathOf(id, "/restart"), R"({"from":-1})").status, 400);
  EXPECT_EQ(server.Call("POST", PathOf(id, "/restart"), R"({"from":0,"more":1})").status, 400);
  EXPECT_EQ(server.Call("GET", PathOf(id, "/steps?cursor=x")).status, 400);
  EXPECT_THAT(server.server().Command({"FN.SIGNAL", "t_test01", unknown, "e"}),
              HasSubstr("CS_NOT_FOUND"));
  EXPECT_THAT(server.server().Command({"FN.RESTART", "t_test01", id, "FROM", "x"}),
              HasSubstr("CS_VALIDATION_FAILED"));
  EXPECT_EQ(server.Call("POST", PathOf(id, "/events/e"), "1").status, 202);
  (void)server.Ended(id);
  EXPECT_EQ(server.Call("POST", PathOf(id, "/events/e"), "1").status, 409);
  const JsonAnswer plain = server.Invoke("plain");
  const std::string ended(plain.body.at("activation_id").as_string());
  EXPECT_EQ(server.Call("POST", PathOf(ended, "/restart"), R"({"from":0})").status, 409);
}

TEST(StepsServerTest, ASynchronousCallerIsToldWhichActivationGoesOn) {
  FunctionsServer server;
  server.Publish("waits", R"(
    export default async (event, ctx) => ({body: String(await ctx.waitForEvent('e'))}))",
                 R"({"limits":{"timeoutMs":300,"memoryMb":64,"maxConcurrency":10}})");
  const JsonAnswer answer = server.Invoke("waits");
  EXPECT_EQ(answer.status, 504);
  const std::string text = answer.text;
  const size_t at = text.find("activation ");
  ASSERT_NE(at, std::string::npos) << text;
  const std::string id = text.substr(at + 11, 36);
  EXPECT_EQ(server.Call("POST", PathOf(id, "/events/e"), "5").status, 202) << id;
  EXPECT_EQ(BodyOf(server.Ended(id)), "5");
}

TEST(StepsServerTest, ShortWaitsEndWhileTheCallerStillWaits) {
  FunctionsServer server;
  server.Publish("sleeps", R"(
    export default async (event, ctx) => {
      const child = await ctx.invoke('plain', {n: 3});
      await ctx.sleep(20);
      return {body: child.body};
    })");
  server.Publish("plain", "export default (event) => ({body: 'n' + event.n})");
  const JsonAnswer answer = server.Invoke("sleeps");
  EXPECT_EQ(answer.status, 200) << answer.text;
  EXPECT_EQ(answer.body.at("result").at("body").as_string(), "n3") << answer.text;
}

// --- Kills ---------------------------------------------------------------------------------------

// Each step counts itself in a key of its own and leaves a job: both have to be there once.
constexpr std::string_view kWork = R"(
  export default async (event, ctx) => {
    const mark = (name) => ctx.step(name, async ({cs}) => {
      const key = `a:${event.n}:${name}`;
      await cs.kv.set(key, ((await cs.kv.get(key)) ?? 0) + 1);
      await cs.jobs.enqueue('orders', {n: event.n, name});
      return name;
    }, {retries: 3, backoff: 10});
    const out = [await mark('one')];
    await ctx.sleep(Math.floor(50 + 100 * (event.i % 3)));
    out.push(...await ctx.all([mark('two'), mark('three')]));
    out.push(await ctx.waitForEvent('go'));
    out.push(await mark('four'));
    return {body: out.join()};
  })";
constexpr std::string_view kExpected = "one,two,three,gone,four";
constexpr std::array<std::string_view, 4> kMarks = {"one", "two", "three", "four"};

// CAIRN_FUNCTIONS_STEP_ROUNDS=20 makes it some thousands of activations.
int Rounds() {
  const char* const given = std::getenv("CAIRN_FUNCTIONS_STEP_ROUNDS");
  return given == nullptr ? 2 : std::max(1, std::atoi(given));
}

void ExpectDoneOnce(FunctionsServer& server, const std::map<std::string, std::string>& told) {
  std::map<std::string, int> ends;
  for (const auto& [id, key] : told) {
    const json::value record = server.Ended(id);
    ++ends[std::string(record.at("status").as_string())];
    EXPECT_EQ(BodyOf(record), kExpected) << id;
    for (const std::string_view mark : kMarks) {
      const std::string kv = fmt::format("cs:kv:t_test01:shop:a:{}:{}", key, mark);
      EXPECT_EQ(Plain(server.server().Command({"GET", kv})), "1") << kv;
    }
  }
  const std::string queue = Plain(server.server().Command({"QUEUE.GET", "orders"}));
  EXPECT_THAT(queue, HasSubstr(fmt::format("pending:{},", told.size() * kMarks.size())));
  EXPECT_THAT(server.Call("GET", "/v1/admin/verify").text, HasSubstr(R"("sound":true)"));
  fmt::print("{} activations with {} steps, each once; {} success\n", told.size(),
             told.size() * kMarks.size(), ends["success"]);
}

// Signals what was told, until all were.
void Send(FunctionsServer& server, std::map<std::string, std::string> told) {
  for (const auto& [id, key] : told) {
    Await("an event to be taken", [&, id = id] {
      const int status = server.Call("POST", PathOf(id, "/events/go"), R"("gone")").status;
      return status == 202 || status == 409;
    });
  }
}

TEST(StepsKillsTest, NoStepIsDoneTwiceAndNoneIsMissingWhateverIsKilled) {
  constexpr int kClients = 4;
  constexpr int kKillsOfARound = 4;
  FunctionsServer server;
  server.Publish("work", kWork, "{}", R"({"max_retries":10})");
  std::mt19937 random(std::random_device{}());
  std::mutex mutex;
  std::map<std::string, std::string> told;
  const auto count = [&] {
    const std::scoped_lock lock(mutex);
    return told.size();
  };
  int kills = 0;
  for (int round = 0; round < Rounds(); ++round) {
    std::atomic<bool> stop = false;
    std::vector<std::jthread> clients;
    for (int client = 0; client < kClients; ++client) {
      clients.emplace_back([&, client] {
        for (int i = 0; !stop; ++i) {
          const std::string key = fmt::format("{}.{}.{}", round, client, i);
          const std::string id =
              server.InvokeLater("work", fmt::format(R"({{"n":"{}","i":{}}})", key, i));
          if (id.empty()) return;
          {
            const std::scoped_lock lock(mutex);
            told.emplace(id, key);
          }
          // Some early, some when they wait, some after the restart.
          if (i % 2 == 0) server.Call("POST", PathOf(id, "/events/go"), R"("gone")");
        }
      });
    }
    for (int i = 0; i < kKillsOfARound; ++i) {
      const size_t wanted = count() + 3 + random() % 15;
      Await("activations to be accepted", [&] { return count() >= wanted; });
      const std::vector<pid_t> all = Descendants(server.server().process().pid());
      if (all.empty()) continue;
      ::kill(all[random() % all.size()], SIGKILL);
      ++kills;
    }
    const size_t wanted = count() + 5 + random() % 20;
    Await("activations to be accepted", [&] { return count() >= wanted; });
    ::kill(server.server().process().pid(), SIGKILL);
    stop = true;
    clients.clear();
    server.Kill();
  }
  Send(server, told);
  fmt::print("{} kills of the server, {} of processes of functions\n", Rounds(), kills);
  ExpectDoneOnce(server, told);
}

TEST(StepsNodesTest, AnActivationGoesOnOnAnotherNode) {
  CAIRN_TEST_ROCKS_ONLY("a test that brings its own PostgreSQL");
  constexpr int kActivations = 40;
  PostgresCluster database({});
  const std::vector<std::string> flags = {"--store", database.url()};
  FunctionsServer stays(flags);
  FunctionsServer dies(flags);
  stays.Publish("work", kWork, "{}", R"({"max_retries":10})");
  std::map<std::string, std::string> told;
  for (int i = 0; i < kActivations; ++i) {
    const std::string key = fmt::format("node.{}", i);
    const std::string id = dies.InvokeLater("work", fmt::format(R"({{"n":"{}","i":{}}})", key, i));
    ASSERT_FALSE(id.empty());
    told.emplace(id, key);
  }
  dies.server().process().Kill();
  Send(stays, told);
  ExpectDoneOnce(stays, told);
}

}  // namespace
}  // namespace cairn::testing
