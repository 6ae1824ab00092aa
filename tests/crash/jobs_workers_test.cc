// A queue at real use: fifty workers over both doors take jobs from a server that is killed again
// and again. Some of them die with a job in their hands, some acknowledge twice, some fail, put off
// or go on for longer than their lease. In the end every job has completed exactly once, nothing is
// lost, a job ran twice only if its lease had lapsed or its run had been given up, and every
// invariant of the queue holds. Once more with a clock that is set forward and back meanwhile.
#include <gtest/gtest.h>

#include <atomic>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"
#include "tests/support/server.h"
#include "tests/support/temp_directory.h"

namespace cairn::testing {
namespace {

namespace json = boost::json;
using Clock = std::chrono::steady_clock;

constexpr int kHttpWorkers = 25;
constexpr int kRespWorkers = 25;
constexpr int kProducers = 2;
constexpr int kJobsEach = 1'500;
constexpr int kKills = 5;
constexpr int64_t kLeaseMs = 1'000;

// Where the server is now; changes when it is started again.
class Addresses {
 public:
  void Set(const Server& server) {
    const std::lock_guard lock(mutex_);
    http_ = server.http();
    resp_ = server.resp();
  }
  net::Address http() const {
    const std::lock_guard lock(mutex_);
    return http_;
  }
  net::Address resp() const {
    const std::lock_guard lock(mutex_);
    return resp_;
  }

 private:
  mutable std::mutex mutex_;
  net::Address http_;
  net::Address resp_;
};

struct Fetched {
  std::string id;
  std::string token;
  Clock::time_point asked;  // the lease began after this
};

// What workers remember of a job.
struct History {
  int acknowledged = 0;                      // the server said that it is completed
  std::optional<Clock::time_point> free_at;  // nobody else can have had it before
};

// Whether the server's clock goes as ours does: then we know how long a lease lasts.
enum class ServerClock { kRuns, kJumps };

class Memory {
 public:
  explicit Memory(ServerClock clock) : clock_(clock) {}

  // A run begins: nobody else may still have the job.
  void Began(const Fetched& job) {
    const std::lock_guard lock(mutex_);
    History& history = jobs_[job.id];
    ++runs_;
    if (history.acknowledged > 0) ADD_FAILURE() << job.id << " runs after it was completed";
    if (clock_ == ServerClock::kRuns && history.free_at && Clock::now() < *history.free_at) {
      ADD_FAILURE() << job.id << " is given out while another worker's lease lasts";
    }
    history.free_at = job.asked + std::chrono::milliseconds(kLeaseMs);
  }
  // Before a request that lets go of the job: from now on someone else may have it.
  void LetsGo(const std::string& id) {
    const std::lock_guard lock(mutex_);
    jobs_[id].free_at.reset();
  }
  void Acknowledged(const std::string& id) {
    const std::lock_guard lock(mutex_);
    if (++jobs_[id].acknowledged > 1) ADD_FAILURE() << id << " was completed twice";
  }
  int64_t runs() const {
    const std::lock_guard lock(mutex_);
    return runs_;
  }

 private:
  const ServerClock clock_;
  mutable std::mutex mutex_;
  std::map<std::string, History> jobs_;
  int64_t runs_ = 0;
};

// How a worker talks to the server. A request that gets no answer is nullopt: the server was
// killed.
class Door {
 public:
  virtual ~Door() = default;
  virtual std::optional<std::vector<Fetched>> Fetch(int count) = 0;
  // Whether it was accepted.
  virtual std::optional<bool> Ack(const Fetched& job) = 0;
  virtual std::optional<bool> Fail(const Fetched& job) = 0;
  virtual std::optional<bool> Heartbeat(const Fetched& job) = 0;
};

class HttpDoor final : public Door {
 public:
  HttpDoor(const Addresses& addresses, int id) : addresses_(addresses), id_(id) {}

