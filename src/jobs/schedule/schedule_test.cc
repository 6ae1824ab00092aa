#include "jobs/schedule/schedule.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/time_text.h"
#include "jobs/operations/operations.h"
#include "store/testing/fixture.h"
#include "store/timers.h"

namespace cairn::jobs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ScheduleTest : public store::testing::StoreTest {
 protected:
  // Moves the clock and does what is due, as a server would that was asleep until then.
  void GoTo(const std::string& time) {
    const auto ns = ParseTime(time);
    ASSERT_TRUE(ns) << time;
    const int64_t ms = static_cast<int64_t>(*ns / 1'000'000) - clock_.Now().millis();
    ASSERT_GE(ms, 0) << time;
    clock_.AdvanceMillis(ms);
    FireTimers();
  }
  void FireTimers() {
    ScheduleTicks ticks;
    DueTimers due;
    due.Register(DueKind::kSchedule, ticks);
    store::TimerService timers(*store_, clock_, Log::Silent());
    due.RegisterWith(timers);
    for (Result<size_t> fired = 1; *fired > 0;) {
      fired = timers.RunDue();
      ASSERT_TRUE(fired.ok()) << fired.error().message;
    }
  }

  // What is set for a time that has passed is looked at a few milliseconds later.
  void Settle() {
    for (int i = 0; i < 5; ++i) {
      clock_.AdvanceMillis(20);
      FireTimers();
    }
  }

  template <typename Step>
  auto Change(Step step) -> decltype(step(std::declval<store::Transaction&>())) {
    store::Scopes scopes;
    AddScheduleScope(scopes);
    decltype(step(std::declval<store::Transaction&>())) result =
        Error{ErrorCode::kInternal, "did not run"};
    const auto ran = store_->Run(scopes, [&](store::Transaction& transaction) -> Result<void> {
      result = step(transaction);
      if (!result.ok()) return result.error();
      return {};
    });
    if (!ran.ok() && result.ok()) return ran.error();
    return result;
  }
  Result<Schedule> Create(const std::string& json) {
    return Change(
        [&](store::Transaction& transaction) { return CreateSchedule(transaction, json); });
  }
  Result<Schedule> Update(const std::string& id, const std::string& json) {
    return Change(
        [&](store::Transaction& transaction) { return UpdateSchedule(transaction, id, json); });
  }
  // Whether it was refused, and why.
  std::string Refusal(const std::string& json) {
    const Result<Schedule> created = Create(json);
    return created.ok() ? "accepted" : created.error().message;
  }
  Schedule Get(const std::string& name) {
    const auto snapshot = *store_->Read();
    const Result<Schedule> schedule = GetSchedule(*snapshot, name);
    EXPECT_TRUE(schedule.ok());
    return schedule.ok() ? *schedule : Schedule();
  }
  std::vector<Job> Jobs() {
    const auto snapshot = *store_->Read();
    std::vector<Job> jobs;
    const auto scanned =
        snapshot->Scan(store::Range::Prefix(store::Space::kJobs, family::kJob), {},
                       [&](BytesView key, BytesView value) {
                         jobs.push_back(*DecodeJob(*DecodeNameKey(family::kJob, key), value));
                         return true;
                       });
    EXPECT_TRUE(scanned.ok());
    return jobs;
  }
  // Fetches the jobs that can be, and acknowledges them.
  size_t Work(const std::string& queue) {
    Held held;
    const FetchRequest request{.queues = {queue}, .worker_id = "w", .count = 100};
    AddFetchScopes(request, held);
    std::vector<Job> jobs;
    EXPECT_TRUE(store_
                    ->Run(held.ToScopes(),
                          [&](store::Transaction& transaction) -> Result<void> {
                            Context context{transaction, held};
                            CAIRN_ASSIGN_OR_RETURN(jobs, Fetch(context, request));
                            return {};
                          })
                    .ok());
    for (const Job& job : jobs) {
      Held everything = Held::Everything();
      EXPECT_TRUE(store_
                      ->Run(everything.ToScopes(),
                            [&](store::Transaction& transaction) -> Result<void> {
                              Context context{transaction, everything};
                              return Ack(context,
                                         {.lease = {.id = job.id, .token = job.lease_token}});
                            })
                      .ok());
    }
    return jobs.size();
  }
  // The last tick of a schedule and the next, as text.
  std::string LastRun(const std::string& name) { return FormatTime(Get(name).last_run_ns); }
  std::string NextRun(const std::string& name) { return FormatTime(Get(name).next_run_ns); }
};

