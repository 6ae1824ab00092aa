// The search view under fire: jobs are enqueued, run, moved, held and deleted while somebody
// searches, and the server is killed with -9, again and again. After each kill the view goes on
// where its file stood, or is built anew where the next process has no file of the last one; and
// when it has caught up it is the documents: every job is found, once, as it is, and as many of
// each queue and state as the queues count.
//
// Leases and retries are long, so that nothing changes between looking at the one and the other.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/random.h"
#include "tests/support/server.h"
#include "tests/support/temp_directory.h"
#include "tests/support/test_store.h"

namespace cairn::testing {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kKills = 6;
constexpr int kProducers = 3;
constexpr int kWorkers = 6;
constexpr int kJobsPerEnqueue = 10;
constexpr std::string_view kQueues[] = {"mail", "post", "paper"};

// What clients were told, across the kills.
struct Told {
  std::mutex mutex;
  std::set<std::string> enqueued;
  std::set<std::string>
      deleted;         // or about to be: a worker may have a job before its producer knows
  size_t changed = 0;  // answered requests of workers
};

using Client = net::RespClient;

// Enqueues until the server is gone.
void Produce(const Server& server, int round, int id, Told& told) {
  auto client = server.Connect();
  SeededRandom random(static_cast<uint64_t>(round * 10 + id));
  while (client.ok()) {
    std::vector<std::string> command = {"JOB.ENQUEUEM", std::string(kQueues[random.Below(3)]),
                                        "TAGS", fmt::format(R"({{"round":{}}})", round)};
    if (random.Below(4) == 0) command.insert(command.end(), {"DELAY", "3600000"});
    if (random.Below(4) == 0) command.insert(command.end(), {"PRIORITY", "high"});
    command.emplace_back("PAYLOADS");
    for (int i = 0; i < kJobsPerEnqueue; ++i) {
      command.push_back(fmt::format(R"({{"n":{}}})", random.Below(1'000'000)));
    }
    const auto reply = client->Command(command);
    if (!reply.ok()) return;
    ASSERT_EQ(reply->items.size(), static_cast<size_t>(kJobsPerEnqueue)) << reply->ToString();
    const std::lock_guard lock(told.mutex);
    for (const net::RespValue& job : reply->items) told.enqueued.insert(job.text);
  }
}

// What becomes of a job that a worker has.
std::vector<std::string> Fate(const std::string& id, const std::string& token, uint64_t dice) {
  if (dice < 40) return {"JOB.ACK", id, "TOKEN", token, "RESULT", "{}"};
  if (dice < 55) return {"JOB.FAIL", id, "TOKEN", token, "ERROR", "boom", "DELAY", "3600000"};
  if (dice < 65) return {"JOB.FAIL", id, "TOKEN", token, "NORETRY"};
  if (dice < 72) return {"JOB.HOLD", id, "odd"};
  if (dice < 79) return {"JOB.CANCEL", id};
  if (dice < 86) return {"JOB.HEARTBEAT", id, "TOKEN", token, "PROGRESS", R"({"at":1})"};
  if (dice < 93) return {"JOB.SNOOZE", id, "3600000", "TOKEN", token};
  return {"JOB.DELETE", id};
}

void Work(const Server& server, int round, int id, Told& told) {
  auto client = server.Connect();
  SeededRandom random(static_cast<uint64_t>(round * 100 + id));
  const std::string worker = fmt::format("w{}", id);
  while (client.ok()) {
    const auto fetched =
        client->Command({"JOB.FETCH", "COUNT", "5", "LEASE", "3600000", "BLOCK", "100", "WORKER",
                         worker, "QUEUES", "mail", "post", "paper"});
    if (!fetched.ok()) return;
    for (const net::RespValue& job : fetched->items) {
      const std::string& name = job.items[1].text;
      std::vector<std::string> command = Fate(name, job.items[11].text, random.Below(100));
      if (command[0] == "JOB.DELETE") {
        const std::lock_guard lock(told.mutex);
        told.deleted.insert(name);  // whether or not there will be an answer
      }
      const auto reply = client->Command(command);
      if (!reply.ok()) return;
      EXPECT_FALSE(reply->is_error()) << command[0] << ' ' << reply->text;
      const std::lock_guard lock(told.mutex);
      ++told.changed;
    }
  }
}

// So that the view is read while it is written.
void Search(const Server& server) {
  net::HttpClient client = server.Http();
  for (int i = 0;; ++i) {
    const auto reply = client.Get(i % 2 == 0 ? "/api/v1/jobs?state=active&limit=20"
                                             : "/api/v1/search/fulltext?q=mail&limit=20");
    if (!reply.ok()) return;
  }
}

// Whether the view has a file that every process finds, or the one that the server chooses: in the
// data directory of the embedded engine, and on PostgreSQL one of each process's own.
enum class ViewFile { kNamed, kChosen };

class ViewStorm {
 public:
  explicit ViewStorm(ViewFile view_file)
      : options_{.data = directory_ / "data"},
        outlives_the_process_(view_file == ViewFile::kNamed || OnRocks()) {
    if (view_file == ViewFile::kNamed) options_.flags = {"--view-file", file()};
  }

