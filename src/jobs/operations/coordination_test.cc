// Jobs that have to do with one another: unique keys, limits, groups, batches, chains,
// dependencies, and what is done to queues.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "jobs/testing/job_server.h"

namespace cairn::jobs {
namespace {

namespace json = boost::json;
using testing::JobServer;

class CoordinationTest : public ::testing::Test {
 protected:
  ~CoordinationTest() override { server_.ExpectSound(); }

  std::string Status(const std::vector<std::string>& args) {
    const auto reply = server_.Value(args);
    return reply.items.size() == 2 ? reply.items[1].text : reply.ToString();
  }
  json::value Batch(const std::string& id) {
    return json::parse(server_.Value({"JOB.BATCH", id}).text);
  }

  JobServer server_;
};

// --- Unique keys ---------------------------------------------------------------------------------

TEST_F(CoordinationTest, AUniqueKeyHoldsUntilAnyEnd) {
  const auto again = [&] { return Status({"JOB.ENQUEUE", "q", "{}", "UNIQUE", "k"}); };
  const std::string id = server_.Enqueue("q", "{}", {"UNIQUE", "k"});
  EXPECT_EQ(again(), "duplicate");
  server_.Run({"JOB.CANCEL", id});
  EXPECT_EQ(again(), "pending");
  server_.Fail(server_.Fetch("q").at(0), {"NORETRY"});
  EXPECT_EQ(again(), "pending");
  server_.Ack(server_.Fetch("q").at(0));
  EXPECT_EQ(again(), "pending");
}

TEST_F(CoordinationTest, AUniqueKeyIsFreeAfterItsPeriodAndReleasedByItsOwnerOnly) {
  const std::string first = server_.Enqueue("q", "{}", {"UNIQUE", "k", "PERIOD", "1000"});
  server_.Advance(1'100);
  EXPECT_EQ(Status({"JOB.ENQUEUE", "q", "{}", "UNIQUE", "k"}), "pending");
  server_.Run({"JOB.CANCEL", first});
  EXPECT_EQ(Status({"JOB.ENQUEUE", "q", "{}", "UNIQUE", "k"}), "duplicate");
}

TEST_F(CoordinationTest, ReplaceCancelsTheHolderAndDebounceUpdatesIt) {
  const std::string old = server_.Enqueue("q", "[1]", {"UNIQUE", "k"});
  const std::string fresh = server_.Enqueue("q", "[2]", {"UNIQUE", "k", "MODE", "replace"});
  EXPECT_EQ(server_.State(old), "cancelled");
  EXPECT_EQ(server_.State(fresh), "pending");
  const std::string held =
      server_.Enqueue("d", "[1]", {"UNIQUE", "k", "MODE", "debounce", "DELAY", "1000"});
  server_.Advance(900);
  EXPECT_EQ(server_.Enqueue("d", "[2]", {"UNIQUE", "k", "MODE", "debounce", "DELAY", "1000"}),
            held);
  server_.Advance(900);
  EXPECT_EQ(server_.State(held), "scheduled");
  server_.Advance(200);
  EXPECT_EQ(server_.Fetch("d").at(0).payload, "[2]");
}

TEST_F(CoordinationTest, AnIdempotencyKeyIsTheSameJob) {
  const std::string id = server_.Enqueue("q", "{}", {"IDEMPOTENCY", "r1"});
  EXPECT_EQ(server_.Enqueue("q", "{}", {"IDEMPOTENCY", "r1"}), id);
  server_.Ack(server_.Fetch("q").at(0));
  EXPECT_EQ(server_.Enqueue("q", "{}", {"IDEMPOTENCY", "r1"}), id);
  EXPECT_EQ(server_.Run({"JOB.DELETE", id}), "OK");
  EXPECT_NE(server_.Enqueue("q", "{}", {"IDEMPOTENCY", "r1"}), id);
}

TEST_F(CoordinationTest, DebounceLetsNothingGoThatIsHeldOrWaitsForItsRetry) {
  const std::vector<std::string> debounce = {"UNIQUE", "k", "MODE", "debounce"};
  const std::string held = server_.Enqueue("q", "[1]", debounce);
  server_.Run({"JOB.HOLD", held});
  EXPECT_EQ(server_.Enqueue("q", "[2]", debounce), held);
  EXPECT_EQ(server_.State(held), "held");
  EXPECT_EQ(server_.Job(held).at("payload"), json::parse("[2]"));
  const std::string failed = server_.Enqueue("r", "[1]", debounce);
  server_.Fail(server_.Fetch("r").at(0), {"DELAY", "5000"});
  EXPECT_EQ(server_.Enqueue("r", "[2]", debounce), failed);
  EXPECT_TRUE(server_.Fetch("r").empty());
  server_.Advance(5'010);
  EXPECT_EQ(server_.Fetch("r").at(0).payload, "[2]");
}

TEST_F(CoordinationTest, AnIdempotencyKeyHoldsInItsQueueWhereverTheJobGoes) {
  const std::string id = server_.Enqueue("q", "{}", {"IDEMPOTENCY", "r1"});
  EXPECT_EQ(server_.Run({"JOB.MOVE", id, "other"}), "OK");
  EXPECT_EQ(server_.Enqueue("q", "{}", {"IDEMPOTENCY", "r1"}), id);
  server_.ExpectSound();
  EXPECT_EQ(server_.Run({"JOB.DELETE", id}), "OK");
  server_.ExpectSound();
  EXPECT_NE(server_.Enqueue("q", "{}", {"IDEMPOTENCY", "r1"}), id);
}

TEST_F(CoordinationTest, ARequestThatMetAUniqueJobIsAnsweredTheSameAfterItsEnd) {
  const std::string holder = server_.Enqueue("q", "{}", {"UNIQUE", "u"});
  const std::vector<std::string> request = {"UNIQUE", "u", "IDEMPOTENCY", "r1"};
  EXPECT_EQ(server_.Enqueue("q", "{}", request), holder);
  server_.Ack(server_.Fetch("q").at(0));
  EXPECT_EQ(server_.Enqueue("q", "{}", request), holder);
  EXPECT_EQ(server_.Run({"JOB.DELETE", holder}), "OK");
  server_.ExpectSound();
  EXPECT_EQ(server_.Enqueue("q", "{}", request), holder);
  server_.Advance(kDefaultRetentionMs + 20);
  server_.ExpectSound();
  EXPECT_NE(server_.Enqueue("q", "{}", request), holder);
}

TEST_F(CoordinationTest, AQueueIsRemovedWithTheKeysThatOutliveItsJobs) {
  server_.Enqueue("q", "{}", {"UNIQUE", "u"});
  server_.Enqueue("q", "{}", {"UNIQUE", "u", "IDEMPOTENCY", "r1"});
  server_.Run({"QUEUE.DELETE", "q"});
  server_.ExpectSound();
  EXPECT_EQ(Status({"JOB.ENQUEUE", "q", "{}", "IDEMPOTENCY", "r1"}), "pending");
}

TEST_F(CoordinationTest, OneIdempotencyKeyForManyIsOneForEach) {
  const std::vector<std::string> request = {"JOB.ENQUEUEM", "q", "IDEMPOTENCY", "k",
                                            "PAYLOADS",     "1", "2",           "3"};
  const auto first = server_.Value(request);
  ASSERT_EQ(first.items.size(), 3U);
  EXPECT_NE(first.items[0].text, first.items[1].text);
  EXPECT_EQ(server_.Value(request).ToString(), first.ToString());
  EXPECT_EQ(server_.Count("q", "pending"), 3);
}

// --- Text ----------------------------------------------------------------------------------------

TEST_F(CoordinationTest, WhatIsShownIsAlwaysUtf8) {
  for (const std::vector<std::string>& bad :
       std::vector<std::vector<std::string>>{{"JOB.ENQUEUE", "q\xff", "{}"},
                                             {"JOB.ENQUEUE", "q", "{}", "UNIQUE", "\xff"},
                                             {"JOB.ENQUEUE", "q", "{}", "GROUP", "\xc3"},
                                             {"JOB.FETCH", "WORKER", "\xff", "QUEUES", "q"}}) {
    EXPECT_NE(server_.Value(bad).ToString().find("VALIDATION_ERROR"), std::string::npos);
  }
  const std::string id = server_.Enqueue("q", "{}", {"RETRIES", "3"});
  server_.Fail(server_.Fetch("q").at(0), {"ERROR", "no\xff"});
  const json::value errors = server_.Job(id).at("errors");
  EXPECT_EQ(errors.as_array().at(0).at("error").as_string(), "no\xEF\xBF\xBD");
  std::string accents;
  for (int i = 0; i < 5'000; ++i) accents += "\xc3\xa9";
  server_.Run({"JOB.CANCEL", id, "x" + accents});
  EXPECT_EQ(server_.State(id), "cancelled");
}

// --- Limits --------------------------------------------------------------------------------------

TEST_F(CoordinationTest, MaxConcurrencyLimitsAQueue) {
  server_.Run({"QUEUE.CONCURRENCY", "q", "2"});
  for (int i = 0; i < 4; ++i) server_.Enqueue("q");
  const auto jobs = server_.Fetch("q", 10);
  ASSERT_EQ(jobs.size(), 2U);
  EXPECT_TRUE(server_.Fetch("q").empty());
  server_.Ack(jobs[0]);
  EXPECT_EQ(server_.Fetch("q", 10).size(), 1U);
}

TEST_F(CoordinationTest, AThrottledQueueGivesAgainWhenItsWindowHasRoom) {
  server_.Run({"QUEUE.THROTTLE", "q", "2", "1000"});
  for (int i = 0; i < 5; ++i) server_.Enqueue("q");
  EXPECT_EQ(server_.Fetch("q", 10).size(), 2U);
  EXPECT_TRUE(server_.Fetch("q").empty());
  auto worker = server_.Connect();
  worker.Send({"JOB.FETCH", "BLOCK", "0", "COUNT", "10", "QUEUES", "q"});
  server_.Advance(1'020);
  EXPECT_NE(worker.Receive().find("job_id"), std::string::npos);
  EXPECT_EQ(server_.Count("q", "active"), 4);
}

TEST_F(CoordinationTest, AShorterWindowReachesThoseWhoWait) {
  server_.Run({"QUEUE.THROTTLE", "q", "1", "20000"});
  for (int i = 0; i < 2; ++i) server_.Enqueue("q");
  EXPECT_EQ(server_.Fetch("q").size(), 1U);
  auto worker = server_.Connect();
  worker.Send({"JOB.FETCH", "BLOCK", "0", "QUEUES", "q"});
  server_.Run({"QUEUE.THROTTLE", "q", "1", "1000"});
  server_.ExpectSound();
  server_.Advance(1'020);
  EXPECT_NE(worker.Receive().find("job_id"), std::string::npos);
}

TEST_F(CoordinationTest, TheOldestThatWaitsMayBeOfAnyPriority) {
  server_.Enqueue("q", "{}", {"PRIORITY", "high"});
  EXPECT_NE(server_.Value({"QUEUE.GET", "q"}).ToString().find("oldest_pending_at"),
            std::string::npos);
  server_.Fetch("q");
  EXPECT_EQ(server_.Value({"QUEUE.GET", "q"}).ToString().find("oldest_pending_at"),
            std::string::npos);
}

TEST_F(CoordinationTest, AConcurrencyKeyLetsOneRunAndHidesNobody) {
  const std::string a1 = server_.Enqueue("q", "{}", {"CONCURRENCY", "a"});
  const std::string a2 = server_.Enqueue("q", "{}", {"CONCURRENCY", "a"});
  const std::string a3 = server_.Enqueue("q", "{}", {"CONCURRENCY", "a"});
  const std::string b1 = server_.Enqueue("q", "{}", {"CONCURRENCY", "b"});
  const auto jobs = server_.Fetch("q", 10);
  ASSERT_EQ(jobs.size(), 2U);
  EXPECT_EQ(jobs[0].id, a1);
  EXPECT_EQ(jobs[1].id, b1);
  server_.ExpectSound();
  server_.Fail(jobs[0], {"DELAY", "60000"});
  EXPECT_EQ(server_.Fetch("q", 10).at(0).id, a2);
  server_.Run({"JOB.CANCEL", a2});
  EXPECT_EQ(server_.Fetch("q", 10).at(0).id, a3);
}

TEST_F(CoordinationTest, MoreSlotsOfAKeyLetMoreRun) {
  for (int i = 0; i < 4; ++i) server_.Enqueue("q", "{}", {"CONCURRENCY", "a"});
  EXPECT_EQ(server_.Fetch("q", 10).size(), 1U);
  server_.Run({"QUEUE.CONFIG", "q", R"({"key_concurrency":3})"});
  EXPECT_EQ(server_.Fetch("q", 10).size(), 2U);
}

TEST_F(CoordinationTest, ARateKeyIsLimitedByItselfAlone) {
  server_.Run({"QUEUE.CONFIG", "q", R"({"key_rate_limit":1,"key_rate_window_ms":1000})"});
  for (int i = 0; i < 3; ++i) server_.Enqueue("q", "{}", {"RATE", "a"});
  const std::string other = server_.Enqueue("q");
  const auto jobs = server_.Fetch("q", 10);
  ASSERT_EQ(jobs.size(), 2U);
  EXPECT_EQ(jobs[1].id, other);
  server_.ExpectSound();
  EXPECT_TRUE(server_.Fetch("q", 10).empty());
  server_.Advance(1'020);
  EXPECT_EQ(server_.Fetch("q", 10).size(), 1U);
  server_.Advance(1'020);
  EXPECT_EQ(server_.Fetch("q", 10).size(), 1U);
  server_.Advance(5'000);
  EXPECT_EQ(server_.Count("q", "pending"), 0);
}

TEST_F(CoordinationTest, GroupsTakeTurns) {
  for (int i = 0; i < 5; ++i) server_.Enqueue("q", "\"big\"", {"GROUP", "big"});
  server_.Enqueue("q", "\"small\"", {"GROUP", "small"});
  server_.Enqueue("q", "\"small\"", {"GROUP", "small"});
  std::string order;
  for (const auto& job : server_.Fetch("q", 10)) order += job.payload[1];
  EXPECT_EQ(order, "bsbsbbb");
}

TEST_F(CoordinationTest, APausedQueueIsSkippedAndAResumedOneWakesItsWorkers) {
  server_.Enqueue("q");
  server_.Run({"QUEUE.PAUSE", "q"});
  EXPECT_TRUE(server_.Fetch("q").empty());
  auto worker = server_.Connect();
  worker.Send({"JOB.FETCH", "BLOCK", "0", "QUEUES", "q"});
  server_.Run({"QUEUE.RESUME", "q"});
  EXPECT_NE(worker.Receive().find("job_id"), std::string::npos);
}

// --- Batches -------------------------------------------------------------------------------------

TEST_F(CoordinationTest, ABatchCountsEveryEndAndCallsBackOnce) {
  const auto reply = server_.Value({"JOB.ENQUEUEM", "CALLBACK", "done", R"({"x":1})", "q",
                                    "RETRIES", "0", "PAYLOADS", "1", "2", "3"});
  ASSERT_EQ(reply.items.size(), 2U);
  const std::string batch = reply.items[0].text;
  const auto jobs = server_.Fetch("q", 2);
  server_.Value({"JOB.ACKM", jobs[0].id, jobs[0].token});
  server_.Fail(jobs[1]);
  EXPECT_TRUE(server_.Fetch("done").empty());
  server_.Run({"JOB.CANCEL", reply.items[1].items[2].text});
  const auto callback = server_.Fetch("done", 10);
  ASSERT_EQ(callback.size(), 1U);
  const json::value payload = json::parse(callback[0].payload);
  EXPECT_EQ(payload.at("succeeded").as_int64(), 1);
  EXPECT_EQ(payload.at("failed").as_int64(), 1);
  EXPECT_EQ(payload.at("cancelled").as_int64(), 1);
  EXPECT_EQ(payload.at("x").as_int64(), 1);
  EXPECT_TRUE(Batch(batch).at("done").as_bool());
}

TEST_F(CoordinationTest, ACallbackHasWhatItsQueueHasForAll) {
  server_.Run({"QUEUE.CONFIG", "done", R"({"max_retries":9,"timeout_ms":4444})"});
  server_.Value({"JOB.ENQUEUEM", "CALLBACK", "done", "{}", "q", "PAYLOADS", "1"});
  server_.Ack(server_.Fetch("q").at(0));
  const json::value callback = server_.Job(server_.Fetch("done").at(0).id);
  EXPECT_EQ(callback.at("max_retries").as_int64(), 9);
  EXPECT_EQ(callback.at("timeout_ms").as_int64(), 4444);
}

TEST_F(CoordinationTest, AnOpenBatchIsDoneOnlyAfterItIsSealed) {
  const std::string batch = server_.Value({"JOB.BATCHOPEN", "done"}).text;
  const std::string id = server_.Enqueue("q", "{}", {"BATCH", batch});
  server_.Ack(server_.Fetch("q").at(0));
  EXPECT_TRUE(server_.Fetch("done").empty());
  server_.Enqueue("other", "{}", {"BATCH", batch});
  server_.Run({"JOB.BATCHSEAL", batch});
  EXPECT_TRUE(
      server_.Run({"JOB.ENQUEUE", "q", "{}", "BATCH", batch}).starts_with("(error) BATCH_ERROR"));
  server_.Ack(server_.Fetch("other").at(0));
  EXPECT_EQ(server_.Fetch("done").size(), 1U);
  server_.Run({"JOB.RETRY", id});
  EXPECT_EQ(Batch(batch).at("pending").as_int64(), 1);
  server_.Ack(server_.Fetch("q").at(0));
  EXPECT_TRUE(server_.Fetch("done").empty());
}

// --- Chains --------------------------------------------------------------------------------------

constexpr std::string_view kChain =
    R"({"steps":[{"queue":"one"},{"queue":"two","payload":{"own":1}},{"queue":"three"}],)"
    R"("on_failure":{"queue":"alarm"},"on_exit":{"queue":"exit"}})";

TEST_F(CoordinationTest, AChainGoesOnWithTheResultOfTheStepBefore) {
  const std::string first = server_.Enqueue("one", "{}", {"CHAIN", std::string(kChain)});
  server_.Ack(server_.Fetch("one").at(0), "42");
  const auto two = server_.Fetch("two").at(0);
  EXPECT_EQ(two.payload,
            fmt::format(R"({{"previous_job_id":"{}","previous_result":42,"own":1}})", first));
  server_.Ack(two);
  server_.Ack(server_.Fetch("three").at(0));
  EXPECT_EQ(server_.Fetch("exit").size(), 1U);
}

TEST_F(CoordinationTest, AChainThatFailsOrExitsRunsItsHandlers) {
  server_.Enqueue("one", "{}", {"CHAIN", std::string(kChain)});
  server_.Fail(server_.Fetch("one").at(0), {"NORETRY"});
  const json::value alarm = json::parse(server_.Fetch("alarm").at(0).payload);
  EXPECT_EQ(alarm.at("failed_step").as_int64(), 0);
  EXPECT_EQ(alarm.at("error").as_string(), "boom");
  server_.Enqueue("one", "{}", {"CHAIN", std::string(kChain)});
  const auto job = server_.Fetch("one").at(0);
  server_.Run({"JOB.ACK", job.id, "TOKEN", job.token, "EXIT", "enough"});
  EXPECT_TRUE(server_.Fetch("two").empty());
  EXPECT_EQ(server_.Fetch("exit").size(), 1U);
}

// --- Dependencies --------------------------------------------------------------------------------

TEST_F(CoordinationTest, AJobWaitsForItsDependencies) {
  const std::string a = server_.Enqueue("a");
  const std::string b = server_.Enqueue("b");
  const std::string waits = server_.Enqueue("c", "{}", {"DEPENDS", "2", a, b});
  EXPECT_TRUE(server_.Fetch("c").empty());
  server_.ExpectSound();
  server_.Ack(server_.Fetch("a").at(0));
  EXPECT_TRUE(server_.Fetch("c").empty());
  server_.Ack(server_.Fetch("b").at(0));
  EXPECT_EQ(server_.Fetch("c").at(0).id, waits);
}

TEST_F(CoordinationTest, WhoIsHeldAndLetGoStillWaitsForItsDependencies) {
  const std::string a = server_.Enqueue("a");
  const std::string b = server_.Enqueue("b");
  const std::string held = server_.Enqueue("c", "{}", {"DEPENDS", "2", a, b});
  const std::string later = server_.Enqueue("c", "{}", {"DEPENDS", "1", b, "DELAY", "60000"});
  server_.Run({"JOB.HOLD", held});
  server_.ExpectSound();
  server_.Ack(server_.Fetch("a").at(0));
  EXPECT_EQ(server_.State(held), "held");
  server_.Run({"JOB.APPROVE", held});
  server_.Run({"JOB.RETRY", later});
  EXPECT_TRUE(server_.Fetch("c").empty());
  server_.ExpectSound();
  server_.Ack(server_.Fetch("b").at(0));
  EXPECT_EQ(server_.Fetch("c", 10).size(), 2U);
}

TEST_F(CoordinationTest, WhoseDependenciesEndWhileItIsHeldRunsWhenItIsLetGo) {
  const std::string a = server_.Enqueue("a");
  const std::string held = server_.Enqueue("c", "{}", {"DEPENDS", "1", a});
  server_.Run({"JOB.HOLD", held});
  server_.Ack(server_.Fetch("a").at(0));
  server_.Run({"JOB.APPROVE", held});
  EXPECT_EQ(server_.Fetch("c").at(0).id, held);
}

TEST_F(CoordinationTest, AFailedDependencyFollowsThePolicy) {
  const std::string a = server_.Enqueue("a");
  const auto waiting = [&](std::string_view policy) {
    return server_.Enqueue("c", "{}", {"DEPENDS", "1", a, "ONDEPFAIL", std::string(policy)});
  };
  const std::string fails = waiting("fail");
  const std::string ignores = waiting("ignore");
  const std::string holds = waiting("hold");
  const std::string after = server_.Enqueue("d", "{}", {"DEPENDS", "1", fails});
  server_.Run({"JOB.CANCEL", a});
  EXPECT_EQ(server_.State(fails), "dead");
  EXPECT_EQ(server_.State(ignores), "pending");
  EXPECT_EQ(server_.State(holds), "held");
  EXPECT_EQ(server_.State(after), "dead");
  EXPECT_EQ(server_.State(waiting("fail")), "dead") << "it had failed already";
}

TEST_F(CoordinationTest, ADependencyThatExpiresIsTold) {
  const std::string a = server_.Enqueue("a", "{}", {"EXPIRE", "1000"});
  const std::string waits = server_.Enqueue("c", "{}", {"DEPENDS", "1", a});
  server_.Advance(1'100);
  EXPECT_EQ(server_.State(a), "dead");
  EXPECT_EQ(server_.State(waits), "dead");
}

// --- What is done to jobs and queues -------------------------------------------------------------

TEST_F(CoordinationTest, HoldApproveRejectMoveRetryAndDelete) {
  const std::string id = server_.Enqueue("q");
  EXPECT_EQ(server_.Run({"JOB.HOLD", id, "check"}), "OK");
  EXPECT_EQ(server_.Job(id).at("hold_reason").as_string(), "check");
  EXPECT_TRUE(server_.Fetch("q").empty());
  EXPECT_EQ(server_.Run({"JOB.APPROVE", id}), "OK");
  EXPECT_TRUE(server_.Run({"JOB.APPROVE", id}).starts_with("(error) APPROVE_ERROR"));
  EXPECT_EQ(server_.Run({"JOB.MOVE", id, "elsewhere"}), "OK");
  server_.ExpectSound();
  EXPECT_TRUE(server_.Fetch("q").empty());
  const auto job = server_.Fetch("elsewhere").at(0);
  EXPECT_EQ(job.id, id);
  EXPECT_EQ(server_.Fail(job, {"NORETRY"}).substr(0, 7), "[\"dead\"");
  EXPECT_EQ(server_.Run({"JOB.RETRY", id}), "OK");
  EXPECT_EQ(server_.Run({"JOB.HOLD", id}), "OK");
  EXPECT_EQ(server_.Run({"JOB.REJECT", id, "no"}), "OK");
  EXPECT_EQ(server_.State(id), "dead");
  EXPECT_EQ(server_.Run({"JOB.DELETE", id}), "OK");
  EXPECT_EQ(server_.State(id), "none");
}

TEST_F(CoordinationTest, ClearRemovesWhatHasNotBegunOfEveryPriority) {
  server_.Enqueue("q");
  const auto active = server_.Fetch("q");
  server_.Enqueue("q");
  server_.Enqueue("q", "{}", {"PRIORITY", "critical"});
  server_.Enqueue("q", "{}", {"DELAY", "1000"});
  server_.Enqueue("q", "{}", {"CONCURRENCY", "k"});
  server_.Enqueue("q", "{}", {"CONCURRENCY", "k", "UNIQUE", "u"});
  EXPECT_EQ(server_.Run({"QUEUE.CLEAR", "q"}), "(integer) 5");
  EXPECT_EQ(server_.Count("q", "pending"), 0);
  EXPECT_EQ(server_.Count("q", "scheduled"), 0);
  EXPECT_TRUE(server_.Fetch("q", 10).empty());
  EXPECT_EQ(server_.Ack(active[0]), "OK");
}

TEST_F(CoordinationTest, DeleteRemovesAQueueWithAllItsJobs) {
  server_.Run({"QUEUE.THROTTLE", "q", "5", "1000"});
  for (int i = 0; i < 3; ++i) server_.Enqueue("q");
  server_.Ack(server_.Fetch("q").at(0));
  server_.Fetch("q");
  EXPECT_EQ(server_.Run({"QUEUE.DELETE", "q"}), "(integer) 3");
  EXPECT_EQ(server_.Count("q", "pending"), -1);
  server_.ExpectSound();
  server_.Enqueue("q");
  EXPECT_EQ(server_.Fetch("q").size(), 1U);
}

// It is one transaction, however many jobs there are: a server that stops does not wait for it.
TEST_F(CoordinationTest, DeletingAQueueEndsWithTheServer) {
  for (int i = 0; i < 3; ++i) server_.Enqueue("q");
  server_.instance().traffic().busy.EndAll();
  EXPECT_EQ(server_.Run({"QUEUE.DELETE", "q"}), "(error) UNAVAILABLE the server stops");
  EXPECT_EQ(server_.Run({"QUEUE.CLEAR", "q"}), "(error) UNAVAILABLE the server stops");
  EXPECT_EQ(server_.Count("q", "pending"), 3);
  server_.ExpectSound();
}

TEST_F(CoordinationTest, WorkersAreKnownAndForgotten) {
  server_.Enqueue("q");
  server_.Fetch("q");
  EXPECT_EQ(server_.Value({"QUEUE.WORKERS"}).items.size(), 1U);
  server_.Advance(kWorkerForgottenMs + 100);
  EXPECT_TRUE(server_.Value({"QUEUE.WORKERS"}).items.empty());
}

// --- Time ----------------------------------------------------------------------------------------

// Whose end lets a job of another queue's name through needs more than its own name tells.
TEST_F(CoordinationTest, AnExpiredJobLetsOneThroughThatWasMovedHere) {
  const std::string first = server_.Enqueue("q", "{}", {"CONCURRENCY", "k", "EXPIRE", "1000"});
  const std::string moved = server_.Enqueue("other", "{}", {"CONCURRENCY", "k"});
  EXPECT_EQ(server_.Run({"JOB.MOVE", moved, "q"}), "OK");
  server_.Advance(1'020);
  EXPECT_EQ(server_.State(first), "dead");
  EXPECT_EQ(server_.Fetch("q").at(0).id, moved);
}

}  // namespace
}  // namespace cairn::jobs
