// The queue as text, and back.
#include "jobs/dump/dump.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "jobs/dump/dump_line.h"
#include "jobs/ledger/event.h"
#include "jobs/model/keys.h"
#include "jobs/model/refusal.h"
#include "jobs/schedule/schedule.h"
#include "jobs/testing/job_server.h"
#include "jobs/webhook/webhook.h"

namespace cairn::jobs {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::JobServer;
using ::testing::Not;

// A store that stops taking writes after a while, as one whose process is killed.
class StoppingStore final : public store::Store {
 public:
  StoppingStore(store::Store& inner, int writes) : inner_(inner), writes_left_(writes) {}

  Result<store::Commit> Run(const store::Scopes& scopes, store::Body body) override {
    if (writes_left_-- <= 0) return Error{ErrorCode::kUnavailable, "stopped"};
    return inner_.Run(scopes, body);
  }
  Result<store::Commit> RunRead(const store::Scopes& scopes, store::Body body) override {
    return inner_.RunRead(scopes, body);
  }
  std::unique_ptr<store::Group> NewGroup() override { return inner_.NewGroup(); }
  Result<std::unique_ptr<store::Snapshot>> Read() override { return inner_.Read(); }
  bool IsDurable(store::Commit commit) const override { return inner_.IsDurable(commit); }
  Result<void> Durable(store::Commit commit) override { return inner_.Durable(commit); }
  store::Subscription OnDurable(std::function<void(Result<store::Commit>)> listener) override {
    return inner_.OnDurable(std::move(listener));
  }
  store::Subscription OnWake(store::Topic topic, std::function<void()> waiter) override {
    return inner_.OnWake(topic, std::move(waiter));
  }
  store::Subscription OnEarlierTimer(std::function<void(Timestamp due)> listener) override {
    return inner_.OnEarlierTimer(std::move(listener));
  }
  std::optional<Error> write_failure() const override { return inner_.write_failure(); }
  Result<void> Backup(const std::string& directory) override { return inner_.Backup(directory); }
  Result<void> Verify() override { return inner_.Verify(); }
  store::Durability durability() const override { return inner_.durability(); }
  store::StoreStats stats() const override { return inner_.stats(); }

 private:
  store::Store& inner_;
  int writes_left_;
};

Dump BeginDump(store::Store& store) {
  auto snapshot = store.Read();
  EXPECT_TRUE(snapshot.ok());
  Result<Dump> dump = Dump::Begin(*std::move(snapshot));
  EXPECT_TRUE(dump.ok()) << dump.error().message;
  return *std::move(dump);
}

std::string AllOfIt(Dump dump) {
  std::string text;
  while (true) {
    const Result<std::string> piece = dump.Next();
    EXPECT_TRUE(piece.ok()) << piece.error().message;
    if (!piece.ok() || piece->empty()) return text;
    text += *piece;
  }
}

// What was told, as one text: good to look for words in it.
std::string Outcome(const Result<RestoreReport>& report) {
  if (!report.ok()) {
    return fmt::format("{} {}", ErrorCodeName(report.error().code), report.error().message);
  }
  return fmt::format("{} {} of {}{}", report->finished ? "restored" : "taken", report->lines,
                     report->jobs, report->verify.sound() ? "" : ", unsound");
}

class DumpTest : public ::testing::Test {
 protected:
  static std::string DumpOf(JobServer& server) { return AllOfIt(BeginDump(server.store())); }
  static std::string RestoreInto(JobServer& server, std::string_view text, int64_t line = 1) {
    return Outcome(Restore(server.store(), line, text));
  }

