// codeQ's own API, as its producers and workers use it.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <thread>

#include "functions/testing/codeq_server.h"
#include "tests/support/await.h"

namespace cairn::functions {
namespace {

namespace json = boost::json;
using testing::CodeqServer;
using testing::RequestMessage;

class CodeqTasksTest : public ::testing::Test {
 protected:
  ~CodeqTasksTest() override { server_.ExpectSound(); }

  json::value Create(const std::string& more = "", const std::string& command = "RENDER") {
    return server_.Json(202, "POST", "/v1/codeq/tasks",
                        fmt::format(R"({{"command":"{}","payload":{{"n":1}}{}}})", command, more));
  }
  json::value Claim(const std::string& worker = "w1", const std::string& more = "") {
    return server_.Json(200, "POST", "/v1/codeq/tasks/claim", ClaimBody(worker, more));
  }
  bool NothingToClaim() {
    return server_.Ask("POST", "/v1/codeq/tasks/claim", ClaimBody("w1", "")).status == 204;
  }
  static std::string ClaimBody(const std::string& worker, const std::string& more) {
    return fmt::format(R"({{"commands":["RENDER"],"workerId":"{}"{}}})", worker, more);
  }
  // "200 {…}" of what a worker does with its task.
  std::string Do(const json::value& task, const std::string& what, const std::string& body = "{}",
                 const std::string& worker = "w1") {
    std::string with_worker = fmt::format(R"({{"workerId":"{}")", worker);
    with_worker += body == "{}" ? "}" : "," + body.substr(1);
    const net::HttpResponse response = server_.Ask(
        "POST", fmt::format("/v1/codeq/tasks/{}/{}", Text(task, "id"), what), with_worker);
    return fmt::format("{} {}", response.status, response.body);
  }
  json::value Get(const json::value& task) {
    return server_.Json(200, "GET", "/v1/codeq/tasks/" + Text(task, "id"));
  }
  static std::string Text(const json::value& value, std::string_view name) {
    return std::string(value.at(name).as_string());
  }

