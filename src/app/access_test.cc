// Who may do what, at both doors of a whole server.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "app/testing/access_fixture.h"
#include "doors/http/json_schema.h"
#include "net/http/client.h"
#include "net/resp/client.h"

namespace cairn::app {
namespace {

namespace json = boost::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// --- Every route --------------------------------------------------------------------------------

TEST_F(AccessTest, EveryRouteHasAPermissionThatSomeRoleHas) {
  const std::set<std::string> open = {"/healthz", "/readyz", "/openapi.json", "/docs", "/"};
  for (const Operation& operation : Operations()) {
    if (open.contains(operation.path)) continue;
    EXPECT_NE(permissions().Find(operation.permission), nullptr)
        << operation.name() << " asks for '" << operation.permission << "'";
  }
}

TEST_F(AccessTest, NoRouteAnswersWhoHasNoKey) {
  MakeAdmin();
  for (const Operation& operation : Operations()) {
    if (operation.path == "/healthz" || operation.path == "/readyz") continue;
    for (const char* key : {"", "ck_0000"}) {
      const net::HttpResponse response = Ask(key, operation.method, TargetOf(operation.path), "{}");
      EXPECT_EQ(response.status, 401) << operation.name();
    }
  }
  EXPECT_EQ(Refusal(Ask("", "GET", "/api/v1/queues")), "401 UNAUTHORIZED");
}

TEST_F(AccessTest, EveryRouteIsClosedToRolesWithoutItsPermission) {
  MakeAdmin();
  for (const house::Role role :
       {house::Role::kOperator, house::Role::kWorker, house::Role::kReadonly}) {
    const std::string name(house::RoleName(role));
    const std::string key = MakeKey(name, fmt::format(R"("role":"{}")", name));
    const std::vector<std::string_view> allowed = permissions().Of(role);
    for (const Operation& operation : Operations()) {
      if (operation.permission.empty() ||
          std::ranges::find(allowed, operation.permission) != allowed.end()) {
        continue;
      }
      const net::HttpResponse response = Ask(key, operation.method, TargetOf(operation.path), "{}");
      EXPECT_EQ(response.status, 403) << name << ": " << operation.name();
      EXPECT_THAT(response.body, HasSubstr("does not allow")) << operation.name();
    }
  }
}

// What a key of the queue `mine` gets when it asks, by this route, for something of `yours`.
struct Probe {
  std::string target;
  std::string body;
  // Refused, answered without it, or as if there were nothing of this name.
  // kRefused: in the words of another API.
  enum class Outcome { kForbidden, kHidden, kUnknown, kRefused } outcome = Outcome::kForbidden;
};
// The same text with another id in it, of the same form.
std::string WithOtherIds(std::string text, const std::vector<std::string>& ids) {
  for (const std::string& id : ids) {
    for (size_t at = text.find(id); at != std::string::npos; at = text.find(id, at + 1)) {
      char& last = text[at + id.size() - 1];
      last = last == '0' ? '1' : '0';
    }
  }
  return text;
}

// A new route that says of itself that it is scoped has to be added here, with a way to try it.
TEST_F(AccessTest, EveryScopedRouteKeepsToTheQueuesOfTheKey) {
  MakeAdmin();
  const std::string job = Enqueue("yours", R"(,"payload":{"secret":"pearl"})");
  const std::string held = Enqueue("yours", R"(,"payload":{"secret":"pearl"})");
  AskOk(admin_, "POST", "/api/v1/jobs/" + held + "/hold");
  const std::string batch(AskOk(admin_, "POST", "/api/v1/batches", R"({"callback_queue":"yours"})")
                              .at("id")
                              .as_string());
  const json::value leased =
      AskOk(admin_, "POST", "/api/v1/fetch", R"({"queues":["yours"],"worker_id":"w"})");
  const std::string active(leased.at("job_id").as_string());
  const json::value bulk = AskOk(admin_, "POST", "/api/v1/jobs/bulk",
                                 R"({"action":"retry","filter":{"queue":"none"},"async":true})");
  const std::string task(bulk.at("bulk_operation_id").as_string());
  AskOk(admin_, "POST", "/api/v1/jobs/search", "{}");  // the view has all of it
  const std::string mine = MakeKey("mine", R"("role":"operator","queue_scope":"mine, my.*")");

  using enum Probe::Outcome;
  const std::vector<std::string> ids = {job, held, active, batch, task};
  const std::string jobs = "/api/v1/jobs/";
  const std::map<std::string, Probe> probes = {
      {"POST /api/v1/enqueue", {"/api/v1/enqueue", R"({"queue":"yours"})"}},
      {"POST /api/v1/enqueue/batch",
       {"/api/v1/enqueue/batch", R"({"jobs":[{"queue":"mine"},{"queue":"yours"}]})"}},
      {"POST /api/v1/webhooks/{name}", {"/api/v1/webhooks/yours", "{}"}},
      {"POST /api/v1/batches", {"/api/v1/batches", R"({"callback_queue":"yours"})"}},
      {"POST /api/v1/batches/{id}/jobs",
       {"/api/v1/batches/" + batch + "/jobs", R"({"jobs":[{"queue":"mine"}]})", kUnknown}},
      {"POST /api/v1/batches/{id}/seal", {"/api/v1/batches/" + batch + "/seal", "", kUnknown}},
      {"GET /api/v1/batches/{id}", {"/api/v1/batches/" + batch, "", kUnknown}},
      {"POST /api/v1/fetch", {"/api/v1/fetch", R"({"queues":["mine","yours"]})"}},
      {"POST /api/v1/fetch/batch", {"/api/v1/fetch/batch", R"({"queues":["yours"],"count":5})"}},
      {"POST /api/v1/ack/{id}", {"/api/v1/ack/" + active, "{}", kUnknown}},
      {"POST /api/v1/ack/batch",
       {"/api/v1/ack/batch", fmt::format(R"({{"acks":[{{"job_id":"{}"}}]}})", active), kHidden}},
      {"POST /api/v1/fail/{id}", {"/api/v1/fail/" + active, "{}", kUnknown}},
      {"POST /api/v1/snooze/{id}", {"/api/v1/snooze/" + active, R"({"delay":"5s"})", kUnknown}},
      {"POST /api/v1/heartbeat",
       {"/api/v1/heartbeat", fmt::format(R"({{"jobs":{{"{}":{{}}}}}})", active), kHidden}},
      {"GET /api/v1/jobs/{id}", {jobs + job, "", kUnknown}},
      {"POST /api/v1/jobs/bulk-get",
       {jobs + "bulk-get", fmt::format(R"({{"job_ids":["{}"]}})", job), kHidden}},
      {"GET /api/v1/jobs/{id}/wait", {jobs + job + "/wait?timeout=1", "", kUnknown}},
      {"POST /api/v1/jobs/{id}/retry", {jobs + job + "/retry", "", kUnknown}},
      {"POST /api/v1/jobs/{id}/cancel", {jobs + job + "/cancel", "", kUnknown}},
      {"POST /api/v1/jobs/{id}/hold", {jobs + job + "/hold", "", kUnknown}},
      {"POST /api/v1/jobs/{id}/approve", {jobs + held + "/approve", "", kUnknown}},
      {"POST /api/v1/jobs/{id}/reject", {jobs + held + "/reject", "", kUnknown}},
      {"POST /api/v1/jobs/{id}/move", {jobs + job + "/move", R"({"queue":"mine"})", kUnknown}},
      {"DELETE /api/v1/jobs/{id}", {jobs + job, "", kUnknown}},
      {"POST /api/v1/jobs/{id}/replay", {jobs + job + "/replay", "", kUnknown}},
      {"GET /api/v1/jobs", {"/api/v1/jobs", "", kHidden}},
      {"POST /api/v1/jobs/search", {jobs + "search", R"({"queue":"yours"})", kHidden}},
      {"GET /api/v1/search/fulltext", {"/api/v1/search/fulltext?q=secret", "", kHidden}},
      {"POST /api/v1/jobs/bulk",
       {jobs + "bulk", R"({"action":"cancel","filter":{"queue":"yours"}})", kHidden}},
      {"GET /api/v1/bulk", {"/api/v1/bulk", "", kHidden}},
      {"POST /api/v1/bulk/{id}/cancel", {"/api/v1/bulk/" + task + "/cancel", "", kUnknown}},
      {"GET /api/v1/bulk/{id}", {"/api/v1/bulk/" + task, "", kUnknown}},
      {"GET /api/v1/bulk/{id}/progress", {"/api/v1/bulk/" + task + "/progress", "", kUnknown}},
      {"GET /api/v1/queues", {"/api/v1/queues", "", kHidden}},
      {"GET /api/v1/queues/{queue}", {"/api/v1/queues/yours", ""}},
      {"GET /api/v1/workers", {"/api/v1/workers", "", kHidden}},
      {"POST /api/v1/queues/{queue}/pause", {"/api/v1/queues/yours/pause", ""}},
      {"POST /api/v1/queues/{queue}/resume", {"/api/v1/queues/yours/resume", ""}},
      {"POST /api/v1/queues/{queue}/drain", {"/api/v1/queues/yours/drain", ""}},
      {"POST /api/v1/queues/{queue}/clear", {"/api/v1/queues/yours/clear", ""}},
      {"DELETE /api/v1/queues/{queue}", {"/api/v1/queues/yours", ""}},
      {"POST /api/v1/queues/{queue}/concurrency",
       {"/api/v1/queues/yours/concurrency", R"({"max":1})"}},
      {"POST /api/v1/queues/{queue}/throttle",
       {"/api/v1/queues/yours/throttle", R"({"rate":1,"window_ms":1000})"}},
      {"DELETE /api/v1/queues/{queue}/throttle", {"/api/v1/queues/yours/throttle", ""}},
      {"GET /api/v1/queues/{queue}/config", {"/api/v1/queues/yours/config", ""}},
      {"PATCH /api/v1/queues/{queue}/config", {"/api/v1/queues/yours/config", "{}"}},
      {"GET /api/v1/cluster/events", {"/api/v1/cluster/events", "", kHidden}},
      {"GET /v1/codeq/topics", {"/v1/codeq/topics", "", kHidden}},
      {"POST /v1/codeq/tasks",
       {"/v1/codeq/tasks", R"({"command":"yours","payload":{}})", kRefused}},
      {"POST /v1/codeq/tasks/batch",
       {"/v1/codeq/tasks/batch", R"({"tasks":[{"command":"yours","payload":{}}]})", kRefused}},
      {"POST /v1/codeq/tasks/claim",
       {"/v1/codeq/tasks/claim", R"({"commands":["yours"]})", kRefused}},
      {"POST /v1/codeq/tasks/claim/batch",
       {"/v1/codeq/tasks/claim/batch", R"({"commands":["yours"],"count":2})", kRefused}},
      {"POST /v1/codeq/tasks/batch/results",
       {"/v1/codeq/tasks/batch/results",
        fmt::format(R"({{"results":[{{"taskId":"{}","status":"COMPLETED"}}]}})", active), kHidden}},
      {"GET /v1/codeq/admin/queues", {"/v1/codeq/admin/queues", "", kHidden}},
      // A stream: see AnEventStreamShowsTheQueuesOfTheKey.
      {"GET /api/v1/events", {"/api/v1/events?types=nonsense", "", kHidden}},
  };
  const std::set<std::string> neutral = {"GET /openapi.json", "GET /api/v1/info",
                                         "GET /api/v1/auth/status"};
  for (const Operation& operation : Operations()) {
    if (operation.permission.empty()) continue;
    if (operation.resource == "none") {
      EXPECT_TRUE(neutral.contains(operation.name())) << operation.name();
      continue;
    }
    // The key has no grant for anything else.
    if (operation.resource != "queue") {
      EXPECT_EQ(Ask(mine, operation.method, TargetOf(operation.path), "{}").status, 403)
          << operation.name();
      continue;
    }
    const auto probe = probes.find(operation.name());
    if (probe == probes.end() && operation.path.starts_with("/v1/codeq/")) {
      // Topics of another name, and messages of another topic.
      std::string target = operation.path;
      for (const auto& [name, value] :
           std::map<std::string, std::string>{{"{topic}", "yours"},
                                              {"{command}", "yours"},
                                              {"{id}", active},
                                              {"{tenant}", "t_test01"},
                                              {"{request}", "req_12345678"}}) {
        if (const size_t at = target.find(name); at != std::string::npos) {
          target.replace(at, name.size(), value);
        }
      }
      const net::HttpResponse refused =
          Ask(mine, operation.method, target, R"({"lease_token":"1","workerId":"w"})");
      EXPECT_GE(refused.status, 400) << operation.name() << " " << refused.body;
      EXPECT_THAT(refused.body, Not(HasSubstr("pearl"))) << operation.name();
      continue;
    }
    ASSERT_NE(probe, probes.end()) << operation.name() << " has no probe";
    const net::HttpResponse response =
        Ask(mine, operation.method, probe->second.target, probe->second.body);
    if (probe->second.outcome == kForbidden) {
      EXPECT_EQ(Refusal(response), "403 FORBIDDEN") << operation.name();
    } else if (probe->second.outcome == kRefused) {
      EXPECT_GE(response.status, 400) << operation.name() << " " << response.body;
      EXPECT_THAT(response.body, Not(HasSubstr("pearl"))) << operation.name();
    } else if (probe->second.outcome == kUnknown) {
      const net::HttpResponse missing =
          Ask(mine, operation.method, WithOtherIds(probe->second.target, ids),
              WithOtherIds(probe->second.body, ids));
      EXPECT_EQ(Refusal(response), "404 NOT_FOUND") << operation.name();
      EXPECT_EQ(missing.status, response.status) << operation.name();
      EXPECT_EQ(missing.body, WithOtherIds(response.body, ids)) << operation.name();
    } else {
      EXPECT_THAT(response.body, AllOf(Not(HasSubstr("pearl")), Not(HasSubstr("yours"))))
          << operation.name();
    }
  }
  // Nothing has happened to what was not its own.
  EXPECT_EQ(AskOk(admin_, "GET", jobs + job).at("state"), job == active ? "active" : "pending");
  EXPECT_EQ(AskOk(admin_, "GET", jobs + held).at("state"), "held");
  EXPECT_EQ(AskOk(admin_, "GET", jobs + active).at("state"), "active");
  EXPECT_EQ(AskOk(admin_, "GET", "/api/v1/queues/yours").at("paused"), false);
  EXPECT_EQ(AskOk(admin_, "GET", "/api/v1/batches/" + batch).at("sealed"), false);
  EXPECT_EQ(AskOk(admin_, "GET", "/api/v1/admin/verify").at("problems").as_array().size(), 0U);
}

TEST_F(AccessTest, AScopedKeyDoesEverythingWithItsOwnQueues) {
  MakeAdmin();
  const std::string mine = MakeKey("mine", R"("role":"operator","queue_scope":"mine,my.*")");
  const std::string id(
      AskOk(mine, "POST", "/api/v1/enqueue", R"({"queue":"my.own"})").at("job_id").as_string());
  EXPECT_EQ(AskOk(mine, "GET", "/api/v1/jobs/" + id).at("queue"), "my.own");
  AskOk(mine, "POST", "/api/v1/jobs/" + id + "/move", R"({"queue":"mine"})");
  EXPECT_EQ(Refusal(Ask(mine, "POST", "/api/v1/jobs/" + id + "/move", R"({"queue":"other"})")),
            "403 FORBIDDEN");
  Enqueue("other");
  EXPECT_EQ(AskOk(mine, "POST", "/api/v1/jobs/search", "{}").at("total"), 1);
  EXPECT_EQ(
      AskOk(mine, "POST", "/api/v1/jobs/bulk", R"({"action":"hold","filter":{}})").at("affected"),
      1);
  const json::value task =
      AskOk(mine, "POST", "/api/v1/jobs/bulk", R"({"action":"approve","filter":{},"async":true})");
  const std::string bulk(task.at("bulk_operation_id").as_string());
  EXPECT_EQ(AskOk(mine, "GET", "/api/v1/bulk/" + bulk).at("total"), 1);
  EXPECT_EQ(Refusal(Ask(mine, "POST", "/api/v1/jobs/bulk",
                        R"({"action":"move","filter":{},"move_to_queue":"other"})")),
            "403 FORBIDDEN");
  // Others see what belongs to all of them.
  EXPECT_EQ(AskOk(admin_, "GET", "/api/v1/bulk/" + bulk).at("total"), 1);
  AskOk(mine, "POST", "/api/v1/queues/mine/pause");
  EXPECT_EQ(AskOk(mine, "GET", "/api/v1/queues").as_array().size(), 2U);
}

TEST_F(AccessTest, GrantsByKindAreKeptShownAndInForce) {
  MakeAdmin();
  const json::value made =
      json::parse(Ask(admin_, "POST", "/api/v1/auth/keys",
                      R"({"name":"both","role":"operator",)"
                      R"("grants":{"queue":["mine","my.*"],"function":["t_abc123/shop/*"]}})")
                      .body);
  const json::value grants =
      json::parse(R"({"function":["t_abc123/shop/*"],"queue":["mine","my.*"]})");
  EXPECT_EQ(made.at("queue_scope"), "mine,my.*");
  EXPECT_EQ(made.at("grants"), grants);
  const std::string both(made.at("key").as_string());
  EXPECT_EQ(AskOk(both, "GET", "/api/v1/auth/status").at("grants"), grants);
  const std::string tenants = "/v1/tenants/t_abc123/namespaces/";
  EXPECT_EQ(Ask(both, "POST", tenants + "shop/functions", R"({"name":"pay"})").status, 201);
  EXPECT_EQ(Ask(both, "POST", tenants + "other/functions", R"({"name":"pay"})").status, 403);
  AskOk(both, "POST", "/api/v1/enqueue", R"({"queue":"my.own"})");
  EXPECT_EQ(Refusal(Ask(both, "POST", "/api/v1/enqueue", R"({"queue":"yours"})")), "403 FORBIDDEN");
  // A kind that is not named is closed, at both doors.
  const std::string one =
      MakeKey("one", R"("role":"operator","grants":{"function":["t_abc123/shop/pay"]})");
  EXPECT_EQ(Refusal(Ask(one, "POST", "/api/v1/enqueue", R"({"queue":"mine"})")), "403 FORBIDDEN");
  EXPECT_EQ(Ask(one, "GET", tenants + "shop/functions/pay").status, 200);
  net::RespClient client = Connect();
  Run(client, {"AUTH", one});
  EXPECT_THAT(Run(client, {"FN.GET", "t_abc123/shop/pay"}), HasSubstr("pay"));
  EXPECT_THAT(Run(client, {"FN.GET", "t_abc123/shop/other"}), HasSubstr("RESOURCE_MISMATCH"));
  EXPECT_THAT(Run(client, {"JOB.ENQUEUE", "mine", "{}"}), HasSubstr("NOPERM"));
  EXPECT_THAT(Run(client, {"GET", "k"}), HasSubstr("NOPERM"));
  const json::value entries = AskOk(admin_, "GET", "/api/v1/audit-logs?path_prefix=/api/v1/auth");
  EXPECT_THAT(json::serialize(entries), HasSubstr("mine,my.*; function t_abc123/shop/*"));
}

TEST_F(AccessTest, WhatAJobLeadsToIsCheckedWhenItIsAdded) {
  MakeAdmin();
  const std::string mine = MakeKey("mine", R"("role":"worker","queue_scope":"mine")");
  const auto refusal = [&](const std::string& members) {
    return Refusal(Ask(mine, "POST", "/api/v1/enqueue", R"({"queue":"mine",)" + members + "}"));
  };
  const std::string steps = R"("steps":[{"queue":"mine"},{"queue":"yours"}])";
  const std::string own = R"("steps":[{"queue":"mine"},{"queue":"mine"}])";
  EXPECT_EQ(refusal(R"("chain":{)" + steps + "}"), "403 FORBIDDEN");
  EXPECT_EQ(refusal(R"("chain":{)" + own + R"(,"on_failure":{"queue":"yours"}})"), "403 FORBIDDEN");
  EXPECT_EQ(refusal(R"("chain":{)" + own + R"(,"on_exit":{"queue":"yours"}})"), "403 FORBIDDEN");
  EXPECT_EQ(refusal(R"("chain_id":"c","chain_step":0,"chain_config":{)" + steps + "}"),
            "403 FORBIDDEN");
  EXPECT_EQ(refusal(R"("depends_on":[")" + Enqueue("yours") + R"("])"), "400 DEPENDENCY_ERROR");
  EXPECT_EQ(Refusal(Ask(mine, "POST", "/api/v1/enqueue/batch",
                        R"({"jobs":[{"queue":"mine"}],"batch":{"callback_queue":"yours"}})")),
            "403 FORBIDDEN");
  Ask(admin_, "POST", "/api/v1/enqueue/batch",
      R"({"jobs":[{"queue":"yours"}],"idempotency_key":"k"})");
  EXPECT_EQ(Refusal(Ask(mine, "POST", "/api/v1/enqueue/batch",
                        R"({"jobs":[{"queue":"yours"}],"idempotency_key":"k"})")),
            "403 FORBIDDEN");
  EXPECT_EQ(
      Ask(mine, "POST", "/api/v1/enqueue", R"({"queue":"mine","chain":{)" + own + "}}").status,
      201);
  // A chain that somebody else made goes on, wherever it leads.
  Ask(admin_, "POST", "/api/v1/queues/mine/clear");
  Enqueue("mine", R"(,"chain":{)" + steps + "}");
  const json::value job = AskOk(mine, "POST", "/api/v1/fetch", R"({"queues":["mine"]})");
  AskOk(mine, "POST", "/api/v1/ack/" + std::string(job.at("job_id").as_string()));
  EXPECT_EQ(AskOk(admin_, "GET", "/api/v1/queues/yours").at("pending"), 3);
}

TEST_F(AccessTest, AnEventStreamShowsTheQueuesOfTheKey) {
  MakeAdmin();
  const std::string mine = MakeKey("mine", R"("role":"readonly","queue_scope":"mine")");
  Enqueue("yours");
  Enqueue("mine");
  const json::value page = AskOk(mine, "GET", "/api/v1/cluster/events");
  ASSERT_EQ(page.at("events").as_array().size(), 1U);
  EXPECT_EQ(page.at("events").at(0).at("queue"), "mine");

  // It ends with the key, before anything that comes later.
  std::string seen;
  std::thread reader([&] {
    net::HttpClient client({"127.0.0.1", server_->http().port});
    const auto stream = client.Get("/api/v1/events?last_event_id=0", {{"X-API-Key", mine}});
    seen = stream.ok() ? stream->body : stream.error().message;
  });
  DeleteKey("mine");
  Enqueue("mine", R"(,"unique_key":"late")");
  reader.join();
  EXPECT_THAT(seen, Not(HasSubstr("yours")));
  EXPECT_THAT(seen, Not(HasSubstr("late")));
}

// --- RESP ---------------------------------------------------------------------------------------

TEST_F(AccessTest, AKeyIsAlsoThePasswordOfItsName) {
  MakeAdmin();
  const std::string worker = MakeKey("w1", R"("role":"worker")");
  net::RespClient client = Connect();
  EXPECT_THAT(Run(client, {"PING"}), StartsWith("NOAUTH"));
  EXPECT_THAT(Run(client, {"AUTH", "anything"}), StartsWith("WRONGPASS"));
  EXPECT_THAT(Run(client, {"AUTH", "default", ""}), StartsWith("WRONGPASS"));
  EXPECT_THAT(Run(client, {"AUTH", "w2", worker}), StartsWith("WRONGPASS"));
  EXPECT_EQ(Run(client, {"AUTH", "w1", worker}), "OK");
  EXPECT_EQ(Run(client, {"AUTH", worker}), "OK");
  EXPECT_EQ(Run(client, {"PING"}), "PONG");
  EXPECT_THAT(Run(client, {"JOB.ENQUEUE", "q", "{}"}), HasSubstr("job_"));
  EXPECT_THAT(Run(client, {"SET", "k", "v"}), StartsWith("NOPERM"));
  EXPECT_THAT(Run(client, {"QUEUE.PAUSE", "q"}), StartsWith("NOPERM"));
  EXPECT_EQ(Run(client, {"AUTH", "root", admin_}), "OK");
  EXPECT_EQ(Run(client, {"SET", "k", "v"}), "OK");
}

TEST_F(AccessTest, RolesHoldAtTheRespDoor) {
  MakeAdmin();
  net::RespClient client = Connect();
  Run(client, {"AUTH", MakeKey("reader", "")});
  EXPECT_EQ(Run(client, {"GET", "k"}), "");
  EXPECT_EQ(Run(client, {"QUEUE.LIST"}), "");
  EXPECT_THAT(Run(client, {"SET", "k", "v"}), StartsWith("NOPERM"));
  EXPECT_THAT(Run(client, {"JOB.ENQUEUE", "q", "{}"}), StartsWith("NOPERM"));
  Run(client, {"AUTH", MakeKey("op", R"("role":"operator")")});
  EXPECT_EQ(Run(client, {"SET", "k", "v"}), "OK");
  EXPECT_EQ(Run(client, {"QUEUE.PAUSE", "q"}), "OK");
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"ACL", "SETUSER", "x", "on"},
        {"ACL", "LIST"},
        {"CONFIG", "GET", "requirepass"},
        {"CONFIG", "SET", "requirepass", "mine"}}) {
    EXPECT_THAT(Run(client, command), StartsWith("NOPERM")) << command[1];
  }
}

TEST_F(AccessTest, TheQueuesOfAKeyHoldInTransactionsAndScripts) {
  MakeAdmin();
  const std::string job = Enqueue("yours");
  net::RespClient client = Connect();
  Run(client, {"AUTH", MakeKey("mine", R"("role":"operator","queue_scope":"mine")")});
  EXPECT_THAT(Run(client, {"JOB.ENQUEUE", "mine", "{}"}), HasSubstr("job_"));
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"JOB.ENQUEUE", "yours", "{}"},
        {"JOB.ENQUEUEM", "yours", "PAYLOADS", "{}"},
        {"JOB.ENQUEUEM", "JOBS", R"({"queue":"yours"})"},
        {"JOB.FETCH", "QUEUES", "yours"},
        {"JOB.BATCHOPEN", "yours"},
        {"QUEUE.GET", "yours"},
        {"QUEUE.PAUSE", "yours"},
        {"QUEUE.CLEAR", "yours"},
        {"QUEUE.DELETE", "yours"},
        {"QUEUE.CONFIG", "yours", "{}"}}) {
    EXPECT_THAT(Run(client, command), StartsWith("FORBIDDEN")) << command[0];
    Run(client, {"MULTI"});
    Run(client, command);
    EXPECT_THAT(Run(client, {"EXEC"}), HasSubstr("FORBIDDEN")) << command[0];
    std::vector<std::string> eval = {"EVAL", "return redis.call(unpack(ARGV))", "0"};
    eval.insert(eval.end(), command.begin(), command.end());
    EXPECT_THAT(Run(client, eval), StartsWith("FORBIDDEN")) << command[0];
  }
  // Of a job it is not told that it exists.
  for (const std::vector<std::string>& command : {std::vector<std::string>{"JOB.GET", job},
                                                  {"JOB.CANCEL", job},
                                                  {"JOB.MOVE", job, "mine"},
                                                  {"JOB.DELETE", job},
                                                  {"JOB.PRIORITY", job, "high"},
                                                  {"JOB.ACKM", job, "0000000000000000"}}) {
    std::vector<std::string> missing = command;
    missing[1] = WithOtherIds(job, {job});
    EXPECT_EQ(WithOtherIds(Run(client, command), {job}), Run(client, missing)) << command[0];
  }
  EXPECT_THAT(Run(client, {"QUEUE.LIST"}), Not(HasSubstr("yours")));
  EXPECT_THAT(Run(client, {"GET", "k"}), StartsWith("NOPERM"));
  EXPECT_THAT(Run(client, {"EVAL", "return redis.call('GET','k')", "0"}),
              HasSubstr("can't run this command"));
  Run(client, {"HELLO", "3"});
  EXPECT_THAT(Run(client, {"JOB.SUBSCRIBE", "QUEUES", "mine", "yours"}), StartsWith("FORBIDDEN"));
  EXPECT_EQ(Run(client, {"JOB.SUBSCRIBE", "QUEUES", "mine"}), "OK");
  EXPECT_EQ(AskOk(admin_, "GET", "/api/v1/jobs/" + job).at("state"), "pending");
}

// --- Keys ---------------------------------------------------------------------------------------

TEST_F(AccessTest, WithoutKeyAndPasswordEverybodyIsAdmin) {
  const json::value status = AskOk("", "GET", "/api/v1/auth/status");
  EXPECT_EQ(status.at("auth_required"), false);
  EXPECT_EQ(status.at("role"), "admin");
  net::RespClient client = Connect();
  EXPECT_EQ(Run(client, {"SET", "k", "v"}), "OK");
  EXPECT_THAT(Run(client, {"AUTH", "x"}), HasSubstr("without any password configured"));
}

TEST_F(AccessTest, AKeyIsShownOnceAndKeptAsItsHash) {
  MakeAdmin();
  EXPECT_EQ(admin_.size(), 3U + 64U);
  const std::string keys = Ask(admin_, "GET", "/api/v1/auth/keys").body;
  EXPECT_THAT(keys, Not(HasSubstr(admin_)));
  const json::value key = json::parse(keys).at(0);
  EXPECT_EQ(key.at("name"), "root");
  EXPECT_EQ(key.at("role"), "admin");
  EXPECT_EQ(key.at("enabled"), true);
  EXPECT_TRUE(key.as_object().contains("last_used_at"));
  EXPECT_EQ(AskOk(admin_, "GET", "/api/v1/auth/status").at("principal"), "root");
}

TEST_F(AccessTest, AGivenKeyIsMadeAndThenChanged) {
  MakeAdmin();
  const std::string own = "0123456789abcdef-own";
  const std::string members = R"("key":")" + own + R"(")";
  EXPECT_EQ(MakeKey("a", members), own);
  EXPECT_EQ(Ask(own, "GET", "/api/v1/queues").status, 200);
  EXPECT_EQ(
      Ask(admin_, "POST", "/api/v1/auth/keys", R"({"name":"a","enabled":false,)" + members + "}")
          .status,
      200);
  EXPECT_EQ(Ask(own, "GET", "/api/v1/queues").status, 401);
  EXPECT_EQ(AskOk(admin_, "GET", "/api/v1/auth/keys").as_array().size(), 2U);
}

TEST_F(AccessTest, ADeletedKeyEndsWhatWasBegunWithIt) {
  MakeAdmin();
  const std::string worker = MakeKey("w", R"("role":"worker")");
  net::RespClient client = Connect();
  ASSERT_EQ(Run(client, {"AUTH", worker}), "OK");
  EXPECT_EQ(DeleteKey("w").status, 200);
  EXPECT_EQ(Refusal(Ask(worker, "POST", "/api/v1/enqueue", R"({"queue":"q"})")),
            "401 UNAUTHORIZED");
  EXPECT_THAT(Run(client, {"PING"}), ::testing::AnyOf(StartsWith("gone"), StartsWith("NOPERM")));
  EXPECT_EQ(Refusal(DeleteKey("w")), "404 NOT_FOUND");
}

TEST_F(AccessTest, NobodyIsLockedOut) {
  const auto post = [&](const std::string& body) {
    return Refusal(Ask(admin_, "POST", "/api/v1/auth/keys", body));
  };
  EXPECT_EQ(post(R"({"name":"w","role":"worker"})"), "409 CONFLICT");
  EXPECT_EQ(post(R"({"name":"a","role":"admin","queue_scope":"q"})"), "409 CONFLICT");
  EXPECT_EQ(AskOk("", "GET", "/api/v1/auth/keys").as_array().size(), 0U);
  // One that lets nobody in keeps nobody out.
  EXPECT_EQ(Ask("", "POST", "/api/v1/auth/keys", R"({"name":"w","enabled":false})").status, 201);
  MakeAdmin();
  MakeKey("w", R"("role":"worker")");
  EXPECT_EQ(Refusal(DeleteKey("root")), "409 CONFLICT");
}

TEST_F(AccessTest, WhatMakesNoSenseIsRefusedByName) {
  for (const auto& [body, word] : std::map<std::string, std::string>{
           {R"({})", "name"},
           {R"({"name":""})", "name"},
           {R"({"name":"a b"})", "name"},
           {R"({"name":"default"})", "default"},
           {R"({"name":"a","role":"king"})", "role"},
           {R"({"name":"a","key":"short"})", "key"},
           {R"({"name":"a","queue_scope":"a*b"})", "queue_scope"},
           {R"({"name":"a","grants":{}})", "grants"},
           {R"({"name":"a","grants":{"planet":["mars"]}})", "unknown kind 'planet'"},
           {R"({"name":"a","grants":{"function":[]}})", "grants.function"},
           {R"({"name":"a","grants":{"function":["a,b"]}})", "grants.function"},
           {R"({"name":"a","grants":{"function":["*a"]}})", "grants.function"},
           {R"({"name":"a","grants":{"function":"a"}})", "grants.function"},
           {R"({"name":"a","queue_scope":"q","grants":{"queue":["q"]}})", "give queues once"},
           {R"({"name":"a","expires_at":"tomorrow"})", "expires_at"},
           {R"({"name":"a","expires_at":"2001-01-01T00:00:00Z"})", "expires_at"},
           {R"({"name":"a","namespace":"n"})", "namespace"}}) {
    const net::HttpResponse response = Ask("", "POST", "/api/v1/auth/keys", body);
    EXPECT_EQ(Refusal(response), "400 VALIDATION_ERROR") << body;
    EXPECT_THAT(response.body, HasSubstr(word)) << body;
  }
  EXPECT_EQ(Refusal(Ask("", "GET", "/api/v1/audit-logs?limit=1001")), "400 VALIDATION_ERROR");
  EXPECT_EQ(Refusal(Ask("", "GET", "/api/v1/audit-logs?since=x")), "400 VALIDATION_ERROR");
  EXPECT_EQ(Refusal(Ask("", "GET", "/api/v1/namespaces")), "404 NOT_FOUND");
}

TEST_F(AccessTest, KeysOutliveTheServerAndCountWhereItListens) {
  StartServer("", "0.0.0.0:0");
  EXPECT_THAT(failure_, HasSubstr("can be reached from other machines"));
  StartServer();
  MakeAdmin();
  StartServer("", "0.0.0.0:0");
  EXPECT_EQ(failure_, "");
  EXPECT_EQ(Ask(admin_, "GET", "/api/v1/queues").status, 200);
  EXPECT_EQ(Ask("", "GET", "/api/v1/queues").status, 401);
}

TEST_F(AccessTest, ThePasswordIsFullAdminBesideTheKeys) {
  StartServer("sesame");
  admin_ = "sesame";
  const std::string worker = MakeKey("w", R"("role":"worker")");
  EXPECT_EQ(AskOk("sesame", "GET", "/api/v1/auth/status").at("role"), "admin");
  EXPECT_EQ(AskOk(worker, "GET", "/api/v1/auth/status").at("role"), "worker");
  net::RespClient client = Connect();
  EXPECT_EQ(Run(client, {"AUTH", "sesame"}), "OK");
  EXPECT_EQ(Run(client, {"SET", "k", "v"}), "OK");
  EXPECT_EQ(Run(client, {"AUTH", worker}), "OK");
  EXPECT_THAT(Run(client, {"SET", "k", "v"}), StartsWith("NOPERM"));
}

// --- Backups, and what the server says of itself -------------------------------------------------

TEST_F(AccessTest, JobsAreBackedUpAndRestoredByAdminsAlone) {
  MakeAdmin();
  const std::string op = MakeKey("op", R"("role":"operator")");
  const std::string job = Enqueue("q", R"(,"payload":{ "a" : 1.0 })");
  AskOk(admin_, "POST", "/api/v1/webhooks", R"({"url":"http://127.0.0.1:9/","secret":"pearl"})");
  const std::string backup = "/api/v1/admin/backup";
  const std::string restore = "/api/v1/admin/restore";
  EXPECT_EQ(Refusal(Ask(op, "GET", backup)), "403 FORBIDDEN");
  EXPECT_EQ(Refusal(Ask(op, "POST", restore, "{}")), "403 FORBIDDEN");
  const net::HttpResponse dump = Ask(admin_, "GET", backup);
  EXPECT_EQ(dump.status, 200);
  EXPECT_EQ(dump.headers.Get("Content-Type"), "application/x-ndjson");
  EXPECT_THAT(dump.body, AllOf(HasSubstr("pearl"), HasSubstr(R"({ \"a\" : 1.0 })")));
  EXPECT_EQ(Refusal(Ask(admin_, "POST", restore, dump.body)), "409 CONFLICT");

  // Into another server.
  server_.reset();
  std::filesystem::remove_all(directory_ / "data");
  admin_.clear();
  StartServer();
  EXPECT_EQ(Refusal(Ask("", "POST", restore, "{}")), "400 VALIDATION_ERROR");
  EXPECT_EQ(Refusal(Ask("", "POST", restore + "?line=0", dump.body)), "400 VALIDATION_ERROR");
  const size_t half = dump.body.find('\n') + 1;
  const json::value taken = AskOk("", "POST", restore, dump.body.substr(0, half));
  EXPECT_EQ(taken, json::parse(R"({"status":"taken","lines":1})"));
  const json::value restored = AskOk("", "POST", restore + "?line=2", dump.body.substr(half));
  EXPECT_EQ(restored.at("status"), "restored");
  EXPECT_EQ(restored.at("jobs"), 1);
  EXPECT_EQ(restored.at("verify").at("sound"), true);
  EXPECT_THAT(Ask("", "GET", "/api/v1/jobs/" + job).body, HasSubstr(R"("payload":{ "a" : 1.0 })"));
  // The search view has heard of it.
  EXPECT_EQ(AskOk("", "POST", "/api/v1/jobs/search", R"({"queue":"q"})").at("total"), 1);
  const json::value log = AskOk("", "GET", "/api/v1/audit-logs?path_prefix=" + restore);
  EXPECT_EQ(log.at("total"), 3);  // the two that were refused are counted
}

TEST_F(AccessTest, TheClusterIsThisServerAndWhatItKnows) {
  Enqueue("q");
  AskOk("", "POST", "/api/v1/jobs/search", "{}");  // the view has all of it
  const json::value status = AskOk("", "GET", "/api/v1/cluster/status");
  EXPECT_EQ(status.at("mode"), "single");
  EXPECT_EQ(status.at("status"), "ready");
  EXPECT_EQ(status.at("durability"), "os");
  EXPECT_EQ(status.at("events").at("newest"), status.at("sqlite_mirror").at("applied"));
  EXPECT_EQ(status.at("sqlite_mirror").at("lag"), 0);
  EXPECT_EQ(status.at("nodes").at(0).at("id"), status.at("node_id"));
  net::RespClient client = Connect();
  EXPECT_THAT(Run(client, {"INFO", "server"}),
              HasSubstr("run_id:" + std::string(status.at("node_id").as_string())));
  EXPECT_THAT(Ask("", "GET", "/api/v1/metrics").body, HasSubstr("cairn_jobs_view_event"));
}

TEST_F(AccessTest, AnswersAreAsTheDocumentSays) {
  MakeAdmin();
  const json::value document = AskOk(admin_, "GET", "/openapi.json");
  const auto fault = [&](const std::string& path, const std::string& method,
                         const net::HttpResponse& response) {
    const json::value schema = document.at("paths")
                                   .at(path)
                                   .at(method)
                                   .at("responses")
                                   .at(fmt::to_string(response.status))
                                   .at("content")
                                   .at("application/json")
                                   .at("schema");
    const Result<doors::JsonSchema> parsed = doors::JsonSchema::Parse(json::serialize(schema));
    EXPECT_TRUE(parsed.ok());
    return parsed->FindFault(json::parse(response.body)).value_or("");
  };
  const std::string keys = "/api/v1/auth/keys";
  const std::string body =
      R"({"name":"n","key":"0123456789abcdef","expires_at":"2100-01-01T00:00:00Z"})";
  EXPECT_EQ(fault(keys, "post", Ask(admin_, "POST", keys, body)), "");
  EXPECT_EQ(fault(keys, "post", Ask(admin_, "POST", keys, body)), "");
  EXPECT_EQ(fault(keys, "get", Ask(admin_, "GET", keys)), "");
  EXPECT_EQ(fault(keys, "delete", Ask(admin_, "DELETE", keys, R"({"key_hash":"x"})")), "");
  EXPECT_EQ(fault("/api/v1/auth/status", "get", Ask(admin_, "GET", "/api/v1/auth/status")), "");
  EXPECT_EQ(fault("/api/v1/audit-logs", "get", Ask(admin_, "GET", "/api/v1/audit-logs")), "");
  const std::string cluster = "/api/v1/cluster/status";
  EXPECT_EQ(fault(cluster, "get", Ask(admin_, "GET", cluster)), "");
  const std::string restore = "/api/v1/admin/restore";
  const std::string dump = Ask(admin_, "GET", "/api/v1/admin/backup").body;
  EXPECT_EQ(fault(restore, "post", Ask(admin_, "POST", restore, "[]")), "");
  const size_t half = dump.find('\n') + 1;
  EXPECT_EQ(fault(restore, "post", Ask(admin_, "POST", restore, dump.substr(0, half))), "");
  EXPECT_EQ(fault(restore, "post", Ask(admin_, "POST", restore + "?line=9", dump)), "");
  EXPECT_EQ(fault(restore, "post", Ask(admin_, "POST", restore, dump)), "");
}

}  // namespace
}  // namespace cairn::app