TEST_F(ScheduleTest, FiresOnceAtEachTick) {
  GoTo("2026-01-01T00:00:30Z");
  ASSERT_TRUE(Create(R"({"name":"five","cron":"*/5 * * * *","queue":"q","payload":{"n":1.50},
                         "overlap":"parallel"})")
                  .ok());
  EXPECT_EQ(NextRun("five"), "2026-01-01T00:05:00Z");
  GoTo("2026-01-01T00:04:59Z");
  EXPECT_THAT(Jobs(), IsEmpty());
  GoTo("2026-01-01T00:05:00Z");
  ASSERT_THAT(Jobs(), SizeIs(1));
  EXPECT_EQ(Jobs()[0].payload, R"({"n":1.50})");
  EXPECT_EQ(Jobs()[0].id, TickJobId(Get("five"), Get("five").last_run_ns));
  FireTimers();
  EXPECT_THAT(Jobs(), SizeIs(1));
  GoTo("2026-01-01T00:10:00Z");
  GoTo("2026-01-01T00:15:00Z");
  EXPECT_THAT(Jobs(), SizeIs(3));
  const Schedule schedule = Get("five");
  EXPECT_EQ(schedule.runs, 3);
  EXPECT_EQ(LastRun("five"), "2026-01-01T00:15:00Z");
  EXPECT_EQ(NextRun("five"), "2026-01-01T00:20:00Z");
}

TEST_F(ScheduleTest, WhoeverEvaluatesATickItHasOneJob) {
  GoTo("2026-01-01T00:00:30Z");
  ASSERT_TRUE(Create(R"({"name":"s","cron":"@hourly","queue":"q","overlap":"parallel"})").ok());
  const Schedule before = Get("s");
  GoTo("2026-01-01T01:00:00Z");
  // Somebody who has not seen what this transaction did, and does it again.
  EXPECT_TRUE(Change([&](store::Transaction& transaction) -> Result<bool> {
                transaction.Put(InJobs(ScheduleKey(before.id)), ScheduleJson(before));
                SetDue(transaction, before.next_run_ns, DueKind::kSchedule, "q", before.id);
                return true;
              }).ok());
  Settle();
  EXPECT_EQ(Get("s").runs, 1);
  EXPECT_THAT(Jobs(), SizeIs(1));
}

TEST_F(ScheduleTest, SurvivesAReopen) {
  GoTo("2026-01-01T00:00:30Z");
  ASSERT_TRUE(Create(R"({"name":"s","cron":"@hourly","queue":"q"})").ok());
  Reopen();
  GoTo("2026-01-01T01:00:00Z");
  EXPECT_THAT(Jobs(), SizeIs(1));
}

TEST_F(ScheduleTest, WallClockTimesWhereClocksChange) {
  GoTo("2026-03-28T12:00:00Z");
  ASSERT_TRUE(Create(R"({"name":"s","cron":"30 2 * * *","timezone":"Europe/Berlin","queue":"q",
                         "overlap":"parallel"})")
                  .ok());
  std::vector<std::string> runs;
  for (int day = 0; day < 3; ++day) {
    runs.push_back(NextRun("s"));
    GoTo(runs.back());
    EXPECT_EQ(LastRun("s"), runs.back());
  }
  EXPECT_THAT(runs,
              ElementsAre("2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z", "2026-03-31T00:30:00Z"));
  GoTo("2026-10-24T12:00:00Z");
  EXPECT_EQ(NextRun("s"), "2026-10-25T00:30:00Z");
  GoTo("2026-10-25T00:30:00Z");
  EXPECT_EQ(NextRun("s"), "2026-10-26T01:30:00Z");
}

