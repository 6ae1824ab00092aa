// Triggers and their batches, on a store whose time the test moves.
#include "functions/trigger/triggers.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "functions/control/values.h"
#include "functions/model/errors.h"
#include "functions/model/limits.h"
#include "functions/testing/trigger_fixture.h"
#include "functions/trigger/requests.h"
#include "functions/trigger/sources.h"
#include "jobs/ledger/event_trim.h"
#include "seats/keys.h"

namespace cairn::functions {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kFunction;
using ::testing::SizeIs;

class TriggersTest : public testing::TriggerTest {
 protected:
  std::string ErrorOf(const Result<TriggerDetail>& detail) {
    return detail.ok() ? "" : detail.error().message;
  }
  static std::string FailureOf(const std::string& id, std::string_view member = "itemIdentifier") {
    return fmt::format(R"({{"batchItemFailures":[{{"{}":"{}","error":"no such address"}}]}})",
                       member, id);
  }
  std::vector<std::string> EnqueueMany(std::string_view queue, int count) {
    std::vector<std::string> ids;
    for (int i = 0; i < count; ++i) ids.push_back(Enqueue(queue, fmt::format(R"({{"n":{}}})", i)));
    return ids;
  }
  size_t CountIn(const std::vector<std::string>& ids, std::string_view state) {
    return static_cast<size_t>(
        std::ranges::count_if(ids, [&](const auto& id) { return StateOfJob(id) == state; }));
  }
};

// --- Records -------------------------------------------------------------------------------------

TEST_F(TriggersTest, RecordsAreWhereTheLayoutSays) {
  ASSERT_TRUE(MakeTrigger("mails", FromQueue()).ok());
  EXPECT_EQ(Stored("cs:trigger:t_abc123:payments:mails:meta"),
            fmt::format(R"({{"name":"mails","source":{{"type":"queue","queues":["mail"]}},)"
                        R"("ref":{{"function":"reconcile","alias":"prod"}},"batch_size":10,)"
                        R"("window_ms":0,"concurrency":1,"enabled":true,"created_at_ms":{},)"
                        R"("tenant":"t_abc123","namespace":"payments"}})",
                        now_ms()));
  EXPECT_EQ(Stored("cs:trigger:t_abc123:payments:mails:state"),
            R"({"cursor":0,"batches":0,"delivered":0,"failed":0})");
  const auto set = Do([&](Context& context) {
    return NamesInSet(context.transaction, "cs:trigger:t_abc123:payments:index");
  });
  EXPECT_THAT(*set, ElementsAre("mails"));
  const auto indexed = [&] {
    return *Do([&](Context& context) {
      return NamesInIndex(context.transaction, "cs:trigger:index", "", 10);
    });
  };
  EXPECT_THAT(indexed(), ElementsAre("t_abc123/payments/mails"));
  ASSERT_TRUE(Change("mails", {.enabled = false}).ok());
  EXPECT_THAT(indexed(), IsEmpty());
  ASSERT_TRUE(Change("mails", {.enabled = true}).ok());
  ASSERT_TRUE(Drop("mails").ok());
  EXPECT_THAT(indexed(), IsEmpty());
  EXPECT_EQ(Stored("cs:trigger:t_abc123:payments:mails:meta"), "(nil)");
  EXPECT_EQ(Stored("cs:trigger:t_abc123:payments:mails:state"), "(nil)");
}

TEST_F(TriggersTest, WhatCannotBeATriggerIsRefusedAndSaysWhy) {
  struct Case {
    TriggerConfig trigger;
    std::string_view why;
  };
  const auto with = [](auto change) {
    TriggerConfig trigger = FromQueue();
    change(trigger);
    return trigger;
  };
  const std::vector<Case> cases = {
      {FromQueue({}), "source.queues must name something"},
      {FromQueue({"a\nb"}), "is not a queue's name"},
      {FromQueue({"cs.invoke"}), "cs.invoke belongs to the platform"},
      {FromQueue({"mail", "mail"}), "has mail twice"},
      {FromQueue(std::vector<std::string>(11, "q")), "may name 10 queues"},
      {From(SourceType::kQueue, {"mail"}, {"failed"}), "source.types is for events"},
      {From(SourceType::kJobs, {"*"}, {"exploded"}), "jobs have no event \"exploded\""},
      {From(SourceType::kSeats, {}), "source.events must name something"},
      {From(SourceType::kJobs, {""}), "a pattern has 1 to 512 bytes"},
      {with([](TriggerConfig& one) { one.batch_size = 101; }), "batch_size must be from 1 to 100"},
      {with([](TriggerConfig& one) { one.batch_size = 0; }), "batch_size must be from 1 to 100"},
      {with([](TriggerConfig& one) { one.window_ms = 300'001; }), "window_ms must be from 0"},
      {with([](TriggerConfig& one) { one.concurrency = 0; }), "concurrency must be from 1 to 100"},
      {with([](TriggerConfig& one) { one.ref.alias = "other"; }), "CS_NOT_FOUND"},
      {with([](TriggerConfig& one) { one.ref.alias.clear(); }), "ref.alias or ref.version"},
      {with([](TriggerConfig& one) { one.ref.function = "nothing"; }), "CS_NOT_FOUND"},
  };
  for (const Case& one : cases) {
    EXPECT_THAT(ErrorOf(MakeTrigger("mails", one.trigger)), HasSubstr(one.why));
  }
  EXPECT_THAT(ErrorOf(MakeTrigger("x", FromQueue())), HasSubstr("CS_VALIDATION_NAME_INVALID"));
  ASSERT_TRUE(MakeTrigger("mails", FromQueue()).ok());
  EXPECT_THAT(ErrorOf(MakeTrigger("mails", FromQueue())), HasSubstr("CS_CONFLICT"));
  EXPECT_THAT(ErrorOf(Change("mails", {.source = From(SourceType::kJobs, {"*"}).source})),
              HasSubstr("source.type cannot be changed"));
  EXPECT_THAT(ErrorOf(Change("other", {.batch_size = 1})), HasSubstr("CS_NOT_FOUND"));
}

TEST_F(TriggersTest, JsonThatIsNoTriggerIsRefusedAndNamesTheMember) {
  for (const auto& [text, why] : std::vector<std::pair<std::string, std::string>>{
           {"{}", "name"},
           {R"({"name":"mails","ref":{"function":"f","alias":"a1"}})", "source is missing"},
           {R"({"name":"mails","source":{"type":"queue","queues":["q"]}})", "ref is missing"},
           {R"({"name":"mails","source":{"type":"mail"},"ref":{"function":"f","alias":"a1"}})",
            "source.type"},
           {R"({"name":"mails","source":{"type":"queue","keys":["q"]},"ref":{"function":"f"}})",
            "source.keys"},
           {R"({"name":"mails","batch_size":"ten"})", "batch_size"},
           {R"({"name":"mails","start":"now"})", "start"},
           {R"([])", ""}}) {
    const Result<NewTrigger> parsed = ParseNewTrigger(kFunction.in(), text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_THAT(parsed.error().message, HasSubstr(why)) << text;
  }
  const Result<TriggerUpdate> update = ParseTriggerUpdate(R"({"name":"other"})");
  ASSERT_FALSE(update.ok());
  EXPECT_THAT(update.error().message, HasSubstr("name"));
}

TEST_F(TriggersTest, AKeyMayOnlyUseSourcesOfItsOwn) {
  const auto as = [&](std::string_view queues, const TriggerConfig& trigger) {
    const doors::NamePatterns names = *doors::NamePatterns::Parse(queues);
    return Do([&](Context& context) {
      context.queues = &names;
      context.has_everything = false;
      context.reads_all_keys = false;
      return CreateTrigger(context, place_, Id("mails"), trigger);
    });
  };
  const auto refused = HasSubstr("CS_AUTHZ_RESOURCE_MISMATCH");
  EXPECT_THAT(ErrorOf(as("mail", FromQueue({"mail", "sms"}))), refused);
  EXPECT_THAT(ErrorOf(as("mail", From(SourceType::kJobs, {"mai*"}))), refused);
  EXPECT_THAT(ErrorOf(as("mail.*", From(SourceType::kJobs, {"mail*"}))), refused);
  EXPECT_THAT(ErrorOf(as("mail", From(SourceType::kSeats, {"*"}))), refused);
  ASSERT_TRUE(as("mail.*", From(SourceType::kJobs, {"mail.a*", "mail.b"})).ok());
  // And may not be given others later.
  const doors::NamePatterns names = *doors::NamePatterns::Parse("mail.*");
  const auto changed = Do([&](Context& context) {
    context.queues = &names;
    return UpdateTrigger(context, place_, Id("mails"),
                         {.source = From(SourceType::kJobs, {"*"}).source});
  });
  EXPECT_THAT(ErrorOf(changed), refused);
}

TEST_F(TriggersTest, WhoMayNotUseTheFunctionSeesNoTrigger) {
  ASSERT_TRUE(MakeTrigger("mails", FromQueue()).ok());
  const doors::NamePatterns others = *doors::NamePatterns::Parse("t_abc123/payments/other");
  const auto seen = Do([&](Context& context) {
    context.names = &others;
    return GetTrigger(context, place_, Id("mails"));
  });
  EXPECT_THAT(ErrorOf(seen), HasSubstr("CS_NOT_FOUND"));
  const auto listed = Do([&](Context& context) {
    context.names = &others;
    return ListTriggers(context, place_, kFunction.in(), {});
  });
  EXPECT_THAT(listed->triggers, IsEmpty());
}

TEST_F(TriggersTest, PagesGoOnWhereTheyEnded) {
  for (const char* name : {"aaa", "bbb", "ccc"}) {
    ASSERT_TRUE(MakeTrigger(name, FromQueue({name})).ok());
  }
  const auto page = [&](const std::string& after) {
    return *Do([&](Context& context) {
      return ListTriggers(context, place_, kFunction.in(), {.after = after, .limit = 2});
    });
  };
  EXPECT_THAT(page("").triggers, SizeIs(2));
  EXPECT_EQ(page("").cursor, "bbb");
  EXPECT_THAT(page("bbb").triggers, SizeIs(1));
  EXPECT_EQ(page("bbb").cursor, "");
}

// --- Queues --------------------------------------------------------------------------------------

TEST_F(TriggersTest, ABatchIsOneActivationAndItsEndAcknowledgesTheJobs) {
  ASSERT_TRUE(MakeTrigger("mails", FromQueue()).ok());
  const std::string one = Enqueue("mail", R"({"n":12345678901234567890})");
  const std::string two = Enqueue("mail", "[1]");
  EXPECT_EQ(Pump("mails").batches, 1U);
  EXPECT_EQ(StateOfJob(one), "active");
  EXPECT_EQ(StateOfJob(two), "active");
  const std::vector<Claimed> claimed = ClaimAll();
  ASSERT_THAT(claimed, SizeIs(1));
  const InvocationRequest& request = claimed.front().request;
  EXPECT_EQ(request.event,
            fmt::format(R"({{"type":"queue","trigger":"mails","queue":"mail","jobs":[)"
                        R"({{"id":"{0}","queue":"mail","payload":{{"n":12345678901234567890}},)"
                        R"("attempt":1,"max_retries":3,"priority":"normal","enqueued_at_ms":{2}}},)"
                        R"({{"id":"{1}","queue":"mail","payload":[1],)"
                        R"("attempt":1,"max_retries":3,"priority":"normal","enqueued_at_ms":{2}}})"
                        "]}}",
                        one, two, now_ms()));
  EXPECT_EQ(request.trigger.type, TriggerType::kQueue);
  EXPECT_EQ(request.trigger.source,
            fmt::format(R"({{"trigger_name":"mails","type":"queue","queue":"mail",)"
                        R"("jobs":["{}","{}"]}})",
                        one, two));
  EXPECT_EQ(request.principal.sub, "sp:cs-trigger");
  EXPECT_EQ(request.deadline_ms, now_ms() + kAsyncDeadlineMs);
  // The lease outlasts the activation.
  EXPECT_EQ(static_cast<int64_t>(JobOf(one)->lease_expires_ns / 1'000'000),
            request.deadline_ms + kTriggerLeaseGraceMs);
  EndWith(claimed.front(), Status::kSuccess,
          fmt::format(R"({{"results":{{"{}":{{"sent":true}}}}}})", two));
  EXPECT_EQ(StateOfJob(one), "completed");
  EXPECT_EQ(StateOfJob(two), "completed");
  EXPECT_EQ(JobOf(two)->result, R"({"sent":true})");
  EXPECT_EQ(JobOf(one)->result, "");
  const TriggerState state = Show("mails").state;
  EXPECT_EQ(state.batches, 1);
  EXPECT_EQ(state.delivered, 2);
  EXPECT_EQ(state.failed, 0);
  EXPECT_THAT(state.inflight, IsEmpty());
}

TEST_F(TriggersTest, JobsThatTheAnswerNamesFailAndTheOthersAreDone) {
  for (const char* member : {"itemIdentifier", "job_id"}) {
    const std::string name = fmt::format("mails-{}", member);
    ASSERT_TRUE(MakeTrigger(name, FromQueue({member})).ok());
    const std::string good = Enqueue(member);
    const std::string bad = Enqueue(member);
    const std::string last = Enqueue(member, "{}", /*max_retries=*/0);
    Pump(name);
    const std::vector<Claimed> claimed = ClaimAll();
    ASSERT_THAT(claimed, SizeIs(1));
    EndWith(claimed.front(), Status::kSuccess,
            fmt::format(R"({{"batchItemFailures":[{{"{0}":"{1}","error":"no such address"}},)"
                        R"({{"{0}":"{2}"}}]}})",
                        member, bad, last));
    EXPECT_EQ(StateOfJob(good), "completed");
    EXPECT_EQ(StateOfJob(bad), "pending");
    EXPECT_EQ(JobOf(bad)->reason, "no such address");
    EXPECT_EQ(JobOf(bad)->failures, 1);
    EXPECT_EQ(StateOfJob(last), "dead");
    EXPECT_EQ(Show(name).state.failed, 2);
    // It comes again.
    Pump(name);
    const std::vector<Claimed> again = ClaimAll();
    ASSERT_THAT(again, SizeIs(1));
    EXPECT_THAT(again.front().request.event, HasSubstr(R"("attempt":2)"));
    EndWith(again.front(), Status::kSuccess, "not even JSON");
    EXPECT_EQ(StateOfJob(bad), "completed");
  }
}

TEST_F(TriggersTest, AnAnswerThatIsNotUnderstoodFailsTheWholeBatch) {
  ASSERT_TRUE(MakeTrigger("mails", FromQueue()).ok());
  for (const char* answer :
       {R"({"batchItemFailures":"all"})", R"({"batchItemFailures":[1]})",
        R"({"batchItemFailures":[{"itemIdentifier":"job_of_somebody_else"}]})",
        R"({"batchItemFailures":[{}]})", R"({"results":{"job_of_somebody_else":1}})"}) {
    const std::string id = Enqueue("mail");
    Pump("mails");
    const std::vector<Claimed> claimed = ClaimAll();
    ASSERT_THAT(claimed, SizeIs(1));
    EndWith(claimed.front(), Status::kSuccess, answer);
    EXPECT_EQ(StateOfJob(id), "pending") << answer;
    EXPECT_THAT(JobOf(id)->reason, HasSubstr("the function's answer is not understood"));
    Pump("mails");
    EndWith(ClaimAll().front(), Status::kSuccess, "{}");
    EXPECT_EQ(StateOfJob(id), "completed");
  }
}

TEST_F(TriggersTest, AnErrorsStatusFailsTheWholeBatch) {
  Activation activation;
  activation.status = Status::kSuccess;
  activation.result = FunctionResult{.status_code = 503, .body = "{}"};
  EXPECT_TRUE(JudgeBatch(activation, {"a"}).jobs.front().failed);
  activation.result->status_code = 399;
  EXPECT_FALSE(JudgeBatch(activation, {"a"}).jobs.front().failed);
  activation.result_truncated = true;
  EXPECT_THAT(JudgeBatch(activation, {"a"}).jobs.front().error, HasSubstr("longer than"));
}

TEST_F(TriggersTest, AFailedActivationFailsAllJobsByTheirOwnPolicies) {
  ASSERT_TRUE(MakeTrigger("mails", FromQueue()).ok());
  const std::string again = Enqueue("mail");
  const std::string last = Enqueue("mail", "{}", /*max_retries=*/0);
  Pump("mails");
  EndWith(ClaimAll().front(), Status::kError);
  EXPECT_EQ(StateOfJob(again), "pending");
  EXPECT_EQ(StateOfJob(last), "dead");
  EXPECT_EQ(JobOf(last)->reason, "Exception: it broke");
  EXPECT_EQ(Show("mails").state.last_error, "Exception: it broke");
  EXPECT_EQ(Show("mails").state.failed, 2);
}

TEST_F(TriggersTest, NoMoreIsTakenThanConcurrencyAllows) {
  TriggerConfig trigger = FromQueue();
  trigger.batch_size = 2;
  trigger.concurrency = 2;
  ASSERT_TRUE(MakeTrigger("mails", trigger).ok());
  const std::vector<std::string> ids = EnqueueMany("mail", 7);
  EXPECT_EQ(Pump("mails").batches, 2U);
  EXPECT_EQ(CountIn(ids, "active"), 4U);
  EXPECT_EQ(Pump("mails").batches, 0U);
  EXPECT_EQ(CountIn(ids, "active"), 4U);
  const std::vector<Claimed> claimed = ClaimAll();
  ASSERT_THAT(claimed, SizeIs(2));
  EndWith(claimed[0], Status::kSuccess);
  EXPECT_EQ(Pump("mails").batches, 1U);
  EXPECT_EQ(CountIn(ids, "active"), 4U);
  EXPECT_EQ(CountIn(ids, "completed"), 2U);
  EndWith(claimed[1], Status::kError);
}

TEST_F(TriggersTest, FewJobsWaitForMoreUntilTheWindowIsOver) {
  TriggerConfig trigger = FromQueue();
  trigger.batch_size = 3;
  trigger.window_ms = 1'000;
  ASSERT_TRUE(MakeTrigger("mails", trigger).ok());
  const std::string first = Enqueue("mail");
  const BatchOutcome waits = Pump("mails");
  EXPECT_EQ(waits.batches, 0U);
  EXPECT_EQ(waits.look_at_ms, now_ms() + 1'000);
  EXPECT_EQ(StateOfJob(first), "pending");
  clock_.AdvanceMillis(999);
  EXPECT_EQ(Pump("mails").batches, 0U);
  clock_.AdvanceMillis(1);
  EXPECT_EQ(Pump("mails").batches, 1U);
  EndWith(ClaimAll().front(), Status::kSuccess);
  // A full batch does not wait.
  EnqueueMany("mail", 3);
  EXPECT_EQ(Pump("mails").batches, 1U);
  EndWith(ClaimAll().front(), Status::kSuccess);
}

TEST_F(TriggersTest, QueuesAreServedInTheirOrderAndNotMixed) {
  TriggerConfig trigger = FromQueue({"urgent", "mail"});
  trigger.concurrency = 2;
  ASSERT_TRUE(MakeTrigger("mails", trigger).ok());
  Enqueue("mail");
  Enqueue("urgent");
  EXPECT_EQ(Pump("mails").batches, 2U);
  std::vector<std::string> events;
  for (const Claimed& claimed : ClaimAll()) {
    events.push_back(claimed.request.event.substr(0, 60));
    EndWith(claimed, Status::kSuccess);
  }
  EXPECT_THAT(events,
              ElementsAre(HasSubstr(R"("queue":"urgent")"), HasSubstr(R"("queue":"mail")")));
}

TEST_F(TriggersTest, AFunctionThatCannotRunPausesTheTriggerAndTheJobsWait) {
  ASSERT_TRUE(MakeTrigger("mails", FromQueue()).ok());
  const std::string id = Enqueue("mail");
  const auto enable = [&](bool on) {
    ASSERT_TRUE(Do([&](Context& context) { return SetEnabled(context, kFunction, on); }).ok());
  };
  enable(false);
  const BatchOutcome paused = Pump("mails");
  ASSERT_TRUE(paused.paused);
  EXPECT_THAT(paused.paused->message, HasSubstr("CS_FUNCTION_DISABLED"));
  EXPECT_EQ(paused.look_at_ms, now_ms() + 1'000);
  EXPECT_EQ(StateOfJob(id), "pending");
  clock_.AdvanceMillis(5'000);
  const TriggerDetail shown = Show("mails");
  EXPECT_THAT(shown.paused, HasSubstr("disabled"));
  EXPECT_TRUE(shown.position.behind);
  EXPECT_EQ(shown.position.lag_ms, 5'000);
  EXPECT_THAT(DetailText(shown), HasSubstr(R"("paused":")"));
  enable(true);
  EXPECT_EQ(Show("mails").paused, "");
  EXPECT_EQ(Pump("mails").batches, 1U);
  EndWith(ClaimAll().front(), Status::kSuccess);
  EXPECT_EQ(StateOfJob(id), "completed");
}

TEST_F(TriggersTest, ADisabledOrChangedTriggerBeginsNothing) {
  ASSERT_TRUE(MakeTrigger("mails", FromQueue()).ok());
  const std::string id = Enqueue("mail");
  BatchPlan plan{.id = Id("mails"),
                 .trigger = Show("mails").trigger,
                 .activations = {NewActivationId(random_)}};
  const auto begin = [&] {
    BatchOutcome outcome;
    InJobs([&](jobs::Context& context) -> Result<void> {
      CAIRN_ASSIGN_OR_RETURN(outcome, BeginBatches(context, plan));
      return {};
    });
    return outcome;
  };
  ASSERT_TRUE(Change("mails", {.batch_size = 3}).ok());
  EXPECT_TRUE(begin().changed);
  ASSERT_TRUE(Change("mails", {.enabled = false}).ok());
  plan.trigger = Show("mails").trigger;
  EXPECT_TRUE(begin().changed);
  EXPECT_EQ(StateOfJob(id), "pending");
}

TEST_F(TriggersTest, JobsOfADeletedTriggerEndWithTheirActivation) {
  ASSERT_TRUE(MakeTrigger("mails", FromQueue()).ok());
  const std::string good = Enqueue("mail");
  const std::string bad = Enqueue("mail");
  Pump("mails");
  ASSERT_TRUE(Drop("mails").ok());
  EndWith(ClaimAll().front(), Status::kSuccess, FailureOf(bad));
  EXPECT_EQ(StateOfJob(good), "completed");
  EXPECT_EQ(StateOfJob(bad), "pending");
}

TEST_F(TriggersTest, AJobThatIsNotOursAnyMoreKeepsNothingFromEnding) {
  ASSERT_TRUE(MakeTrigger("mails", FromQueue()).ok());
  const std::string gone = Enqueue("mail");
  const std::string taken = Enqueue("mail");
  const std::string good = Enqueue("mail");
  Pump("mails");
  const uint64_t token = JobOf(taken)->lease_token;
  InJobs([&](jobs::Context& context) -> Result<void> {
    CAIRN_RETURN_IF_ERROR(jobs::Delete(context, gone));
    CAIRN_RETURN_IF_ERROR(jobs::Snooze(context, {.id = taken, .token = token}, 0));
    return {};
  });
  EndWith(ClaimAll().front(), Status::kSuccess);
  EXPECT_EQ(StateOfJob(good), "completed");
  EXPECT_EQ(StateOfJob(taken), "pending");
  EXPECT_EQ(StateOfJob(gone), "gone");
}

TEST_F(TriggersTest, JobsOfAMessageThatSomebodyDeletedGoBack) {
  ASSERT_TRUE(MakeTrigger("mails", FromQueue()).ok());
  const std::string id = Enqueue("mail");
  Pump("mails");
  const std::string message = Show("mails").state.inflight.front().message;
  InJobs([&](jobs::Context& context) { return jobs::Delete(context, message); });
  EXPECT_EQ(Pump("mails").batches, 0U);
  EXPECT_EQ(StateOfJob(id), "active");
  clock_.AdvanceMillis(30'000);
  EXPECT_EQ(Pump("mails").batches, 1U);
  EXPECT_EQ(JobOf(id)->attempt, 1);
  EndWith(ClaimAll().front(), Status::kSuccess);
  EXPECT_EQ(StateOfJob(id), "completed");
}

TEST_F(TriggersTest, LargeJobsAreSplitIntoBatchesThatFitAnEvent) {
  TriggerConfig trigger = FromQueue();
  trigger.batch_size = 100;
  trigger.concurrency = 8;
  ASSERT_TRUE(MakeTrigger("mails", trigger).ok());
  const std::string large = '"' + std::string(jobs::kMaxPayloadBytes - 2, 'x') + '"';
  std::vector<std::string> ids;
  for (int i = 0; i < 30; ++i) ids.push_back(Enqueue("mail", large));
  EXPECT_EQ(Pump("mails").batches, 2U);
  EXPECT_EQ(CountIn(ids, "active"), 30U);
  for (const Claimed& claimed : ClaimAll()) {
    EXPECT_LE(claimed.request.event.size(), kMaxEventBytes);
    EndWith(claimed, Status::kSuccess);
  }
  EXPECT_EQ(CountIn(ids, "completed"), 30U);
}

// --- Events --------------------------------------------------------------------------------------

TEST_F(TriggersTest, EventsOfJobsAreDeliveredOnceAndInTheirOrder) {
  TriggerConfig trigger = From(SourceType::kJobs, {"ma*"}, {"enqueued"});
  trigger.batch_size = 2;
  Enqueue("mail");  // before there was a trigger
  ASSERT_TRUE(MakeTrigger("told", trigger).ok());
  std::vector<std::string> ids;
  for (const char* queue : {"mail", "sms", "male", "mail"}) ids.push_back(Enqueue(queue));
  std::vector<std::string> events;
  while (Pump("told").batches > 0) {
    for (const Claimed& claimed : ClaimAll()) {
      events.push_back(claimed.request.event);
      EXPECT_EQ(claimed.request.trigger.type, TriggerType::kEvent);
      EndWith(claimed, Status::kSuccess);
    }
  }
  ASSERT_THAT(events, SizeIs(2));
  EXPECT_THAT(events[0], HasSubstr(R"({"type":"jobs","trigger":"told","events":[{"seq":)"));
  EXPECT_THAT(events[0], HasSubstr(ids[0]));
  EXPECT_THAT(events[0], HasSubstr(ids[2]));
  EXPECT_THAT(events[1], HasSubstr(ids[3]));
  EXPECT_EQ(Show("told").state.delivered, 3);
  EXPECT_FALSE(Show("told").position.behind);
}

TEST_F(TriggersTest, ATriggerCanBeginWithTheOldestEvent) {
  const std::string id = Enqueue("mail");
  ASSERT_TRUE(
      MakeTrigger("told", From(SourceType::kJobs, {"*"}, {"enqueued"}), StartAt::kOldest).ok());
  EXPECT_TRUE(Show("told").position.behind);
  EXPECT_EQ(Pump("told").batches, 1U);
  const std::vector<Claimed> claimed = ClaimAll();
  EXPECT_THAT(claimed.front().request.event, HasSubstr(id));
  EndWith(claimed.front(), Status::kSuccess);
}

TEST_F(TriggersTest, EventsOfThePlatformAreNotTold) {
  ASSERT_TRUE(MakeTrigger("told", From(SourceType::kJobs, {"*"})).ok());
  Enqueue("mail");
  int batches = 0;
  for (; Pump("told").batches > 0 && batches < 10; ++batches) {
    for (const Claimed& claimed : ClaimAll()) EndWith(claimed, Status::kSuccess);
  }
  EXPECT_EQ(batches, 1);
}

TEST_F(TriggersTest, AFailedBatchOfEventsIsPassedByAndCounted) {
  TriggerConfig trigger = From(SourceType::kJobs, {"mail"}, {"enqueued"});
  trigger.batch_size = 1;
  ASSERT_TRUE(MakeTrigger("told", trigger).ok());
  Enqueue("mail");
  const std::string second = Enqueue("mail");
  Pump("told");
  // The next one waits for the end of this one.
  EXPECT_EQ(Pump("told").batches, 0U);
  EndWith(ClaimAll().front(), Status::kError);
  EXPECT_EQ(Show("told").state.failed, 1);
  EXPECT_EQ(Pump("told").batches, 1U);
  const std::vector<Claimed> claimed = ClaimAll();
  EXPECT_THAT(claimed.front().request.event, HasSubstr(second));
  EndWith(claimed.front(), Status::kSuccess);
}

TEST_F(TriggersTest, FewEventsWaitForMoreUntilTheWindowIsOver) {
  TriggerConfig trigger = From(SourceType::kJobs, {"mail"}, {"enqueued"});
  trigger.window_ms = 1'000;
  ASSERT_TRUE(MakeTrigger("told", trigger).ok());
  Enqueue("mail");
  EXPECT_EQ(Pump("told").look_at_ms, now_ms() + 1'000);
  EXPECT_TRUE(Show("told").position.behind);
  clock_.AdvanceMillis(1'000);
  EXPECT_EQ(Show("told").position.lag_ms, 1'000);
  EXPECT_EQ(Pump("told").batches, 1U);
  EndWith(ClaimAll().front(), Status::kSuccess);
}

TEST_F(TriggersTest, EventsThatWereRemovedUnreadAreCountedAndShown) {
  ASSERT_TRUE(MakeTrigger("told", From(SourceType::kJobs, {"mail"}, {"enqueued"})).ok());
  Enqueue("mail");
  clock_.AdvanceMillis(jobs::kEventsKeptMs + 1);
  const std::string later = Enqueue("mail");
  InJobs([&](jobs::Context& context) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(const bool more, jobs::TrimEvents(context.transaction));
    EXPECT_FALSE(more);
    return {};
  });
  EXPECT_EQ(Pump("told").batches, 1U);
  const std::vector<Claimed> claimed = ClaimAll();
  EXPECT_THAT(claimed.front().request.event, HasSubstr(later));
  EndWith(claimed.front(), Status::kSuccess);
  const TriggerState state = Show("told").state;
  EXPECT_EQ(state.gaps, 1);
  EXPECT_GT(state.missed_to, 0U);
  EXPECT_EQ(state.delivered, 1);
  EXPECT_EQ(Pump("told").batches, 0U);
  EXPECT_EQ(Show("told").state.gaps, 1);
}

TEST_F(TriggersTest, WhatIsNotForItIsSteppedOverAndNotReadAgain) {
  ASSERT_TRUE(MakeTrigger("told", From(SourceType::kJobs, {"mail"})).ok());
  EnqueueMany("other", 300);
  EXPECT_EQ(Pump("told").known_to, Show("told").state.cursor);
  EnqueueMany("other", 3);
  const BatchOutcome looked = Pump("told");
  EXPECT_EQ(looked.batches, 0U);
  EXPECT_GT(looked.known_to, Show("told").state.cursor);
  // Written at some time, so that a restart does not begin far behind.
  clock_.AdvanceMillis(5'000);
  EXPECT_EQ(Pump("told", looked.known_to).known_to, Show("told").state.cursor);
}

TEST_F(TriggersTest, ChangesOfSeatsAreToldByPatternAndInTheirOrder) {
  const seats::Place at;
  const seats::Keys keys(at);
  const auto change = [&](std::string_view event, std::string_view what) {
    InJobs([&](jobs::Context& context) -> Result<void> {
      Bytes value;
      AppendBig64(value, static_cast<uint64_t>(now_ms() / 1'000));
      value.append(fmt::format(R"({{"change":"{}","section":"A"}})", what));
      context.transaction.AppendEvent({store::Space::kEvents, keys.FeedPrefix(event)}, value);
      return {};
    });
  };
  ASSERT_TRUE(MakeTrigger("told", From(SourceType::kSeats, {"summer-*"}, {"sold"})).ok());
  change("summer-2", "sold");
  change("winter-1", "sold");
  change("summer-1", "sold");
  change("summer-1", "reserved");
  EXPECT_EQ(Pump("told").batches, 1U);
  const std::vector<Claimed> claimed = ClaimAll();
  const std::string& event = claimed.front().request.event;
  EXPECT_THAT(event, HasSubstr(R"({"type":"seats","trigger":"told","events":[{"seq":)"));
  EXPECT_LT(event.find("summer-2"), event.find("summer-1"));
  EXPECT_THAT(event, ::testing::Not(HasSubstr("winter")));
  EXPECT_THAT(event, ::testing::Not(HasSubstr("reserved")));
  EXPECT_THAT(event, HasSubstr(R"("event":"summer-1","change":"sold","section":"A"})"));
  EXPECT_EQ(Show("told").state.delivered, 2);
  EndWith(claimed.front(), Status::kSuccess);
  EXPECT_EQ(Pump("told").batches, 0U);
}

// --- Checks --------------------------------------------------------------------------------------

TEST_F(TriggersTest, TheCheckNamesWhatIsWrong) {
  ASSERT_TRUE(MakeTrigger("mails", FromQueue()).ok());
  const auto damaged = [&](const std::string& key, std::string_view text, std::string_view why) {
    const std::string before = Stored(key);
    (void)Do([&](Context& context) { return WriteString(context.transaction, key, text); });
    const house::Verification verification = VerifyTheTriggers();
    EXPECT_FALSE(verification.sound());
    if (!verification.sound()) EXPECT_THAT(verification.problems().front(), HasSubstr(why));
    (void)Do([&](Context& context) -> Result<void> {
      if (before != "(nil)") return WriteString(context.transaction, key, before);
      CAIRN_ASSIGN_OR_RETURN(const bool removed, RemoveKey(context.transaction, key));
      EXPECT_TRUE(removed);
      return {};
    });
  };
  const std::string prefix = "cs:trigger:t_abc123:payments:";
  damaged(prefix + "mails:meta", "{", "is damaged");
  damaged(prefix + "mails:state", "{", "is damaged");
  damaged(prefix + "other:state", R"({"cursor":0})", "belongs to no trigger");
  damaged(prefix + "mails:batch:00000000-0000-4000-8000-000000000000", R"({"jobs":[]})",
          "has jobs of an activation that has ended");
  damaged("cs:trigger:what", "1", "is none of a trigger");
  (void)Do([&](Context& context) {
    return RemoveFromIndex(context.transaction, kTriggerIndexKey, "t_abc123/payments/mails");
  });
  EXPECT_THAT(VerifyTheTriggers().problems().front(), HasSubstr("is enabled and not in the index"));
  (void)Do([&](Context& context) {
    return AddToIndex(context.transaction, kTriggerIndexKey, "t_abc123/payments/mails");
  });
}

}  // namespace
}  // namespace cairn::functions
