#include "jobs/model/job.h"

#include <gtest/gtest.h>

#include <limits>

#include "jobs/model/ids.h"
#include "jobs/model/message_pack.h"
#include "jobs/model/queue_config.h"
#include "jobs/model/queue_state.h"
#include "jobs/model/refusal.h"

namespace cairn::jobs {
namespace {

// A job in which no field is as it usually is.
Job Unusual() {
  Job job;
  job.id = "job_1";
  job.queue = "mail";
  job.state = State::kRetrying;
  job.priority = Priority::kHigh;
  job.payload = R"({"n":12345678901234567890123})";
  job.gate = Gate::kRate;
  job.index_ns = std::numeric_limits<uint64_t>::max();
  job.retry = {7, Backoff::kLinear, 1, 2, 3};
  job.attempt = 4;
  job.failures = 3;
  job.reclaims = 2;
  job.timeout_ms = 1000;
  job.has_errors = true;
  job.unique_key = "u";
  job.idempotency_key = "i";
  job.idempotency_queue = "before";
  job.concurrency_key = "c";
  job.rate_key = "r";
  job.group = "g";
  job.has_slot = true;
  job.batch_id = "batch_1";
  job.parent_id = "p";
  job.chain_id = "chn_1";
  job.chain_step = -2;
  job.chain_config = "{}";
  job.depends_on = {"job_2", "job_3"};
  job.waiting_for = 2;
  job.on_dependency_failure = DependencyPolicy::kHold;
  job.has_dependents = true;
  job.tags = R"({"a":1})";
  job.progress = "1";
  job.checkpoint = "[]";
  job.agent = R"({"max_iterations":5})";
  job.result = std::string(70'000, '7');
  job.worker_id = "w";
  job.hostname = "h";
  job.lease_token = 1ULL << 40;
  job.lease_expires_ns = 5;
  job.lease_ms = 6;
  job.created_ns = 7;
  job.scheduled_ns = 8;
  job.expire_ns = 9;
  job.started_ns = 10;
  job.completed_ns = 11;
  job.failed_ns = 12;
  job.reason = "because";
  return job;
}

TEST(JobTest, ADocumentGivesBackTheJob) {
  const Job job = Unusual();
  const Result<Job> decoded = DecodeJob("job_1", EncodeJob(job));
  ASSERT_TRUE(decoded.ok()) << decoded.error().message;
  EXPECT_EQ(*decoded, job);
}

TEST(JobTest, WhatIsUsualIsLeftOut) {
  Job job;
  job.id = "job_1";
  job.queue = "q";
  job.created_ns = 1;
  job.index_ns = 1;
  // A map of three pairs: queue, index time, time of creation.
  EXPECT_EQ(HexEncode(EncodeJob(job)),
            "de0003"
            "01a171"
            "0601"
            "0701");
  EXPECT_EQ(*DecodeJob("job_1", EncodeJob(job)), job);
}

TEST(JobTest, TruncatedDocumentsAreRejected) {
  Job job = Unusual();
  job.result = "1";
  const Bytes document = EncodeJob(job);
  for (size_t size = 0; size < document.size(); ++size) {
    EXPECT_FALSE(DecodeJob("job_1", document.substr(0, size)).ok()) << size;
  }
  EXPECT_FALSE(DecodeJob("job_1", document + "x").ok());
}

TEST(JobTest, FieldsOfANewerVersionAreSkipped) {
  Bytes document;
  PackWriter pack(document);
  pack.MapHeader(2);
  pack.Unsigned(1);
  pack.String("q");
  pack.Unsigned(200);
  pack.ArrayHeader(2);
  pack.MapHeader(1);
  pack.String("deep");
  pack.Signed(-70'000);
  pack.Bool(true);
  const Result<Job> job = DecodeJob("job_1", document);
  ASSERT_TRUE(job.ok());
  EXPECT_EQ(job->queue, "q");
}

TEST(JobTest, TheIndexKeyFollowsFromTheState) {
  Job job;
  job.id = "J";
  job.queue = "q";
  job.index_ns = 5;
  EXPECT_EQ(IndexKeyOf(job), AppendKey("q", 5, "J"));
  job.priority = Priority::kCritical;
  EXPECT_EQ(IndexKeyOf(job), PendingKey("q", Priority::kCritical, 5, "J"));
  job.gate = Gate::kGroup;
  job.group = "g";
  EXPECT_EQ(IndexKeyOf(job), ParkedKey("q", Gate::kGroup, "g", 5, "J"));
  job.state = State::kActive;
  EXPECT_EQ(IndexKeyOf(job), ActiveKey("q", "J"));
  job.state = State::kDead;
  EXPECT_EQ(IndexKeyOf(job), FinishedKey("q", 5, "J"));
}

TEST(JobTest, DelaysGrowAsThePolicySays) {
  RetryPolicy policy{.base_ms = 1'000, .max_ms = 5'000};
  EXPECT_EQ(RetryDelayMs(policy, 1, 0), 1'000);
  EXPECT_EQ(RetryDelayMs(policy, 3, 0), 4'000);
  EXPECT_EQ(RetryDelayMs(policy, 4, 0), 5'000);
  EXPECT_EQ(RetryDelayMs(policy, 1'000, 0), 5'000);
  policy.max_ms = 0;
  EXPECT_EQ(RetryDelayMs(policy, 1'000, 0), kMaxDelayMs);
  policy.backoff = Backoff::kLinear;
  EXPECT_EQ(RetryDelayMs(policy, 3, 0), 3'000);
  policy.backoff = Backoff::kFixed;
  EXPECT_EQ(RetryDelayMs(policy, 3, 0), 1'000);
  policy.backoff = Backoff::kNone;
  EXPECT_EQ(RetryDelayMs(policy, 3, 0), 0);
  policy = {.backoff = Backoff::kFixed, .base_ms = 1'000, .jitter_percent = 50};
  for (uint64_t random = 0; random < 2'000; random += 7) {
    EXPECT_GE(RetryDelayMs(policy, 1, random), 500);
    EXPECT_LE(RetryDelayMs(policy, 1, random), 1'000);
  }
}

TEST(IdsTest, AnIdTellsItsLanes) {
  const std::string id =
      MakeId({.ns = 0x0102030405060708, .lane = 0xabcd, .serial = 0x99123456, .extra = {1, 2}});
  EXPECT_EQ(id, "job_0102030405060708abcd12345600010002");
  EXPECT_EQ(LanesOfId(id), (std::vector<Lane>{0xabcd, 1, 2}));
  EXPECT_TRUE(LanesOfId("job_0102030405060708abcd12345").empty());
  EXPECT_TRUE(LanesOfId("job_0102030405060708abcd12345G").empty());
  EXPECT_TRUE(LanesOfId("").empty());
  EXPECT_FALSE(IsId("job_0102030405060708abcd123456000100020003000400"));
}

TEST(IdsTest, TheLaneOfAQueueNeverChanges) {
  EXPECT_EQ(LaneOfQueue(""), 0x1cd9);
  EXPECT_EQ(LaneOfQueue("mail"), LaneOfQueue("mail"));
  EXPECT_NE(LaneOfQueue("mail"), LaneOfQueue("mail2"));
}

TEST(IdsTest, ScopesThatAreNotHeldAreAskedFor) {
  Held held;
  held.AddQueue("q");
  EXPECT_TRUE(held.Covers(LaneOfQueue("q")));
  EXPECT_FALSE(held.Covers(static_cast<Lane>(LaneOfQueue("q") + 1)));
  EXPECT_TRUE(Held::Everything().Covers(7));
  EXPECT_TRUE(Held::Everything().ToScopes().exclusive());
}

TEST(QueueStateTest, RowsGiveBackWhatTheyWere) {
  QueueState state;
  state.last_ns = std::numeric_limits<uint64_t>::max();
  state.counts = {1, 2, 3, 4, 5, 6, 7, 8};
  state.line = {1, 2, 3};
  state.cursor_ns = {5, 1ULL << 60};
  state.window_count = 70'000;
  state.wakes_on_end = true;
  const Bytes row = EncodeQueueState(state);
  EXPECT_EQ(DecodeQueueState(row), state);
  for (size_t size = 0; size < row.size(); ++size) {
    EXPECT_FALSE(DecodeQueueState(row.substr(0, size)));
  }
  const GateState gate{1, 2, 3, 4, 5};
  EXPECT_EQ(DecodeGateState(EncodeGateState(gate)), gate);
}

TEST(QueueConfigTest, SettingsAreCheckedAndKept) {
  const Result<QueueConfig> config = ParseQueueConfig(
      R"({"max_concurrency":5,"max_retries":0,"retry_backoff":"fixed","paused":true})");
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(*ParseQueueConfig(QueueConfigJson(*config)), *config);
  EXPECT_EQ(QueueConfigJson(QueueConfig()), "{}");
  EXPECT_EQ(PatchQueueConfig(*config, R"({"max_concurrency":null})")->max_concurrency, 0);
  for (const std::string_view bad :
       {R"({"nope":1})", R"({"max_concurrency":-1})", R"({"max_concurrency":"5"})", "[]", "{",
        R"({"rate_limit":5})", R"({"retry_backoff":"wild"})"}) {
    EXPECT_FALSE(ParseQueueConfig(bad).ok()) << bad;
  }
}

TEST(RefusalTest, AReasonIsFoundByItsWord) {
  const Error error = Refuse(Reason::kLeaseLost, "it has passed on");
  EXPECT_EQ(error.message, "LEASE_LOST it has passed on");
  ASSERT_NE(FindReason(error), nullptr);
  EXPECT_EQ(FindReason(error)->http_status, 409);
  EXPECT_EQ(RefusalText(error), "it has passed on");
  EXPECT_EQ(FindReason({ErrorCode::kIo, "LEASE_LOST not one"}), nullptr);
}

TEST(TokenTest, TextAndNumberAreTheSame) {
  EXPECT_EQ(FormatToken(0xabc), "0000000000000abc");
  EXPECT_EQ(ParseToken("0000000000000abc"), 0xabc);
  EXPECT_FALSE(ParseToken("abc"));
  EXPECT_FALSE(ParseToken("000000000000zabc"));
}

}  // namespace
}  // namespace cairn::jobs
