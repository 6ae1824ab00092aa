#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "functions/model/names.h"
#include "functions/testing/schedule_fixture.h"
#include "functions/trigger/batches.h"
#include "functions/trigger/triggers.h"
#include "functions/trigger/verify.h"
#include "jobs/operations/operations.h"

namespace cairn::functions::testing {

// Triggers on a store of the test's own, whose clock stands still unless the test moves it; the
// test does what a runner and an invoker would. Ends with the checks of functions, triggers and
// jobs.
class TriggerTest : public ScheduleTest {
 protected:
  void TearDown() override {
    ExpectTriggersSound();
    ScheduleTest::TearDown();
  }

  static TriggerId Id(std::string_view name) { return {kFunction.in(), std::string(name)}; }
  // With the alias "prod" of the function.
  static TriggerConfig From(SourceType type, std::vector<std::string> names,
                            std::vector<std::string> types = {}) {
    TriggerConfig trigger;
    trigger.source = {.type = type, .names = std::move(names), .types = std::move(types)};
    trigger.ref = {.function = kFunction.name, .alias = "prod"};
    return trigger;
  }
  static TriggerConfig FromQueue(std::vector<std::string> queues = {"mail"}) {
    return From(SourceType::kQueue, std::move(queues));
  }
  Result<TriggerDetail> MakeTrigger(std::string_view name, const TriggerConfig& trigger,
                                    StartAt start = StartAt::kNewest) {
    return Do(
        [&](Context& context) { return CreateTrigger(context, place_, Id(name), trigger, start); });
  }
  Result<TriggerDetail> Change(std::string_view name, const TriggerUpdate& update) {
    return Do([&](Context& context) { return UpdateTrigger(context, place_, Id(name), update); });
  }
  TriggerDetail Show(std::string_view name) {
    const Result<TriggerDetail> detail =
        Do([&](Context& context) { return GetTrigger(context, place_, Id(name)); });
    EXPECT_TRUE(detail.ok()) << detail.error().message;
    return detail.ok() ? *detail : TriggerDetail();
  }
  Result<void> Drop(std::string_view name) {
    return Do([&](Context& context) { return DeleteTrigger(context, Id(name)); });
  }

  std::string Enqueue(std::string_view queue, std::string_view payload = "{}",
                      int64_t max_retries = 3) {
    std::string id;
    InJobs([&](jobs::Context& context) -> Result<void> {
      jobs::EnqueueRequest request;
      request.queue = queue;
      request.payload = payload;
      request.max_retries = max_retries;
      request.retry_backoff = jobs::Backoff::kNone;
      CAIRN_ASSIGN_OR_RETURN(const jobs::EnqueueResult added, jobs::Enqueue(context, request));
      id = added.id;
      return {};
    });
    return id;
  }
  // nullopt: it is gone.
  std::optional<jobs::Job> JobOf(const std::string& id) {
    const Result<std::optional<jobs::Job>> job =
        Do([&](Context& context) { return jobs::LoadJob(context.transaction, id); });
    EXPECT_TRUE(job.ok());
    return job.ok() ? *job : std::nullopt;
  }
  std::string StateOfJob(const std::string& id) {
    const std::optional<jobs::Job> job = JobOf(id);
    return job ? std::string(jobs::StateName(job->state)) : "gone";
  }

  // One look of a runner.
  BatchOutcome Pump(std::string_view name, uint64_t known_to = 0) {
    BatchPlan plan{.id = Id(name), .trigger = Show(name).trigger, .known_to = known_to};
    for (int i = 0; i < 8; ++i) plan.activations.push_back(NewActivationId(random_));
    BatchOutcome outcome;
    InJobs([&](jobs::Context& context) -> Result<void> {
      CAIRN_ASSIGN_OR_RETURN(outcome, BeginBatches(context, plan));
      return {};
    });
    return outcome;
  }

  // The activation ends: its message is acknowledged, and what its trigger does happens.
  void EndWith(const Claimed& claimed, Status status, std::string body = "") {
    InJobs([&](jobs::Context& context) -> Result<void> {
      CAIRN_RETURN_IF_ERROR(codeq::Ack(context, claimed.lease));
      Activation activation = ActivationOf(claimed.request);
      activation.status = status;
      if (status == Status::kSuccess) {
        activation.result = FunctionResult{.body = body};
      } else {
        activation.error = FunctionError{.type = "Exception", .message = "it broke"};
      }
      CAIRN_RETURN_IF_ERROR(MoveActivation(context.transaction, Status::kRunning, activation));
      EXPECT_TRUE(ending_.Concerns(activation));
      return ending_.End(context, activation);
    });
  }

  void ExpectTriggersSound() {
    const house::Verification verification = VerifyTheTriggers();
    EXPECT_TRUE(verification.sound()) << verification.problems().front();
  }
  house::Verification VerifyTheTriggers() {
    house::Verification verification;
    EXPECT_TRUE(VerifyTriggers(*store_, verification).ok());
    return verification;
  }

  const TriggerPlace place_;
  const TriggerEnding ending_;
};

}  // namespace cairn::functions::testing
