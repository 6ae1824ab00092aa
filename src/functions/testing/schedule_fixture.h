#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "functions/activation/accept.h"
#include "functions/activation/activations.h"
#include "functions/codeq/topics.h"
#include "functions/schedule/firing.h"
#include "functions/schedule/schedules.h"
#include "functions/schedule/verify.h"
#include "functions/testing/control_fixture.h"
#include "jobs/ledger/verify.h"
#include "jobs/operations/operations.h"

namespace cairn::functions::testing {

// Schedules on a store of the test's own, whose clock stands still unless the test moves it; the
// test does what an invoker would. Each test begins with a function that has one version, under the
// alias "prod", and ends with the checks of functions, schedules and jobs.
class ScheduleTest : public ControlTest {
 protected:
  ScheduleTest() {
    StartTicks();
    EXPECT_TRUE(Create().ok());
    EXPECT_EQ(PublishFiles(kFunction, "prod"), 1U);
  }
  void TearDown() override {
    ExpectSchedulesSound();
    ControlTest::TearDown();
  }

  void StartTicks() { timers_->Register(kTimerSchedule, ticks_); }
  void RestartAll() {
    Restart();
    StartTicks();
  }
  // Moves time and fires what is due then.
  void Advance(int64_t ms) {
    clock_.AdvanceMillis(ms);
    FireTimers();
  }
  int64_t now_ms() const { return clock_.Now().millis(); }

  static ScheduleName Named(std::string_view name) { return {kFunction.in(), std::string(name)}; }
  static Schedule Every(int64_t seconds, Overlap overlap = Overlap::kSkip) {
    Schedule schedule;
    schedule.every_seconds = seconds;
    schedule.overlap = overlap;
    schedule.ref = {.function = kFunction.name, .alias = "prod"};
    return schedule;
  }
  Result<ScheduleDetail> Make(std::string_view name, const Schedule& schedule) {
    return Do([&](Context& context) { return CreateSchedule(context, Named(name), schedule); });
  }
  Result<ScheduleDetail> Update(std::string_view name, const ScheduleUpdate& update) {
    return Do([&](Context& context) { return UpdateSchedule(context, Named(name), update); });
  }
  ScheduleDetail Look(std::string_view name) {
    const Result<ScheduleDetail> detail =
        Do([&](Context& context) { return GetSchedule(context, Named(name)); });
    EXPECT_TRUE(detail.ok()) << detail.error().message;
    return detail.ok() ? *detail : ScheduleDetail();
  }
  ScheduleState StateOf(std::string_view name) { return Look(name).state; }
  Result<void> Remove(std::string_view name) {
    return Do([&](Context& context) { return DeleteSchedule(context, Named(name)); });
  }

  // Claims what there is of cs.invoke, and marks it as running.
  struct Claimed {
    jobs::LeaseRef lease;
    InvocationRequest request;
  };
  std::vector<Claimed> ClaimAll() {
    std::vector<Claimed> all;
    InJobs([&](jobs::Context& context) -> Result<void> {
      all.clear();
      codeq::ClaimRequest request;
      request.topics = {std::string(kInvokeTopic)};
      request.count = codeq::kMaxClaim;
      request.lease_ms = kDayMs;
      CAIRN_ASSIGN_OR_RETURN(const auto messages, codeq::Claim(context, request));
      for (const codeq::Message& message : messages) {
        CAIRN_ASSIGN_OR_RETURN(const Envelope envelope, ParseEnvelope(message.text));
        CAIRN_ASSIGN_OR_RETURN(InvocationRequest invocation, ParseInvocationRequest(envelope.body));
        Activation activation = ActivationOf(invocation);
        activation.status = Status::kRunning;
        CAIRN_RETURN_IF_ERROR(MoveActivation(context.transaction, Status::kQueued, activation));
        all.push_back(
            {{.id = message.job.id, .token = message.job.lease_token}, std::move(invocation)});
      }
      return {};
    });
    return all;
  }
  // Its activation has ended.
  void End(const Claimed& claimed, Status status = Status::kSuccess) {
    InJobs([&](jobs::Context& context) -> Result<void> {
      CAIRN_RETURN_IF_ERROR(codeq::Ack(context, claimed.lease));
      Activation activation = ActivationOf(claimed.request);
      activation.status = status;
      return MoveActivation(context.transaction, Status::kRunning, activation);
    });
  }
  // Claims and ends what there is; how many that were.
  size_t RunAll() {
    const std::vector<Claimed> claimed = ClaimAll();
    for (const Claimed& one : claimed) End(one);
    return claimed.size();
  }
  std::optional<Activation> ActivationAt(std::string_view schedule, int64_t tick_ms) {
    const std::string id = TickActivationId(Look(schedule).schedule, tick_ms);
    const Result<std::optional<Activation>> found = Do([&](Context& context) {
      return LoadActivation(context.transaction, kFunction.tenant, id);
    });
    EXPECT_TRUE(found.ok());
    return found.ok() ? *found : std::nullopt;
  }

  template <typename Body>
  void InJobs(Body body) {
    const auto run = [&](store::Transaction& transaction) -> Result<void> {
      jobs::Held held = jobs::Held::Everything();
      jobs::Context context{transaction, held};
      return body(context);
    };
    const Result<store::Commit> done = store_->Run(store::Scopes::Exclusive(), run);
    EXPECT_TRUE(done.ok()) << done.error().message;
  }

  house::Verification VerifyAll() {
    house::Verification verification;
    EXPECT_TRUE(VerifySchedules(*store_, verification).ok());
    return verification;
  }
  void ExpectSchedulesSound() {
    const house::Verification verification = VerifyAll();
    EXPECT_TRUE(verification.sound()) << verification.problems().front();
    const auto snapshot = store_->Read();
    ASSERT_TRUE(snapshot.ok());
    const Result<jobs::VerifyReport> report = jobs::Verify(**snapshot);
    ASSERT_TRUE(report.ok()) << report.error().message;
    EXPECT_TRUE(report->sound()) << report->ToJson();
  }

  ScheduleTimers ticks_;
};

}  // namespace cairn::functions::testing