  // Every row that is not of the event log, of due times, of workers, or a mere cursor; documents
  // without the number of those that share their lease.
  static std::map<std::string, std::string> Rows(JobServer& server) {
    std::map<std::string, std::string> rows;
    const auto snapshot = server.store().Read();
    const auto add = [&](BytesView key, BytesView value) {
      const std::string_view family = key.substr(0, key.find('|') + 1);
      for (const std::string_view left_out : {"ev|", "evc|", "t|", "w|", "qac|", "whs|", "whl|"}) {
        if (family == left_out) return true;
      }
      std::string kept(value);
      if (family == family::kQueueState) {
        QueueState state = DecodeQueueState(value).value_or(QueueState());
        state.cursor_ns = {};
        kept = EncodeQueueState(state);
      }
      if (family == family::kJob) {
        Result<Job> job = DecodeJob(*DecodeNameKey(family::kJob, key), value);
        job->lease_sharers = 0;
        kept = EncodeJob(*job);
      }
      rows.emplace(Printable(key, 200), Printable(kept, 2'000));
      return true;
    };
    EXPECT_TRUE((*snapshot)->Scan(store::Range::All(store::Space::kJobs), {}, add).ok());
    return rows;
  }

  // Jobs in every state, and all that can belong to one.
  void Fill() {
    const auto one = [&](const std::string& queue) { return from_.Fetch(queue).at(0); };
    from_.Enqueue("pending", "{ \"a\" :\n1.50, \"b\":\"\u00e9\\u0000\" }",
                  {"TAGS", R"({"t":"1"})"});
    from_.Enqueue("pending", "[]", {"PRIORITY", "high", "EXPIRE", "5000"});
    from_.Enqueue("pending", "null", {"PRIORITY", "critical"});
    scheduled_ = from_.Enqueue("later", "{}", {"DELAY", "60000"});
    from_.Enqueue("failing", "{}", {"BACKOFF", "fixed", "BASE", "30000"});
    from_.Fail(one("failing"), {"BACKTRACE", "line 1\nline 2"});
    held_ = from_.Enqueue("stopped", "{}");
    from_.Run({"JOB.HOLD", held_, "because of \"it\"\n"});
    from_.Run({"QUEUE.PAUSE", "stopped"});
    from_.Enqueue("ended", "{}", {"IDEMPOTENCY", "once"});
    from_.Ack(one("ended"), R"({"sent" : 1e2})");
    from_.Enqueue("ended", "{}");
    from_.Fail(one("ended"), {"NORETRY"});
    from_.Run({"JOB.CANCEL", from_.Enqueue("ended", "{}"), "no more"});
    active_id_ = from_.Enqueue("busy", "{}", {"CHECKPOINT", "[1, 2]"});
    const net::RespValue fetched = from_.Value(
        {"JOB.FETCH", "LEASE", "60000", "WORKER", "w1", "HOSTNAME", "h \u00e9", "QUEUES", "busy"});
    active_ = {active_id_, fetched.items.at(0).items.at(11).text, ""};
    FillCoordination();
    FillOthers();
  }

  void FillCoordination() {
    from_.Enqueue("unique", "{}", {"UNIQUE", "u", "PERIOD", "100000"});
    // Answered with the job that is there: its idempotency key is kept for a time of its own.
    from_.Enqueue("unique", "{}", {"UNIQUE", "u", "IDEMPOTENCY", "i"});
    for (int i = 0; i < 3; ++i) from_.Enqueue("keyed", "{}", {"CONCURRENCY", "c"});
    for (int i = 0; i < 3; ++i) from_.Enqueue("grouped", "{}", {"GROUP", "g"});
    from_.Run({"QUEUE.CONFIG", "rated", R"({"key_rate_limit":1,"key_rate_window_ms":50000})"});
    for (int i = 0; i < 3; ++i) from_.Enqueue("rated", "{}", {"RATE", "r"});
    from_.Fetch("rated", 3);
    from_.Run({"QUEUE.THROTTLE", "slow", "1", "50000"});
    from_.Enqueue("slow", "{}");
    from_.Enqueue("slow", "{}");
    from_.Fetch("slow", 2);
    first_ = from_.Enqueue("chained", "{}",
                           {"CHAIN", R"({"steps":[{"queue":"chained"},{"queue":"next"}]})"});
    waiting_ = from_.Enqueue("waiting", "{}", {"DEPENDS", "1", first_});
    const net::RespValue done = from_.Value(
        {"JOB.ENQUEUEM", "CALLBACK", "called", R"({"x": 1})", "JOBS", R"({"queue":"batched"})"});
    from_.Ack(from_.Fetch("batched").at(0));
    batch_ = from_.Value({"JOB.BATCHOPEN", "called", R"({"y": 2})"}).text;
    from_.Enqueue("batched", "{}", {"BATCH", batch_});
  }

  void FillOthers() {
    store::Scopes scopes = store::Scopes::Exclusive();
    const auto done =
        from_.store().Run(scopes, [&](store::Transaction& transaction) -> Result<void> {
          CAIRN_RETURN_IF_ERROR(CreateSchedule(
              transaction,
              R"({"name":"daily","cron":"@daily","queue":"ticks","payload":{"p": 1}})"));
          return PutWebhook(transaction, {.id = "wh_1",
                                          .url = "http://127.0.0.1:9/hook",
                                          .secret = "s3cret",
                                          .created_ns = 5});
        });
    ASSERT_TRUE(done.ok()) << done.error().message;
  }

  // The dump without the time it was made at.
  static std::string Body(const std::string& dump) { return dump.substr(dump.find('\n') + 1); }

  JobServer from_;
  JobServer to_;
  std::string scheduled_;
  std::string held_;
  std::string active_id_;
  JobServer::Leased active_;
  std::string first_;
  std::string waiting_;
  std::string batch_;
};

TEST_F(DumpTest, WhatIsRestoredIsAsItWas) {
  Fill();
  from_.ExpectSound();
  const std::string dump = DumpOf(from_);
  const int64_t lines = std::ranges::count(dump, '\n');
  EXPECT_THAT(RestoreInto(to_, dump),
              AllOf(HasSubstr(fmt::format("restored {} of ", lines)), Not(HasSubstr("unsound"))));
  EXPECT_EQ(Rows(to_), Rows(from_));
  EXPECT_EQ(Body(DumpOf(to_)), Body(dump));
  to_.ExpectSound();
}

TEST_F(DumpTest, ALeaseThatWasSharedIsEachJobsOwnAfterwards) {
  for (int i = 0; i < 3; ++i) from_.Enqueue("q");
  const auto jobs = from_.Fetch("q", 3);
  ASSERT_EQ(jobs[0].token, jobs[2].token);
  RestoreInto(to_, DumpOf(from_));
  to_.ExpectSound();
  EXPECT_EQ(to_.Ack(jobs[1]), "OK");
  to_.Advance(60'020);
  EXPECT_EQ(to_.Count("q", "pending"), 2);
  EXPECT_EQ(to_.Count("q", "completed"), 1);
  to_.ExpectSound();
}

TEST_F(DumpTest, LifeGoesOnAfterARestore) {
  Fill();
  RestoreInto(to_, DumpOf(from_));
  // The worker that has a job does not notice.
  EXPECT_EQ(to_.Ack(active_), "OK");
  EXPECT_EQ(to_.State(active_id_), "completed");
  EXPECT_THAT(to_.Value({"QUEUE.GET", "stopped"}).text, HasSubstr(R"("paused":true)"));
  EXPECT_EQ(to_.Fetch("pending", 10).size(), 3U);
  EXPECT_EQ(to_.Fetch("keyed", 10).size(), 1U);
  EXPECT_EQ(to_.Fetch("grouped", 10).size(), 3U);
  EXPECT_THAT(to_.Fetch("slow", 10), IsEmpty());
  EXPECT_EQ(to_.State(waiting_), "pending");
  EXPECT_THAT(to_.Fetch("waiting"), IsEmpty());
  EXPECT_EQ(to_.Ack(to_.Fetch("chained").at(0)), "OK");
  EXPECT_EQ(to_.Fetch("next").size(), 1U);
  EXPECT_EQ(to_.Fetch("waiting").size(), 1U);
  EXPECT_EQ(to_.Run({"JOB.APPROVE", held_}), "OK");
  to_.Run({"JOB.BATCHSEAL", batch_});
  EXPECT_EQ(to_.Ack(to_.Fetch("batched").at(0)), "OK");
  EXPECT_EQ(to_.Fetch("called", 10).size(), 2U);
  to_.Advance(60'100);
  to_.Advance(100);
  EXPECT_EQ(to_.State(scheduled_), "pending");
  EXPECT_EQ(to_.Fetch("slow", 10).size(), 1U);
  EXPECT_EQ(to_.Count("failing", "pending"), 1);
  to_.Advance(8 * 24 * 3'600'000LL);
  to_.Advance(100);
  EXPECT_EQ(to_.Count("ended", "completed"), 0);
  to_.ExpectSound();
}

TEST_F(DumpTest, ALeaseThatRanOutMeanwhileLapses) {
  Fill();
  const std::string dump = DumpOf(from_);
  to_.clock().AdvanceMillis(3'600'000);
  EXPECT_THAT(RestoreInto(to_, dump), HasSubstr("restored"));
  EXPECT_EQ(to_.State(active_id_), "active");
  to_.Advance(100);
  to_.Advance(100);
  EXPECT_EQ(to_.State(active_id_), "pending");
  EXPECT_EQ(to_.State(scheduled_), "pending");
  EXPECT_THAT(to_.Ack(active_), HasSubstr("LEASE_LOST"));
  to_.ExpectSound();
}

TEST_F(DumpTest, ADumpIsOfOneMoment) {
  std::vector<std::string> args = {"JOB.ENQUEUEM", "q", "PAYLOADS"};
  args.resize(5'003, "{}");
  from_.Value(args);
  Dump dump = BeginDump(from_.store());
  const Result<std::string> begin = dump.Next();
  ASSERT_TRUE(begin.ok());
  from_.Fetch("q", 512);
  from_.Run({"QUEUE.CLEAR", "q"});
  const std::string rest = AllOfIt(std::move(dump));
  EXPECT_FALSE(rest.empty());
  EXPECT_THAT(RestoreInto(to_, *begin + rest), HasSubstr(" of 5000"));
  EXPECT_EQ(to_.Count("q", "pending"), 5'000);
  to_.ExpectSound();
}

TEST_F(DumpTest, OnlyAnEmptyQueueIsRestoredInto) {
  Fill();
  const std::string dump = DumpOf(from_);
  const std::string job = to_.Enqueue("q", "{}");
  const auto before = Rows(to_);
  EXPECT_THAT(RestoreInto(to_, dump), AllOf(HasSubstr("conflict"), HasSubstr("jobs already")));
  EXPECT_EQ(Rows(to_), before);
  to_.Run({"JOB.DELETE", job});
  EXPECT_THAT(RestoreInto(to_, dump), HasSubstr("queues already"));
  to_.Run({"QUEUE.DELETE", "q"});
  EXPECT_THAT(RestoreInto(to_, dump), HasSubstr("restored"));
  EXPECT_THAT(RestoreInto(to_, dump), HasSubstr("already"));
  EXPECT_EQ(Rows(to_), Rows(from_));
}

TEST_F(DumpTest, WhatCameBetweenTheLinesIsNotOverwritten) {
  Fill();
  const std::string dump = DumpOf(from_);
  const size_t half = dump.find('\n', dump.size() / 2) + 1;
  EXPECT_THAT(RestoreInto(to_, dump.substr(0, half)), HasSubstr("taken"));
  to_.Enqueue("pending", "[\"new\"]");
  const int64_t next = std::ranges::count(dump.substr(0, half), '\n') + 1;
  EXPECT_THAT(RestoreInto(to_, dump.substr(half), next), HasSubstr("conflict"));
  EXPECT_EQ(to_.Count("pending", "pending"), 1);
  EXPECT_FALSE(Rows(to_).contains("rsp|"));
  to_.ExpectSound();
}

TEST_F(DumpTest, LinesComeInPartsAndMayComeTwice) {
  Fill();
  const std::string dump = DumpOf(from_);
  std::vector<std::string> lines;
  for (size_t at = 0; at < dump.size(); at = dump.find('\n', at) + 1) {
    lines.push_back(dump.substr(at, dump.find('\n', at) + 1 - at));
  }
  EXPECT_THAT(RestoreInto(to_, lines[1], 2), HasSubstr("expected line 1 next"));
  for (size_t i = 0; i + 1 < lines.size(); ++i) {
    const std::string pair = lines[i] + (i + 2 < lines.size() ? lines[i + 1] : "");
    EXPECT_THAT(RestoreInto(to_, pair, static_cast<int64_t>(i) + 1), HasSubstr("taken"));
  }
  EXPECT_THAT(RestoreInto(to_, lines.back(), static_cast<int64_t>(lines.size()) + 5),
              HasSubstr(fmt::format("expected line {} next", lines.size())));
  EXPECT_THAT(RestoreInto(to_, lines.back(), static_cast<int64_t>(lines.size())),
              HasSubstr("restored"));
  EXPECT_EQ(Rows(to_), Rows(from_));
  to_.ExpectSound();
}

TEST_F(DumpTest, AnInterruptedRestoreGoesOn) {
  Fill();
  const std::string dump = DumpOf(from_);
  StoppingStore first(to_.store(), 4);
  EXPECT_THAT(Outcome(Restore(first, 1, dump)), HasSubstr("stopped"));
  // Nobody is given a job of half a queue, and half a queue is not dumped.
  EXPECT_THAT(to_.Fetch("pending", 10), IsEmpty());
  EXPECT_FALSE(Dump::Begin(*to_.store().Read()).ok());
  int times = 0;
  std::string outcome = "stopped";
  while (outcome.find("stopped") != std::string::npos && ++times < 20) {
    to_.FireTimers();
    StoppingStore again(to_.store(), 1);
    outcome = Outcome(Restore(again, 1, dump));
  }
  EXPECT_GT(times, 2);
  EXPECT_THAT(outcome, AllOf(HasSubstr("restored"), Not(HasSubstr("unsound"))));
  EXPECT_EQ(Rows(to_), Rows(from_));
  to_.ExpectSound();
}

TEST_F(DumpTest, EachJobIsToldOfOnceAndWebhooksHearNothing) {
  Fill();
  RestoreInto(to_, DumpOf(from_));
  const auto snapshot = to_.store().Read();
  const auto events = ReadEvents(**snapshot, 0, 10'000);
  ASSERT_TRUE(events.ok());
  std::map<std::string, int> told;
  for (const Event& event : events->events) {
    EXPECT_EQ(event.type, EventType::kUpdated);
    EXPECT_EQ(event.data, R"({"restored":true})");
    ++told[event.job];
  }
  for (const auto& [job, times] : told) EXPECT_EQ(times, 1) << job;
  EXPECT_EQ(told.size(), Verify(**snapshot)->jobs);
  EXPECT_EQ(LoadWebhookState(**snapshot, "wh_1")->cursor, *NewestEvent(**snapshot));
  EXPECT_EQ(LoadWebhook(**snapshot, "wh_1").value()->secret, "s3cret");
}

TEST_F(DumpTest, AnEmptyQueueIsADumpToo) {
  const std::string dump = DumpOf(from_);
  EXPECT_EQ(std::ranges::count(dump, '\n'), 2);
  EXPECT_EQ(RestoreInto(to_, dump), "restored 2 of 0");
}

TEST_F(DumpTest, ManyJobsTakeManyTransactions) {
  for (int i = 0; i < 3; ++i) {
    std::vector<std::string> args = {"JOB.ENQUEUEM", fmt::format("q{}", i), "PAYLOADS"};
    args.resize(1'003, "{}");
    from_.Value(args);
    from_.Fetch(fmt::format("q{}", i), 400);
  }
  EXPECT_EQ(RestoreInto(to_, DumpOf(from_)), "restored 3005 of 3000");
  EXPECT_EQ(Rows(to_), Rows(from_));
  to_.ExpectSound();
}

// --- What is wrong -------------------------------------------------------------------------------

struct Mistake {
  std::string_view was;
  std::string_view is;
  std::string_view told;
};

TEST_F(DumpTest, AMistakeIsToldByItsLineAndMemberAndLeavesNothing) {
  from_.Enqueue("q", R"({"n":1})", {"UNIQUE", "u"});
  const std::string dump = DumpOf(from_);
  const std::vector<Mistake> mistakes = {
      {R"("format":"cairn-jobs")", R"("format":"corvo")", "line 1: header: format is not"},
      {R"("version":1)", R"("version":2)", "line 1: header: version 2"},
      {R"("version":1)", R"("version":"1")", "line 1: header: version is not a whole number"},
      {R"("type":"queue")", R"("type":"shop")", "line 2: 'shop' is not a type of line"},
      {R"("name":"q")", R"("name":"")", "line 2: queue: name is not the name of a queue"},
      {R"("counts":[1,)", R"("counts":[)", "line 2: queue: counts is not a list of that many"},
      {R"("counts":[1,)", R"("counts":[2,)", "queue q: counts has 1 pending jobs more"},
      {R"("parked":)", R"("parkd":)", "the member 'parkd' is unknown here"},
      {R"("enqueued":1)", R"("enqueued":1,"enqueued":1)",
       "the member 'enqueued' is unknown here or appears twice"},
      {R"("key":"u")", R"("key":["u"])", "line 3: unique_lock: key is not text"},
      {R"("state":"pending")", R"("state":"asleep")", "line 4: job: state is not one of"},
      {R"("state":"pending",)", "", "line 4: job: state is missing"},
      {R"("state":"pending")", R"("state":"active")", "line 4: job: lease_token"},
      {R"("payload":"{)", R"("payload":"{{)", "line 4: job: payload is not valid JSON"},
      {R"("queue":"q","state")", R"("queue":"p","state")", "queue p: counts has -1 pending"},
      {R"("id":"job_)", R"("id":"jb_)", "line 4: job: id is not an id"},
      {R"({"type":"job")", R"({"type":"job)", "line 4: the line is not a JSON object"},
      {R"("lines":4)", R"("lines":5)", "line 5: end: lines and jobs are 5 and 1"},
      {R"("jobs":1})", "\"jobs\":1}\n{\"type\":\"end\"}", "line 6: the dump was at its end"},
      {R"({"type":"end")", "\n{\"type\":\"end\"", "line 5: the line is not a JSON object"},
  };
  for (const Mistake& mistake : mistakes) {
    std::string changed = dump;
    const size_t at = changed.find(mistake.was);
    // One whose place is empty or zero is not there.
    if (mistake.was == R"("parked":)") {
      changed.replace(changed.find(R"("enqueued":1)"), 0, R"("parkd":0,)");
    } else {
      ASSERT_NE(at, std::string::npos) << mistake.was << " in " << dump;
      changed.replace(at, mistake.was.size(), mistake.is);
    }
    EXPECT_THAT(RestoreInto(to_, changed),
                AllOf(HasSubstr("VALIDATION_ERROR"), HasSubstr(mistake.told)))
        << mistake.is;
    EXPECT_THAT(Rows(to_), IsEmpty()) << mistake.is;
  }
  EXPECT_THAT(RestoreInto(to_, ""), HasSubstr("line 1"));
  EXPECT_THAT(RestoreInto(to_, Body(dump)), HasSubstr("line 1: a dump begins with its header"));
  const std::string cut = dump.substr(0, dump.size() / 2);
  EXPECT_THAT(RestoreInto(to_, cut), HasSubstr("VALIDATION_ERROR line"));
  EXPECT_THAT(Rows(to_), IsEmpty());
  EXPECT_THAT(RestoreInto(to_, dump), HasSubstr("restored"));
}

// --- Lines ---------------------------------------------------------------------------------------

TEST(DumpLineTest, EveryKindComesBackAsItWas) {
  Job job{.id = "job_00000000000000010002000003",
          .queue = "\u00fcber",
          .state = State::kRetrying,
          .priority = Priority::kHigh,
          .payload = " \"\\u00e9\"\n",
          .gate = Gate::kRate,
          .index_ns = UINT64_MAX};
  job.retry = {.max_retries = -1, .backoff = Backoff::kNone, .base_ms = INT64_MIN, .max_ms = 0};
  job.depends_on = {"a", "b"};
  job.lease_token = UINT64_MAX;
  job.reason = std::string("\0\u00e9\"", 4);
  const std::vector<DumpLine> lines = {
      HeaderLine{.format = "cairn-jobs", .version = 1, .exported_at = "now"},
      QueueLine{.name = "q",
                .config = R"({"paused":true})",
                .state = {.last_ns = 7, .counts = {1, 2, 3, 4, 5, 6, 7, 8}, .wakes_on_end = true}},
      GateLine{.queue = "q", .gate = Gate::kGroup, .key = "k", .state = {.used = 1, .due_ns = 9}},
      StartLine{.queue = "q", .ns = 1, .serial = UINT64_MAX},
      UniqueLockLine{.queue = "q", .key = "k", .job_id = job.id, .expires_ns = 1},
      IdempotencyKeyLine{.queue = "q", .key = "k:0", .job_id = job.id},
      DependantLine{.job_id = job.id, .waiting_id = job.id},
      JobErrorLine{.job_id = job.id, .attempt = 3, .document = "{}"},
      JobLine{.job = job},
      WebhookLine{.webhook = {.id = "w", .url = "http://h/", .enabled = false, .retry_limit = 0}},
      EndLine{.lines = 5, .jobs = 0},
  };
  for (const DumpLine& line : lines) {
    const std::string text = FormatLine(line);
    EXPECT_EQ(text.find('\n'), std::string::npos);
    boost::system::error_code failure;
    boost::json::parse(text, failure);
    EXPECT_FALSE(failure) << text;
    const Result<DumpLine> back = ParseLine(text);
    ASSERT_TRUE(back.ok()) << text << ": " << back.error().message;
    EXPECT_TRUE(*back == line) << text << "\n" << FormatLine(*back);
  }
}

}  // namespace
}  // namespace cairn::jobs
