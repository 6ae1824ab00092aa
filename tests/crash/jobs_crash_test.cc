// A queue under fire: producers enqueue (alone, in MULTI and from Lua, each time with a data
// write), workers fetch with short leases, acknowledge, fail, or forget about their jobs, while the
// server is killed with -9, again and again.
//
// Every client remembers what it was told. After each kill the server is started again on the same
// directory: everything verifies, every acknowledged enqueue is there, what was acknowledged as
// done is done, and jobs and data written together are both there or both missing. In the end
// workers finish what is left: every job ends, and none ran twice at the same time.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <chrono>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "base/random.h"
#include "tests/support/server.h"
#include "tests/support/temp_directory.h"

namespace cairn::testing {
namespace {

namespace json = boost::json;

constexpr int kProducers = 6;
constexpr int kWorkers = 10;
constexpr std::string_view kScript =
    "redis.call('SET', KEYS[1], '1') "
    "return redis.call('JOB.ENQUEUE', ARGV[1], ARGV[2], 'RETRIES', '1000')[1]";

int Rounds() {
  const char* rounds = std::getenv("CAIRN_JOB_STORM_ROUNDS");
  return rounds != nullptr ? std::atoi(rounds) : 5;
}

// What all clients were told, across the kills.
struct Told {
  std::mutex mutex;
  std::set<std::string> enqueued;                 // ids
  std::set<std::string> completed;                // ids whose ack was answered
  std::vector<std::string> pairs;                 // data keys written with a job of the same name
  std::map<std::string, std::string> last_token;  // by job: tokens only grow
  uint64_t lost_leases = 0;
};

std::string Name(int round, int client, uint64_t number) {
  return fmt::format("{}-{}-{}", round, client, number);
}

// Enqueues until the server is gone. The payload is the name of the data key beside the job.
void Produce(const Server& server, int round, int id, Told& told) {
  auto client = server.Connect();
  if (!client.ok()) return;
  const std::string queue = fmt::format("q{}", id % 3);
  for (uint64_t i = 0;; ++i) {
    const std::string name = Name(round, id, i);
    const std::string payload = fmt::format("\"{}\"", name);
    std::string job;
    {
      // In doubt until answered: both or neither.
      const std::lock_guard lock(told.mutex);
      if (i % 3 != 0) told.pairs.push_back(name);
    }
    if (i % 3 == 0) {
      const auto reply = client->Command({"JOB.ENQUEUE", queue, payload, "RETRIES", "1000"});
      if (!reply.ok()) return;
      ASSERT_FALSE(reply->is_error()) << reply->text;
      job = reply->items[0].text;
    } else if (i % 3 == 1) {
      for (const auto& command : std::vector<std::vector<std::string>>{
               {"MULTI"},
               {"SET", "data:" + name, "1"},
               {"JOB.ENQUEUE", queue, payload, "RETRIES", "1000"}}) {
        if (!client->Command(command).ok()) return;
      }
      const auto reply = client->Command({"EXEC"});
      if (!reply.ok()) return;
      ASSERT_EQ(reply->items.size(), 2U) << reply->ToString();
      job = reply->items[1].items[0].text;
    } else {
      const auto reply =
          client->Command({"EVAL", std::string(kScript), "1", "data:" + name, queue, payload});
      if (!reply.ok()) return;
      ASSERT_FALSE(reply->is_error()) << reply->text;
      job = reply->text;
    }
    const std::lock_guard lock(told.mutex);
    told.enqueued.insert(job);
  }
}

// Notes a lease; a job that runs again has a newer token.
void NoteLease(Told& told, const std::string& job, const std::string& token) {
  const std::lock_guard lock(told.mutex);
  EXPECT_FALSE(told.completed.contains(job)) << "given out after it was done: " << job;
  std::string& last = told.last_token[job];
  EXPECT_LT(last, token) << job;
  last = token;
}

// One fetch and what becomes of its jobs. False: the server is gone.
bool WorkOnce(net::RespClient& client, const std::string& worker, SeededRandom& random, Told& told,
              bool reliable) {
  const auto fetched =
      client.Command({"JOB.FETCH", "COUNT", "8", "LEASE", reliable ? "30000" : "300", "BLOCK",
                      "100", "WORKER", worker, "QUEUES", "q0", "q1", "q2"});
  if (!fetched.ok()) return false;
  for (const net::RespValue& job : fetched->items) {
    const std::string id = job.items[1].text;
    const std::string token = job.items[11].text;
    NoteLease(told, id, token);
    const uint64_t dice = reliable ? 99 : random.Below(100);
    if (dice < 5) continue;  // forgets about it
    if (dice < 10) {
      if (!client.Command({"JOB.FAIL", id, "TOKEN", token, "ERROR", "x", "DELAY", "10"}).ok()) {
        return false;
      }
      continue;
    }
    const auto acked = client.Command({"JOB.ACK", id, "TOKEN", token, "RESULT", "{}"});
    if (!acked.ok()) return false;
    const std::lock_guard lock(told.mutex);
    if (acked->is_error()) {
      EXPECT_TRUE(acked->text.starts_with("LEASE_LOST")) << acked->text;
      ++told.lost_leases;
    } else {
      told.completed.insert(id);
    }
  }
  return true;
}

class JobStorm {
 public:
  void Run() {
    for (int round = 0; round < Rounds(); ++round) {
      ASSERT_NO_FATAL_FAILURE(RunRound(round));
    }
    Finish();
    fmt::print("{} rounds: {} jobs enqueued, {} acknowledged, {} leases lost, {} pairs\n", Rounds(),
               told_.enqueued.size(), told_.completed.size(), told_.lost_leases,
               told_.pairs.size());
    EXPECT_GT(told_.completed.size(), 0U);
  }

