// Claims of cs.invoke on a store of the test's own, whose clock stands still unless the test moves
// it; the test does what an invoker would.
#include "functions/invoker/begin.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "functions/activation/accept.h"
#include "functions/activation/activations.h"
#include "functions/codeq/topics.h"
#include "functions/testing/control_fixture.h"
#include "jobs/ledger/verify.h"
#include "jobs/operations/due_timers.h"
#include "jobs/operations/operations.h"

namespace cairn::functions {
namespace {

using testing::kFunction;

constexpr int64_t kLeaseMs = 1'000;
constexpr int64_t kDeadlineMs = 600'000;

class BeginTest : public testing::ControlTest {
 protected:
  BeginTest() {
    due_.RegisterWith(*timers_);
    EXPECT_TRUE(Create().ok());
    EXPECT_EQ(PublishFiles(kFunction, "prod"), 1U);
  }
  void TearDown() override {
    const auto snapshot = store_->Read();
    ASSERT_TRUE(snapshot.ok());
    const Result<jobs::VerifyReport> report = jobs::Verify(**snapshot);
    ASSERT_TRUE(report.ok()) << report.error().message;
    EXPECT_TRUE(report->sound()) << report->ToJson();
    ControlTest::TearDown();
  }

  template <typename Step>
  Result<void> InJobs(Step step) {
    const auto run = [&](store::Transaction& transaction) -> Result<void> {
      jobs::Held held = jobs::Held::Everything();
      jobs::Context context{transaction, held};
      return step(context);
    };
    const Result<store::Commit> done = store_->Run(store::Scopes::Exclusive(), run);
    if (!done.ok()) return done.error();
    return {};
  }

  InvocationRequest NewRequest() {
    return {.activation_id = NewActivationId(random_),
            .request_id = NewRequestId(random_),
            .tenant = kFunction.tenant,
            .ns = kFunction.ns,
            .ref = {.function = kFunction.name, .alias = "prod"},
            .trigger = {.type = TriggerType::kApi, .source = ApiSource(/*sync=*/false, "")},
            .principal = {.sub = "user:1", .roles = {}},
            .deadline_ms = clock_.Now().millis() + kDeadlineMs,
            .event = "{}"};
  }
  QueuedRequest Prepared(const InvocationRequest& request) {
    Result<QueuedRequest> queued = PrepareRequest(
        request,
        {.message_id = NewMessageId(clock_.Now(), random_), .now_ms = clock_.Now().millis()});
    EXPECT_TRUE(queued.ok()) << queued.error().message;
    return *std::move(queued);
  }
  // As a door does it.
  InvocationRequest Accept() {
    const InvocationRequest request = NewRequest();
    const QueuedRequest queued = Prepared(request);
    EXPECT_TRUE(InJobs([&](jobs::Context& context) -> Result<void> {
                  CAIRN_ASSIGN_OR_RETURN(const AcceptedRequest done,
                                         AcceptRequest(context, queued));
                  EXPECT_FALSE(done.existing);
                  return {};
                }).ok());
    return request;
  }
  // A message of its own, whatever there is for the activation.
  void PublishAgain(const InvocationRequest& request) {
    const QueuedRequest queued = Prepared(request);
    EXPECT_TRUE(InJobs([&](jobs::Context& context) -> Result<void> {
                  CAIRN_ASSIGN_OR_RETURN(const codeq::Published published,
                                         codeq::Publish(context, queued.message));
                  EXPECT_FALSE(published.existing);
                  return {};
                }).ok());
  }

  struct Claimed {
    std::vector<Begun> begun;
    std::vector<ParkedMessage> parked;
    bool found = false;
  };
  Claimed Claim(int64_t room = 1'000) {
    BeginWork work({.count = 100,
                    .lease_ms = kLeaseMs,
                    .has_room = [room](const FunctionName& function, const VersionMeta& version,
                                       int64_t more) {
                      EXPECT_EQ(function, kFunction);
                      EXPECT_EQ(version.version, 1U);
                      return more <= room;
                    }});
    work.held.exclusive = true;
    const auto run = [&](store::Transaction& transaction) { return work.Run(transaction); };
    const Result<store::Commit> done = store_->Run(store::Scopes::Exclusive(), run);
    EXPECT_TRUE(done.ok()) << done.error().message;
    Claimed claimed{.found = work.found()};
    claimed.begun = work.TakeBegun();
    claimed.parked = work.TakeParked();
    return claimed;
  }
  // What finishing does to message and record.
  Result<void> Finish(const Begun& begun, Status status = Status::kSuccess) {
    return InJobs([&](jobs::Context& context) -> Result<void> {
      CAIRN_RETURN_IF_ERROR(codeq::Ack(context, begun.lease));
      if (begun.ended) return {};
      Activation activation = begun.activation;
      activation.status = status;
      activation.message.clear();
      return EndRun(context.transaction, begun.lease.id, activation);
    });
  }
  Result<void> Extend(const Begun& begun) {
    return InJobs([&](jobs::Context& context) -> Result<void> {
      CAIRN_ASSIGN_OR_RETURN(const uint64_t until, codeq::Extend(context, begun.lease, kLeaseMs));
      EXPECT_GT(until, 0U);
      return {};
    });
  }
  void Advance(int64_t ms) {
    clock_.AdvanceMillis(ms);
    FireTimers();
  }
  Activation Stored(const InvocationRequest& request) {
    std::optional<Activation> found;
    EXPECT_TRUE(InJobs([&](jobs::Context& context) -> Result<void> {
                  CAIRN_ASSIGN_OR_RETURN(found, LoadActivation(context.transaction, request.tenant,
                                                               request.activation_id));
                  return {};
                }).ok());
    return found.value_or(Activation());
  }
  int64_t InQueue(std::string_view queue, jobs::State state) {
    int64_t count = 0;
    EXPECT_TRUE(InJobs([&](jobs::Context& context) -> Result<void> {
                  CAIRN_ASSIGN_OR_RETURN(const jobs::QueueInfo info,
                                         jobs::GetQueue(context.transaction, queue));
                  count = info.counts[static_cast<size_t>(state)];
                  return {};
                }).ok());
    return count;
  }

