// What workers do over HTTP: waiting for jobs, finishing them under a lease, going away.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <set>
#include <string>
#include <thread>

#include "jobs/model/job.h"
#include "jobs/testing/route_server.h"
#include "tests/support/await.h"
#include "tests/support/test_store.h"

namespace cairn::jobs {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;

class WorkerRoutesTest : public ::testing::Test {
 protected:
  ~WorkerRoutesTest() override { server_.ExpectSound(); }

  static std::string Text(const json::value& object, std::string_view name) {
    return std::string(object.at(name).as_string());
  }
  // {"lease_token":…,more} of a fetched job.
  static std::string Lease(const json::value& job, const std::string& more = "") {
    return fmt::format(R"({{"lease_token":"{}"{}{}}})", Text(job, "lease_token"),
                       more.empty() ? "" : ",", more);
  }
  // Waits until so many stand in line.
  void AwaitWaiters(size_t count) {
    cairn::testing::Await("the clients to stand in line", [&] {
      return server_.server().instance().traffic().waiters.count() == count;
    });
  }

  testing::RouteServer server_;
};

TEST_F(WorkerRoutesTest, AJobIsFetchedAndAcknowledged) {
  const std::string id = server_.Enqueue("q", R"("payload":{"n":1})");
  const json::value job = json::parse(
      server_
          .Post("/fetch", R"({"queues":["other","q"],"worker_id":"w1","hostname":"h","timeout":5})")
          .body);
  EXPECT_EQ(Text(job, "job_id"), id);
  EXPECT_EQ(job.at("attempt").as_int64(), 1);
  EXPECT_EQ(job.at("lease_duration").as_int64(), 5);
  EXPECT_EQ(server_.StateOf(id), "active");
  EXPECT_EQ(Text(server_.PostOk("/ack/" + id, Lease(job, R"("result":12345678901234567890123)")),
                 "status"),
            "ok");
  EXPECT_THAT(server_.Get("/jobs/" + id).body, HasSubstr(R"("result":12345678901234567890123,)"));
  EXPECT_EQ(server_.StateOf(id), "completed");
}

TEST_F(WorkerRoutesTest, NothingToDoIs204AndAnEmptyList) {
  EXPECT_EQ(server_.Post("/fetch", R"({"queues":["q"],"wait":0})").status, 204);
  EXPECT_TRUE(server_.Fetch("q").is_null());
}

TEST_F(WorkerRoutesTest, WhoWaitsIsServedByTheCommitThatBringsAJob) {
  std::string body;
  std::thread worker([&] {
    net::HttpClient client = server_.NewClient();
    body = client.Post("/api/v1/fetch", R"({"queues":["a","b"],"worker_id":"w","wait":60})")->body;
  });
  AwaitWaiters(1);
  const std::string id = server_.Enqueue("b");
  worker.join();
  EXPECT_EQ(Text(json::parse(body), "job_id"), id);
}

TEST_F(WorkerRoutesTest, OfThoseWhoWaitEachGetsOne) {
  constexpr int kWorkers = 8;
  std::vector<std::thread> workers;
  std::vector<std::string> got(kWorkers);
  for (int i = 0; i < kWorkers; ++i) {
    workers.emplace_back([&, i] {
      net::HttpClient client = server_.NewClient();
      const auto response =
          client.Post("/api/v1/fetch/batch", R"({"queues":["q"],"wait":60,"count":1})");
      got[i] = Text(json::parse(response->body).at("jobs").at(0), "job_id");
    });
  }
  AwaitWaiters(kWorkers);
  std::string jobs;
  for (int i = 0; i < kWorkers; ++i) jobs += i == 0 ? R"({"queue":"q"})" : R"(,{"queue":"q"})";
  server_.PostOk("/enqueue/batch", fmt::format(R"({{"jobs":[{}]}})", jobs));
  for (std::thread& worker : workers) worker.join();
  EXPECT_EQ(std::set(got.begin(), got.end()).size(), static_cast<size_t>(kWorkers));
}

TEST_F(WorkerRoutesTest, AWaiterThatLeavesIsGivenNothing) {
  {
    auto client = net::RespClient::Connect({"127.0.0.1", server_.port()});
    const std::string body = R"({"queues":["q"],"worker_id":"gone","wait":60})";
    ASSERT_TRUE(client
                    ->SendRaw(fmt::format("POST /api/v1/fetch HTTP/1.1\r\nHost: t\r\n"
                                          "Content-Length: {}\r\n\r\n{}",
                                          body.size(), body))
                    .ok());
    AwaitWaiters(1);
  }
  AwaitWaiters(0);
  const std::string id = server_.Enqueue("q");
  EXPECT_EQ(server_.StateOf(id), "pending");
  EXPECT_EQ(server_.Fetch("q").at("attempt").as_int64(), 1);
}

TEST_F(WorkerRoutesTest, WhatWasTakenForOneWhoLeftIsPutBack) {
  CAIRN_TEST_ROCKS_ONLY("a commit that is seen before it is durable");
  const std::string id = server_.Enqueue("q");
  server_.server().store().CloseGate();
  {
    auto client = net::RespClient::Connect({"127.0.0.1", server_.port()});
    const std::string body = R"({"queues":["q"],"worker_id":"gone","wait":60})";
    ASSERT_TRUE(client
                    ->SendRaw(fmt::format("POST /api/v1/fetch HTTP/1.1\r\nHost: t\r\n"
                                          "Content-Length: {}\r\n\r\n{}",
                                          body.size(), body))
                    .ok());
    // Taken, and its reply waits for the disk.
    const auto taken = [&] {
      const auto snapshot = server_.server().store().Read();
      return LoadJob(**snapshot, id)->value().state == State::kActive;
    };
    cairn::testing::Await("the job to be taken", [&] { return taken(); });
  }
  // The loop has seen that it left when it has answered others twice.
  server_.GetOk("/info");
  server_.GetOk("/info");
  std::atomic<bool> done = false;
  std::thread disk([&] {
    while (!done) server_.server().store().MakeDurable();
  });
  net::HttpClient next = server_.NewClient();
  const auto response =
      next.Post("/api/v1/fetch", R"({"queues":["q"],"worker_id":"next","wait":60})");
  done = true;
  disk.join();
  ASSERT_EQ(response->status, 200);
  const json::value job = json::parse(response->body);
  EXPECT_EQ(Text(job, "job_id"), id);
  EXPECT_EQ(job.at("attempt").as_int64(), 1);
}

TEST_F(WorkerRoutesTest, AStaleLeaseIsRefusedAndChangesNothing) {
  const std::string id = server_.Enqueue("q");
  const json::value stale = server_.Fetch("q", R"("lease_duration":1)");
  server_.Advance(1'500);
  EXPECT_EQ(server_.StateOf(id), "pending");
  const json::value fresh = server_.Fetch("q");
  EXPECT_NE(Text(stale, "lease_token"), Text(fresh, "lease_token"));
  const std::string before = server_.Get("/jobs/" + id).body;
  for (const std::string path : {"/ack/", "/fail/", "/snooze/"}) {
    const std::string more = path == "/snooze/" ? R"("delay":"1s")" : "";
    EXPECT_EQ(server_.Refusal(server_.Post(path + id, Lease(stale, more))), "409 LEASE_LOST");
  }
  EXPECT_EQ(server_.Refusal(server_.Post("/ack/" + id, R"({"lease_token":"nonsense"})")),
            "409 LEASE_LOST");
  EXPECT_EQ(server_.Refusal(server_.Post("/ack/" + id, R"({"worker_id":"another"})")),
            "409 LEASE_LOST");
  const json::value beaten =
      server_.PostOk("/heartbeat", fmt::format(R"({{"jobs":{{"{}":{}}}}})", id, Lease(stale)));
  EXPECT_EQ(Text(beaten.at("jobs").at(id), "status"), "cancel");
  EXPECT_EQ(server_.Get("/jobs/" + id).body, before);
  server_.PostOk("/ack/" + id, Lease(fresh));
  // Done once: again is refused.
  EXPECT_EQ(server_.Post("/ack/" + id, Lease(fresh)).status / 100, 4);
}

TEST_F(WorkerRoutesTest, OldClientsFinishByWorkerAndAttemptOrByNothing) {
  const std::string first = server_.Enqueue("q");
  server_.Fetch("q");
  EXPECT_EQ(server_.Refusal(server_.Post("/ack/" + first, R"({"worker_id":"w1","attempt":2})")),
            "409 LEASE_LOST");
  server_.PostOk("/ack/" + first, R"({"worker_id":"w1","attempt":1,"result":{"ok":true}})");
  const std::string second = server_.Enqueue("q");
  server_.Fetch("q");
  server_.PostOk("/ack/" + second);
  EXPECT_EQ(server_.StateOf(second), "completed");
}

TEST_F(WorkerRoutesTest, AcksInBulkAreEachAsIfAlone) {
  std::string acks;
  std::vector<std::string> ids;
  for (int i = 0; i < 3; ++i) {
    ids.push_back(server_.Enqueue("q"));
    const json::value job = server_.Fetch("q");
    acks += fmt::format(R"({{"job_id":"{}","lease_token":"{}","result":{}}},)", ids.back(),
                        i == 1 ? "0000000000000001" : Text(job, "lease_token"), i);
  }
  const json::value answer =
      server_.PostOk("/ack/batch", fmt::format(R"({{"acks":[{}{{"job_id":"job_none"}}]}})", acks));
  EXPECT_EQ(answer.at("acked").as_int64(), 2);
  EXPECT_EQ(Text(answer.at("errors").at(0), "job_id"), ids[1]);
  EXPECT_EQ(Text(answer.at("errors").at(0), "code"), "LEASE_LOST");
  EXPECT_EQ(Text(answer.at("errors").at(1), "code"), "NOT_FOUND");
  EXPECT_EQ(server_.StateOf(ids[0]) + server_.StateOf(ids[1]), "completedactive");
}

TEST_F(WorkerRoutesTest, AFailureIsRetriedLaterOrNever) {
  const std::string id = server_.Enqueue("q", R"("max_retries":2)");
  json::value answer = server_.PostOk(
      "/fail/" + id, Lease(server_.Fetch("q"), R"("error":"no","backtrace":"at x","delay":"30s")"));
  EXPECT_EQ(Text(answer, "status"), "retrying");
  EXPECT_EQ(answer.at("attempts_remaining").as_int64(), 2);
  EXPECT_TRUE(answer.as_object().contains("next_attempt_at"));
  server_.Advance(29'000);
  EXPECT_TRUE(server_.Fetch("q").is_null());
  server_.Advance(1'100);
  answer = server_.PostOk("/fail/" + id,
                          Lease(server_.Fetch("q"), R"("error":"never","retryable":false)"));
  EXPECT_EQ(Text(answer, "status"), "dead");
  const json::value job = server_.GetOk("/jobs/" + id);
  EXPECT_EQ(Text(job, "state"), "dead");
  EXPECT_EQ(Text(job.at("errors").at(0), "error"), "no");
  EXPECT_EQ(Text(job.at("errors").at(0), "backtrace"), "at x");
  EXPECT_EQ(Text(job.at("errors").at(1), "error"), "never");
  EXPECT_EQ(server_.Refusal(server_.Post("/fail/" + id, "{}")), "400 FAIL_ERROR");
}

TEST_F(WorkerRoutesTest, HeartbeatsRenewByTheLeasesOwnLengthAndTellOfCancels) {
  const std::string id = server_.Enqueue("q");
  const json::value job = server_.Fetch("q", R"("lease_duration":10)");
  for (int i = 0; i < 3; ++i) {
    server_.Advance(8'000);
    const json::value answer = server_.PostOk(
        "/heartbeat", fmt::format(R"({{"jobs":{{"{}":{},"job_none":{{}}}}}})", id,
                                  Lease(job, R"("progress":{"done":1},"checkpoint":{"page":7})")));
    EXPECT_EQ(Text(answer.at("jobs").at(id), "status"), "ok");
    EXPECT_EQ(Text(answer.at("jobs").at("job_none"), "status"), "cancel");
  }
  EXPECT_EQ(json::serialize(server_.GetOk("/jobs/" + id).at("progress")), R"({"done":1})");
  EXPECT_EQ(Text(server_.PostOk("/jobs/" + id + "/cancel"), "status"), "cancelling");
  const json::value after =
      server_.PostOk("/heartbeat", fmt::format(R"({{"jobs":{{"{}":{}}}}})", id, Lease(job)));
  EXPECT_EQ(Text(after.at("jobs").at(id), "status"), "cancel");
}

TEST_F(WorkerRoutesTest, AReportThatCannotBeKeptDoesNotStopTheWorker) {
  const std::string id = server_.Enqueue("q");
  const json::value job = server_.Fetch("q");
  const std::string large = R"("progress":")" + std::string(300'000, 'x') + '"';
  const json::value answer =
      server_.PostOk("/heartbeat", fmt::format(R"({{"jobs":{{"{}":{}}}}})", id, Lease(job, large)));
  EXPECT_EQ(Text(answer.at("jobs").at(id), "status"), "error");
  EXPECT_EQ(Text(answer.at("jobs").at(id), "code"), "PAYLOAD_TOO_LARGE");
}

TEST_F(WorkerRoutesTest, ADelayMayBeANumberOfSeconds) {
  const std::string id = server_.Enqueue("q");
  server_.PostOk("/snooze/" + id, Lease(server_.Fetch("q"), R"("delay":1.5)"));
  EXPECT_TRUE(server_.Fetch("q").is_null());
  server_.Advance(1'600);
  server_.PostOk("/fail/" + id, Lease(server_.Fetch("q"), R"("delay":2)"));
  server_.Advance(1'900);
  EXPECT_TRUE(server_.Fetch("q").is_null());
  server_.Advance(200);
  const json::value job = server_.Fetch("q");
  ASSERT_FALSE(job.is_null());
  EXPECT_EQ(server_.Refusal(server_.Post("/snooze/" + id, Lease(job, R"("delay":-1)"))),
            "400 VALIDATION_ERROR");
}

TEST_F(WorkerRoutesTest, ASnoozeUsesNoAttempt) {
  const std::string id = server_.Enqueue("q");
  const json::value answer =
      server_.PostOk("/snooze/" + id, Lease(server_.Fetch("q"), R"("delay":"1m")"));
  EXPECT_EQ(Text(answer, "status"), "snoozed");
  EXPECT_TRUE(server_.Fetch("q").is_null());
  server_.Advance(60'100);
  EXPECT_EQ(server_.Fetch("q").at("attempt").as_int64(), 1);
}

TEST_F(WorkerRoutesTest, WhatMakesNoSenseIsRefused) {
  for (const std::string body :
       {"{}", R"({"queues":[]})", R"({"queues":"q"})", R"({"queues":["q"],"lease_duration":0})",
        R"({"queues":["q"],"colour":1})", R"({"queues":["q"],"lease_duration":1e9})"}) {
    EXPECT_EQ(server_.Refusal(server_.Post("/fetch", body)), "400 VALIDATION_ERROR") << body;
    EXPECT_EQ(server_.Refusal(server_.Post("/fetch/batch", body)), "400 VALIDATION_ERROR") << body;
  }
  EXPECT_EQ(server_.Refusal(server_.Post("/fetch", "{")), "400 PARSE_ERROR");
  const std::string id = server_.Enqueue("q");
  EXPECT_EQ(server_.Refusal(server_.Post("/ack/" + id)), "400 ACK_ERROR");
  EXPECT_EQ(server_.Refusal(server_.Post("/ack/job_none")), "404 NOT_FOUND");
  EXPECT_EQ(server_.Refusal(server_.Post("/fail/job_none")), "404 NOT_FOUND");
  const json::value job = server_.Fetch("q");
  EXPECT_EQ(server_.Refusal(server_.Post("/ack/" + id, R"({"agent_status":"continue"})")),
            "400 ACK_ERROR");
  EXPECT_EQ(server_.Refusal(server_.Post("/snooze/" + id, Lease(job, R"("delay":"soon")"))),
            "400 VALIDATION_ERROR");
  EXPECT_EQ(server_.Refusal(server_.Post("/heartbeat", R"({"jobs":[]})")), "400 VALIDATION_ERROR");
  EXPECT_EQ(server_.StateOf(id), "active");
}

TEST_F(WorkerRoutesTest, WorkersAreKnownByTheirFetches) {
  server_.Fetch("q");
  const json::value workers = server_.GetOk("/workers");
  ASSERT_EQ(workers.as_array().size(), 1U);
  EXPECT_EQ(Text(workers.at(0), "id"), "w1");
  EXPECT_EQ(Text(workers.at(0), "queues"), R"(["q"])");
}

}  // namespace
}  // namespace cairn::jobs