  std::optional<std::vector<Fetched>> Fetch(int count) override {
    const Clock::time_point asked = Clock::now();
    const json::object body{{"queues", json::array{"work"}},
                            {"worker_id", "http-" + std::to_string(id_)},
                            {"lease_duration", static_cast<double>(kLeaseMs) / 1000},
                            {"wait", 1},
                            {"count", count}};
    const auto answer = Post("/fetch/batch", json::serialize(body));
    if (!answer) return std::nullopt;
    std::vector<Fetched> jobs;
    const json::value parsed = json::parse(answer->body);
    if (answer->status != 200) return std::nullopt;
    for (const json::value& job : parsed.at("jobs").as_array()) {
      jobs.push_back({std::string(job.at("job_id").as_string()),
                      std::string(job.at("lease_token").as_string()), asked});
    }
    return jobs;
  }
  std::optional<bool> Ack(const Fetched& job) override {
    return Accepted("/ack/" + job.id, json::object{{"lease_token", job.token}, {"result", true}});
  }
  std::optional<bool> Fail(const Fetched& job) override {
    return Accepted(
        "/fail/" + job.id,
        json::object{{"lease_token", job.token}, {"error", "as asked"}, {"delay", "1ms"}});
  }
  std::optional<bool> Heartbeat(const Fetched& job) override {
    const auto answer = Post(
        "/heartbeat", json::serialize(json::object{
                          {"jobs", {{job.id, {{"lease_token", job.token}, {"progress", 50}}}}}}));
    if (!answer || answer->status != 200) return std::nullopt;
    const json::value parsed = json::parse(answer->body);
    return parsed.at("jobs").at(job.id).at("status").as_string() == "ok";
  }

 private:
  std::optional<bool> Accepted(const std::string& path, const json::object& body) {
    const auto answer = Post(path, json::serialize(body));
    if (!answer || answer->status >= 500) return std::nullopt;
    return answer->status == 200;
  }
  std::optional<net::HttpResponse> Post(const std::string& path, const std::string& body) {
    const net::Address now = addresses_.http();
    if (!client_ || client_address_.port != now.port) {
      client_.emplace(now);
      client_address_ = now;
    }
    auto response = client_->Post("/api/v1" + path, body);
    if (!response.ok()) return std::nullopt;
    return *std::move(response);
  }

  const Addresses& addresses_;
  const int id_;
  net::Address client_address_;
  std::optional<net::HttpClient> client_;
};

class RespDoor final : public Door {
 public:
  RespDoor(const Addresses& addresses, int id) : addresses_(addresses), id_(id) {}

  std::optional<std::vector<Fetched>> Fetch(int count) override {
    const Clock::time_point asked = Clock::now();
    const auto reply =
        Command({"JOB.FETCH", "COUNT", std::to_string(count), "LEASE", std::to_string(kLeaseMs),
                 "BLOCK", "1000", "WORKER", "resp-" + std::to_string(id_), "QUEUES", "work"});
    if (!reply || reply->is_error()) return std::nullopt;
    std::vector<Fetched> jobs;
    for (const net::RespValue& job : reply->items) {
      Fetched fetched{.asked = asked};
      for (size_t i = 0; i + 1 < job.items.size(); i += 2) {
        if (job.items[i].text == "job_id") fetched.id = job.items[i + 1].text;
        if (job.items[i].text == "lease_token") fetched.token = job.items[i + 1].text;
      }
      jobs.push_back(std::move(fetched));
    }
    return jobs;
  }
  std::optional<bool> Ack(const Fetched& job) override {
    return Accepted({"JOB.ACK", job.id, "TOKEN", job.token, "RESULT", "true"});
  }
  std::optional<bool> Fail(const Fetched& job) override {
    return Accepted({"JOB.FAIL", job.id, "TOKEN", job.token, "ERROR", "as asked", "DELAY", "1"});
  }
  std::optional<bool> Heartbeat(const Fetched& job) override {
    return Accepted({"JOB.HEARTBEAT", job.id, "TOKEN", job.token, "PROGRESS", "50"});
  }