TEST_F(ScheduleTest, OverlapSkips) {
  GoTo("2026-01-01T00:30:00Z");
  ASSERT_TRUE(Create(R"({"name":"s","cron":"@hourly","queue":"q","overlap":"skip"})").ok());
  GoTo("2026-01-01T01:00:00Z");
  GoTo("2026-01-01T02:00:00Z");
  EXPECT_THAT(Jobs(), SizeIs(1));
  EXPECT_EQ(Get("s").skipped, 1);
  EXPECT_EQ(Work("q"), 1U);
  GoTo("2026-01-01T03:00:00Z");
  EXPECT_EQ(Get("s").runs, 2);
}

TEST_F(ScheduleTest, OverlapQueues) {
  GoTo("2026-01-01T00:30:00Z");
  ASSERT_TRUE(Create(R"({"name":"s","cron":"@hourly","queue":"q","overlap":"queue"})").ok());
  GoTo("2026-01-01T01:00:00Z");
  GoTo("2026-01-01T02:00:00Z");
  GoTo("2026-01-01T03:00:00Z");
  EXPECT_THAT(Jobs(), SizeIs(3));
  EXPECT_EQ(Work("q"), 1U);  // one after the other
  EXPECT_EQ(Work("q"), 1U);
  EXPECT_EQ(Work("q"), 1U);
  EXPECT_EQ(Work("q"), 0U);
}

TEST_F(ScheduleTest, OverlapInParallel) {
  GoTo("2026-01-01T00:30:00Z");
  ASSERT_TRUE(Create(R"({"name":"s","cron":"@hourly","queue":"q","overlap":"parallel"})").ok());
  GoTo("2026-01-01T01:00:00Z");
  GoTo("2026-01-01T02:00:00Z");
  EXPECT_EQ(Work("q"), 2U);
}

TEST_F(ScheduleTest, CatchesUpAsItIsTold) {
  GoTo("2026-01-01T00:30:00Z");
  for (const char* policy : {"none", "one", "all"}) {
    ASSERT_TRUE(Create(fmt::format(R"({{"name":"{0}","cron":"@hourly","queue":"{0}",)"
                                   R"("overlap":"parallel","catch_up":"{0}"}})",
                                   policy))
                    .ok());
  }
  ASSERT_TRUE(Create(R"({"name":"window","cron":"@hourly","queue":"window","overlap":"parallel",
                         "catch_up":"all","catch_up_window":"90m"})")
                  .ok());
  ASSERT_TRUE(Create(R"({"name":"short","cron":"@hourly","queue":"short","catch_up":"one",
                         "catch_up_window":"10m"})")
                  .ok());
  GoTo("2026-01-01T05:20:00Z");  // nobody was there at 1, 2, 3, 4 and 5
  EXPECT_EQ(Get("none").runs, 0);
  EXPECT_EQ(Get("one").runs, 1);
  EXPECT_EQ(LastRun("one"), "2026-01-01T05:00:00Z");
  EXPECT_EQ(Get("all").runs, 5);
  EXPECT_EQ(Get("window").runs, 2);
  EXPECT_EQ(Get("short").runs, 0);
  for (const char* name : {"none", "one", "all", "window", "short"}) {
    EXPECT_EQ(NextRun(name), "2026-01-01T06:00:00Z") << name;
  }
  GoTo("2026-01-01T06:00:30Z");  // a little late is on time
  EXPECT_EQ(Get("none").runs, 1);
}