  CodeqServer server_;
};

TEST_F(CodeqTasksTest, AWorkerTakesATaskAndEndsIt) {
  const json::value created = Create(R"(,"priority":5,"maxAttempts":8)");
  EXPECT_EQ(Text(created, "command"), "RENDER");
  EXPECT_EQ(Text(created, "payload"), R"({"n":1})") << "as text, as it was given";
  EXPECT_EQ(created.at("priority"), 5);
  EXPECT_EQ(created.at("maxAttempts"), 8);
  EXPECT_EQ(Text(created, "status"), "PENDING");
  EXPECT_EQ(Text(created, "createdAt"), "2023-11-14T22:13:20Z");

  const json::value claimed = Claim();
  EXPECT_EQ(claimed.at("id"), created.at("id"));
  EXPECT_EQ(Text(claimed, "status"), "IN_PROGRESS");
  EXPECT_EQ(Text(claimed, "workerId"), "w1");
  EXPECT_EQ(Text(claimed, "leaseUntil"), "2023-11-14T22:18:20Z") << "300 seconds";
  EXPECT_EQ(claimed.at("attempts"), 1);
  EXPECT_EQ(Text(claimed, "payload"), R"({"n":1})");

  EXPECT_EQ(Do(claimed, "heartbeat", R"({"extendSeconds":600})"), R"(200 {"ok":true})");
  EXPECT_EQ(Text(Get(claimed), "leaseUntil"), "2023-11-14T22:23:20Z");
  EXPECT_EQ(Do(claimed, "result",
               R"({"status":"COMPLETED","result":{"ok":true},"artifacts":[{"name":"a"}]})"),
            fmt::format(R"(200 {{"taskId":"{}","status":"COMPLETED","result":{{"ok":true}},)"
                        R"("artifacts":[{{"name":"a"}}],"completedAt":"2023-11-14T22:13:20Z"}})",
                        Text(claimed, "id")));
  const json::value result =
      server_.Json(200, "GET", fmt::format("/v1/codeq/tasks/{}/result", Text(claimed, "id")));
  EXPECT_EQ(Text(result.at("task"), "status"), "COMPLETED");
  EXPECT_EQ(json::serialize(result.at("result").at("result")), R"({"ok":true})");
}

TEST_F(CodeqTasksTest, ATaskThatHasFailedIsNotTriedAgain) {
  Create();
  const json::value claimed = Claim();
  EXPECT_EQ(Do(claimed, "result", R"({"status":"FAILED","error":"no such file"})").substr(0, 3),
            "200");
  EXPECT_TRUE(NothingToClaim());
  const json::value task = Get(claimed);
  EXPECT_EQ(Text(task, "status"), "FAILED");
  EXPECT_EQ(Text(task, "error"), "no such file");
}

TEST_F(CodeqTasksTest, ATaskIsItsWorkersOwn) {
  Create();
  const json::value claimed = Claim();
  for (const char* what : {"heartbeat", "abandon", "nack"}) {
    EXPECT_EQ(Do(claimed, what, "{}", "w2").substr(0, 3), "403") << what;
  }
  EXPECT_EQ(Do(claimed, "result", R"({"status":"COMPLETED","result":{}})", "w2").substr(0, 3),
            "403");
  EXPECT_EQ(Do(claimed, "result", R"({"status":"COMPLETED","result":{}})").substr(0, 3), "200");
  for (const char* what : {"heartbeat", "abandon", "nack"}) {
    EXPECT_EQ(Do(claimed, what).substr(0, 3), "409") << what;
  }
  EXPECT_EQ(server_.Ask("GET", "/v1/codeq/tasks/nosuch").status, 404);
}

TEST_F(CodeqTasksTest, ALeaseTokenTellsTwoWorkersOfOneNameApart) {
  Create();
  const json::value first = Claim();
  server_.Advance(300'000);
  Claim();
  const std::string late = fmt::format(R"({{"leaseToken":"{}"}})", Text(first, "leaseToken"));
  EXPECT_EQ(Do(first, "heartbeat", late).substr(0, 3), "403");
}

TEST_F(CodeqTasksTest, AnAbandonedTaskIsReadyAtOnceAndItsAttemptUncounted) {
  Create();
  EXPECT_EQ(Do(Claim(), "abandon"), R"(200 {"status":"requeued"})");
  EXPECT_EQ(Claim().at("attempts"), 1);
}

TEST_F(CodeqTasksTest, ATaskGivenBackWaitsAsLongAsItsWorkerSays) {
  Create();
  EXPECT_EQ(Do(Claim(), "nack", R"({"delaySeconds":30,"reason":"busy"})"),
            R"(200 {"status":"requeued","delaySeconds":30})");
  EXPECT_TRUE(NothingToClaim());
  server_.Advance(30'000);
  EXPECT_EQ(Claim().at("attempts"), 2);
}

TEST_F(CodeqTasksTest, ABackoffGrowsAndIsCapped) {
  Create(R"(,"backoffPolicy":"exponential","maxAttempts":20)");
  for (const int64_t expected : {5, 10, 20, 40, 80, 160, 320, 640, 900, 900}) {
    const std::string answer = Do(Claim(), "nack");
    EXPECT_EQ(answer, fmt::format(R"(200 {{"status":"requeued","delaySeconds":{}}})", expected));
    server_.Advance(expected * 1'000);
  }
}

TEST_F(CodeqTasksTest, MaxAttemptsIsTheNumberOfDeliveries) {
  Create(R"(,"maxAttempts":3)");
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(Do(Claim(), "nack", R"({"delaySeconds":0})"),
              R"(200 {"status":"requeued","delaySeconds":0})");
  }
  EXPECT_EQ(Do(Claim(), "nack", R"({"delaySeconds":0})"),
            R"(200 {"status":"dlq","delaySeconds":0})");
  EXPECT_TRUE(NothingToClaim());
  EXPECT_EQ(server_.Json(200, "GET", "/v1/codeq/admin/queues/RENDER").at("dlq"), 1);
}

TEST_F(CodeqTasksTest, HigherPrioritiesGoFirst) {
  for (const int priority : {0, 5, 9}) Create(fmt::format(R"(,"priority":{})", priority));
  EXPECT_EQ(Claim().at("priority"), 9);
  EXPECT_EQ(Claim().at("priority"), 5);
  EXPECT_EQ(Claim().at("priority"), 0);
}

TEST_F(CodeqTasksTest, ATaskIsNotClaimedBeforeItsTime) {
  Create(R"(,"delaySeconds":10)");
  Create(R"(,"runAt":"2023-11-14T22:13:40Z")");
  Create(R"(,"runAt":"2000-01-01T00:00:00Z","delaySeconds":99)");
  Claim();
  EXPECT_TRUE(NothingToClaim());
  EXPECT_EQ(server_.Json(200, "GET", "/v1/codeq/admin/queues/RENDER").at("delayed"), 2);
  server_.Advance(10'000);
  Claim();
  EXPECT_TRUE(NothingToClaim());
  server_.Advance(10'000);
  Claim();
}

TEST_F(CodeqTasksTest, TheSameIdempotencyKeyIsTheSameTaskOfATenant) {
  const json::value first = Create(R"(,"idempotencyKey":"k")");
  EXPECT_EQ(Create(R"(,"idempotencyKey":"k")").at("id"), first.at("id"));
  const json::value foreign = server_.Json(
      202, "POST", "/v1/codeq/tasks", R"({"command":"RENDER","payload":{},"idempotencyKey":"k"})",
      {{"X-Codeq-Tenant", "t_other123"}});
  EXPECT_NE(foreign.at("id"), first.at("id"));
  EXPECT_EQ(Text(foreign, "tenantId"), "t_other123");
}

TEST_F(CodeqTasksTest, BatchesAnswerEachItem) {
  const json::value created =
      server_.Json(200, "POST", "/v1/codeq/tasks/batch",
                   R"({"tasks":[{"command":"RENDER","payload":{"n":1}},{"command":"RENDER"},)"
                   R"({"command":"RENDER","payload":[2]}]})");
  const json::array& results = created.at("results").as_array();
  ASSERT_EQ(results.size(), 3U);
  EXPECT_EQ(Text(results[1], "error"), "payload is missing");
  EXPECT_EQ(Text(results[2].at("task"), "payload"), "[2]");

  const json::value claimed =
      server_.Json(200, "POST", "/v1/codeq/tasks/claim/batch", ClaimBody("w1", R"(,"count":10)"));
  const json::array& tasks = claimed.at("tasks").as_array();
  ASSERT_EQ(tasks.size(), 2U);
  EXPECT_EQ(server_.Ask("POST", "/v1/codeq/tasks/claim/batch", ClaimBody("w1", "")).status, 204);

  const json::value ended = server_.Json(
      200, "POST", "/v1/codeq/tasks/batch/results",
      fmt::format(R"({{"results":[{{"taskId":"{}","workerId":"w1","status":"COMPLETED",)"
                  R"("result":{{}}}},{{"taskId":"nosuch","status":"FAILED","error":"e"}},)"
                  R"({{"taskId":"{}","workerId":"w1","status":"FAILED","error":"e"}}]}})",
                  Text(tasks[0], "id"), Text(tasks[1], "id")));
  const json::array& ends = ended.at("results").as_array();
  ASSERT_EQ(ends.size(), 3U);
  EXPECT_EQ(Text(ends[0].at("result"), "status"), "COMPLETED");
  EXPECT_EQ(Text(ends[1], "taskId"), "nosuch");
  EXPECT_TRUE(ends[1].as_object().contains("error"));
  EXPECT_EQ(Text(ends[2].at("result"), "status"), "FAILED");
}

TEST_F(CodeqTasksTest, WhoWaitsForAResultIsWokenByItsCommit) {
  Create();
  const json::value claimed = Claim();
  const std::string path = fmt::format("/v1/codeq/tasks/{}/result", Text(claimed, "id"));
  EXPECT_EQ(server_.Ask("GET", path).body, R"({"error":"the task has no result yet"})");
  net::HttpClient client = server_.NewClient();
  net::HttpResponse answer;
  std::thread waiting([&] {
    const auto response = client.Request("GET", path + "?waitSeconds=60", "", {});
    if (response.ok()) answer = *response;
  });
  Do(claimed, "result", R"({"status":"COMPLETED","result":{"ok":true}})");
  waiting.join();
  EXPECT_EQ(answer.status, 200) << answer.body;
}

TEST_F(CodeqTasksTest, AClaimThatWaitsIsWokenByATask) {
  net::HttpClient client = server_.NewClient();
  net::HttpResponse answer;
  std::atomic<bool> answered{false};
  std::thread waiting([&] {
    const auto response = client.Request("POST", "/v1/codeq/tasks/claim",
                                         ClaimBody("w1", R"(,"waitSeconds":30)"), {});
    if (response.ok()) answer = *response;
    answered = true;
  });
  cairn::testing::Await("a claim in line, or its answer",
                        [&] { return server_.store().waiters().count() != 0 || answered; });
  Create();
  waiting.join();
  EXPECT_EQ(answer.status, 200) << answer.body;
}

TEST_F(CodeqTasksTest, ATaskOfAPlatformTopicIsItsMessage) {
  server_.Json(202, "POST", "/v1/codeq/tasks",
               fmt::format(R"({{"command":"cs.invoke","payload":{}}})", RequestMessage(1)));
  const json::value task =
      server_.Json(200, "POST", "/v1/codeq/tasks/claim", R"({"commands":["cs.invoke"]})");
  EXPECT_EQ(json::parse(Text(task, "payload")), json::parse(RequestMessage(1)));
  const net::HttpResponse refused = server_.Ask(
      "POST", "/v1/codeq/tasks", R"({"command":"cs.invoke","payload":{"not":"an envelope"}})");
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(Text(json::parse(refused.body), "error").substr(0, 6), "schema");
  EXPECT_EQ(server_.Json(200, "GET", "/v1/codeq/dlq/cs.invoke").at("letters").as_array().size(),
            1U);
}

TEST_F(CodeqTasksTest, WhatIsWrongIsNamedInCodeqsForm) {
  const auto error = [&](const std::string& body) {
    const net::HttpResponse response = server_.Ask("POST", "/v1/codeq/tasks", body);
    return fmt::format("{} {}", response.status, response.body);
  };
  EXPECT_EQ(error(R"({"payload":{}})"), R"(400 {"error":"command is missing"})");
  EXPECT_EQ(error(R"({"command":"A","payload":{},"priority":10})").substr(0, 23),
            R"(400 {"error":"priority )");
  EXPECT_EQ(error(R"({"command":"A","payload":{},"runAt":"soon"})").substr(0, 20),
            R"(400 {"error":"runAt )");
  EXPECT_EQ(error(R"({"command":"A","payload":{},"webhook":"http://a/"})").substr(0, 22),
            R"(400 {"error":"webhook )");
  EXPECT_EQ(error("{").substr(0, 14), R"(400 {"error":")");
  EXPECT_EQ(server_.Ask("POST", "/v1/codeq/tasks/claim").status, 204) << "of all commands";
  EXPECT_EQ(server_.Ask("GET", "/v1/codeq/tasks/a/b/c").body.substr(0, 10), R"({"error":")");
}

}  // namespace
}  // namespace cairn::functions
