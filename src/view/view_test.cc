#include "view/view.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <boost/json/parse.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"
#include "jobs/ledger/event.h"
#include "jobs/model/job.h"
#include "jobs/model/keys.h"
#include "store/testing/fixture.h"
#include "tests/support/await.h"
#include "view/search.h"

namespace cairn::view {
namespace {

namespace json = boost::json;
using jobs::EventType;
using jobs::Job;
using jobs::State;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

View::Deadline Soon() { return std::chrono::steady_clock::now() + std::chrono::seconds(60); }

// Documents and events as the operations of jobs write them, and a view of them.
class ViewTest : public store::testing::StoreTest {
 protected:
  void TearDown() override { view_.reset(); }

  std::string file() const { return dir_ / "view.sqlite"; }

  View& view() {
    if (view_ == nullptr) {
      view_ = std::make_unique<View>(*store_, file(), random_, Log::Silent(), gaps_);
      view_->Start();
    }
    return *view_;
  }
  void Current() {
    const Result<uint64_t> at = view().WaitUntilCurrent(Soon());
    ASSERT_TRUE(at.ok()) << at.error().message;
  }

  // One transaction that leaves `job` so and tells of it.
  void Write(const Job& job, EventType type) {
    Run(Scope("jobs"), [&](store::Transaction& txn) -> Result<void> {
      txn.Put(jobs::InJobs(jobs::JobKey(job.id)), jobs::EncodeJob(job));
      txn.Put(jobs::InJobs(jobs::QueueNameKey(job.queue)), "");
      jobs::AppendEvent(txn, {.type = type, .job = job.id, .queue = job.queue});
      return {};
    });
    documents_[job.id] = job;
  }
  // The same for new jobs, all at once.
  void WriteMany(int first, int count, const std::string& payload) {
    Run(Scope("jobs"), [&](store::Transaction& txn) -> Result<void> {
      for (int i = first; i < first + count; ++i) {
        const Job job = NewJob(i, payload);
        txn.Put(jobs::InJobs(jobs::JobKey(job.id)), jobs::EncodeJob(job));
        jobs::AppendEvent(txn, {.type = EventType::kEnqueued, .job = job.id, .queue = job.queue});
        documents_[job.id] = job;
      }
      return {};
    });
  }
  void Remove(const std::string& id) {
    const std::string queue = documents_.at(id).queue;
    Run(Scope("jobs"), [&](store::Transaction& txn) -> Result<void> {
      txn.Delete(jobs::InJobs(jobs::JobKey(id)));
      jobs::AppendEvent(txn, {.type = EventType::kDeleted, .job = id, .queue = queue});
      return {};
    });
    documents_.erase(id);
  }
  // The log forgets all it has.
  void ForgetEvents() {
    Run(Scope("jobs"), [&](store::Transaction& txn) -> Result<void> {
      CAIRN_ASSIGN_OR_RETURN(const uint64_t newest, jobs::NewestEvent(txn));
      txn.DeleteRange(store::Range::Prefix(store::Space::kJobs, jobs::family::kEvent));
      Bytes number;
      AppendBig64(number, newest);
      txn.Put(jobs::InJobs(jobs::EventCursorKey()), number);
      return {};
    });
  }

  static Job NewJob(int number, std::string payload = "{}") {
    Job job;
    job.id = fmt::format("job_{:06}", number);
    job.queue = "mail";
    job.payload = std::move(payload);
    job.created_ns = 1'700'000'000'000'000'000 + static_cast<uint64_t>(number) * 1'000'000'000;
    return job;
  }

  json::value Ask(const std::string& filter) {
    Current();
    const Result<SearchRequest> request = ParseSearch(json::parse(filter).as_object());
    if (!request.ok()) return json::value(request.error().message);
    auto reading = view().Read(Soon());
    EXPECT_TRUE(reading.ok());
    const Result<SearchResult> result = Search(reading->database(), *request);
    if (!result.ok()) return json::value(result.error().message);
    json::array jobs;
    for (const std::string& job : result->jobs) jobs.push_back(json::parse(job));
    json::object answer{{"jobs", jobs}, {"total", result->total}};
    if (result->next) answer["cursor"] = EncodeCursor(*result->next);
    return answer;
  }
  static std::vector<std::string> IdsOf(const json::value& answer) {
    std::vector<std::string> ids;
    if (answer.is_string()) return {std::string(answer.as_string())};
    for (const json::value& job : answer.at("jobs").as_array()) {
      ids.emplace_back(job.at("id").as_string());
    }
    return ids;
  }
  std::vector<std::string> Find(const std::string& filter) { return IdsOf(Ask(filter)); }
  std::vector<std::string> FindText(const std::string& words) {
    Current();
    auto reading = view().Read(Soon());
    EXPECT_TRUE(reading.ok());
    const auto found = FullText(reading->database(), words, {}, 500);
    if (!found.ok()) return {found.error().message};
    std::vector<std::string> ids;
    for (const std::string& job : found->jobs)
      ids.emplace_back(json::parse(job).at("id").as_string());
    return ids;
  }