 private:
  void RunRound(int round) {
    {
      Server server = Server::MustStart({.data = directory_ / "data"});
      // A slow machine must not make poison of jobs whose workers were just late.
      for (const char* queue : {"q0", "q1", "q2"}) {
        server.Command({"QUEUE.CONFIG", queue, R"({"max_reclaims":1000})"});
      }
      std::vector<std::jthread> threads;
      for (int i = 0; i < kProducers; ++i) {
        threads.emplace_back([&, i] { Produce(server, round, i, told_); });
      }
      for (int i = 0; i < kWorkers; ++i) {
        threads.emplace_back([&, i] {
          auto client = server.Connect();
          SeededRandom random(static_cast<uint64_t>(round * 100 + i));
          const std::string worker = fmt::format("w{}", i);
          while (client.ok() && WorkOnce(*client, worker, random, told_, false)) {
          }
        });
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(900 + 130 * (round % 4)));
      server.process().Kill();
    }
    Server server = Server::MustStart({.data = directory_ / "data"});
    Compare(server);
    EXPECT_TRUE(server.Stop().ok());
  }

  void Compare(Server& server) {
    auto client = server.Connect();
    ASSERT_TRUE(client.ok());
    const auto report = client->Command({"JOB.VERIFY"});
    ASSERT_TRUE(report.ok());
    EXPECT_TRUE(report->text.starts_with(R"({"sound":true)")) << report->text;
    std::set<std::string> payloads;
    for (const std::string& id : told_.enqueued) {
      const auto reply = client->Command({"JOB.GET", id});
      ASSERT_TRUE(reply.ok());
      ASSERT_FALSE(reply->is_null()) << "acknowledged and lost: " << id;
      const json::value job = json::parse(reply->text);
      payloads.insert(std::string(job.at("payload").as_string()));
      if (told_.completed.contains(id)) {
        EXPECT_EQ(job.at("state").as_string(), "completed") << id;
      }
    }
    // A pair whose answer never came: the job is found by the queue's own count, below.
    uint64_t data = 0;
    for (const std::string& name : told_.pairs) {
      const auto reply = client->Command({"EXISTS", "data:" + name});
      ASSERT_TRUE(reply.ok());
      data += static_cast<uint64_t>(reply->integer);
      if (payloads.contains(name)) {
        EXPECT_EQ(reply->integer, 1) << name << " has no data";
      }
    }
    pairs_found_ = data;
  }

  // Reliable workers do what is left; then every job that exists has ended, and each pair is whole.
  void Finish() {
    Server server = Server::MustStart({.data = directory_ / "data"});
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    auto client = server.Connect();
    ASSERT_TRUE(client.ok());
    SeededRandom random(7);
    int64_t left = -1;
    int64_t enqueued = 0;
    while (left != 0 && std::chrono::steady_clock::now() < deadline) {
      ASSERT_TRUE(WorkOnce(*client, "last", random, told_, true));
      left = 0;
      enqueued = 0;
      for (const char* queue : {"q0", "q1", "q2"}) {
        const auto reply = client->Command({"QUEUE.GET", queue});
        const json::value info = json::parse(reply->text);
        for (const char* state : {"pending", "active", "scheduled", "retrying"}) {
          left += info.at(state).as_int64();
        }
        EXPECT_EQ(info.at("dead").as_int64(), 0);
        enqueued += info.at("enqueued").as_int64();
      }
    }
    EXPECT_EQ(left, 0) << "jobs do not end";
    Compare(server);
    // Jobs made without data are every third; all others came with exactly one data key each.
    uint64_t with_data = 0;
    for (const auto& [id, token] : told_.last_token) {
      const auto reply = client->Command({"JOB.GET", id});
      const json::value job = json::parse(reply->text);
      EXPECT_EQ(job.at("state").as_string(), "completed") << id;
      const std::string name(job.at("payload").as_string());
      const auto number = std::strtoull(name.substr(name.rfind('-') + 1).c_str(), nullptr, 10);
      if (number % 3 != 0) ++with_data;
    }
    EXPECT_EQ(static_cast<uint64_t>(enqueued), told_.last_token.size()) << "each job ran";
    EXPECT_EQ(with_data, pairs_found_) << "a job without its data, or data without its job";
    EXPECT_TRUE(server.Stop().ok());
  }

  TempDirectory directory_;
  Told told_;
  uint64_t pairs_found_ = 0;
};

TEST(JobsCrashTest, AcknowledgedJobsSurviveKillsAndEveryJobEnds) { JobStorm().Run(); }

}  // namespace
}  // namespace cairn::testing
