// Triggers as their users see them, over both doors: functions that consume queues, and that are
// told of what has happened; servers that are killed; two nodes of one store.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <set>
#include <string>
#include <vector>

#include "tests/functions/functions_server.h"
#include "tests/support/await.h"

namespace cairn::testing {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;

constexpr std::string_view kTriggers = "/v1/tenants/t_test01/namespaces/shop/triggers";

std::string OneOf(std::string_view name) { return fmt::format("{}/{}", kTriggers, name); }

// `more` are further members, each with a comma before it.
JsonAnswer MakeTrigger(FunctionsServer& server, std::string_view name, std::string_view source,
                       std::string_view function, std::string_view more = "") {
  return server.Call("POST", kTriggers,
                     fmt::format(R"({{"name":"{}","source":{},)"
                                 R"("ref":{{"function":"{}","alias":"live"}}{}}})",
                                 name, source, function, more));
}

std::string Enqueue(FunctionsServer& server, std::string_view queue, std::string_view payload,
                    std::string_view more = "") {
  const JsonAnswer added =
      server.Call("POST", "/api/v1/enqueue",
                  fmt::format(R"({{"queue":"{}","payload":{}{}}})", queue, payload, more));
  if (added.status != 201) return "";
  const json::object& body = added.body.as_object();
  return std::string(body.at("job_id").as_string());
}

json::value JobOf(FunctionsServer& server, const std::string& id) {
  const JsonAnswer answer = server.Call("GET", "/api/v1/jobs/" + id);
  return answer.status == 200 ? answer.body : json::value(json::object());
}
std::string StateOfJob(FunctionsServer& server, const std::string& id) {
  const json::value job = JobOf(server, id);
  const json::value* const state = job.as_object().if_contains("state");
  return state == nullptr ? "" : std::string(state->as_string());
}
void AwaitState(FunctionsServer& server, const std::string& id, std::string_view state) {
  Await(fmt::format("the job {} to be {}", id, state),
        [&] { return StateOfJob(server, id) == state; });
}

json::value Shown(FunctionsServer& server, std::string_view name) {
  const JsonAnswer answer = server.Call("GET", OneOf(name));
  return answer.status == 200 ? answer.body : json::value(json::object());
}
int64_t Figure(FunctionsServer& server, std::string_view name, std::string_view member) {
  const json::value shown = Shown(server, name);
  const json::value* const state = shown.as_object().if_contains("state");
  return state == nullptr ? 0 : state->at(member).to_number<int64_t>();
}
std::string CodeOf(const JsonAnswer& answer) {
  return std::string(answer.body.at("error").at("code").as_string());
}

void ExpectSound(FunctionsServer& server) {
  const JsonAnswer verified = server.Call("GET", "/v1/admin/verify");
  EXPECT_EQ(verified.status, 200) << verified.text;
  EXPECT_THAT(verified.text, HasSubstr(R"("sound":true)"));
}

// Counts how often it has had each job; those whose payload says so fail.
constexpr std::string_view kConsumer = R"(
  export default async (event) => {
    const batchItemFailures = [];
    const results = {};
    for (const job of event.jobs) {
      const key = 'a:seen:' + job.payload.n;
      await cs.kv.set(key, ((await cs.kv.get(key)) ?? 0) + 1);
      if (job.payload.fails && job.attempt <= job.payload.fails) {
        batchItemFailures.push({itemIdentifier: job.id, error: 'not in attempt ' + job.attempt});
      } else {
        results[job.id] = {n: job.payload.n, attempt: job.attempt};
      }
    }
    return {batchItemFailures, results};
  })";
// Keeps what it was told.
constexpr std::string_view kListener = R"(
  export default async (event) => {
    for (const one of event.events) await cs.kv.set('a:' + event.trigger + ':' + one.seq, one);
  })";