  // Everything the view has about jobs, as text, in order.
  std::vector<std::string> Dump() {
    Current();
    auto reading = view().Read(Soon());
    EXPECT_TRUE(reading.ok());
    auto rows = reading->database().Prepare(
        "SELECT id || ' ' || queue || ' ' || state || ' ' || payload || ' ' || priority || ' ' || "
        "attempt || ' ' || coalesce(tags, '-') || ' ' || coalesce(started_at, '-') || ' ' || "
        "coalesce(result, '-') FROM jobs ORDER BY id");
    EXPECT_TRUE(rows.ok());
    std::vector<std::string> dump;
    while (*rows->Step()) dump.emplace_back(rows->Text(0));
    return dump;
  }
  std::vector<std::string> Expected() const {
    std::vector<std::string> expected;
    for (const auto& [id, job] : documents_) {
      const auto or_dash = [](const std::string& text) { return text.empty() ? "-" : text; };
      expected.push_back(fmt::format("{} {} {} {} {} {} {} {} {}", id, job.queue,
                                     jobs::StateName(job.state), job.payload,
                                     static_cast<int>(job.priority), job.attempt, or_dash(job.tags),
                                     or_dash(TimeText(job.started_ns)), or_dash(job.result)));
    }
    return expected;
  }
  // FTS5's own check of its index, and a comparison of it with one made anew of the table.
  void ExpectSoundIndex() {
    Current();
    Result<Database> database = Database::Open(file(), OpenMode::kReadWrite);
    ASSERT_TRUE(database.ok());
    const Result<void> sound =
        database->Execute("INSERT INTO jobs_fts(jobs_fts) VALUES('integrity-check')");
    EXPECT_TRUE(sound.ok()) << sound.error().message;
    const Result<void> made = database->Execute(R"sql(
      CREATE VIRTUAL TABLE temp.fresh USING fts5(id, queue, payload, tags, content='');
      INSERT INTO temp.fresh(rowid, id, queue, payload, tags)
        SELECT rowid, id, queue, decoded_text(payload), decoded_text(tags) FROM jobs;
      CREATE VIRTUAL TABLE temp.words USING fts5vocab(main, jobs_fts, instance);
      CREATE VIRTUAL TABLE temp.fresh_words USING fts5vocab(temp, fresh, instance);
    )sql");
    ASSERT_TRUE(made.ok()) << made.error().message;
    const auto count = [&](const std::string& rows) {
      auto counted = database->Prepare("SELECT count(*) FROM (" + rows + ")");
      return *counted->Step() ? counted->Integer(0) : -1;
    };
    const std::string words = "SELECT term, doc, col, offset FROM temp.words";
    const std::string fresh_words = "SELECT term, doc, col, offset FROM temp.fresh_words";
    EXPECT_EQ(count(words), count(fresh_words));
    EXPECT_EQ(count(words + " EXCEPT " + fresh_words), 0);
  }

