// Schedules and their ticks, on a store whose time the test moves.
#include "functions/schedule/schedules.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "functions/codeq/names.h"
#include "functions/control/values.h"
#include "functions/model/errors.h"
#include "functions/model/limits.h"
#include "functions/testing/schedule_fixture.h"

namespace cairn::functions {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kFunction;

class SchedulesTest : public testing::ScheduleTest {
 protected:
  std::string ErrorOf(const Result<ScheduleDetail>& detail) {
    return detail.ok() ? "" : detail.error().message;
  }
};

// --- Ticks ---------------------------------------------------------------------------------------

TEST_F(SchedulesTest, TheFirstTickComesAtOnceAndThenOneEachInterval) {
  ASSERT_TRUE(Make("reports", Every(30)).ok());
  EXPECT_EQ(StateOf("reports").tick_seq, 0);
  FireTimers();
  EXPECT_EQ(StateOf("reports").tick_seq, 1);
  EXPECT_EQ(RunAll(), 1U);
  Advance(29'999);
  EXPECT_EQ(StateOf("reports").tick_seq, 1);
  Advance(1);
  EXPECT_EQ(StateOf("reports").tick_seq, 2);
  EXPECT_EQ(RunAll(), 1U);
  EXPECT_EQ(StateOf("reports").next_tick_ms, now_ms() + 30'000);
}

TEST_F(SchedulesTest, SixtyTicksAreSixtyActivations) {
  ASSERT_TRUE(Make("reports", Every(1, Overlap::kParallel)).ok());
  FireTimers();
  for (int i = 1; i < 60; ++i) Advance(1'000);
  std::set<std::string> ids;
  for (const Claimed& claimed : ClaimAll()) ids.insert(claimed.request.activation_id);
  EXPECT_EQ(ids.size(), 60U);
  EXPECT_EQ(StateOf("reports").tick_seq, 60);
}

TEST_F(SchedulesTest, ATickIsARequestThatSaysWhereItComesFrom) {
  Schedule schedule = Every(30);
  schedule.payload = R"({"n":12345678901234567890})";
  ASSERT_TRUE(Make("reports", schedule).ok());
  const int64_t tick_ms = now_ms();
  FireTimers();
  const std::optional<Activation> queued = ActivationAt("reports", tick_ms);
  ASSERT_TRUE(queued);
  EXPECT_EQ(queued->status, Status::kQueued);
  const std::vector<Claimed> claimed = ClaimAll();
  ASSERT_EQ(claimed.size(), 1U);
  const InvocationRequest& request = claimed.front().request;
  EXPECT_EQ(request.activation_id, queued->activation_id);
  EXPECT_EQ(request.trigger.type, TriggerType::kSchedule);
  EXPECT_EQ(request.trigger.source,
            fmt::format(R"({{"schedule_name":"reports","tick_seq":1,"tick_ms":{}}})", tick_ms));
  EXPECT_EQ(request.principal.sub, "sp:cs-scheduler");
  EXPECT_THAT(request.principal.roles, ElementsAre("role:worker", "sp:cs-scheduler"));
  EXPECT_EQ(request.event, schedule.payload);
  EXPECT_EQ(request.ref.alias, "prod");
  EXPECT_EQ(Stored("cs:schedule:t_abc123:payments:reports:inflight"), request.activation_id);
  // The marker goes with the longest time that the activation may take.
  clock_.AdvanceMillis(kAsyncDeadlineMs + 5'001);
  EXPECT_EQ(Stored("cs:schedule:t_abc123:payments:reports:inflight"), "(nil)");
}

TEST_F(SchedulesTest, RecordsAreWhereTheLayoutSays) {
  ASSERT_TRUE(Make("reconcile_30s", Every(30)).ok());
  EXPECT_EQ(Stored("cs:schedule:t_abc123:payments:reconcile_30s:meta"),
            fmt::format(R"({{"name":"reconcile_30s","every_seconds":30,"overlap_policy":"skip",)"
                        R"("ref":{{"function":"reconcile","alias":"prod"}},"payload":{{}},)"
                        R"("enabled":true,"created_at_ms":{0},"tenant":"t_abc123",)"
                        R"("namespace":"payments"}})",
                        now_ms()));
  EXPECT_EQ(Stored("cs:schedule:t_abc123:payments:reconcile_30s:state"),
            fmt::format(R"({{"next_tick_ms":{},"tick_seq":0}})", now_ms()));
  const auto listed = Do([&](Context& context) {
    return NamesInSet(context.transaction, "cs:schedule:t_abc123:payments:index");
  });
  EXPECT_THAT(*listed, ElementsAre("reconcile_30s"));
}

TEST_F(SchedulesTest, ATickThatWasFiredIsNotFiredAgain) {
  ASSERT_TRUE(Make("reports", Every(30, Overlap::kParallel)).ok());
  const int64_t tick_ms = now_ms();
  FireTimers();
  // As if the timer had been there twice, and as if the state had been put back from a copy.
  for (const bool with_state : {false, true}) {
    (void)Do([&](Context& context) -> Result<void> {
      SetScheduleTimer(context.transaction, Named("reports"), tick_ms);
      if (!with_state) return {};
      ScheduleState state = **FindScheduleState(context.transaction, Named("reports"));
      context.transaction.CancelTimer(Timestamp::FromMillis(state.next_tick_ms), kTimerSchedule,
                                      ResourceName(Named("reports")));
      state.next_tick_ms = tick_ms;
      return SaveScheduleState(context.transaction, Named("reports"), state);
    });
    FireTimers();
  }
  EXPECT_EQ(ClaimAll().size(), 1U);
}

TEST_F(SchedulesTest, CronTicksByTheClocksOfItsZone) {
  Schedule schedule = Every(0);
  schedule.cron = "0 9 * * mon-fri";
  schedule.time_zone = "America/New_York";
  ASSERT_TRUE(Make("mornings", schedule).ok());
  // 2023-11-14 22:13:20 UTC was a Tuesday: the next one is Wednesday, 14:00 UTC.
  const int64_t first_ms = now_ms() + ((15 * 60 + 46) * 60 + 40) * 1'000;
  const ScheduleDetail detail = Look("mornings");
  ASSERT_EQ(detail.next_ticks.size(), static_cast<size_t>(kShownTicks));
  EXPECT_EQ(detail.next_ticks[0], first_ms);
  EXPECT_EQ(detail.next_ticks[2], first_ms + 2 * kDayMs);
  EXPECT_EQ(detail.next_ticks[3], first_ms + 5 * kDayMs);  // a weekend later
  Advance(first_ms - now_ms() - 1);
  EXPECT_EQ(RunAll(), 0U);
  Advance(1);
  EXPECT_EQ(RunAll(), 1U);
}

// --- Overlap -------------------------------------------------------------------------------------

TEST_F(SchedulesTest, SkipLeavesOutTicksUntilTheActivationHasEnded) {
  ASSERT_TRUE(Make("reports", Every(10, Overlap::kSkip)).ok());
  FireTimers();
  const std::vector<Claimed> first = ClaimAll();
  ASSERT_EQ(first.size(), 1U);
  Advance(10'000);
  Advance(10'000);
  EXPECT_THAT(ClaimAll(), IsEmpty());
  EXPECT_EQ(StateOf("reports").skipped, 2);
  EXPECT_EQ(StateOf("reports").tick_seq, 3);
  End(first.front());
  Advance(10'000);
  EXPECT_EQ(ClaimAll().size(), 1U);
}

TEST_F(SchedulesTest, SkipDoesNotWaitForEverForAnActivationThatIsLost) {
  ASSERT_TRUE(Make("reports", Every(3'600, Overlap::kSkip)).ok());
  FireTimers();
  ASSERT_EQ(ClaimAll().size(), 1U);  // and never ends
  Advance(3'600'000);
  EXPECT_EQ(StateOf("reports").skipped, 1);
  Advance(3'600'000);
  EXPECT_EQ(StateOf("reports").skipped, 1);
  EXPECT_EQ(ClaimAll().size(), 1U);
}

TEST_F(SchedulesTest, QueueGivesThemOutOneAfterTheOther) {
  ASSERT_TRUE(Make("reports", Every(10, Overlap::kQueue)).ok());
  FireTimers();
  Advance(10'000);
  Advance(10'000);
  EXPECT_EQ(StateOf("reports").waiting.size(), 3U);
  std::vector<int64_t> order;
  for (int i = 0; i < 3; ++i) {
    const std::vector<Claimed> claimed = ClaimAll();
    ASSERT_EQ(claimed.size(), 1U) << i;
    EXPECT_THAT(claimed.front().request.trigger.source,
                HasSubstr(fmt::format(R"("tick_seq":{})", i + 1)));
    // One that fails lets the next one run, too.
    End(claimed.front(), i == 0 ? Status::kError : Status::kSuccess);
  }
  EXPECT_THAT(ClaimAll(), IsEmpty());
  Advance(10'000);
  EXPECT_EQ(RunAll(), 1U);
}

TEST_F(SchedulesTest, NoMoreQueueThanTheLimitSays) {
  ASSERT_TRUE(Make("reports", Every(1, Overlap::kQueue)).ok());
  FireTimers();
  for (int i = 1; i < kMaxCatchUpTicks + 5; ++i) Advance(1'000);
  const ScheduleState state = StateOf("reports");
  EXPECT_EQ(state.waiting.size(), static_cast<size_t>(kMaxCatchUpTicks));
  EXPECT_EQ(state.skipped, 5);
  EXPECT_THAT(state.last_error, HasSubstr("60 activations wait"));
  size_t ran = 0;
  for (size_t some = RunAll(); some > 0; some = RunAll()) ran += some;
  EXPECT_EQ(ran, static_cast<size_t>(kMaxCatchUpTicks));
}

TEST_F(SchedulesTest, ParallelDoesNotCareAboutTheOneBefore) {
  ASSERT_TRUE(Make("reports", Every(10, Overlap::kParallel)).ok());
  FireTimers();
  Advance(10'000);
  Advance(10'000);
  EXPECT_EQ(ClaimAll().size(), 3U);
}

// --- Ticks that were missed ----------------------------------------------------------------------

TEST_F(SchedulesTest, AfterAStopMissedTicksAreMadeUpForInOrder) {
  ASSERT_TRUE(Make("reports", Every(10, Overlap::kParallel)).ok());
  FireTimers();
  EXPECT_EQ(RunAll(), 1U);
  clock_.AdvanceMillis(45'000);
  RestartAll();
  FireTimers();
  const std::vector<Claimed> claimed = ClaimAll();
  ASSERT_EQ(claimed.size(), 4U);
  for (size_t i = 0; i < claimed.size(); ++i) {
    EXPECT_THAT(claimed[i].request.trigger.source,
                HasSubstr(fmt::format(R"("tick_seq":{})", i + 2)));
  }
  EXPECT_EQ(StateOf("reports").next_tick_ms, now_ms() + 5'000);
}

TEST_F(SchedulesTest, OfManyMissedTicksTheLastAreMadeUpFor) {
  ASSERT_TRUE(Make("reports", Every(10, Overlap::kParallel)).ok());
  FireTimers();
  EXPECT_EQ(RunAll(), 1U);
  clock_.AdvanceMillis(kDayMs);
  RestartAll();
  FireTimers();
  EXPECT_EQ(ClaimAll().size(), static_cast<size_t>(kMaxCatchUpTicks));
  const ScheduleState state = StateOf("reports");
  EXPECT_EQ(state.last_tick_ms, now_ms());
  EXPECT_THAT(state.last_error, HasSubstr("ticks were missed"));
  Advance(10'000);
  EXPECT_EQ(ClaimAll().size(), 1U);
}

TEST_F(SchedulesTest, OfMissedTicksThatMayNotOverlapOneIsFired) {
  ASSERT_TRUE(Make("reports", Every(10, Overlap::kSkip)).ok());
  FireTimers();
  EXPECT_EQ(RunAll(), 1U);
  clock_.AdvanceMillis(45'000);
  FireTimers();
  EXPECT_EQ(ClaimAll().size(), 1U);
  EXPECT_EQ(StateOf("reports").skipped, 3);
}

// --- What is refused at the tick -----------------------------------------------------------------

TEST_F(SchedulesTest, ARefusalIsRecordedAndTheNextTickIsTried) {
  ASSERT_TRUE(Make("reports", Every(10)).ok());
  const auto enable = [&](bool enabled) {
    (void)Do([&](Context& context) { return SetEnabled(context, kFunction, enabled); });
  };
  enable(false);
  FireTimers();
  const ScheduleState refused = StateOf("reports");
  EXPECT_THAT(refused.last_error, HasSubstr("CS_FUNCTION_DISABLED"));
  EXPECT_EQ(refused.last_error_ms, now_ms());
  EXPECT_EQ(refused.failed, 1);
  EXPECT_THAT(ClaimAll(), IsEmpty());
  enable(true);
  Advance(10'000);
  EXPECT_EQ(RunAll(), 1U);
  EXPECT_EQ(StateOf("reports").failed, 1);
  EXPECT_EQ(ticks_.figures().refused, 1);

  (void)Do([&](Context& context) -> Result<int> {
    CAIRN_RETURN_IF_ERROR(DeleteAlias(context, kFunction, "prod"));
    return 0;
  });
  Advance(10'000);
  EXPECT_THAT(StateOf("reports").last_error, HasSubstr("has no alias \"prod\""));
  (void)Do([&](Context& context) { return DeleteFunction(context, kFunction); });
  Advance(10'000);
  EXPECT_THAT(StateOf("reports").last_error, HasSubstr("there is no function"));
  EXPECT_EQ(StateOf("reports").failed, 3);
  EXPECT_EQ(StateOf("reports").tick_seq, 4);
}

TEST_F(SchedulesTest, TheVersionSaysWhichRolesMayInvokeItBySchedule) {
  ASSERT_TRUE(Make("reports", Every(10)).ok());
  ConfigOverrides nobody;
  nobody.roles.schedule = std::vector<std::string>();
  PublishFiles(kFunction, "prod", nobody);
  FireTimers();
  EXPECT_THAT(StateOf("reports").last_error, HasSubstr("CS_AUTHZ_ROLE_MISSING"));
  ConfigOverrides workers;
  workers.roles.schedule = std::vector<std::string>{"role:worker"};
  PublishFiles(kFunction, "prod", workers);
  Advance(10'000);
  EXPECT_EQ(RunAll(), 1U);
}

TEST_F(SchedulesTest, ARecordThatSomebodyHasWrittenOverIsARefusalToo) {
  ASSERT_TRUE(Make("reports", Every(10)).ok());
  const std::string alias = Stored(AliasKey(kFunction, "prod"));
  const auto write = [&](std::string_view text) {
    (void)Do([&](Context& context) -> Result<int> {
      CAIRN_RETURN_IF_ERROR(WriteString(context.transaction, AliasKey(kFunction, "prod"), text));
      return 0;
    });
  };
  write("nonsense");
  FireTimers();
  EXPECT_THAT(StateOf("reports").last_error, HasSubstr("CS_KVROCKS_READ_FAILED"));
  write(alias);
  Advance(10'000);
  EXPECT_EQ(RunAll(), 1U);
}

// --- Changes -------------------------------------------------------------------------------------

TEST_F(SchedulesTest, ADisabledScheduleHasNoTicksAndMakesUpForNone) {
  ASSERT_TRUE(Make("reports", Every(10)).ok());
  FireTimers();
  EXPECT_EQ(RunAll(), 1U);
  ASSERT_TRUE(Update("reports", {.enabled = false}).ok());
  EXPECT_THAT(Look("reports").next_ticks, IsEmpty());
  Advance(35'000);
  EXPECT_THAT(ClaimAll(), IsEmpty());
  ASSERT_TRUE(Update("reports", {.enabled = true}).ok());
  // The next one of the same grid.
  EXPECT_EQ(StateOf("reports").next_tick_ms, now_ms() + 5'000);
  FireTimers();
  EXPECT_THAT(ClaimAll(), IsEmpty());
  Advance(5'000);
  EXPECT_EQ(RunAll(), 1U);
}

TEST_F(SchedulesTest, AnUpdateChangesWhatIsGiven) {
  ASSERT_TRUE(Make("reports", Every(10)).ok());
  FireTimers();
  EXPECT_EQ(RunAll(), 1U);
  const int64_t next_ms = StateOf("reports").next_tick_ms;
  const auto detail = Update("reports", {.overlap = Overlap::kQueue, .payload = "[1]"});
  ASSERT_TRUE(detail.ok());
  EXPECT_EQ(detail->schedule.overlap, Overlap::kQueue);
  EXPECT_EQ(detail->schedule.payload, "[1]");
  EXPECT_EQ(detail->schedule.every_seconds, 10);
  EXPECT_EQ(detail->state.next_tick_ms, next_ms);
  ASSERT_TRUE(Update("reports", {.every_seconds = 60}).ok());
  EXPECT_EQ(StateOf("reports").next_tick_ms, now_ms() + 60'000);
  ASSERT_TRUE(Update("reports", {.cron = "0 0 1 1 *"}).ok());
  EXPECT_EQ(Look("reports").schedule.every_seconds, 0);
  EXPECT_EQ(Look("reports").schedule.time_zone, "UTC");
  Advance(kDayMs);
  EXPECT_THAT(ClaimAll(), IsEmpty());
  ASSERT_TRUE(Update("reports", {.every_seconds = 5}).ok());
  Advance(5'000);
  EXPECT_EQ(RunAll(), 1U);
}

TEST_F(SchedulesTest, AScheduleThatIsMadeAgainHasOtherActivations) {
  ASSERT_TRUE(Make("reports", Every(10)).ok());
  FireTimers();
  const std::string first = StateOf("reports").last_activation_id;
  ASSERT_TRUE(Remove("reports").ok());
  EXPECT_EQ(Stored("cs:schedule:t_abc123:payments:reports:state"), "(nil)");
  Advance(60'000);
  EXPECT_EQ(RunAll(), 1U);  // the one that was queued before
  ASSERT_TRUE(Make("reports", Every(10)).ok());
  FireTimers();
  EXPECT_NE(StateOf("reports").last_activation_id, first);
  EXPECT_EQ(RunAll(), 1U);
}

TEST_F(SchedulesTest, WhatCannotBeScheduledIsRefusedAndLeavesNothing) {
  const auto refused = [&](std::string_view name, const Schedule& schedule) {
    return ErrorOf(Make(name, schedule));
  };
  EXPECT_THAT(refused("no", Every(10)), HasSubstr("CS_VALIDATION_NAME_INVALID"));
  EXPECT_THAT(refused("reports", Every(0)), HasSubstr("every_seconds must be"));
  Schedule other = Every(10);
  other.ref.function = "nosuch";
  EXPECT_THAT(refused("reports", other), HasSubstr("CS_NOT_FOUND there is no function"));
  other = Every(10);
  other.ref.alias = "nosuch";
  EXPECT_THAT(refused("reports", other), HasSubstr("CS_NOT_FOUND"));
  other.ref = {.function = kFunction.name, .alias = "", .version = 7};
  EXPECT_THAT(refused("reports", other), HasSubstr("CS_NOT_FOUND"));
  other = Every(10);
  other.payload = "{";
  EXPECT_THAT(refused("reports", other), HasSubstr("payload must be JSON"));
  other.payload = '"' + std::string(kMaxPayloadBytes, 'x') + '"';
  EXPECT_THAT(refused("reports", other), HasSubstr("CS_TOO_LARGE"));
  EXPECT_EQ(Stored("cs:schedule:t_abc123:payments:reports:meta"), "(nil)");
  ASSERT_TRUE(Make("reports", Every(10)).ok());
  EXPECT_THAT(refused("reports", Every(10)), HasSubstr("CS_CONFLICT the schedule \"reports\""));
  EXPECT_THAT(ErrorOf(Update("nosuch", {})), HasSubstr("CS_NOT_FOUND there is no schedule"));
  EXPECT_THAT(ErrorOf(Update("reports", {.cron = "x"})), HasSubstr("cron is wrong"));
}

TEST_F(SchedulesTest, TheyAreListedByNameAPageAtATime) {
  for (const char* name : {"delta", "alpha", "charlie", "bravo"}) {
    Schedule schedule = Every(10);
    schedule.enabled = false;
    ASSERT_TRUE(Make(name, schedule).ok());
  }
  const auto page = [&](std::string after, size_t limit) {
    const auto listed = Do([&](Context& context) {
      return ListSchedules(context, kFunction.in(), {.after = after, .limit = limit});
    });
    std::vector<std::string> names;
    for (const ScheduleDetail& one : listed->schedules) names.push_back(one.schedule.name);
    names.push_back("next:" + listed->cursor);
    return names;
  };
  EXPECT_THAT(page("", 3), ElementsAre("alpha", "bravo", "charlie", "next:charlie"));
  EXPECT_THAT(page("charlie", 3), ElementsAre("delta", "next:"));
  EXPECT_THAT(page("", 4), ElementsAre("alpha", "bravo", "charlie", "delta", "next:"));
}

TEST_F(SchedulesTest, OfFunctionsThatACallerMayNotUseThereIsNoSchedule) {
  ASSERT_TRUE(Make("reports", Every(10)).ok());
  const Result<doors::NamePatterns> others = doors::NamePatterns::Parse("t_abc123/other/*");
  ASSERT_TRUE(others.ok());
  const auto limited = [&](auto operation) {
    return Do([&](Context& context) {
      context.names = &*others;
      return operation(context);
    });
  };
  EXPECT_THAT(limited([&](Context& context) { return GetSchedule(context, Named("reports")); })
                  .error()
                  .message,
              HasSubstr("CS_NOT_FOUND"));
  EXPECT_THAT(limited([&](Context& context) {
                return ListSchedules(context, kFunction.in(), {});
              })->schedules,
              IsEmpty());
  EXPECT_THAT(
      limited([&](Context& context) { return CreateSchedule(context, Named("mine"), Every(10)); })
          .error()
          .message,
      HasSubstr("CS_AUTHZ_RESOURCE_MISMATCH"));
  EXPECT_FALSE(limited([&](Context& context) -> Result<int> {
                 CAIRN_RETURN_IF_ERROR(DeleteSchedule(context, Named("reports")));
                 return 0;
               }).ok());
}

// --- The check -----------------------------------------------------------------------------------

TEST_F(SchedulesTest, TheCheckFindsWhatDoesNotFitTogether) {
  const auto damage = [&](auto change) {
    (void)Do([&](Context& context) -> Result<int> {
      CAIRN_RETURN_IF_ERROR(change(context.transaction));
      return 0;
    });
  };
  const auto first_problem = [&] {
    const house::Verification found = VerifyAll();
    return found.sound() ? std::string() : found.problems().front();
  };
  const std::string base = "cs:schedule:t_abc123:payments:reports:";
  const auto write = [&](std::string_view part, std::string_view value) {
    return [&, part, value](store::Transaction& transaction) {
      return WriteString(transaction, base + std::string(part), value);
    };
  };
  ASSERT_TRUE(Make("reports", Every(10)).ok());
  const std::string meta = Stored(base + "meta");
  const std::string state = Stored(base + "state");
  EXPECT_EQ(first_problem(), "");
  damage(write("state", R"({"next_tick_ms":5,"tick_seq":0})"));
  EXPECT_THAT(first_problem(), HasSubstr("has no timer for its next tick"));
  damage(write("state", "nonsense"));
  EXPECT_THAT(first_problem(), HasSubstr("is damaged"));
  damage(write("state", state));
  damage(write("inflight", "x"));
  EXPECT_THAT(first_problem(), HasSubstr("inflight never expires"));
  damage([&](store::Transaction& transaction) -> Result<void> {
    CAIRN_RETURN_IF_ERROR(RemoveKey(transaction, base + "inflight"));
    return RemoveFromSet(transaction, "cs:schedule:t_abc123:payments:index", "reports");
  });
  EXPECT_THAT(first_problem(), HasSubstr("is not in the index"));
  damage([&](store::Transaction& transaction) -> Result<void> {
    CAIRN_RETURN_IF_ERROR(AddToSet(transaction, "cs:schedule:t_abc123:payments:index", "reports"));
    CAIRN_RETURN_IF_ERROR(RemoveKey(transaction, base + "meta"));
    return {};
  });
  EXPECT_THAT(first_problem(), HasSubstr("the index of schedules has"));
  EXPECT_THAT(VerifyAll().problems(), ::testing::Contains(HasSubstr("belongs to no schedule")));
  damage(write("meta", meta));
  EXPECT_EQ(first_problem(), "");
}

}  // namespace
}  // namespace cairn::functions