  const ServerOptions& options() const { return options_; }
  std::string file() const { return directory_ / "view.sqlite"; }

  void RunAndKill(int round) {
    Server server = Server::MustStart(options());
    ASSERT_NO_FATAL_FAILURE(Compare(server));
    if (round > 0) ExpectBuiltOnlyWithoutAFile(server);
    std::vector<std::jthread> threads;
    for (int i = 0; i < kProducers; ++i) {
      threads.emplace_back([&, i] { Produce(server, round, i, told_); });
    }
    for (int i = 0; i < kWorkers; ++i) {
      threads.emplace_back([&, i] { Work(server, round, i, told_); });
    }
    threads.emplace_back([&] { Search(server); });
    std::this_thread::sleep_for(std::chrono::milliseconds(250 + 130 * (round % 4)));
    server.process().Kill();
  }

  // Going on after a kill is cheap: a file that is there is not made again from nothing.
  void ExpectBuiltOnlyWithoutAFile(Server& server) const {
    const auto built = HasSubstr("view built");
    if (outlives_the_process_) {
      EXPECT_THAT(server.process().err(), Not(built));
    } else {
      EXPECT_THAT(server.process().err(), built);
    }
  }

  void RemoveFiles() const {
    for (const char* suffix : {"", "-wal", "-shm"}) {
      std::filesystem::remove(file() + suffix);
    }
  }

  // Every job of the view is the document of its name, and there are as many as there are jobs.
  void Compare(Server& server) {
    auto client = server.Connect();
    ASSERT_TRUE(client.ok());
    const auto report = client->Command({"JOB.VERIFY"});
    ASSERT_TRUE(report.ok());
    EXPECT_THAT(report->text, ::testing::StartsWith(R"({"sound":true)"));
    std::map<std::string, int64_t> found;  // "mail dead": how many
    std::set<std::string> ids;
    ASSERT_NO_FATAL_FAILURE(ReadView(server, *client, found, ids));
    std::map<std::string, int64_t> counted;
    const json::value queues = Get(server, "/api/v1/queues");
    for (const json::value& queue : queues.as_array()) {
      for (const char* state : {"pending", "active", "scheduled", "retrying", "held", "completed",
                                "dead", "cancelled"}) {
        const int64_t count = queue.at(state).as_int64();
        if (count > 0) counted[Label(queue.at("name"), state)] = count;
      }
    }
    EXPECT_EQ(found, counted);
    for (const std::string& id : told_.enqueued) {
      EXPECT_TRUE(ids.contains(id) || told_.deleted.contains(id))
          << "acknowledged and not found: " << id;
    }
    jobs_ = ids.size();
  }

  void Print() const {
    fmt::print("{} jobs in the view, {} acknowledged, {} changes\n", jobs_, told_.enqueued.size(),
               told_.changed);
    EXPECT_GT(jobs_, 0U);
    EXPECT_GT(told_.changed, 0U);
  }

