// What steps promise, one promise a test: the real engine and the real operations, on time that the
// test moves.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "functions/steps/events.h"
#include "functions/testing/step_runner.h"

namespace cairn::functions {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing::StepRunner;
using End = StepRunner::End;

std::string Handler(std::string_view body) {
  return fmt::format("export default async function (event, ctx) {{ {} }}", body);
}
std::string BodyOf(const Activation& activation) {
  if (activation.result) return activation.result->body;
  return activation.error ? activation.error->type + ": " + activation.error->message : "";
}

TEST(StepsTest, AStepIsRunOnceAndGivesTheSameAgain) {
  StepRunner runner(Handler(R"(
    const a = await ctx.step('first', async () => {
      console.log('first runs');
      return {when: new Date(7), none: undefined};
    });
    await ctx.sleep(1000);
    return {body: JSON.stringify([a, typeof await ctx.step('nothing', () => {})])};)"));
  const std::string id = runner.Invoke();
  EXPECT_EQ(runner.RunOnce(), End::kSuspended);
  EXPECT_THAT(BodyOf(runner.RunToEnd(id)),
              HasSubstr(R"([{\"when\":\"1970-01-01T00:00:00.007Z\"},\"undefined\"])"));
  EXPECT_THAT(runner.log(), ::testing::ElementsAre("info first runs"));
  const History history = runner.Steps(id);
  ASSERT_EQ(history.steps.size(), 3U);
  EXPECT_EQ(history.steps.at(1).kind, StepKind::kSleep);
  EXPECT_EQ(history.steps.at(1).ended_ms - history.steps.at(1).started_ms, 1'000);
  EXPECT_EQ(history.input, "{}");
}

TEST(StepsTest, WhatAStepWritesIsThereWithItsRecordOrNotAtAll) {
  StepRunner runner(Handler(R"(
    await ctx.step('write', async () => {
      await cs.kv.set('a:k', 1);
      if (await cs.kv.get('a:k') !== 1) throw new Error('does not see what it wrote');
      if (await cs.kv.del('a:k') !== true || await cs.kv.del('a:k') !== false) throw new Error('del');
      await cs.kv.set('a:k', 2);
      await cs.jobs.enqueue('work', {});
      await cs.codeq.publish('told', {});
    });)"));
  const std::string id = runner.Invoke();
  // The record is the eighth call. What dies before has written nothing.
  for (const StepRunner::Death death : {StepRunner::Death{.at_call = 3, .answered = true},
                                        StepRunner::Death{.at_call = 7, .answered = true},
                                        StepRunner::Death{.at_call = 8, .answered = false}}) {
    EXPECT_EQ(runner.RunOnce(death), End::kDied);
    EXPECT_EQ(runner.Kv("a:k"), "null") << death.at_call;
    EXPECT_EQ(runner.JobsIn("work"), 0U);
    runner.server().Advance(StepRunner::kLeaseMs + 1'000);
  }
  EXPECT_EQ(runner.RunOnce(StepRunner::Death{.at_call = 8, .answered = true}), End::kDied);
  EXPECT_EQ(runner.Kv("a:k"), "2") << "it was recorded, and nobody has heard of it";
  runner.server().Advance(StepRunner::kLeaseMs + 1'000);
  EXPECT_EQ(runner.RunToEnd(id).status, Status::kSuccess);
  EXPECT_EQ(runner.Kv("a:k"), "2");
  EXPECT_EQ(runner.JobsIn("work"), 1U);
  EXPECT_EQ(runner.JobsIn("told"), 1U);
}

TEST(StepsTest, AStepThatFailsIsTriedAgainWithPausesAndLeavesNothing) {
  StepRunner runner(Handler(R"(
    try {
      await ctx.step('try', async ({attempt}) => {
        await cs.kv.set('a:k', attempt);
        throw new RangeError('attempt ' + attempt);
      }, {retries: 2, backoff: {initialMs: 100, factor: 3}});
    } catch (error) {
      return {body: error.name + ' ' + error.message};
    })"));
  const std::string id = runner.Invoke();
  const int64_t begin_ms = runner.now_ms();
  EXPECT_EQ(runner.RunOnce(), End::kSuspended);
  EXPECT_EQ(runner.Get(id).durable->suspended->until_ms, begin_ms + 100);
  EXPECT_EQ(runner.Get(id).status, Status::kQueued);
  EXPECT_THAT(runner.Get(id).durable->suspended->waits_for, HasSubstr(R"("name":"try")"));
  EXPECT_THAT(BodyOf(runner.RunToEnd(id)), HasSubstr("RangeError attempt 3"));
  EXPECT_GE(runner.now_ms(), begin_ms + 400);
  EXPECT_EQ(runner.Kv("a:k"), "null");
  EXPECT_EQ(runner.Steps(id).steps.at(0).attempts, 3);
}

TEST(StepsTest, AnEventWakesItsWaiterAtOnceAndOneThatComesBeforeIsKept) {
  StepRunner runner(Handler(R"(
    const early = await ctx.waitForEvent('early');
    return {body: early + (await ctx.waitForEvent('late')) + (await ctx.waitForEvent('late'))};)"));
  const std::string id = runner.Invoke();
  EXPECT_EQ(runner.Signal(id, "early", R"("e")"), "ok 1");
  EXPECT_EQ(runner.RunOnce(), End::kSuspended);
  EXPECT_EQ(runner.RunOnce(), End::kNothingToRun);
  EXPECT_EQ(runner.Signal(id, "other"), "ok 2");
  EXPECT_EQ(runner.RunOnce(), End::kNothingToRun) << "nobody waits for it";
  // Twice is two events.
  EXPECT_EQ(runner.Signal(id, "late", R"("l")"), "ok 3");
  EXPECT_EQ(runner.Signal(id, "late", R"("m")"), "ok 4");
  EXPECT_EQ(runner.RunOnce(), End::kEnded);
  EXPECT_THAT(BodyOf(runner.Get(id)), HasSubstr("elm"));
  EXPECT_THAT(runner.Signal(id, "late"), StartsWith("CS_CONFLICT"));
}

TEST(StepsTest, EventsThatMakeNoSenseAreRefusedAndChangeNothing) {
  StepRunner runner(Handler("await ctx.waitForEvent('e');"));
  const std::string id = runner.Invoke();
  const std::string unknown = "00000000-0000-4000-8000-000000000000";
  EXPECT_THAT(runner.Signal(unknown, "e"), StartsWith("CS_NOT_FOUND"));
  EXPECT_THAT(runner.Signal("nonsense", "e"), StartsWith("CS_VALIDATION_NAME_INVALID"));
  EXPECT_THAT(runner.Signal(id, ""), StartsWith("CS_VALIDATION_FAILED"));
  EXPECT_THAT(runner.Signal(id, std::string(kMaxStepNameBytes + 1, 'e')),
              StartsWith("CS_VALIDATION_FAILED"));
  EXPECT_THAT(runner.Signal(id, "e\n"), StartsWith("CS_VALIDATION_FAILED"));
  EXPECT_THAT(runner.Signal(id, "e", "{"), StartsWith("CS_VALIDATION_FAILED"));
  EXPECT_THAT(runner.Signal(id, "e", "\"" + std::string(kMaxEventPayloadBytes, 'x') + "\""),
              StartsWith("CS_TOO_LARGE"));
  for (size_t i = 0; i < kMaxKeptEvents; ++i) {
    EXPECT_EQ(runner.Signal(id, "other"), fmt::format("ok {}", i + 1));
  }
  EXPECT_THAT(runner.Signal(id, "e"), StartsWith("CS_TOO_LARGE"));
}

TEST(StepsTest, AWaitEndsAtItsTimeOut) {
  StepRunner runner(Handler(R"(
    try { await ctx.waitForEvent('e', {timeout: 5000}); } catch (error) { return {body: error.message}; })"));
  const std::string id = runner.Invoke();
  EXPECT_EQ(runner.RunOnce(), End::kSuspended);
  runner.server().Advance(4'000);
  EXPECT_EQ(runner.RunOnce(), End::kNothingToRun);
  EXPECT_THAT(BodyOf(runner.RunToEnd(id)), HasSubstr("did not come within 5000 ms"));
}

TEST(StepsTest, TimeSuspendedDoesNotCountButALifeHasAnEnd) {
  StepRunner runner(
      Handler("await ctx.sleep(29 * 86400 * 1000); await ctx.waitForEvent('never');"));
  const std::string id = runner.Invoke();
  EXPECT_EQ(runner.RunOnce(), End::kSuspended);
  runner.AdvanceToNext(id);
  EXPECT_EQ(runner.RunOnce(), End::kSuspended) << "29 days later it is not late";
  runner.AdvanceToNext(id);
  EXPECT_EQ(runner.RunOnce(), End::kEnded);
  EXPECT_EQ(runner.Get(id).status, Status::kError);
}

TEST(StepsTest, CodeThatDoesNotFitItsHistoryIsRefusedByName) {
  const std::string first = Handler("await ctx.step('charge', () => 1); await ctx.sleep(1000);");
  struct Case {
    std::string body;
    std::string message;
  };
  for (
      const Case& one :
      {Case{
           "await ctx.step('ship', () => 1);",
           R"(position 0: the function has the step "ship" there, its history has the step "charge")"},
       Case{
           "await ctx.step('charge', () => 1); await ctx.waitForEvent('e');",
           R"(position 1: the function has a wait for the event "e" there, its history has a sleep)"},
       Case{"return {body: 'done'};",
            R"(position 0: the function has nothing there, its history has the step "charge")"},
       Case{"try { await ctx.step('ship', () => 1); } catch { return {body: 'caught'}; }",
            R"(position 0)"}}) {
    StepRunner runner(first);
    const std::string id = runner.Invoke();
    EXPECT_EQ(runner.RunOnce(), End::kSuspended);
    runner.Publish(Handler(one.body));
    const Activation ended = runner.RunToEnd(id);
    EXPECT_EQ(ended.status, Status::kError);
    EXPECT_THAT(BodyOf(ended), StartsWith("StepMismatch: ")) << one.body;
    EXPECT_THAT(BodyOf(ended), HasSubstr(one.message));
  }
}

// How an activation of this function ends.
std::string EndOf(std::string_view body) {
  StepRunner runner(Handler(body));
  return BodyOf(runner.RunToEnd(runner.Invoke()));
}

TEST(StepsTest, AHistoryIsBounded) {
  EXPECT_THAT(EndOf("for (let i = 0; ; i++) await ctx.step('s' + i, () => i);"),
              ::testing::AllOf(StartsWith("StepRefused: "), HasSubstr("up to 1000 steps")));
  EXPECT_THAT(EndOf("await ctx.step('big', () => 'x'.repeat(256 * 1024));"),
              HasSubstr("keep what is large with cs.kv"));
  EXPECT_THAT(
      EndOf("for (let i = 0; ; i++) await ctx.step('s' + i, () => 'x'.repeat(200 * 1024));"),
      HasSubstr("the history of the activation"));
  EXPECT_THAT(EndOf(R"(await ctx.step('w', async () => {
    for (let i = 0; i < 2000; i++) await cs.kv.set('a:' + i, 1); });)"),
              HasSubstr("more than 1000 times"));
}

TEST(StepsTest, OfSeveralOpenStepsEachHasItsOwnCs) {
  StepRunner runner(Handler(R"(
    let refusal = '';
    const [a, b] = await ctx.all([
      ctx.step('a', async ({cs}) => { await cs.kv.set('a:a', 1); return 'A'; }),
      ctx.step('b', async () => {
        try { await cs.kv.set('a:b', 1); } catch (error) { refusal = error.message; }
        return 'B';
      })]);
    return {body: a + b + refusal};)"));
  EXPECT_THAT(BodyOf(runner.RunToEnd(runner.Invoke())),
              ::testing::AllOf(HasSubstr("AB"), HasSubstr("it cannot be told which one")));
  EXPECT_EQ(runner.Kv("a:a"), "1");
  EXPECT_EQ(runner.Kv("a:b"), "null");
}

TEST(StepsTest, MistakesAreNamedBeforeAnythingIsRecorded) {
  StepRunner runner(Handler(R"(
    const said = [];
    for (const call of [() => ctx.step('', () => 1), () => ctx.step('a'), () => ctx.step('a', () => 1, {retries: 1.5}),
                        () => ctx.step('x'.repeat(129), () => 1), () => ctx.sleep('no date'), () => ctx.sleep(-1),
                        () => ctx.waitForEvent(7), () => ctx.waitForEvent('e', {timeout: 1e12}),
                        () => ctx.invoke({}), () => ctx.step('a', () => 1, {backoff: {factor: 0}})]) {
      try { await call(); said.push('nothing'); } catch (error) { said.push(error.name); }
    }
    return {body: said.join()};)"));
  EXPECT_THAT(BodyOf(runner.RunToEnd(runner.Invoke())),
              HasSubstr("TypeError,TypeError,TypeError,TypeError,TypeError,TypeError,TypeError,"
                        "TypeError,TypeError,TypeError"));
}

TEST(StepsTest, AFunctionIsInvokedOnceAndItsResultComesBack) {
  StepRunner runner(Handler(R"(
    if (event.depth === 0) return {body: 'leaf'};
    if (event.fails) throw new RangeError('no');
    const reply = await ctx.invoke('reconcile', {depth: event.depth - 1});
    let failure = '';
    if (event.depth === 2) {
      try { await ctx.invoke('reconcile', {fails: true}); } catch (error) { failure = error.name; }
      try { await ctx.invoke('unknown_one', {}); } catch (error) { failure += error.message; }
    }
    return {body: '<' + JSON.parse(reply.body).body + failure + '>'};)"));
  const std::string id = runner.Invoke(R"({"depth":2})");
  EXPECT_EQ(runner.RunOnce(StepRunner::Death{.at_call = 1, .answered = true}), End::kDied);
  runner.server().Advance(StepRunner::kLeaseMs + 1'000);
  const std::string body = BodyOf(runner.RunToEnd(id));
  EXPECT_THAT(body, HasSubstr("<"));
  EXPECT_THAT(body, HasSubstr("RangeError"));
  EXPECT_THAT(body, HasSubstr("unknown_one"));
}

TEST(StepsTest, ARestartKeepsWhatWasBeforeAndRunsTheRestWithAnotherEvent) {
  StepRunner runner(Handler(R"(
    const a = await ctx.step('a', async () => { await cs.jobs.enqueue('work', {}); return 'a' + event.n; });
    const b = await ctx.step('b', async () => { if (event.n < 5) throw new Error('too few'); return 'b' + event.n; });
    return {body: a + b};)"));
  const std::string id = runner.Invoke(R"({"n":1})");
  EXPECT_THAT(runner.Restart({.activation = id, .from = 1}).error().message,
              StartsWith("CS_CONFLICT"));
  EXPECT_EQ(BodyOf(runner.RunToEnd(id)), "Error: too few");
  EXPECT_THAT(runner.Restart({.activation = id, .from = 9}).error().message,
              StartsWith("CS_VALIDATION_FAILED"));
  EXPECT_THAT(runner.Restart({.activation = id, .from = 1, .event = "{"}).error().message,
              StartsWith("CS_VALIDATION_FAILED"));
  const Result<Restarted> with_event =
      runner.Restart({.activation = id, .from = 1, .event = R"({"n":7})"});
  ASSERT_TRUE(with_event.ok()) << with_event.error().message;
  EXPECT_EQ(with_event->kept, 1U);
  EXPECT_THAT(BodyOf(runner.RunToEnd(with_event->activation_id)), HasSubstr("a1b7"));
  const Result<Restarted> as_it_was = runner.Restart({.activation = id, .from = 0});
  ASSERT_TRUE(as_it_was.ok());
  EXPECT_EQ(BodyOf(runner.RunToEnd(as_it_was->activation_id)), "Error: too few");
  EXPECT_EQ(runner.JobsIn("work"), 2U);
}

TEST(StepsTest, AProcessThatLiesChangesOnlyItsOwnHistoryAndOnlyWithinBounds) {
  StepRunner runner(Handler("await ctx.step('a', () => 1); await ctx.sleep(1000);"));
  const std::string id = runner.Invoke();
  EXPECT_EQ(runner.RunOnce(StepRunner::Death{.at_call = 2}), End::kDied);
  for (const char* const lie :
       {R"({"position":0,"name":"a","attempt":1,"duration_ms":0})",
        R"({"position":1000,"name":"a","attempt":1,"duration_ms":0})",
        R"({"position":5,"name":"","attempt":1,"duration_ms":0})",
        R"({"position":5,"name":"a","attempt":1,"duration_ms":-1})",
        R"({"position":5,"name":"a","attempt":1,"duration_ms":0,"retry_ms":99999999999})",
        R"({"position":5,"name":"a","attempt":1,"duration_ms":0,"more":1})", R"([])", "{"}) {
    EXPECT_FALSE(runner.AskLast("steps.done", lie).ok()) << lie;
  }
  for (const char* const lie :
       {R"({"position":0,"kind":"sleep","delay_ms":1})", R"({"position":5,"kind":"nap"})",
        R"({"position":5,"kind":"sleep","delay_ms":99999999999})",
        R"({"position":5,"kind":"event","name":""})"}) {
    EXPECT_FALSE(runner.AskLast("steps.start", lie).ok()) << lie;
  }
  EXPECT_FALSE(runner.AskLast("steps.wait", "{}").ok()) << "there is nothing to wait for";
  EXPECT_FALSE(runner.AskLast("steps.other", "{}").ok());
  EXPECT_EQ(runner.Steps(id).steps.size(), 1U);
}

TEST(StepsTest, OneWhoHasLostTheLeaseWritesNothing) {
  StepRunner runner(Handler("await ctx.step('a', () => 1); await ctx.step('b', () => 2);"));
  const std::string id = runner.Invoke();
  EXPECT_EQ(runner.RunOnce(StepRunner::Death{.at_call = 2}), End::kDied);
  const std::string done =
      R"({"position":1,"name":"b","attempt":1,"duration_ms":0,"value":"late"})";
  runner.server().Advance(StepRunner::kLeaseMs + 1'000);
  EXPECT_THAT(runner.AskLast("steps.done", done).error().message,
              HasSubstr("its lease has lapsed"));
  EXPECT_EQ(runner.RunToEnd(id).status, Status::kSuccess);
  EXPECT_EQ(runner.Steps(id).steps.at(1).value, "2");
}

TEST(StepRecordTest, RecordsComeBackAsTheyWere) {
  StepRecord record{.position = 7,
                    .seq = 3,
                    .kind = StepKind::kStep,
                    .name = "charge \"x\"",
                    .state = StepState::kDone,
                    .attempts = 2,
                    .value = R"({"a":[1,null]})",
                    .started_ms = 5,
                    .ended_ms = 9,
                    .duration_ms = 4};
  EXPECT_EQ(Encode(record),
            R"({"position":7,"seq":3,"kind":"step","name":"charge \"x\"","state":"done",)"
            R"("attempts":2,"value":{"a":[1,null]},"started_ms":5,"ended_ms":9,"duration_ms":4})");
  EXPECT_EQ(*DecodeStepRecord(Encode(record)), record);
  record = {.position = 0,
            .kind = StepKind::kInvoke,
            .name = "f",
            .state = StepState::kFailed,
            .error = FunctionError{"E", "m", "s"},
            .wake_ms = 1,
            .child = "c"};
  EXPECT_EQ(*DecodeStepRecord(Encode(record)), record);
  for (const char* const broken : {"", "{}", R"({"position":0,"kind":"nap","state":"done"})",
                                   R"({"position":1000,"kind":"step","state":"done"})",
                                   R"({"position":0,"kind":"step","state":"asleep"})"}) {
    EXPECT_TRUE(IsRefusal(DecodeStepRecord(broken).error(), Code::kStoreReadFailed)) << broken;
  }
}

}  // namespace
}  // namespace cairn::functions
