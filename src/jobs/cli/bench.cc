#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/id.h"
#include "base/random.h"
#include "house/api_client.h"
#include "house/quantile.h"
#include "house/terminal.h"
#include "jobs/cli/verbs.h"

namespace cairn::jobs {
namespace {

namespace json = boost::json;
using house::ApiClient;
using house::ServerAccess;
using house::VerbCall;
using house::VerbOption;
using Steady = std::chrono::steady_clock;

constexpr std::string_view kApi = "/api/v1";

// How long a consumer that gets no job believes that there will be one.
constexpr std::chrono::minutes kPatience{1};

struct BenchOptions {
  int64_t jobs = 0;         // of each kind of work
  int64_t connections = 0;  // at once
  int64_t batch = 0;        // jobs of one request
};

// Takes as many as `most` from what is left; 0 when there is nothing.
int64_t Claim(std::atomic<int64_t>& left, int64_t most) {
  int64_t now = left.load();
  while (now > 0 && !left.compare_exchange_weak(now, now - std::min(now, most))) {
  }
  return std::max<int64_t>(std::min(now, most), 0);
}

// What all connections together have done in one kind of work.
class Tally {
 public:
  void Took(double ms) {
    const std::lock_guard lock(mutex_);
    latencies_ms_.push_back(ms);
  }
  void Fetched(const std::string& job) {
    const std::lock_guard lock(mutex_);
    if (!seen_.insert(job).second && failure_.empty()) failure_ = job + " was given out twice";
  }
  void Fail(const std::string& message) {
    const std::lock_guard lock(mutex_);
    if (failure_.empty()) failure_ = message;
  }
  std::string failure() {
    const std::lock_guard lock(mutex_);
    return failure_;
  }
  std::vector<double>& latencies_ms() { return latencies_ms_; }  // when all have ended

 private:
  std::mutex mutex_;
  std::vector<double> latencies_ms_;  // of requests
  std::unordered_set<std::string> seen_;
  std::string failure_;  // the first
};

// One kind of work on one queue.
class Work {
 public:
  Work(const ServerAccess& server, const BenchOptions& options, std::string queue)
      : server_(server),
        options_(options),
        queue_(std::move(queue)),
        to_enqueue_(options.jobs),
        to_finish_(options.jobs) {}

  // Both return how long it took, in seconds.
  double Enqueue() {
    return RunOn(options_.connections, [this](ApiClient& client, int64_t) { Produce(client); });
  }
  double Finish() {
    return RunOn(options_.connections,
                 [this](ApiClient& client, int64_t number) { Consume(client, number); });
  }
  double Both() {
    return RunOn(2 * options_.connections, [this](ApiClient& client, int64_t number) {
      number % 2 == 0 ? Produce(client) : Consume(client, number);
    });
  }

  // Whether all jobs are completed; the queue is gone afterwards.
  Result<void> CheckAndDelete() {
    if (const std::string failure = tally_.failure(); !failure.empty()) {
      return Error{ErrorCode::kInternal, failure};
    }
    ApiClient client(server_);
    const std::string path = fmt::format("{}/queues/{}", kApi, queue_);
    CAIRN_ASSIGN_OR_RETURN(const json::value found, client.Get(path));
    CAIRN_RETURN_IF_ERROR(client.Request("DELETE", path, ""));
    const int64_t completed = found.at("completed").as_int64();
    if (completed == options_.jobs) return {};
    return Error{ErrorCode::kInternal, fmt::format("{} of {} jobs are completed: {}", completed,
                                                   options_.jobs, json::serialize(found))};
  }

  std::vector<double>& latencies_ms() { return tally_.latencies_ms(); }

 private:
  double RunOn(int64_t connections, const std::function<void(ApiClient&, int64_t)>& run) {
    const auto begin = Steady::now();
    std::vector<std::jthread> threads;
    for (int64_t i = 0; i < connections; ++i) {
      threads.emplace_back([&, i] {
        ApiClient client(server_);
        run(client, i);
      });
    }
    threads.clear();
    return std::chrono::duration<double>(Steady::now() - begin).count();
  }

  void Produce(ApiClient& client) {
    while (const int64_t count = Claim(to_enqueue_, options_.batch)) {
      json::array jobs(static_cast<size_t>(count),
                       json::object{{"queue", queue_}, {"payload", json::object()}});
      if (!Ask(client, "/enqueue/batch", {{"jobs", std::move(jobs)}})) return;
    }
  }