 private:
  static std::string Label(const json::value& queue, std::string_view state) {
    return fmt::format("{} {}", std::string_view(queue.as_string()), state);
  }
  // As new as everything that is committed.
  static json::value Get(const Server& server, const std::string& path) {
    const auto reply =
        server.Http().Request("GET", path, "", net::HttpHeaders{{"X-Cairn-Commit", "latest"}});
    EXPECT_TRUE(reply.ok() && reply->status == 200)
        << path << ' ' << (reply.ok() ? reply->body : "");
    return json::parse(reply.ok() ? reply->body : "null");
  }

  void ReadView(const Server& server, Client& client, std::map<std::string, int64_t>& found,
                std::set<std::string>& ids) {
    std::string cursor;
    do {
      const json::value page =
          Get(server, "/api/v1/jobs?limit=1000" + (cursor.empty() ? "" : "&cursor=" + cursor));
      ASSERT_TRUE(page.is_object());
      for (const json::value& row : page.at("jobs").as_array()) {
        const std::string id(row.at("id").as_string());
        EXPECT_TRUE(ids.insert(id).second) << "found twice: " << id;
        ++found[Label(row.at("queue"), row.at("state").as_string())];
        ASSERT_NO_FATAL_FAILURE(CompareJob(client, id, row));
      }
      cursor = page.at("has_more").as_bool() ? page.at("cursor").as_string() : "";
    } while (!cursor.empty());
  }

  static void CompareJob(Client& client, const std::string& id, const json::value& row) {
    const auto reply = client.Command({"JOB.GET", id});
    ASSERT_TRUE(reply.ok());
    ASSERT_FALSE(reply->is_null()) << "found, and is not there: " << id;
    const json::value job = json::parse(reply->text);
    for (const char* member :
         {"queue", "state", "payload", "priority", "attempt", "max_retries", "tags", "worker_id"}) {
      const json::value* const shown = row.as_object().if_contains(member);
      const json::value* const stored = job.as_object().if_contains(member);
      EXPECT_EQ(shown == nullptr ? json::value() : *shown,
                stored == nullptr ? json::value() : *stored)
          << id << ' ' << member;
    }
  }

  TempDirectory directory_;
  ServerOptions options_;
  bool outlives_the_process_;
  Told told_;
  size_t jobs_ = 0;
};

TEST(ViewCrashTest, CatchesUpAfterKillsAndIsTheDocuments) {
  ViewStorm storm(ViewFile::kNamed);
  for (int round = 0; round < kKills; ++round) ASSERT_NO_FATAL_FAILURE(storm.RunAndKill(round));
  Server server = Server::MustStart(storm.options());
  ASSERT_NO_FATAL_FAILURE(storm.Compare(server));
  storm.Print();
}

TEST(ViewCrashTest, IsCompleteAgainAlsoWhereItsFileIsTheServersChoice) {
  ViewStorm storm(ViewFile::kChosen);
  for (int round = 0; round < 3; ++round) ASSERT_NO_FATAL_FAILURE(storm.RunAndKill(round));
  Server server = Server::MustStart(storm.options());
  ASSERT_NO_FATAL_FAILURE(storm.Compare(server));
  storm.ExpectBuiltOnlyWithoutAFile(server);
  storm.Print();
}

TEST(ViewCrashTest, IsBuiltAnewFromNothing) {
  ViewStorm storm(ViewFile::kNamed);
  ASSERT_NO_FATAL_FAILURE(storm.RunAndKill(0));
  storm.RemoveFiles();
  {
    // Killed while it is being built, or just before or after.
    Server server = Server::MustStart(storm.options());
    server.process().Kill();
  }
  {
    Server server = Server::MustStart(storm.options());
    ASSERT_NO_FATAL_FAILURE(storm.Compare(server));
    EXPECT_TRUE(server.Stop().ok());
  }
  ASSERT_TRUE(std::filesystem::exists(storm.file()));
  storm.RemoveFiles();
  Server server = Server::MustStart(storm.options());
  ASSERT_NO_FATAL_FAILURE(storm.Compare(server));
  EXPECT_THAT(server.process().err(), HasSubstr("view built"));
  storm.Print();
}

}  // namespace
}  // namespace cairn::testing
