// The ways of one job: enqueue, fetch, acknowledge, fail, leases and time.
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>

#include "jobs/testing/job_server.h"

namespace cairn::jobs {
namespace {

using testing::JobServer;

class LifeCycleTest : public ::testing::Test {
 protected:
  ~LifeCycleTest() override { server_.ExpectSound(); }
  JobServer server_;
};

TEST_F(LifeCycleTest, AJobIsEnqueuedFetchedAndAcknowledged) {
  const std::string id = server_.Enqueue("mail", R"({"to":"a"})");
  EXPECT_EQ(server_.State(id), "pending");
  EXPECT_EQ(server_.Count("mail", "pending"), 1);
  const auto jobs = server_.Fetch("mail");
  ASSERT_EQ(jobs.size(), 1U);
  EXPECT_EQ(jobs[0].id, id);
  EXPECT_EQ(jobs[0].payload, R"({"to":"a"})");
  EXPECT_EQ(server_.State(id), "active");
  EXPECT_EQ(server_.Ack(jobs[0], R"({"sent":true})"), "OK");
  EXPECT_EQ(server_.State(id), "completed");
  EXPECT_EQ(boost::json::serialize(server_.Job(id).at("result")), R"({"sent":true})");
  EXPECT_EQ(server_.Count("mail", "completed"), 1);
  EXPECT_EQ(server_.Count("mail", "active"), 0);
}

TEST_F(LifeCycleTest, WhereNoneAreKeptACompletedJobIsGoneWithAllThatFollows) {
  server_.Run({"QUEUE.CONFIG", "q", R"({"retention_ms":0})"});
  const std::string batch = server_.Value({"JOB.BATCHOPEN", "done"}).text;
  const std::string chain =
      R"({"steps":[{"queue":"q","payload":{}},{"queue":"next","payload":{}}]})";
  const std::string id =
      server_.Enqueue("q", "{}",
                      {"UNIQUE", "u", "IDEMPOTENCY", "i", "CONCURRENCY", "k", "RETRIES", "1",
                       "BACKOFF", "none", "BATCH", batch, "CHAIN", chain});
  const std::string rival = server_.Enqueue("q", "{}", {"CONCURRENCY", "k"});
  const std::string waiting = server_.Enqueue("other", "{}", {"DEPENDS", "1", id});
  server_.Run({"JOB.BATCHSEAL", batch});
  server_.Fail(server_.Fetch("q").at(0));  // so that there is an error to be removed
  const auto job = server_.Fetch("q").at(0);
  ASSERT_EQ(job.id, id);
  ASSERT_TRUE(server_.Fetch("q").empty());
  EXPECT_EQ(server_.Ack(job, R"({"n":1})"), "OK");

  EXPECT_TRUE(server_.Job(id).is_null());
  EXPECT_TRUE(server_.Ack(job).starts_with("(error) NOT_FOUND"));
  EXPECT_EQ(server_.Count("q", "completed"), 0);
  EXPECT_EQ(server_.Count("q", "active"), 0);
  EXPECT_EQ(server_.Fetch("q").at(0).id, rival);
  EXPECT_EQ(server_.Fetch("other").at(0).id, waiting);
  EXPECT_EQ(server_.Fetch("next").at(0).payload,
            R"({"previous_job_id":")" + id + R"(","previous_result":{"n":1}})");
  EXPECT_EQ(server_.Fetch("done").size(), 1U);
  EXPECT_NE(server_.Enqueue("q", "{}", {"UNIQUE", "u", "IDEMPOTENCY", "i"}), id);
}

TEST_F(LifeCycleTest, WhereNoCompletedJobsAreKeptOthersAre) {
  server_.Run({"QUEUE.CONFIG", "q", R"({"retention_ms":0})"});
  const std::string dead = server_.Enqueue("q", "{}", {"RETRIES", "0"});
  server_.Fail(server_.Fetch("q").at(0));
  EXPECT_EQ(server_.State(dead), "dead");
  const std::string cancelled = server_.Enqueue("q");
  server_.Run({"JOB.CANCEL", cancelled});
  EXPECT_EQ(server_.State(cancelled), "cancelled");
}

TEST_F(LifeCycleTest, PayloadsComeBackByteForByte) {
  for (const std::string_view payload : {"12345678901234567890123", "\"text\"", "[1.0, 2.50 ,3e5]",
                                         "null", "{ \"b\":1, \"a\":2 }"}) {
    server_.Enqueue("bytes", payload);
    const auto jobs = server_.Fetch("bytes");
    ASSERT_EQ(jobs.size(), 1U);
    EXPECT_EQ(jobs[0].payload, payload);
  }
}

TEST_F(LifeCycleTest, JobsComeInTheOrderOfPriorityThenTime) {
  const std::string normal = server_.Enqueue("q");
  const std::string high = server_.Enqueue("q", "{}", {"PRIORITY", "high"});
  const std::string critical = server_.Enqueue("q", "{}", {"PRIORITY", "critical"});
  const std::string second = server_.Enqueue("q");
  const auto jobs = server_.Fetch("q", 10);
  ASSERT_EQ(jobs.size(), 4U);
  EXPECT_EQ(jobs[0].id, critical);
  EXPECT_EQ(jobs[1].id, high);
  EXPECT_EQ(jobs[2].id, normal);
  EXPECT_EQ(jobs[3].id, second);
}

TEST_F(LifeCycleTest, SecondAckOfALeaseIsRejected) {
  server_.Enqueue("q");
  const auto jobs = server_.Fetch("q");
  ASSERT_EQ(jobs.size(), 1U);
  EXPECT_EQ(server_.Ack(jobs[0]), "OK");
  EXPECT_TRUE(server_.Ack(jobs[0]).starts_with("(error) LEASE_LOST")) << server_.Ack(jobs[0]);
}

TEST_F(LifeCycleTest, AStaleWorkerCannotTouchAJobThatPassedOn) {
  const std::string id = server_.Enqueue("q");
  const auto first = server_.Fetch("q", 1, "1000");
  ASSERT_EQ(first.size(), 1U);
  server_.Advance(1100);
  EXPECT_EQ(server_.State(id), "pending");
  const auto second = server_.Fetch("q");
  ASSERT_EQ(second.size(), 1U);
  EXPECT_TRUE(server_.Ack(first[0]).starts_with("(error) LEASE_LOST"));
  EXPECT_TRUE(server_.Fail(first[0]).starts_with("(error) LEASE_LOST"));
  EXPECT_TRUE(server_.Run({"JOB.HEARTBEAT", id, "TOKEN", first[0].token})
                  .starts_with("(error) LEASE_LOST"));
  EXPECT_EQ(server_.State(id), "active");
  EXPECT_EQ(server_.Ack(second[0]), "OK");
}

TEST_F(LifeCycleTest, WithoutATokenWorkerAndAttemptMustMatch) {
  const std::string id = server_.Enqueue("q");
  server_.Fetch("q");
  EXPECT_TRUE(server_.Run({"JOB.ACK", id, "WORKER", "w2"}).starts_with("(error) LEASE_LOST"));
  EXPECT_TRUE(server_.Run({"JOB.ACK", id, "WORKER", "w1", "ATTEMPT", "2"})
                  .starts_with("(error) LEASE_LOST"));
  EXPECT_EQ(server_.Run({"JOB.ACK", id, "WORKER", "w1", "ATTEMPT", "1"}), "OK");
}

TEST_F(LifeCycleTest, AHeartbeatRenewsTheLeaseByItsOwnLength) {
  const std::string id = server_.Enqueue("q");
  const auto jobs = server_.Fetch("q", 1, "10000");
  server_.Advance(9'000);
  EXPECT_EQ(
      server_.Value({"JOB.HEARTBEAT", id, "TOKEN", jobs[0].token, "PROGRESS", R"({"current":1})"})
          .items[0]
          .text,
      "ok");
  server_.Advance(9'000);
  EXPECT_EQ(server_.State(id), "active");
  EXPECT_EQ(boost::json::serialize(server_.Job(id).at("progress")), R"({"current":1})");
  server_.Advance(1'100);
  EXPECT_EQ(server_.State(id), "pending");
}

TEST_F(LifeCycleTest, AFailedJobIsRetriedAsOftenAsItSays) {
  const std::string id =
      server_.Enqueue("q", "{}", {"RETRIES", "2", "BACKOFF", "fixed", "BASE", "1000"});
  for (int run = 1; run <= 2; ++run) {
    const auto jobs = server_.Fetch("q");
    ASSERT_EQ(jobs.size(), 1U);
    server_.Fail(jobs[0]);
    EXPECT_EQ(server_.State(id), "retrying");
    EXPECT_TRUE(server_.Fetch("q").empty());
    server_.Advance(1'020);
    EXPECT_EQ(server_.State(id), "pending");
  }
  server_.Fail(server_.Fetch("q").at(0));
  EXPECT_EQ(server_.State(id), "dead");
  EXPECT_EQ(server_.Job(id).at("errors").as_array().size(), 3U);
}

TEST_F(LifeCycleTest, AFailureMaySayThatItIsFinalOrWhenToRetry) {
  const std::string final = server_.Enqueue("q");
  server_.Fail(server_.Fetch("q").at(0), {"NORETRY"});
  EXPECT_EQ(server_.State(final), "dead");
  const std::string later = server_.Enqueue("q");
  server_.Fail(server_.Fetch("q").at(0), {"DELAY", "50"});
  server_.Advance(80);
  EXPECT_EQ(server_.State(later), "pending");
}

TEST_F(LifeCycleTest, APoisonJobStops) {
  const std::string id = server_.Enqueue("q");
  for (int lapse = 0; lapse < 6; ++lapse) {
    ASSERT_EQ(server_.Fetch("q", 1, "1000").size(), 1U) << lapse;
    server_.Advance(1'100);
  }
  EXPECT_EQ(server_.State(id), "dead");
}

TEST_F(LifeCycleTest, AnAttemptThatTakesTooLongFails) {
  const std::string id = server_.Enqueue("q", "{}", {"TIMEOUT", "5000", "RETRIES", "0"});
  const auto jobs = server_.Fetch("q", 1, "3000");
  server_.Advance(2'000);
  server_.Run({"JOB.HEARTBEAT", id, "TOKEN", jobs[0].token});
  server_.Advance(2'900);
  EXPECT_EQ(server_.State(id), "active");
  server_.Advance(200);
  EXPECT_EQ(server_.State(id), "dead");
}

TEST_F(LifeCycleTest, AScheduledJobWaitsForItsTime) {
  const std::string id = server_.Enqueue("q", "{}", {"DELAY", "5000"});
  EXPECT_EQ(server_.State(id), "scheduled");
  EXPECT_TRUE(server_.Fetch("q").empty());
  server_.Advance(4'900);
  EXPECT_EQ(server_.State(id), "scheduled");
  server_.Advance(120);
  EXPECT_EQ(server_.State(id), "pending");
}

TEST_F(LifeCycleTest, ManyJobsOfOneMomentAreAllPromoted) {
  std::vector<std::string> args = {"JOB.ENQUEUEM", "q", "DELAY", "1000", "PAYLOADS"};
  for (int i = 0; i < 2'500; ++i) args.emplace_back("{}");
  EXPECT_EQ(server_.Value(args).items.size(), 2'500U);
  EXPECT_EQ(server_.Count("q", "scheduled"), 2'500);
  server_.Advance(1'020);
  EXPECT_EQ(server_.Count("q", "pending"), 2'500);
}

TEST_F(LifeCycleTest, SnoozePutsAJobBackWithoutUsingAnAttempt) {
  const std::string id = server_.Enqueue("q", "{}", {"RETRIES", "0"});
  const auto jobs = server_.Fetch("q");
  server_.Run({"JOB.SNOOZE", id, "2000", "TOKEN", jobs[0].token});
  EXPECT_EQ(server_.State(id), "scheduled");
  server_.Advance(2'020);
  server_.Fetch("q");
  EXPECT_EQ(server_.Job(id).at("attempt").as_int64(), 1);
}

TEST_F(LifeCycleTest, AJobThatHasNotBegunExpires) {
  const std::string id = server_.Enqueue("q", "{}", {"EXPIRE", "1000"});
  const std::string begun = server_.Enqueue("p", "{}", {"EXPIRE", "1000"});
  server_.Fetch("p");
  server_.Advance(1'100);
  EXPECT_EQ(server_.State(id), "dead");
  EXPECT_EQ(server_.State(begun), "active");
}

TEST_F(LifeCycleTest, FinishedJobsAreRemovedWhenTheirTimeIsOver) {
  server_.Run({"QUEUE.CONFIG", "q", R"({"retention_ms":1000,"failed_retention_ms":60000})"});
  const std::string done = server_.Enqueue("q");
  server_.Ack(server_.Fetch("q").at(0));
  const std::string dead = server_.Enqueue("q");
  server_.Fail(server_.Fetch("q").at(0), {"NORETRY"});
  server_.Advance(1'100);
  EXPECT_EQ(server_.State(done), "none");
  EXPECT_EQ(server_.State(dead), "dead");
  server_.Advance(60'000);
  EXPECT_EQ(server_.State(dead), "none");
  EXPECT_EQ(server_.Count("q", "dead"), 0);
}

TEST_F(LifeCycleTest, AcksInBulkAreThatManyAcks) {
  server_.Enqueue("a");
  server_.Enqueue("b");
  const auto first = server_.Fetch("a").at(0);
  const auto second = server_.Fetch("b").at(0);
  const auto reply = server_.Value(
      {"JOB.ACKM", first.id, first.token, second.id, "0000000000000000", second.id, second.token});
  ASSERT_EQ(reply.items.size(), 3U);
  EXPECT_EQ(reply.items[0].text, "OK");
  EXPECT_TRUE(reply.items[1].text.starts_with("LEASE_LOST"));
  EXPECT_EQ(reply.items[2].text, "OK");
}

TEST_F(LifeCycleTest, BadInputChangesNothing) {
  const std::string big(kMaxPayloadBytes + 1, '1');
  EXPECT_TRUE(server_.Run({"JOB.ENQUEUE", "q", "{"}).starts_with("(error) VALIDATION_ERROR"));
  EXPECT_TRUE(server_.Run({"JOB.ENQUEUE", "q", big}).starts_with("(error) PAYLOAD_TOO_LARGE"));
  EXPECT_TRUE(server_.Run({"JOB.ENQUEUE", "", "{}"}).starts_with("(error) VALIDATION_ERROR"));
  EXPECT_TRUE(
      server_.Run({"JOB.ENQUEUE", "q", "{}", "NOPE"}).starts_with("(error) VALIDATION_ERROR"));
  EXPECT_TRUE(server_.Run({"JOB.ENQUEUE", "q", "{}", "TAGS", "[]"})
                  .starts_with("(error) VALIDATION_ERROR"));
  EXPECT_TRUE(server_.Run({"JOB.ENQUEUE", "q", "{}", "DEPENDS", "1", "job_x"})
                  .starts_with("(error) DEPENDENCY_ERROR"));
  EXPECT_TRUE(server_.Run({"JOB.ENQUEUE", "q", "{}", "CHAIN", R"({"steps":[]})"})
                  .starts_with("(error) CHAIN_ERROR"));
  EXPECT_TRUE(server_.Run({"JOB.ENQUEUE", "q", "{}", "RETRIES", "-1"})
                  .starts_with("(error) VALIDATION_ERROR"));
  EXPECT_TRUE(server_.Run({"JOB.ENQUEUEM", "q", "PAYLOADS", "{}", "{"})
                  .starts_with("(error) VALIDATION_ERROR job 1"));
  EXPECT_TRUE(server_.Run({"JOB.ACK", "job_x"}).starts_with("(error) NOT_FOUND"));
  EXPECT_TRUE(server_.Run({"JOB.FETCH", "COUNT", "0", "QUEUES", "q"})
                  .starts_with("(error) VALIDATION_ERROR"));
  EXPECT_EQ(server_.Count("q", "pending"), -1) << "no queue was made";
}

TEST_F(LifeCycleTest, AFetchWaitsUntilThereIsAJob) {
  auto worker = server_.Connect();
  worker.Send({"JOB.FETCH", "BLOCK", "0", "QUEUES", "other", "q"});
  auto producer = server_.Connect();
  producer.Send({"MULTI"});
  producer.Send({"JOB.ENQUEUE", "q", "[1]"});
  producer.Send({"EXEC"});
  EXPECT_NE(worker.Receive().find("[1]"), std::string::npos);
}

TEST_F(LifeCycleTest, AFetchIsWokenByTime) {
  server_.Enqueue("q", "[2]", {"DELAY", "1000"});
  auto worker = server_.Connect();
  worker.Send({"JOB.FETCH", "BLOCK", "0", "QUEUES", "q"});
  server_.Advance(1'020);
  EXPECT_NE(worker.Receive().find("[2]"), std::string::npos);
}

TEST_F(LifeCycleTest, JobsAndTheirTimersSurviveARestart) {
  const std::string id = server_.Enqueue("q");
  const auto jobs = server_.Fetch("q", 1, "1000");
  server_.Restart();
  EXPECT_EQ(server_.State(id), "active");
  server_.Advance(1'100);
  EXPECT_EQ(server_.State(id), "pending");
}

}  // namespace
}  // namespace cairn::jobs
