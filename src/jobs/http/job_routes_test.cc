// One job and one queue over HTTP: looking, waiting, changing.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <string>
#include <thread>

#include "jobs/testing/route_server.h"
#include "tests/support/await.h"

namespace cairn::jobs {
namespace {

namespace json = boost::json;

class JobRoutesTest : public ::testing::Test {
 protected:
  ~JobRoutesTest() override { server_.ExpectSound(); }

  static std::string Text(const json::value& object, std::string_view name) {
    return std::string(object.at(name).as_string());
  }
  std::string Act(const std::string& id, const std::string& action, const std::string& body = "") {
    const net::HttpResponse response = server_.Post("/jobs/" + id + "/" + action, body);
    return response.status == 200 ? Text(json::parse(response.body), "status")
                                  : server_.Refusal(response);
  }
  json::value Queue(const std::string& name) { return server_.GetOk("/queues/" + name); }

  testing::RouteServer server_;
};

TEST_F(JobRoutesTest, AJobIsHeldApprovedRejectedAndRetried) {
  const std::string id = server_.Enqueue("q");
  EXPECT_EQ(Act(id, "hold", R"({"reason":"too odd"})"), "held");
  EXPECT_EQ(Text(server_.GetOk("/jobs/" + id), "hold_reason"), "too odd");
  EXPECT_TRUE(server_.Fetch("q").is_null());
  EXPECT_EQ(Act(id, "approve"), "pending");
  EXPECT_EQ(Act(id, "approve"), "400 APPROVE_ERROR");
  EXPECT_EQ(Act(id, "reject"), "400 REJECT_ERROR");
  EXPECT_EQ(Act(id, "hold"), "held");
  EXPECT_EQ(Act(id, "reject"), "dead");
  EXPECT_EQ(Act(id, "cancel"), "400 CANCEL_ERROR");
  EXPECT_EQ(Act(id, "retry"), "retried");
  EXPECT_EQ(Act(id, "retry"), "400 RETRY_ERROR");
  EXPECT_EQ(Act(id, "cancel"), "cancelled");
  EXPECT_EQ(Act("job_none", "cancel"), "404 NOT_FOUND");
  EXPECT_EQ(Act(id, "cancel", R"({"why":"x"})"), "400 VALIDATION_ERROR");
}

TEST_F(JobRoutesTest, AJobIsMovedReplayedAndDeleted) {
  const std::string id = server_.Enqueue("q", R"("payload":{"n":1})");
  EXPECT_EQ(Act(id, "move", R"({"queue":"other"})"), "moved");
  EXPECT_EQ(Act(id, "move"), "400 PARSE_ERROR");
  EXPECT_EQ(Act(id, "move", "{}"), "400 VALIDATION_ERROR");
  EXPECT_EQ(Text(server_.Fetch("other"), "job_id"), id);
  server_.PostOk("/ack/" + id);
  const net::HttpResponse replayed = server_.Post("/jobs/" + id + "/replay", R"({"from":1})");
  EXPECT_EQ(replayed.status, 201);
  const std::string again = Text(json::parse(replayed.body), "job_id");
  EXPECT_EQ(json::serialize(server_.GetOk("/jobs/" + again).at("payload")), R"({"n":1})");
  EXPECT_EQ(Text(json::parse(server_.Delete("/jobs/" + id).body), "status"), "deleted");
  EXPECT_EQ(server_.Refusal(server_.Get("/jobs/" + id)), "404 NOT_FOUND");
  EXPECT_EQ(server_.Refusal(server_.Delete("/jobs/" + id)), "404 NOT_FOUND");
}

TEST_F(JobRoutesTest, SeveralJobsAreLookedAtTogether) {
  const std::string a = server_.Enqueue("q");
  const std::string b = server_.Enqueue("q");
  const json::value answer = server_.PostOk(
      "/jobs/bulk-get", fmt::format(R"({{"job_ids":["{}","job_none","{}"]}})", b, a));
  ASSERT_EQ(answer.at("jobs").as_array().size(), 2U);
  EXPECT_EQ(Text(answer.at("jobs").at(0), "id"), b);
  EXPECT_EQ(Text(answer.at("jobs").at(1), "id"), a);
  EXPECT_EQ(server_.Refusal(server_.Post("/jobs/bulk-get", "{}")), "400 VALIDATION_ERROR");
}

TEST_F(JobRoutesTest, AnEndIsWaitedFor) {
  const std::string id = server_.Enqueue("q");
  EXPECT_EQ(server_.Get("/jobs/" + id + "/wait?timeout=0").status, 202);
  std::string body;
  std::atomic<bool> asked = false;
  std::thread waiting([&] {
    net::HttpClient client = server_.NewClient();
    asked = true;
    body = client.Get("/api/v1/jobs/" + id + "/wait?timeout=60")->body;
  });
  cairn::testing::Await("the other client", [&] { return asked.load(); });
  const json::value job = server_.Fetch("q");
  server_.PostOk("/ack/" + id, fmt::format(R"({{"lease_token":"{}","result":"done"}})",
                                           Text(job, "lease_token")));
  waiting.join();
  EXPECT_EQ(Text(json::parse(body), "state"), "completed");
  EXPECT_EQ(Text(json::parse(body), "result"), "done");
  EXPECT_EQ(server_.Get("/jobs/" + id + "/wait").status, 200);
  EXPECT_EQ(server_.Refusal(server_.Get("/jobs/job_none/wait")), "404 NOT_FOUND");
  EXPECT_EQ(server_.Refusal(server_.Get("/jobs/" + id + "/wait?timeout=61")),
            "400 VALIDATION_ERROR");
}

TEST_F(JobRoutesTest, WhoWaitsGetsTheResultOfAJobThatIsNotKept) {
  server_.Ask("PATCH", "/api/v1/queues/q/config", R"({"retention_ms":0})");
  net::HttpResponse answer{.status = 0};
  std::string id;
  // One that asks too late finds nothing to wait for; then once more.
  for (int tries = 0; tries < 100 && answer.status != 200; ++tries) {
    id = server_.Enqueue("q");
    const json::value job = server_.Fetch("q");
    std::thread waiting([&] {
      net::HttpClient client = server_.NewClient();
      answer = *client.Get("/api/v1/jobs/" + id + "/wait?timeout=60");
    });
    for (int i = 0; i <= tries; ++i) server_.GetOk("/jobs/" + id);
    server_.PostOk("/ack/" + id, fmt::format(R"({{"lease_token":"{}","result":"done"}})",
                                             Text(job, "lease_token")));
    waiting.join();
  }
  const json::value ended = json::parse(answer.body);
  EXPECT_EQ(Text(ended, "id"), id);
  EXPECT_EQ(Text(ended, "state"), "completed");
  EXPECT_EQ(Text(ended, "result"), "done");
  EXPECT_EQ(server_.Refusal(server_.Get("/jobs/" + id + "/wait")), "404 NOT_FOUND");
}

TEST_F(JobRoutesTest, AQueueIsPausedLimitedAndConfigured) {
  server_.Enqueue("q");
  server_.Enqueue("q");
  EXPECT_EQ(Text(server_.PostOk("/queues/q/pause"), "status"), "paused");
  EXPECT_TRUE(Queue("q").at("paused").as_bool());
  EXPECT_TRUE(server_.Fetch("q").is_null());
  EXPECT_EQ(Text(server_.PostOk("/queues/q/resume"), "status"), "resumed");
  server_.PostOk("/queues/q/concurrency", R"({"max":1})");
  EXPECT_FALSE(server_.Fetch("q").is_null());
  EXPECT_TRUE(server_.Fetch("q").is_null());
  EXPECT_EQ(Queue("q").at("max_concurrency").as_int64(), 1);
  server_.PostOk("/queues/q/concurrency", R"({"max":0})");
  server_.PostOk("/queues/q/throttle", R"({"rate":1,"window_ms":60000})");
  EXPECT_EQ(Queue("q").at("rate_limit").as_int64(), 1);
  EXPECT_EQ(Text(json::parse(server_.Delete("/queues/q/throttle").body), "status"), "removed");
  EXPECT_FALSE(server_.Fetch("q").is_null());
  const net::HttpResponse patched =
      server_.Ask("PATCH", "/api/v1/queues/q/config", R"({"max_retries":9,"retention_ms":1000})");
  EXPECT_EQ(json::parse(patched.body).at("max_retries").as_int64(), 9);
  EXPECT_EQ(server_.GetOk("/queues/q/config"), json::parse(patched.body));
  EXPECT_EQ(server_.Refusal(server_.Get("/queues/none/config")), "404 NOT_FOUND");
  EXPECT_EQ(server_.GetOk("/jobs/" + server_.Enqueue("q")).at("max_retries").as_int64(), 9);
  EXPECT_EQ(server_.Refusal(server_.Ask("PATCH", "/api/v1/queues/q/config", R"({"colour":1})")),
            "400 VALIDATION_ERROR");
  EXPECT_EQ(server_.Refusal(server_.Post("/queues/q/throttle", R"({"rate":0,"window_ms":1})")),
            "400 VALIDATION_ERROR");
  EXPECT_EQ(server_.Refusal(server_.Get("/queues/none")), "404 NOT_FOUND");
}

TEST_F(JobRoutesTest, ADrainWaitsUntilNothingRuns) {
  const std::string id = server_.Enqueue("q");
  server_.Enqueue("q");
  server_.Fetch("q");
  EXPECT_EQ(server_.Post("/queues/q/drain").body, R"({"status":"draining","active":1})");
  std::string body;
  std::atomic<bool> asked = false;
  std::thread waiting([&] {
    net::HttpClient client = server_.NewClient();
    asked = true;
    body = client.Post("/api/v1/queues/q/drain?timeout=60", "")->body;
  });
  cairn::testing::Await("the other client", [&] { return asked.load(); });
  server_.PostOk("/ack/" + id);
  waiting.join();
  EXPECT_EQ(body, R"({"status":"drained","active":0})");
  EXPECT_TRUE(server_.Fetch("q").is_null());
  EXPECT_EQ(Queue("q").at("pending").as_int64(), 1);
}

TEST_F(JobRoutesTest, AQueueIsClearedAndDeleted) {
  server_.Enqueue("q");
  server_.Enqueue("q", R"("priority":"critical")");
  server_.Enqueue("q", R"("delay":"1h")");
  const std::string done = server_.Enqueue("q", R"("priority":"critical")");
  const std::string running(Text(server_.Fetch("q"), "job_id"));
  server_.PostOk("/ack/" + running);
  const json::value cleared = server_.PostOk("/queues/q/clear");
  EXPECT_EQ(Text(cleared, "status"), "cleared");
  EXPECT_EQ(cleared.at("removed").as_int64(), 3);
  EXPECT_TRUE(server_.Fetch("q").is_null());
  EXPECT_EQ(Queue("q").at("completed").as_int64(), 1);
  server_.Delete("/queues/q");
  EXPECT_EQ(server_.GetOk("/queues").as_array().size(), 0U);
  EXPECT_EQ(server_.Refusal(server_.Get("/jobs/" + running)), "404 NOT_FOUND");
  EXPECT_EQ(server_.Refusal(server_.Get("/jobs/" + done)), "404 NOT_FOUND");
}

TEST_F(JobRoutesTest, TheServerSaysWhatItIsAndThatAllIsSound) {
  EXPECT_EQ(server_.Get("/info").body, R"({"server_version":"1.2.3","api_version":"v1"})");
  server_.Enqueue("q");
  const json::value report = server_.GetOk("/admin/verify");
  EXPECT_TRUE(report.at("sound").as_bool());
  EXPECT_EQ(report.at("jobs").as_int64(), 1);
}

}  // namespace
}  // namespace cairn::jobs