  SeededRandom random_{7};
  std::map<std::string, Job> documents_;
  std::shared_ptr<jobs::EventGaps> gaps_ = std::make_shared<jobs::EventGaps>();
  std::unique_ptr<View> view_;
};

TEST_F(ViewTest, FollowsCommits) {
  EXPECT_THAT(Find("{}"), IsEmpty());
  Job job = NewJob(1, R"({"to":"ann"})");
  Write(job, EventType::kEnqueued);
  EXPECT_THAT(Find(R"({"state":"pending"})"), ElementsAre(job.id));
  job.state = State::kActive;
  job.attempt = 1;
  job.worker_id = "w1";
  job.started_ns = job.created_ns + 5;
  Write(job, EventType::kStarted);
  EXPECT_THAT(Find(R"({"state":"pending"})"), IsEmpty());
  EXPECT_THAT(Find(R"({"state":["active","dead"],"worker_id":"w1"})"), ElementsAre(job.id));
  Remove(job.id);
  EXPECT_THAT(Find("{}"), IsEmpty());
  EXPECT_THAT(FindText("ann"), IsEmpty());
}

TEST_F(ViewTest, KnowsItsPosition) {
  Write(NewJob(1), EventType::kEnqueued);
  auto snapshot = *store_->Read();
  const uint64_t newest = *jobs::NewestEvent(*snapshot);
  snapshot.reset();
  EXPECT_EQ(*view().WaitUntilCurrent(Soon()), newest);
  EXPECT_EQ(view().position(), newest);
}

TEST_F(ViewTest, TellsOnceThatADemandIsMet) {
  Write(NewJob(1), EventType::kEnqueued);
  auto snapshot = *store_->Read();
  const uint64_t newest = *jobs::NewestEvent(*snapshot);
  snapshot.reset();
  std::promise<void> met;  // a second call would throw
  const View::Demand demand(view(), [&] { met.set_value(); });
  ASSERT_EQ(met.get_future().wait_until(Soon()), std::future_status::ready);
  EXPECT_EQ(*demand.Outcome(), newest);
  Current();
}

TEST_F(ViewTest, ADemandOnAStoppedViewIsToldSoAtOnce) {
  View& stopped = view();
  stopped.Stop();
  bool told = false;
  const View::Demand demand(stopped, [&] { told = true; });
  EXPECT_TRUE(told);
  EXPECT_THAT(demand.Outcome().error().message, HasSubstr("stopping"));
}

TEST_F(ViewTest, IsWokenByCommits) {
  Current();
  Write(NewJob(1), EventType::kEnqueued);
  auto snapshot = *store_->Read();
  const uint64_t newest = *jobs::NewestEvent(*snapshot);
  snapshot.reset();
  // Nobody asks it to look.
  cairn::testing::Await("the view to follow", [&] { return view().position() >= newest; });
  EXPECT_EQ(view().position(), newest);
}

// The log is kept ahead of the view, which so is never at its end. Who asked for what was there
// before is answered all the same.
TEST_F(ViewTest, WhoWaitsIsAnsweredWhileTheLogGrows) {
  // Events of different jobs that make the view write whole rows: more work to follow than to
  // append.
  constexpr int kJobs = 5'000;
  constexpr int kMany = 5'000;
  const std::string payload = fmt::format(R"({{"text":"{}"}})", std::string(500, 'x'));
  WriteMany(0, kJobs, payload);
  Current();
  const auto write_many = [&] {
    Run(Scope("jobs"), [&](store::Transaction& txn) -> Result<void> {
      for (int i = 0; i < kMany; ++i) {
        const Job job = NewJob(i % kJobs);
        jobs::AppendEvent(txn, {.type = EventType::kMoved, .job = job.id, .queue = job.queue});
      }
      return {};
    });
  };
  for (int i = 0; i < 4; ++i) write_many();
  std::atomic<bool> answered = false;
  std::thread writer([&] {
    const View::Deadline end = Soon();
    while (!answered && std::chrono::steady_clock::now() < end) {
      auto snapshot = *store_->Read();
      const uint64_t newest = *jobs::NewestEvent(*snapshot);
      snapshot.reset();
      if (newest < view().position() + 4 * kMany) write_many();
    }
  });
  // Sooner than the writer ends.
  const Result<uint64_t> at = view().WaitUntilCurrent(Soon() - std::chrono::seconds(20));
  answered = true;
  writer.join();
  EXPECT_TRUE(at.ok()) << at.error().message;
  EXPECT_EQ(Dump(), Expected());
}

// What happened to a job before the view hears of it is one change, whatever lies in between.
TEST_F(ViewTest, AJobIsWrittenOnceForEventsThatAreFarApart) {
  Job job = NewJob(1);
  Write(job, EventType::kEnqueued);
  WriteMany(2, 3'000, "{}");
  job.state = State::kCompleted;
  job.queue = "done";
  job.has_errors = true;
  Run(Scope("jobs"), [&](store::Transaction& txn) -> Result<void> {
    txn.Put(jobs::InJobs(jobs::JobErrorKey(job.id, 1)), R"({"attempt":1,"error":"broken"})");
    return {};
  });
  Write(job, EventType::kFailed);
  Write(job, EventType::kCompleted);

  const Result<std::unique_ptr<Feed>> feed = Feed::Open(*store_, file(), "store");
  ASSERT_TRUE(feed.ok()) << feed.error().message;
  const Result<Feed::Step> first = (*feed)->Advance();
  ASSERT_TRUE(first.ok() && !first->caught_up);
  Result<Database> database = Database::Open(file(), OpenMode::kReadWrite);
  ASSERT_TRUE(database.ok());
  const auto row = [&] {
    auto found = database->Prepare(
        "SELECT queue || ' ' || state || ' ' || coalesce(error, '-') || ' ' || "
        "coalesce(hostname, '-') FROM jobs LEFT JOIN job_errors ON job_id = jobs.id "
        "WHERE jobs.id = 'job_000001'");
    return *found->Step() ? std::string(found->Text(0)) : std::string();
  };
  EXPECT_EQ(row(), "done completed broken -");
  ASSERT_TRUE(database->Execute("UPDATE jobs SET hostname = 'seen'").ok());
  const Result<Feed::Step> second = (*feed)->Advance();
  ASSERT_TRUE(second.ok() && second->caught_up);
  EXPECT_EQ(row(), "done completed broken seen");

  // What comes after the end that the log had then is written again.
  job.state = State::kPending;
  Write(job, EventType::kRetried);
  ASSERT_TRUE((*feed)->Advance().ok());
  EXPECT_EQ(row(), "done pending broken -");
}

TEST_F(ViewTest, TwoServersDoNotShareAFile) {
  Write(NewJob(1), EventType::kEnqueued);
  Current();
  View other(*store_, file(), random_, Log::Silent());
  other.Start();
  cairn::testing::Await("the second view to be refused", [&] {
    const Result<uint64_t> refused =
        other.WaitUntilCurrent(std::chrono::steady_clock::now() + std::chrono::milliseconds(10));
    EXPECT_FALSE(refused.ok());
    return refused.error().message.find("in use by another server") != std::string::npos;
  });
  other.Stop();
  EXPECT_EQ(Dump(), Expected());
}

TEST_F(ViewTest, GoesOnAfterAProperEndAndAfterACrash) {
  for (int i = 0; i < 2'500; ++i) Write(NewJob(i), EventType::kEnqueued);
  EXPECT_EQ(Dump(), Expected());
  const uint64_t before = view().position();
  view_.reset();
  for (int i = 2'500; i < 2'510; ++i) Write(NewJob(i), EventType::kEnqueued);
  EXPECT_EQ(Dump(), Expected());
  EXPECT_GT(view().position(), before);
  // A copy of the files as they are in the middle is what a crash leaves.
  const std::string copy = dir_ / "copy.sqlite";
  for (const char* suffix : {"", "-wal"}) {
    std::filesystem::copy_file(file() + suffix, copy + suffix);
  }
  view_.reset();
  for (const char* suffix : {"", "-wal"}) {
    std::error_code missing;
    std::filesystem::remove(file() + suffix, missing);
    std::filesystem::rename(copy + suffix, file() + suffix);
  }
  for (int i = 0; i < 10; ++i) Remove(NewJob(i).id);
  EXPECT_EQ(Dump(), Expected());
  ExpectSoundIndex();
}

TEST_F(ViewTest, IsBuiltAnewWhenItIsMissingDamagedOrForeign) {
  for (int i = 0; i < 50; ++i)
    Write(NewJob(i, R"({"n":)" + std::to_string(i) + "}"), EventType::kEnqueued);
  EXPECT_EQ(Dump(), Expected());
  view_.reset();
  std::filesystem::remove(file());
  ForgetEvents();
  EXPECT_EQ(Dump(), Expected());

  view_.reset();
  std::ofstream(file()) << "this is no database, but it is long enough to look at as one would";
  EXPECT_EQ(Dump(), Expected());

  view_.reset();
  {
    Result<Database> database = Database::Open(file(), OpenMode::kReadWrite);
    ASSERT_TRUE(database.ok());
    ASSERT_TRUE(
        database->Execute("UPDATE view_state SET store = 'another'; DELETE FROM jobs").ok());
  }
  EXPECT_EQ(Dump(), Expected());

  // Made by a version whose tables were others.
  view_.reset();
  {
    Result<Database> database = Database::Open(file(), OpenMode::kReadWrite);
    ASSERT_TRUE(database.ok());
    ASSERT_TRUE(
        database
            ->Execute("UPDATE view_state SET schema_version = 1; DROP TRIGGER jobs_fts_insert;"
                      "DELETE FROM jobs")
            .ok());
  }
  EXPECT_EQ(Dump(), Expected());
  EXPECT_THAT(FindText("49"), ElementsAre(NewJob(49).id));

  // Open when the machine went down: nobody knows what of it reached the disk.
  view_.reset();
  {
    Result<Database> database = Database::Open(file(), OpenMode::kReadWrite);
    ASSERT_TRUE(database.ok());
    ASSERT_TRUE(
        database->Execute("UPDATE view_state SET clean = 0, boot = 'before'; DELETE FROM jobs")
            .ok());
  }
  EXPECT_EQ(Dump(), Expected());
  ExpectSoundIndex();
}

TEST_F(ViewTest, IsBuiltAnewWhenTheLogHasForgottenWhatItHasNotSeen) {
  Write(NewJob(1), EventType::kEnqueued);
  EXPECT_EQ(Dump(), Expected());
  view_.reset();
  Remove(NewJob(1).id);
  Write(NewJob(2), EventType::kEnqueued);
  ForgetEvents();
  EXPECT_EQ(Dump(), Expected());
  EXPECT_EQ(gaps_->view, 1U);
  // Having seen everything, it is not behind a log that has nothing.
  Write(NewJob(3), EventType::kEnqueued);
  EXPECT_EQ(Dump(), Expected());
  EXPECT_EQ(gaps_->view, 1U);
}

TEST_F(ViewTest, RebuildGivesTheSame) {
  for (int i = 0; i < 2'500; ++i) Write(NewJob(i), EventType::kEnqueued);
  const std::vector<std::string> before = Dump();
  const Result<int64_t> rebuilt = view().Rebuild(Soon());
  ASSERT_TRUE(rebuilt.ok()) << rebuilt.error().message;
  EXPECT_EQ(*rebuilt, 2'500);
  EXPECT_EQ(Dump(), before);
  EXPECT_FALSE(std::filesystem::exists(file() + ".new"));
  ExpectSoundIndex();
}

TEST_F(ViewTest, EqualsTheDocumentsAfterAnything) {
  SeededRandom random(42);
  const std::vector<EventType> types = {EventType::kStarted, EventType::kCompleted,
                                        EventType::kProgress, EventType::kPromoted};
  for (int step = 0; step < 3'000; ++step) {
    const int number = static_cast<int>(random.Below(200));
    const auto known = documents_.find(NewJob(number).id);
    const uint64_t dice = random.Below(100);
    if (known == documents_.end()) {
      Job job = NewJob(number, fmt::format(R"({{"word":"w{}"}})", random.Below(20)));
      if (dice < 30) job.tags = R"({"team":"a\nb"})";
      Write(job, EventType::kEnqueued);
    } else if (dice < 10) {
      Remove(known->first);
    } else if (dice < 20) {
      Job job = known->second;
      job.queue = fmt::format("q{}", random.Below(3));
      job.payload = fmt::format(R"({{"word":"w{}"}})", random.Below(20));
      Write(job, EventType::kMoved);
    } else if (dice < 25) {
      Job job = known->second;
      job.priority = static_cast<jobs::Priority>(random.Below(3));
      Write(job, EventType::kReprioritized);
    } else {
      Job job = known->second;
      job.state = static_cast<State>(random.Below(jobs::kStates));
      job.attempt++;
      job.started_ns = job.created_ns + 1'000 * random.Below(1'000);
      job.result = fmt::format("{}", step);
      Write(job, types[random.Below(types.size())]);
    }
    if (step % 500 == 250) view_.reset();
    if (step % 700 == 350) {
      view_.reset();
      Reopen();
    }
    if (step % 900 == 450) {
      ASSERT_TRUE(view().Rebuild(Soon()).ok());
    }
    if (step % 400 == 0) {
      ASSERT_EQ(Dump(), Expected()) << "step " << step;
    }
  }
  EXPECT_EQ(Dump(), Expected());
  ExpectSoundIndex();
  for (int word = 0; word < 20; ++word) {
    std::set<std::string> expected;
    for (const auto& [id, job] : documents_) {
      if (job.payload == fmt::format(R"({{"word":"w{}"}})", word)) expected.insert(id);
    }
    const std::vector<std::string> found = FindText(fmt::format("w{}", word));
    EXPECT_EQ(std::set<std::string>(found.begin(), found.end()), expected);
  }
}

}  // namespace
}  // namespace cairn::view