// All that the listener was told by a trigger.
std::vector<std::string> Told(FunctionsServer& server, std::string_view trigger) {
  auto client = *server.server().Connect();
  const auto keys = client.Command({"KEYS", fmt::format("cs:kv:t_test01:shop:a:{}:*", trigger)});
  std::vector<std::string> told;
  if (!keys.ok()) return told;
  for (const net::RespValue& key : keys->items) {
    const auto value = client.Command({"GET", key.text});
    if (value.ok()) told.push_back(value->text);
  }
  return told;
}

TEST(TriggersTest, AFunctionConsumesAQueueAndSomeOfItsJobsFail) {
  FunctionsServer server;
  server.Publish("consume", kConsumer);
  const JsonAnswer made =
      MakeTrigger(server, "mails", R"({"type":"queue","queues":["mail"]})", "consume",
                  R"(,"batch_size":5,"window_ms":20,"concurrency":2)");
  ASSERT_EQ(made.status, 201) << made.text;
  constexpr int kJobs = 30;
  std::vector<std::string> ids;
  for (int i = 0; i < kJobs; ++i) {
    // Each third fails once, and one of them for ever.
    const int fails = i == 3 ? 100 : (i % 3 == 0 ? 1 : 0);
    ids.push_back(Enqueue(server, "mail", fmt::format(R"({{"n":{},"fails":{}}})", i, fails),
                          R"(,"max_retries":2,"retry_backoff":"none")"));
  }
  for (int i = 0; i < kJobs; ++i) {
    SCOPED_TRACE(i);
    AwaitState(server, ids[static_cast<size_t>(i)], i == 3 ? "dead" : "completed");
    const json::value job = JobOf(server, ids[static_cast<size_t>(i)]);
    const int attempts = i == 3 ? 3 : (i % 3 == 0 ? 2 : 1);
    EXPECT_EQ(job.at("attempt").to_number<int>(), attempts);
    if (i == 3) continue;
    EXPECT_EQ(job.at("result").at("attempt").to_number<int>(), attempts);
  }
  EXPECT_EQ(Figure(server, "mails", "delivered"), kJobs + 9 + 2);
  EXPECT_EQ(Figure(server, "mails", "failed"), 9 + 3);
  EXPECT_THAT(server.Call("GET", "/metrics").text, HasSubstr("cs_trigger_batches_total"));
  ExpectSound(server);
}

TEST(TriggersTest, AFunctionThatThrowsFailsItsBatch) {
  FunctionsServer server;
  server.Publish("throws", "export default () => { throw new Error('on purpose'); }", "{}",
                 R"({"max_retries":5})");
  ASSERT_EQ(MakeTrigger(server, "mails", R"({"type":"queue","queues":["mail"]})", "throws").status,
            201);
  const std::string id =
      Enqueue(server, "mail", "{}", R"(,"max_retries":1,"retry_backoff":"none")");
  AwaitState(server, id, "dead");
  // The job was tried again, not the activation.
  EXPECT_EQ(JobOf(server, id).at("attempt").to_number<int>(), 2);
  EXPECT_EQ(Figure(server, "mails", "batches"), 2);
  EXPECT_THAT(json::serialize(Shown(server, "mails")), HasSubstr("on purpose"));
}

TEST(TriggersTest, ADisabledFunctionPausesItAndJobsWait) {
  FunctionsServer server;
  server.Publish("consume", kConsumer);
  ASSERT_EQ(MakeTrigger(server, "mails", R"({"type":"queue","queues":["mail"]})", "consume").status,
            201);
  const std::string function = "/v1/tenants/t_test01/namespaces/shop/functions/consume";
  ASSERT_EQ(server.Call("POST", function + "/disable").status, 200);
  const std::string id = Enqueue(server, "mail", R"({"n":1})");
  Await("the trigger to say that it waits", [&] {
    return json::serialize(Shown(server, "mails")).find("disabled") != std::string::npos &&
           !Shown(server, "mails").at("state").as_object().contains("inflight") &&
           Shown(server, "mails").at("state").as_object().contains("last_error");
  });
  EXPECT_EQ(StateOfJob(server, id), "pending");
  ASSERT_EQ(server.Call("POST", function + "/enable").status, 200);
  AwaitState(server, id, "completed");
  // And a disabled trigger takes nothing either.
  ASSERT_EQ(server.Call("POST", OneOf("mails") + "/disable").status, 200);
  const std::string later = Enqueue(server, "mail", R"({"n":2})");
  const std::string other = Enqueue(server, "others", R"({"n":3})");
  ASSERT_EQ(
      MakeTrigger(server, "others", R"({"type":"queue","queues":["others"]})", "consume").status,
      201);
  AwaitState(server, other, "completed");
  EXPECT_EQ(StateOfJob(server, later), "pending");
  ASSERT_EQ(server.Call("POST", OneOf("mails") + "/enable").status, 200);
  AwaitState(server, later, "completed");
}