  void Consume(ApiClient& client, int64_t number) {
    const std::string worker = fmt::format("bench-{}", number);
    auto last = Steady::now();
    while (to_finish_ > 0 && tally_.failure().empty()) {
      // Waits for producers, but not so long that the last to end is waited for.
      const auto fetched = Ask(client, "/fetch/batch",
                               {{"queues", json::array{queue_}},
                                {"worker_id", worker},
                                {"count", options_.batch},
                                {"wait", 1}});
      if (!fetched) return;
      json::array acks;
      for (const json::value& job : fetched->at("jobs").as_array()) {
        tally_.Fetched(std::string(job.at("job_id").as_string()));
        acks.push_back({{"job_id", job.at("job_id")},
                        {"lease_token", job.at("lease_token")},
                        {"result", json::object()}});
      }
      if (acks.empty() && Steady::now() - last > kPatience) return tally_.Fail("jobs are missing");
      if (acks.empty()) continue;
      last = Steady::now();
      to_finish_ -= static_cast<int64_t>(acks.size());
      if (!Ask(client, "/ack/batch", {{"acks", std::move(acks)}})) return;
    }
  }

  std::optional<json::value> Ask(ApiClient& client, std::string_view path,
                                 const json::object& body) {
    const auto begin = Steady::now();
    Result<json::value> answer =
        client.Post(fmt::format("{}{}", kApi, path), json::serialize(body));
    const std::chrono::duration<double, std::milli> took = Steady::now() - begin;
    if (!answer.ok()) {
      tally_.Fail(answer.error().message);
      return std::nullopt;
    }
    tally_.Took(took.count());
    return *std::move(answer);
  }

  const ServerAccess& server_;
  const BenchOptions& options_;
  const std::string queue_;
  Tally tally_;
  std::atomic<int64_t> to_enqueue_;
  std::atomic<int64_t> to_finish_;
};

struct Row {
  std::string_view work;
  double seconds = 0;
  double p50_ms = 0;
  double p99_ms = 0;
};

Row Measured(std::string_view name, double seconds, std::vector<double>& latencies_ms) {
  const Row row{name, seconds, house::Quantile(latencies_ms, 0.5),
                house::Quantile(latencies_ms, 0.99)};
  latencies_ms.clear();
  return row;
}

Result<std::vector<Row>> BenchJobs(const ServerAccess& server, const BenchOptions& options) {
  const SystemClock clock;
  SystemRandom random;
  const std::string name = fmt::format("bench-{}", NewUlid(clock.Now(), random));
  std::vector<Row> rows;
  Work separate(server, options, name + "-separate");
  const double enqueued = separate.Enqueue();
  rows.push_back(Measured("enqueue", enqueued, separate.latencies_ms()));
  const double finished = separate.Finish();
  rows.push_back(Measured("fetch and acknowledge", finished, separate.latencies_ms()));
  CAIRN_RETURN_IF_ERROR(separate.CheckAndDelete());
  Work combined(server, options, name + "-combined");
  const double both = combined.Both();
  rows.push_back(Measured("both at once", both, combined.latencies_ms()));
  CAIRN_RETURN_IF_ERROR(combined.CheckAndDelete());
  return rows;
}

double PerSecond(const Row& row, const BenchOptions& options) {
  return static_cast<double>(options.jobs) / row.seconds;
}

int Run(const VerbCall& call) {
  const BenchOptions options{.jobs = call.Number("jobs"),
                             .connections = call.Number("connections"),
                             .batch = call.Number("batch")};
  const Result<std::vector<Row>> rows = call.server.ok()
                                            ? BenchJobs(*call.server, options)
                                            : Result<std::vector<Row>>(call.server.error());
  if (!rows.ok()) {
    call.terminal.Complain("bench jobs: " + rows.error().message);
    return house::kExitFailure;
  }
  if (call.json) {
    json::array result;
    for (const Row& row : *rows) {
      result.push_back({{"work", row.work},
                        {"jobs", options.jobs},
                        {"seconds", row.seconds},
                        {"jobs_per_second", PerSecond(row, options)},
                        {"request_p50_ms", row.p50_ms},
                        {"request_p99_ms", row.p99_ms}});
    }
    call.terminal.Print(json::value(std::move(result)));
    return house::kExitOk;
  }
  std::vector<std::vector<std::string>> table = {{"WORK", "JOBS/S", "P50 MS", "P99 MS"}};
  for (const Row& row : *rows) {
    table.push_back({std::string(row.work), fmt::format("{:.0f}", PerSecond(row, options)),
                     fmt::format("{:.2f}", row.p50_ms), fmt::format("{:.2f}", row.p99_ms)});
  }
  call.terminal.Print(house::FormatTable(table));
  return house::kExitOk;
}

VerbOption Number(std::string name, std::string description, int64_t initial, int64_t most) {
  return {.name = std::move(name),
          .value_name = "N",
          .description = std::move(description),
          .kind = VerbOption::Kind::kNumber,
          .initial = initial,
          .least = 1,
          .most = most};
}

}  // namespace

house::Verb BenchVerb() {
  return {.name = "bench",
          .description = "Measure how fast a running server is",
          .action_name = "what",
          .actions = {{"jobs"}},
          .options = {Number("jobs", "jobs of each kind of work", 20'000, 100'000'000),
                      Number("connections", "connections at once", 8, 256),
                      Number("batch", "jobs of one request", 64, 512)},
          .run = Run};
}

}  // namespace cairn::jobs