  jobs::DueTimers due_;
};

TEST_F(BeginTest, ARunningActivationNamesTheMessageThatRunsIt) {
  const InvocationRequest request = Accept();
  const Claimed claimed = Claim();
  ASSERT_EQ(claimed.begun.size(), 1U);
  EXPECT_EQ(Stored(request).status, Status::kRunning);
  EXPECT_EQ(Stored(request).message, claimed.begun[0].lease.id);
  ASSERT_TRUE(Finish(claimed.begun[0]).ok());
  EXPECT_EQ(Stored(request).status, Status::kSuccess);
  EXPECT_EQ(Stored(request).message, "");
}

TEST_F(BeginTest, ADuplicateWaitsForTheOwnerAndFindsTheEnd) {
  const InvocationRequest request = Accept();
  const Claimed owner = Claim();
  ASSERT_EQ(owner.begun.size(), 1U);
  PublishAgain(request);
  Claimed duplicate = Claim();
  EXPECT_TRUE(duplicate.found);
  EXPECT_TRUE(duplicate.begun.empty());
  EXPECT_FALSE(Claim().found);  // it is put back, not at the head of the line

  // The owner takes longer than its lease, and extends it: the duplicate waits once more.
  Advance(kLeaseMs / 2);
  ASSERT_TRUE(Extend(owner.begun[0]).ok());
  Advance(kLeaseMs * 3 / 4);
  duplicate = Claim();
  EXPECT_TRUE(duplicate.found);
  EXPECT_TRUE(duplicate.begun.empty());
  ASSERT_TRUE(Finish(owner.begun[0]).ok());

  Advance(kLeaseMs);
  duplicate = Claim();
  ASSERT_EQ(duplicate.begun.size(), 1U);
  EXPECT_TRUE(duplicate.begun[0].ended);
  EXPECT_EQ(duplicate.begun[0].activation.status, Status::kSuccess);
  ASSERT_TRUE(Finish(duplicate.begun[0]).ok());
  EXPECT_FALSE(Claim().found);
}

TEST_F(BeginTest, ADuplicateTakesOverWhenTheOwnersLeaseHasEnded) {
  const InvocationRequest request = Accept();
  const Claimed owner = Claim();
  PublishAgain(request);
  EXPECT_TRUE(Claim().begun.empty());
  // Nobody extends it. Both messages come again; one of them runs the activation, and the other
  // waits for that one now.
  Advance(kLeaseMs + 1);
  const Claimed second = Claim();
  ASSERT_EQ(second.begun.size(), 1U);
  EXPECT_FALSE(second.begun[0].ended);
  EXPECT_EQ(Stored(request).message, second.begun[0].lease.id);
  // Who has lost its lease ends nothing.
  const Result<void> late = Finish(owner.begun[0], Status::kError);
  EXPECT_FALSE(late.ok());
  EXPECT_EQ(Stored(request).status, Status::kRunning);
  ASSERT_TRUE(Finish(second.begun[0]).ok());
  EXPECT_EQ(Stored(request).status, Status::kSuccess);
  Advance(kLeaseMs + 1);
  for (const Begun& begun : Claim().begun) {
    EXPECT_TRUE(begun.ended);
    ASSERT_TRUE(Finish(begun).ok());
  }
  EXPECT_EQ(Stored(request).status, Status::kSuccess);
}

TEST_F(BeginTest, TheSameMessageRunsAgainWhenItsLeaseHasEnded) {
  const InvocationRequest request = Accept();
  const Claimed first = Claim();
  Advance(kLeaseMs + 1);
  const Claimed again = Claim();
  ASSERT_EQ(again.begun.size(), 1U);
  EXPECT_EQ(again.begun[0].lease.id, first.begun[0].lease.id);
  EXPECT_NE(again.begun[0].lease.token, first.begun[0].lease.token);
  EXPECT_FALSE(Finish(first.begun[0]).ok());
  EXPECT_FALSE(Extend(first.begun[0]).ok());
  ASSERT_TRUE(Finish(again.begun[0]).ok());
  EXPECT_EQ(Stored(request).status, Status::kSuccess);
}

// The message holds its lease, but by hand the record was given to another one.
TEST_F(BeginTest, OnlyTheMessageInTheRecordEndsTheRun) {
  const InvocationRequest request = Accept();
  const Claimed claimed = Claim();
  Activation stolen = Stored(request);
  stolen.message = "job_of_somebody_else";
  ASSERT_TRUE(InJobs([&](jobs::Context& context) {
                return PutActivation(context.transaction, stolen);
              }).ok());
  const Result<void> refused = Finish(claimed.begun[0]);
  ASSERT_FALSE(refused.ok());
  EXPECT_TRUE(IsRefusal(refused.error(), Code::kCasFailed)) << refused.error().message;
  EXPECT_EQ(Stored(request).status, Status::kRunning);
  // Nothing of it has happened: the message is still there.
  EXPECT_EQ(InQueue(kInvokeTopic, jobs::State::kActive), 1);
}

TEST_F(BeginTest, TheSecondOfTwoEndsIsRefused) {
  const InvocationRequest request = Accept();
  const Claimed claimed = Claim();
  ASSERT_TRUE(Finish(claimed.begun[0]).ok());
  Activation other = claimed.begun[0].activation;
  other.status = Status::kError;
  const Result<void> refused = InJobs([&](jobs::Context& context) {
    return MoveActivation(context.transaction, Status::kRunning, other);
  });
  ASSERT_FALSE(refused.ok());
  EXPECT_TRUE(IsRefusal(refused.error(), Code::kCasFailed)) << refused.error().message;
  EXPECT_EQ(Stored(request).status, Status::kSuccess);
}

TEST_F(BeginTest, AMessageWithTheActivationOfAnotherRequestIsAStranger) {
  const InvocationRequest request = Accept();
  InvocationRequest stranger = NewRequest();
  stranger.activation_id = request.activation_id;
  PublishAgain(stranger);
  const Claimed claimed = Claim();
  ASSERT_EQ(claimed.begun.size(), 2U);
  EXPECT_FALSE(claimed.begun[0].stranger);
  EXPECT_TRUE(claimed.begun[1].stranger);
  EXPECT_EQ(Stored(request).message, claimed.begun[0].lease.id);
  ASSERT_TRUE(Finish(claimed.begun[0]).ok());
}

// --- Room ---------------------------------------------------------------------------------------

TEST_F(BeginTest, WhatHasNoRoomIsParkedInTheSameTransaction) {
  std::vector<InvocationRequest> requests;
  for (int i = 0; i < 5; ++i) requests.push_back(Accept());
  const Claimed claimed = Claim(/*room=*/2);
  ASSERT_EQ(claimed.begun.size(), 2U);
  ASSERT_EQ(claimed.parked.size(), 3U);
  EXPECT_EQ(claimed.parked[0].max_concurrency, 10);
  EXPECT_EQ(Stored(requests[0]).status, Status::kRunning);
  EXPECT_EQ(Stored(requests[4]).status, Status::kQueued);
  EXPECT_EQ(InQueue(kInvokeTopic, jobs::State::kScheduled), 3);
  EXPECT_FALSE(Claim(2).found);

  // In order, and without having used up an attempt.
  ASSERT_TRUE(InJobs([&](jobs::Context& context) {
                return jobs::Retry(context, claimed.parked[0].message, {.keep_attempts = true});
              }).ok());
  const Claimed next = Claim(1);
  ASSERT_EQ(next.begun.size(), 1U);
  EXPECT_EQ(next.begun[0].activation.activation_id, requests[2].activation_id);
  // Nobody tells the others: they come by themselves.
  Advance(kParkedMs + 1);
  EXPECT_EQ(Claim(10).begun.size(), 5U);  // with those whose leases have ended
}

TEST_F(BeginTest, AParkedMessageIsAnsweredAtItsDeadline) {
  const InvocationRequest request = Accept();
  Advance(kDeadlineMs - 10);
  EXPECT_EQ(Claim(/*room=*/0).parked.size(), 1U);
  Advance(10);
  const Claimed claimed = Claim(/*room=*/0);
  ASSERT_EQ(claimed.begun.size(), 1U);
  EXPECT_TRUE(claimed.begun[0].expired);
  ASSERT_TRUE(Finish(claimed.begun[0], Status::kTimeout).ok());
  EXPECT_EQ(Stored(request).status, Status::kTimeout);
}

TEST_F(BeginTest, ALostRunThatHasNoRoomIsQueuedAgain) {
  const InvocationRequest request = Accept();
  ASSERT_EQ(Claim().begun.size(), 1U);
  Advance(kLeaseMs + 1);
  ASSERT_EQ(Claim(/*room=*/0).parked.size(), 1U);
  EXPECT_EQ(Stored(request).status, Status::kQueued);
  EXPECT_EQ(Stored(request).message, "");
}

}  // namespace
}  // namespace cairn::functions