TEST_F(ScheduleTest, CatchesUpWithManyTicksInSteps) {
  GoTo("2026-01-01T00:00:30Z");
  ASSERT_TRUE(Create(R"({"name":"s","cron":"* * * * *","queue":"q","overlap":"parallel",
                         "catch_up":"all"})")
                  .ok());
  GoTo("2026-01-01T05:00:30Z");
  Settle();
  EXPECT_EQ(Get("s").runs, 300);
  EXPECT_EQ(Jobs().size(), 300U);
}

TEST_F(ScheduleTest, ALongAbsenceOfAScheduleOfSecondsIsCheap) {
  GoTo("2026-01-01T00:00:00Z");
  ASSERT_TRUE(
      Create(R"({"name":"s","cron":"* * * * * *","queue":"q","catch_up_window":"8760h"})").ok());
  GoTo("2026-06-01T00:00:00Z");
  EXPECT_EQ(Get("s").runs, 1);
  EXPECT_EQ(LastRun("s"), "2026-06-01T00:00:00Z");
}

TEST_F(ScheduleTest, PauseResumeUpdateDelete) {
  GoTo("2026-01-01T00:30:00Z");
  const Schedule created = *Create(R"({"name":"s","cron":"@hourly","queue":"q"})");
  ASSERT_TRUE(Change([&](store::Transaction& transaction) {
                return PauseSchedule(transaction, created.id);
              }).ok());
  GoTo("2026-01-01T02:30:00Z");
  EXPECT_THAT(Jobs(), IsEmpty());
  EXPECT_EQ(Get("s").next_run_ns, 0U);
  ASSERT_TRUE(Change([&](store::Transaction& transaction) {
                return ResumeSchedule(transaction, "s");
              }).ok());
  EXPECT_EQ(NextRun("s"), "2026-01-01T03:00:00Z");

  ASSERT_TRUE(Update("s", R"({"cron":"15 * * * *","max_retries":7})").ok());
  EXPECT_EQ(NextRun("s"), "2026-01-01T03:15:00Z");
  GoTo("2026-01-01T03:00:00Z");
  EXPECT_THAT(Jobs(), IsEmpty());
  GoTo("2026-01-01T03:15:00Z");
  ASSERT_THAT(Jobs(), SizeIs(1));
  EXPECT_EQ(Jobs()[0].retry.max_retries, 7);
  EXPECT_EQ(Jobs()[0].queue, "q");

  ASSERT_TRUE(Update("s", R"({"queue":"other","payload":[1]})").ok());
  EXPECT_EQ(Work("q"), 1U);
  GoTo("2026-01-01T04:15:00Z");
  EXPECT_EQ(Work("other"), 1U);

  EXPECT_TRUE(Change([&](store::Transaction& transaction) -> Result<bool> {
                const Result<void> deleted = DeleteSchedule(transaction, "s");
                if (!deleted.ok()) return deleted.error();
                return true;
              }).ok());
  GoTo("2026-01-01T09:15:00Z");
  EXPECT_THAT(Jobs(), SizeIs(2));
  const Result<Schedule> gone = Update("s", "{}");
  ASSERT_FALSE(gone.ok());
  EXPECT_THAT(gone.error().message, HasSubstr("NOT_FOUND there is no schedule 's'"));
}

TEST_F(ScheduleTest, ATriggeredJobIsApartFromTicks) {
  GoTo("2026-01-01T00:30:00Z");
  const Schedule schedule = *Create(R"({"name":"s","cron":"@hourly","queue":"q"})");
  Held held;
  AddTriggerScopes(schedule, held);
  store::Scopes scopes = held.ToScopes();
  AddScheduleScope(scopes);
  ASSERT_TRUE(store_
                  ->Run(scopes,
                        [&](store::Transaction& transaction) -> Result<void> {
                          Context context{transaction, held};
                          CAIRN_ASSIGN_OR_RETURN(const EnqueueResult enqueued,
                                                 TriggerSchedule(context, "s"));
                          EXPECT_EQ(enqueued.state, State::kPending);
                          return {};
                        })
                  .ok());
  EXPECT_THAT(Jobs(), SizeIs(1));
  EXPECT_EQ(Get("s").last_run_ns, 0U);
  EXPECT_EQ(Work("q"), 1U);
  GoTo("2026-01-01T01:00:00Z");
  EXPECT_EQ(Get("s").runs, 2);
}

