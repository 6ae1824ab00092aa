// Schedules as their users see them, over both doors; ticks of a server that is killed, of many
// schedules at once, and of two nodes of one store.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/functions/functions_server.h"
#include "tests/support/await.h"
#include "tests/support/postgres_cluster.h"
#include "tests/support/test_store.h"

namespace cairn::testing {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;

constexpr std::string_view kSchedules = "/v1/tenants/t_test01/namespaces/shop/schedules";
// Leaves a key for each tick, with how often it was run.
constexpr std::string_view kNotes = R"(
  export default async (event, ctx) => {
    await cs.kv.set(`a:${ctx.trigger.source.schedule_name}:${ctx.trigger.source.tick_ms}`,
                    ctx.activation_id);
    return {body: ctx.principal.sub};
  })";

std::string OneOf(std::string_view name) { return fmt::format("{}/{}", kSchedules, name); }

JsonAnswer Schedule(FunctionsServer& server, std::string_view name, std::string_view times,
                    std::string_view overlap = "parallel") {
  return server.Call("POST", kSchedules,
                     fmt::format(R"({{"name":"{}",{},"overlap_policy":"{}",)"
                                 R"("ref":{{"function":"notes","alias":"live"}}}})",
                                 name, times, overlap));
}

int64_t Number(const json::value& object, std::string_view member) {
  const json::value* const found = object.as_object().if_contains(member);
  return found == nullptr ? 0 : found->to_number<int64_t>();
}

// Its state; none while the server is away.
json::value StateOf(FunctionsServer& server, std::string_view name) {
  const JsonAnswer answer = server.Call("GET", OneOf(name));
  return answer.status == 200 ? answer.body.at("state") : json::value(json::object());
}

std::string CodeOf(const JsonAnswer& answer) {
  return std::string(answer.body.at("error").at("code").as_string());
}

// How many results there are of each activation.
std::map<std::string, int> TakeResults(FunctionsServer& server) {
  std::map<std::string, int> results;
  for (;;) {
    const JsonAnswer claimed =
        server.Call("POST", "/v1/codeq/topics/cs.results/claim", R"({"count":500})");
    const json::array& messages = claimed.body.at("messages").as_array();
    if (messages.empty()) return results;
    for (const json::value& message : messages) {
      ++results[std::string(message.at("message").at("body").at("activation_id").as_string())];
    }
  }
}

// Stops the schedule, waits for the activations of its ticks, and checks that each tick of its grid
// has one that ran. Returns them.
std::set<std::string> CheckTicks(FunctionsServer& server, std::string_view name, int64_t every_ms) {
  const JsonAnswer stopped = server.Call("POST", OneOf(name) + "/disable");
  EXPECT_EQ(stopped.status, 200) << stopped.text;
  const int64_t first_ms = Number(stopped.body, "created_at_ms");
  const int64_t last_ms = Number(stopped.body.at("state"), "last_tick_ms");
  EXPECT_EQ(Number(stopped.body.at("state"), "tick_seq"), (last_ms - first_ms) / every_ms + 1)
      << stopped.text;
  std::set<std::string> ids;
  for (int64_t tick_ms = first_ms; tick_ms <= last_ms; tick_ms += every_ms) {
    const std::string key = fmt::format("cs:kv:t_test01:shop:a:{}:{}", name, tick_ms);
    std::string id;
    Await(fmt::format("the activation of the tick {} of {}", tick_ms, name), [&] {
      id = server.server().Command({"GET", key});
      return id.size() > 36;
    });
    ids.insert(id.substr(id.find_first_not_of("\"\\"), 36));
  }
  return ids;
}