TEST(TriggersTest, NoMoreJobsAreActiveThanItMayHave) {
  FunctionsServer server;
  server.Publish("slow", R"(
    export default async (event) => {
      while (!(await cs.kv.get('a:go'))) await new Promise((done) => setTimeout(done, 5));
    })",
                 R"({"limits":{"timeoutMs":60000,"memoryMb":64,"maxConcurrency":1}})");
  ASSERT_EQ(MakeTrigger(server, "mails", R"({"type":"queue","queues":["mail"]})", "slow",
                        R"(,"batch_size":3,"concurrency":2)")
                .status,
            201);
  std::vector<std::string> ids;
  for (int i = 0; i < 20; ++i) ids.push_back(Enqueue(server, "mail", "{}"));
  const auto active = [&] {
    return std::ranges::count_if(
        ids, [&](const auto& id) { return StateOfJob(server, id) == "active"; });
  };
  // The function runs once at a time, so a second activation waits, with its jobs.
  Await("two batches", [&] { return Figure(server, "mails", "batches") == 2; });
  EXPECT_LE(active(), 6);
  EXPECT_EQ(Figure(server, "mails", "batches"), 2);
  EXPECT_EQ(server.server().Command({"SET", "cs:kv:t_test01:shop:a:go", "true"}), "OK");
  for (const std::string& id : ids) AwaitState(server, id, "completed");
}

TEST(TriggersTest, AfterKillsEachJobIsDoneByASuccess) {
  constexpr int kKills = 3;
  constexpr int kJobsOfARound = 60;
  FunctionsServer server;
  server.Publish("consume", kConsumer);
  ASSERT_EQ(MakeTrigger(server, "mails", R"({"type":"queue","queues":["mail"]})", "consume",
                        R"(,"batch_size":4,"concurrency":4)")
                .status,
            201);
  std::vector<std::string> ids;
  for (int kill = 0; kill <= kKills; ++kill) {
    for (int i = 0; i < kJobsOfARound; ++i) {
      const std::string id =
          Enqueue(server, "mail",
                  fmt::format(R"({{"n":{},"fails":{}}})", ids.size(), ids.size() % 5 == 0 ? 1 : 0),
                  R"(,"retry_backoff":"none")");
      ASSERT_FALSE(id.empty());
      ids.push_back(id);
    }
    if (kill == kKills) break;
    const auto begun = static_cast<int64_t>(ids.size()) - kJobsOfARound / 2;
    Await("half of the jobs to be begun",
          [&] { return Figure(server, "mails", "delivered") >= begun; });
    server.Kill();
  }
  // A batch whose server was killed is run again when its message's lease has ended.
  int64_t reclaimed = 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    AwaitState(server, ids[i], "completed");
    const json::value job = JobOf(server, ids[i]);
    // Its attempts are those that failed and the one that did not: no lease of a job was lost.
    EXPECT_EQ(job.at("attempt").to_number<int>(), i % 5 == 0 ? 2 : 1) << i;
    EXPECT_EQ(job.at("result").at("n").to_number<size_t>(), i);
    const std::string seen =
        server.server().Command({"GET", fmt::format("cs:kv:t_test01:shop:a:seen:{}", i)});
    reclaimed += seen == (i % 5 == 0 ? "\"2\"" : "\"1\"") ? 0 : 1;
  }
  Await("no batch to be under way",
        [&] { return !Shown(server, "mails").at("state").as_object().contains("inflight"); });
  ExpectSound(server);
  fmt::print("{} jobs, {} kills; {} jobs were run more than once\n", ids.size(), kKills, reclaimed);
}