TEST_F(ScheduleTest, RefusesWhatMakesNoSense) {
  ASSERT_TRUE(Create(R"({"name":"s","cron":"@hourly","queue":"q"})").ok());
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"[]", "VALIDATION_ERROR a schedule must be a JSON object"},
      {R"({"cron":"@hourly","queue":"q"})", "VALIDATION_ERROR name: must be 1 to 128"},
      {R"({"name":"s","cron":"@hourly","queue":"q"})",
       "SCHEDULE_ERROR there is a schedule 's' already"},
      {R"({"name":"t","queue":"q"})", "VALIDATION_ERROR cron: '' has 0 fields"},
      {R"({"name":"t","cron":"0 0 30 2 *","queue":"q"})", "never comes"},
      {R"({"name":"t","cron":"@hourly"})", "VALIDATION_ERROR queue"},
      {R"({"name":"t","cron":"@hourly","queue":"q","timezone":"Mars/X"})",
       "VALIDATION_ERROR timezone: unknown time zone 'Mars/X'"},
      {R"({"name":"t","cron":"@hourly","queue":"q","overlap":"maybe"})",
       "VALIDATION_ERROR overlap: must be skip, queue or parallel"},
      {R"({"name":"t","cron":"@hourly","queue":"q","catch_up":1})",
       "VALIDATION_ERROR catch_up: must be none, one or all"},
      {R"({"name":"t","cron":"@hourly","queue":"q","catch_up_window":"soon"})",
       "VALIDATION_ERROR catch_up_window"},
      {R"({"name":"t","cron":"@hourly","queue":"q","paused":"yes"})", "VALIDATION_ERROR paused"},
      {R"({"name":"t","cron":"@hourly","queue":"q","delay":"5s"})",
       "VALIDATION_ERROR delay: cannot be set: the schedule sets it"},
      {R"({"name":"t","cron":"@hourly","queue":"q","colour":"red"})", "VALIDATION_ERROR"},
      {R"({"name":"t","cron":"@hourly","queue":"q","max_retries":-1})",
       "VALIDATION_ERROR max_retries must be"},
      {R"({"name":"t","cron":"@hourly","queue":"q","tags":[1]})", "VALIDATION_ERROR tags"},
      {R"({"name":"t","cron":"@hourly","queue":"q","batch_id":"x"})", "VALIDATION_ERROR batch_id"},
      {R"({"name":"t","cron":"@hourly","queue":"q","chain":{"steps":[{"queue":"other"}]}})",
       "CHAIN_ERROR"},
  };
  for (const auto& [json, why] : cases) EXPECT_THAT(Refusal(json), HasSubstr(why)) << json;
  EXPECT_THAT(Jobs(), IsEmpty());
}

TEST_F(ScheduleTest, ItsRowReadsBack) {
  GoTo("2026-01-01T00:30:00Z");
  const Schedule created = *Create(
      R"({"name":"a \"name\"","cron":"0 9 * * mon-fri","queue":"q","timezone":"Asia/Tokyo",
          "payload":{"big":12345678901234567890},"overlap":"queue","catch_up":"all",
          "catch_up_window":"2h","tags":{"a":"b"}})");
  EXPECT_EQ(*ParseSchedule(created.id, ScheduleJson(created)), created);
  EXPECT_EQ(Get(created.id), created);
  EXPECT_EQ(Get("a \"name\""), created);
  for (const char* wrong : {"", "{", "[]", "7", R"({"overlap":"x"})"}) {
    EXPECT_FALSE(ParseSchedule("sched_1", wrong).ok()) << wrong;
  }
}

}  // namespace
}  // namespace cairn::jobs