 private:
  std::optional<bool> Accepted(const std::vector<std::string>& args) {
    const auto reply = Command(args);
    if (!reply) return std::nullopt;
    return !reply->is_error();
  }
  std::optional<net::RespValue> Command(const std::vector<std::string>& args) {
    if (!client_) {
      auto connected = net::RespClient::Connect(addresses_.resp());
      if (!connected.ok()) return std::nullopt;
      client_.emplace(*std::move(connected));
    }
    auto reply = client_->Command(args);
    if (reply.ok()) return *std::move(reply);
    client_.reset();
    return std::nullopt;
  }

  const Addresses& addresses_;
  const int id_;
  std::optional<net::RespClient> client_;
};

class Worker {
 public:
  Worker(std::unique_ptr<Door> door, Memory& memory, uint64_t seed)
      : door_(std::move(door)), memory_(memory), random_(seed) {}

  void Run(const std::atomic<bool>& stop) {
    while (!stop) {
      const auto jobs = door_->Fetch(1 + static_cast<int>(random_.Below(4)));
      if (!jobs) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));  // it is being started again
        continue;
      }
      for (const Fetched& job : *jobs) memory_.Began(job);
      for (const Fetched& job : *jobs) Work(job);
    }
  }

 private:
  void Work(const Fetched& job) {
    const uint64_t fate = random_.Below(100);
    if (fate < 4) return;  // dies with it: the lease lapses
    if (fate < 10) {
      memory_.LetsGo(job.id);
      door_->Fail(job);
      return;
    }
    if (fate < 14) {
      // Too late: whoever has it now is not disturbed by what follows.
      std::this_thread::sleep_for(std::chrono::milliseconds(kLeaseMs + 500));
    } else if (fate < 24) {
      door_->Heartbeat(job);
    }
    Finish(job);
    if (fate > 89) Finish(job);  // once more: it is refused
  }

  void Finish(const Fetched& job) {
    const std::optional<bool> accepted = door_->Ack(job);
    if (accepted && *accepted) memory_.Acknowledged(job.id);
  }

  const std::unique_ptr<Door> door_;
  Memory& memory_;
  SeededRandom random_;
};