TEST(TriggersTest, AFunctionIsToldOfEventsOfJobsAlsoAfterAKill) {
  FunctionsServer server;
  server.Publish("listen", kListener);
  ASSERT_EQ(MakeTrigger(server, "told", R"({"type":"jobs","queues":["ma*"],"types":["enqueued"]})",
                        "listen", R"(,"batch_size":3)")
                .status,
            201);
  std::set<std::string> ids;
  for (int i = 0; i < 10; ++i) ids.insert(Enqueue(server, "mail", "{}"));
  Enqueue(server, "other", "{}");
  server.Kill();
  for (int i = 0; i < 10; ++i) ids.insert(Enqueue(server, "mail", "{}"));
  Await("all events to be told", [&] { return Told(server, "told").size() >= ids.size(); });
  for (const std::string& one : Told(server, "told")) {
    const json::value event = json::parse(one);
    EXPECT_EQ(event.at("type").as_string(), "enqueued");
    EXPECT_EQ(ids.erase(std::string(event.at("job_id").as_string())), 1U) << one;
  }
  EXPECT_TRUE(ids.empty());
  EXPECT_EQ(Figure(server, "told", "delivered"), 20);
  ExpectSound(server);
}

TEST(TriggersTest, AFunctionIsToldOfChangesOfSeats) {
  FunctionsServer server;
  server.Publish("listen", kListener);
  ASSERT_EQ(
      MakeTrigger(server, "sales", R"({"type":"seats","events":["summer-*"]})", "listen").status,
      201);
  for (const char* event : {"summer-1", "winter-1"}) {
    const std::string made = server.server().Command(
        {"SEAT.CREATE", event,
         R"({"sections":[{"name":"A","subsections":1,"rows":2,"cols":5,"price":10}]})"});
    ASSERT_EQ(made.find("(error)"), std::string::npos) << made;
    const std::string booking = std::string("b-") + event;
    const std::string reply =
        server.server().Command({"SEAT.RESERVE", event, booking, "A-1", "SEATS", "1-1", "1-2"});
    ASSERT_EQ(reply.find("(error)"), std::string::npos) << reply;
  }
  Await("the change to be told", [&] { return !Told(server, "sales").empty(); });
  const std::vector<std::string> told = Told(server, "sales");
  EXPECT_EQ(told.size(), 1U);
  EXPECT_THAT(told.front(), HasSubstr(R"("event":"summer-1")"));
  EXPECT_THAT(told.front(), HasSubstr(R"("change":"reserved")"));
}

TEST(TriggersTest, TheyAreMadeListedChangedAndDeletedOverHttp) {
  FunctionsServer server;
  server.Publish("consume", kConsumer);
  const std::string queue = R"({"type":"queue","queues":["mail"]})";
  EXPECT_EQ(CodeOf(MakeTrigger(server, "x", queue, "consume")), "CS_VALIDATION_NAME_INVALID");
  EXPECT_EQ(CodeOf(MakeTrigger(server, "mails", queue, "nothing")), "CS_NOT_FOUND");
  EXPECT_EQ(
      CodeOf(MakeTrigger(server, "mails", R"({"type":"queue","queues":["cs.invoke"]})", "consume")),
      "CS_VALIDATION_FAILED");
  EXPECT_EQ(CodeOf(MakeTrigger(server, "mails", queue, "consume", R"(,"batch":3)")),
            "CS_VALIDATION_FAILED");
  for (const char* const name : {"aaa", "bbb", "ccc"}) {
    ASSERT_EQ(MakeTrigger(server, name, queue, "consume").status, 201);
  }
  EXPECT_EQ(CodeOf(MakeTrigger(server, "aaa", queue, "consume")), "CS_CONFLICT");
  const JsonAnswer page = server.Call("GET", fmt::format("{}?limit=2", kTriggers));
  EXPECT_EQ(page.body.at("triggers").as_array().size(), 2U) << page.text;
  EXPECT_EQ(page.body.at("cursor").as_string(), "bbb");
  const JsonAnswer changed = server.Call("PUT", OneOf("aaa"), R"({"batch_size":7})");
  EXPECT_EQ(changed.body.at("batch_size").as_int64(), 7) << changed.text;
  EXPECT_FALSE(server.Call("POST", OneOf("aaa") + "/disable").body.at("enabled").as_bool());
  EXPECT_TRUE(server.Call("POST", OneOf("aaa") + "/enable").body.at("enabled").as_bool());
  EXPECT_EQ(server.Call("DELETE", OneOf("aaa")).text, R"({"status":"deleted"})");
  EXPECT_EQ(server.Call("GET", OneOf("aaa")).status, 404);
  ExpectSound(server);
}