TEST(SchedulesTest, AScheduleInvokesItsFunctionAndSaysHowFarItIs) {
  FunctionsServer server;
  server.Publish("notes", kNotes);
  const JsonAnswer made = Schedule(server, "each-second", R"("every_seconds":1)");
  ASSERT_EQ(made.status, 201) << made.text;
  EXPECT_EQ(made.body.at("next_ticks_ms").as_array().size(), 5U);
  Await("three ticks", [&] { return Number(StateOf(server, "each-second"), "tick_seq") >= 3; });
  const std::set<std::string> ids = CheckTicks(server, "each-second", 1'000);
  for (const std::string& id : ids) {
    const json::value ended = server.Ended(id);
    EXPECT_EQ(ended.at("result").at("body").as_string(), "sp:cs-scheduler");
    EXPECT_EQ(ended.at("trigger").at("type").as_string(), "schedule");
  }
  const JsonAnswer metrics = server.Call("GET", "/metrics");
  EXPECT_THAT(metrics.text,
              HasSubstr(R"(cs_scheduler_ticks_total{tenant="t_test01",namespace="shop",)"
                        R"(schedule="each-second"})"));
}

TEST(SchedulesTest, TheyAreMadeListedChangedAndDeletedOverHttp) {
  FunctionsServer server;
  server.Publish("notes", kNotes);
  EXPECT_EQ(CodeOf(Schedule(server, "x", R"("every_seconds":1)")), "CS_VALIDATION_NAME_INVALID");
  EXPECT_EQ(CodeOf(Schedule(server, "never", R"("every_seconds":0)")), "CS_VALIDATION_FAILED");
  EXPECT_EQ(CodeOf(Schedule(server, "never", R"("cron":"0 0 30 2 *")")), "CS_VALIDATION_FAILED");
  EXPECT_EQ(CodeOf(Schedule(server, "never", R"("every_seconds":1,"evry":2)")),
            "CS_VALIDATION_FAILED");
  for (const char* const name : {"nightly", "weekly", "yearly"}) {
    const JsonAnswer made =
        Schedule(server, name, R"("cron":"0 3 * * *","time_zone":"Europe/Berlin")");
    ASSERT_EQ(made.status, 201) << made.text;
  }
  const JsonAnswer again = Schedule(server, "weekly", R"("every_seconds":1)");
  EXPECT_EQ(again.status, 409);
  EXPECT_EQ(CodeOf(again), "CS_CONFLICT");
  const JsonAnswer page = server.Call("GET", fmt::format("{}?limit=2", kSchedules));
  EXPECT_EQ(page.body.at("schedules").as_array().size(), 2U) << page.text;
  EXPECT_EQ(page.body.at("cursor").as_string(), "weekly");
  const JsonAnswer changed =
      server.Call("PUT", OneOf("weekly"), R"({"cron":"0 3 * * sun","overlap_policy":"queue"})");
  EXPECT_EQ(changed.body.at("cron").as_string(), "0 3 * * sun") << changed.text;
  EXPECT_EQ(changed.body.at("time_zone").as_string(), "Europe/Berlin");
  EXPECT_EQ(changed.body.at("overlap_policy").as_string(), "queue");
  const JsonAnswer disabled = server.Call("POST", OneOf("weekly") + "/disable");
  EXPECT_TRUE(disabled.body.at("next_ticks_ms").as_array().empty()) << disabled.text;
  EXPECT_FALSE(disabled.body.at("enabled").as_bool());
  EXPECT_TRUE(server.Call("POST", OneOf("weekly") + "/enable").body.at("enabled").as_bool());
  EXPECT_EQ(server.Call("DELETE", OneOf("weekly")).text, R"({"status":"deleted"})");
  EXPECT_EQ(server.Call("GET", OneOf("weekly")).status, 404);
  EXPECT_EQ(server.Call("DELETE", OneOf("weekly")).status, 404);
  EXPECT_THAT(server.server().Command({"SMEMBERS", "cs:schedule:t_test01:shop:index"}),
              HasSubstr("nightly"));
}

TEST(SchedulesTest, CommandsDoTheSameAlsoInATransaction) {
  FunctionsServer server;
  server.Publish("notes", kNotes);
  auto client = *server.server().Connect();
  const auto run = [&](const std::vector<std::string>& args) {
    const auto reply = client.Command(args);
    if (!reply.ok()) return reply.error().message;
    return reply->items.empty() ? reply->text : reply->items.front().text;  // whole
  };
  EXPECT_EQ(run({"MULTI"}), "OK");
  EXPECT_EQ(run({"FN.SCHEDULE", "CREATE", "t_test01/shop/nightly", "CRON", "0 3 * * *", "FUNCTION",
                 "notes", "ALIAS", "live", "PAYLOAD", R"({"n":1})"}),
            "QUEUED");
  EXPECT_EQ(run({"SET", "deployed", "yes"}), "QUEUED");
  EXPECT_THAT(run({"EXEC"}), HasSubstr("next_ticks_ms"));
  EXPECT_THAT(run({"FN.SCHEDULE", "GET", "t_test01/shop/nightly"}), HasSubstr("0 3 * * *"));
  EXPECT_THAT(
      run({"FN.SCHEDULE", "SET", "t_test01/shop/nightly", "EVERY", "60", "OVERLAP", "queue"}),
      HasSubstr("every_seconds\":60"));
  EXPECT_THAT(run({"FN.SCHEDULE", "DISABLE", "t_test01/shop/nightly"}),
              HasSubstr("enabled\":false"));
  EXPECT_THAT(run({"FN.SCHEDULE", "ENABLE", "t_test01/shop/nightly"}), HasSubstr("enabled\":true"));
  EXPECT_THAT(run({"FN.SCHEDULE", "LIST", "t_test01/shop", "LIMIT", "1"}), HasSubstr("nightly"));
  EXPECT_THAT(run({"FN.SCHEDULE", "SET", "t_test01/shop/nightly", "OVERLAP", "x"}),
              HasSubstr("CS_VALIDATION_FAILED OVERLAP is one of"));
  EXPECT_THAT(run({"FN.SCHEDULE", "GET", "nightly"}), HasSubstr("CS_VALIDATION_NAME_INVALID"));
  EXPECT_THAT(run({"FN.SCHEDULE", "DELETE", "t_test01/shop/nightly"}), HasSubstr("deleted"));
  EXPECT_THAT(run({"FN.SCHEDULE", "GET", "t_test01/shop/nightly"}), HasSubstr("CS_NOT_FOUND"));
}

TEST(SchedulesTest, AfterKillsEachTickHasOneActivation) {
  constexpr int kKills = 3;
  FunctionsServer server;
  server.Publish("notes", kNotes);
  ASSERT_EQ(Schedule(server, "each-second", R"("every_seconds":1)").status, 201);
  for (int kill = 1; kill <= kKills; ++kill) {
    Await("some ticks",
          [&] { return Number(StateOf(server, "each-second"), "tick_seq") >= 2 * kill; });
    server.Kill();
  }
  Await("ticks after the last kill",
        [&] { return Number(StateOf(server, "each-second"), "tick_seq") >= 2 * kKills + 2; });
  const std::set<std::string> ids = CheckTicks(server, "each-second", 1'000);
  for (const std::string& id : ids) {
    EXPECT_EQ(server.Ended(id).at("status").as_string(), "success") << id;
  }
  const std::map<std::string, int> results = TakeResults(server);
  for (const std::string& id : ids) EXPECT_EQ(results.contains(id) ? results.at(id) : 0, 1) << id;
  EXPECT_EQ(results.size(), ids.size());
  fmt::print("{} ticks, {} kills, {} results\n", ids.size(), kKills, results.size());
}

TEST(SchedulesTest, ManySchedulesTickWithoutLosingOne) {
  constexpr int kSchedules = 100;
  constexpr int64_t kTicks = 4;
  FunctionsServer server;
  server.Publish("notes", kNotes);
  const auto name = [](int i) { return fmt::format("one-of-many-{:03}", i); };
  for (int i = 0; i < kSchedules; ++i) {
    const JsonAnswer made = Schedule(server, name(i), R"("every_seconds":1)");
    ASSERT_EQ(made.status, 201) << made.text;
  }
  for (int i = 0; i < kSchedules; ++i) {
    Await(fmt::format("{} ticks of {}", kTicks, name(i)),
          [&] { return Number(StateOf(server, name(i)), "tick_seq") >= kTicks; });
  }
  size_t ticks = 0;
  for (int i = 0; i < kSchedules; ++i) {
    ASSERT_EQ(server.Call("POST", OneOf(name(i)) + "/disable").status, 200);
  }
  for (int i = 0; i < kSchedules; ++i) ticks += CheckTicks(server, name(i), 1'000).size();
  fmt::print("{} schedules, {} ticks\n", kSchedules, ticks);
}

TEST(SchedulesNodesTest, OfTwoNodesOneFiresEachTick) {
  CAIRN_TEST_ROCKS_ONLY("a test that brings its own PostgreSQL");
  PostgresCluster database({});
  const std::vector<std::string> flags = {"--store", database.url()};
  FunctionsServer stays(flags);
  FunctionsServer dies(flags);
  stays.Publish("notes", kNotes);
  ASSERT_EQ(Schedule(stays, "each-second", R"("every_seconds":1)").status, 201);
  const auto ticks = [&] { return Number(StateOf(stays, "each-second"), "tick_seq"); };
  Await("some ticks", [&] { return ticks() >= 3; });
  const int64_t before = ticks();
  dies.server().process().Kill();
  Await("ticks after a node was killed", [&] { return ticks() >= before + 4; });
  const std::set<std::string> ids = CheckTicks(stays, "each-second", 1'000);
  for (const std::string& id : ids) {
    EXPECT_EQ(stays.Ended(id).at("status").as_string(), "success") << id;
  }
  const std::map<std::string, int> results = TakeResults(stays);
  for (const std::string& id : ids) EXPECT_EQ(results.contains(id) ? results.at(id) : 0, 1) << id;
  EXPECT_EQ(results.size(), ids.size());
  fmt::print("{} ticks of two nodes, one of them killed; {} results\n", ids.size(), results.size());
}

}  // namespace
}  // namespace cairn::testing