// Adds its jobs, each until the server has said that it is there.
void Produce(const Addresses& addresses, int producer, std::set<std::string>& ids) {
  for (int n = 0; n < kJobsEach;) {
    net::HttpClient client(addresses.http());
    for (; n < kJobsEach; ++n) {
      const json::object body{
          {"queue", "work"},
          {"payload", n},
          {"max_retries", 1'000},
          {"idempotency_key", std::to_string(producer) + "-" + std::to_string(n)}};
      const auto answer = client.Post("/api/v1/enqueue", json::serialize(body));
      if (!answer.ok() || answer->status >= 300) break;
      ids.insert(std::string(json::parse(answer->body).at("job_id").as_string()));
    }
    if (n < kJobsEach) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

json::value GetJson(const Server& server, const std::string& path) {
  const auto answer = server.Http().Get("/api/v1" + path);
  EXPECT_TRUE(answer.ok() && answer->status == 200) << path;
  return answer.ok() ? json::parse(answer->body) : json::value();
}

bool AllCompleted(const Server& server) {
  const json::value queue = GetJson(server, "/queues/work");
  return queue.at("completed").to_number<int64_t>() == kProducers * kJobsEach;
}

// Sets the clock of servers that are started with its environment (tests/preload).
class ClockSetter {
 public:
  explicit ClockSetter(std::string file) : file_(std::move(file)) { Set(0); }

  std::map<std::string, std::string> Environment() const {
    const auto library =
        std::filesystem::read_symlink("/proc/self/exe").parent_path() / "libshifted_clock.so";
    EXPECT_TRUE(std::filesystem::exists(library)) << library;
    return {{"LD_PRELOAD", library.string()}, {"SHIFTED_CLOCK_FILE", file_}};
  }
  void Set(int64_t shift_ms) {
    // In place: the server has it mapped.
    std::ofstream file(file_, std::ios::binary | std::ios::in);
    if (!file) file.open(file_, std::ios::binary);
    file.write(reinterpret_cast<const char*>(&shift_ms), sizeof(shift_ms));
    EXPECT_TRUE(file.flush().good());
  }

 private:
  const std::string file_;
};

void RunWorkers(ServerClock clock) {
  const TempDirectory directory;
  ServerOptions options{.data = directory / "data", .flags = {"--memory", "128MiB"}};
  ClockSetter setter(directory / "clock");
  if (clock == ServerClock::kJumps) options.environment = setter.Environment();
  std::optional<Server> server = Server::MustStart(options);
  Addresses addresses;
  addresses.Set(*server);
  // Workers die, and the server with them: no job is given up for that.
  net::HttpClient setup = server->Http();
  ASSERT_EQ(
      setup.Request("PATCH", "/api/v1/queues/work/config", R"({"max_reclaims":1000})", {})->status,
      200);

  Memory memory(clock);
  std::atomic<bool> stop = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < kHttpWorkers; ++i) {
    threads.emplace_back([&, i] {
      Worker(std::make_unique<HttpDoor>(addresses, i), memory, static_cast<uint64_t>(i)).Run(stop);
    });
  }
  for (int i = 0; i < kRespWorkers; ++i) {
    threads.emplace_back([&, i] {
      Worker(std::make_unique<RespDoor>(addresses, i), memory, static_cast<uint64_t>(100 + i))
          .Run(stop);
    });
  }
  std::vector<std::set<std::string>> ids(kProducers);
  std::vector<std::thread> producers;
  for (int i = 0; i < kProducers; ++i) {
    producers.emplace_back([&, i] { Produce(addresses, i, ids[static_cast<size_t>(i)]); });
  }

  SeededRandom random(7);
  for (int kill = 0; kill < kKills; ++kill) {
    // How long it runs is only a way of hitting different moments.
    std::this_thread::sleep_for(std::chrono::milliseconds(300 + random.Below(700)));
    // By more than a lease lasts, now forward, now back.
    const int64_t shift_ms = (kill % 2 == 0 ? 4 : -4) * kLeaseMs;
    if (clock == ServerClock::kJumps) {
      setter.Set(shift_ms);
      std::this_thread::sleep_for(std::chrono::milliseconds(random.Below(700)));
    }
    server->process().Kill();
    server = Server::MustStart(options);
    addresses.Set(*server);
  }
  for (std::thread& producer : producers) producer.join();
  const auto deadline = Clock::now() + std::chrono::seconds(300);
  while (!AllCompleted(*server) && Clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();

  EXPECT_TRUE(AllCompleted(*server)) << json::serialize(GetJson(*server, "/queues/work"));
  size_t jobs = 0;
  for (const std::set<std::string>& of_one : ids) jobs += of_one.size();
  EXPECT_EQ(jobs, static_cast<size_t>(kProducers * kJobsEach)) << "a job was added twice or lost";
  const json::value report = GetJson(*server, "/admin/verify");
  EXPECT_TRUE(report.at("sound").as_bool()) << json::serialize(report);
  EXPECT_GT(memory.runs(), kProducers * kJobsEach);
  std::printf("%d jobs in %lld runs, %d times kill -9: each completed once\n",
              kProducers * kJobsEach, static_cast<long long>(memory.runs()), kKills);
}

TEST(JobsWorkersTest, EveryJobEndsOnceWhateverDies) { RunWorkers(ServerClock::kRuns); }
TEST(JobsWorkersTest, EveryJobEndsOnceWhateverTheClockSays) { RunWorkers(ServerClock::kJumps); }

}  // namespace
}  // namespace cairn::testing