TEST(TriggersTest, CommandsDoTheSameAlsoInATransaction) {
  FunctionsServer server;
  server.Publish("consume", kConsumer);
  auto client = *server.server().Connect();
  const auto run = [&](const std::vector<std::string>& args) {
    const auto reply = client.Command(args);
    return reply.ok() ? reply->ToString() : reply.error().message;
  };
  EXPECT_EQ(run({"MULTI"}), "OK");
  EXPECT_EQ(run({"FN.TRIGGER", "CREATE", "t_test01/shop/mails", "QUEUE", "mail", "QUEUE", "sms",
                 "FUNCTION", "consume", "ALIAS", "live", "BATCH", "5", "WINDOW", "10",
                 "CONCURRENCY", "3"}),
            "QUEUED");
  EXPECT_EQ(run({"JOB.ENQUEUE", "mail", R"({"n":1})"}), "QUEUED");
  EXPECT_THAT(run({"EXEC"}), HasSubstr("batch_size"));
  EXPECT_THAT(run({"FN.TRIGGER", "GET", "t_test01/shop/mails"}), HasSubstr("sms"));
  EXPECT_THAT(run({"FN.TRIGGER", "SET", "t_test01/shop/mails", "BATCH", "9"}),
              HasSubstr("batch_size\\\":9"));
  EXPECT_THAT(run({"FN.TRIGGER", "DISABLE", "t_test01/shop/mails"}),
              HasSubstr("enabled\\\":false"));
  EXPECT_THAT(run({"FN.TRIGGER", "ENABLE", "t_test01/shop/mails"}), HasSubstr("enabled\\\":true"));
  EXPECT_THAT(run({"FN.TRIGGER", "LIST", "t_test01/shop", "LIMIT", "1"}), HasSubstr("mails"));
  EXPECT_THAT(run({"FN.TRIGGER", "SET", "t_test01/shop/mails", "JOBS", "*"}),
              HasSubstr("source.type cannot be changed"));
  EXPECT_THAT(run({"FN.TRIGGER", "CREATE", "t_test01/shop/both", "QUEUE", "mail", "JOBS", "*",
                   "FUNCTION", "consume", "ALIAS", "live"}),
              HasSubstr("cannot be together"));
  EXPECT_THAT(run({"FN.TRIGGER", "CREATE", "t_test01/shop/none", "FUNCTION", "consume", "ALIAS",
                   "live", "BATCH", "5", "TYPE"}),
              HasSubstr("CS_VALIDATION_FAILED"));
  Await("the job of the transaction to be done",
        [&] { return Figure(server, "mails", "delivered") == 1; });
  EXPECT_THAT(run({"FN.TRIGGER", "DELETE", "t_test01/shop/mails"}), HasSubstr("deleted"));
  EXPECT_THAT(run({"FN.TRIGGER", "GET", "t_test01/shop/mails"}), HasSubstr("CS_NOT_FOUND"));
}

}  // namespace
}  // namespace cairn::testing
