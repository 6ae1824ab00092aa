// Random operations of all kinds against a trivial model: a map from jobs to states. Time is moved
// by hand, the server is stopped and started again now and then, and after every step every job is
// compared and everything is verified.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <map>
#include <string>
#include <vector>

#include "base/random.h"
#include "jobs/testing/job_server.h"

namespace cairn::jobs {
namespace {

namespace json = boost::json;
using testing::JobServer;

constexpr int kSteps = 250;
constexpr int64_t kLeaseMs = 1'000;
constexpr int64_t kRetryMs = 500;
constexpr int64_t kTickMs = 50;          // all times are multiples of it
constexpr const char* kKeepsNone = "c";  // a queue whose completed jobs are gone

struct ModelJob {
  std::string queue;
  std::string state = "pending";
  int64_t due_ms = 0;     // scheduled and retrying: when it is pending again; active: its lease
  int64_t expire_ms = 0;  // 0: never
  int64_t retries = 0;    // left
  int64_t reclaims = 0;
  std::string token;
  std::string unique;
  std::string batch;
  std::string key;  // concurrency
  std::string group;
  std::vector<std::string> waits_for;  // not ended
};

bool Ended(const std::string& state) {
  return state == "completed" || state == "dead" || state == "cancelled";
}

class Model {
 public:
  explicit Model(uint64_t seed) : random_(seed) {
    server_.Run({"QUEUE.CONFIG", kKeepsNone, R"({"retention_ms":0})"});
  }

  void Step() {
    switch (random_.Below(16)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return Enqueue();
      case 4:
      case 5:
      case 6:
        return Fetch();
      case 7:
      case 8:
        return Ack();
      case 9:
        return Fail();
      case 10:
        return Heartbeat();
      case 11:
        return Act();
      case 12:
        return Move();
      case 13:
        return Snooze();
      case 14:
        return random_.Below(6) == 0 ? Clear() : Retry();
      default:
        return MoveTime();
    }
  }

  void Check() {
    server_.ExpectSound();
    std::map<std::string, std::map<std::string, int64_t>> counts;
    for (const auto& [id, job] : jobs_) {
      ASSERT_EQ(server_.State(id), job.state) << id << " of " << job.queue;
      ++counts[job.queue][job.state];
    }
    for (const char* queue : {"a", "b", "c"}) {
      for (const char* state : {"pending", "active", "scheduled", "retrying", "held", "completed",
                                "dead", "cancelled"}) {
        const int64_t stored = server_.Count(queue, state);
        ASSERT_EQ(std::max<int64_t>(stored, 0), counts[queue][state]) << queue << " " << state;
      }
    }
    for (const auto& [id, pending] : batches_) {
      const json::value batch = json::parse(server_.Value({"JOB.BATCH", id}).text);
      const auto live = std::ranges::count_if(jobs_, [&](const auto& entry) {
        return entry.second.batch == id && !Ended(entry.second.state);
      });
      ASSERT_EQ(batch.at("pending").as_int64(), live) << id;
    }
  }

  void Restart() { server_.Restart(); }

 private:
  int64_t now_ms() { return server_.clock().Now().millis(); }
  std::string AnyQueue() { return std::string(1, static_cast<char>('a' + random_.Below(3))); }

  // Any job in one of these states; none: "".
  std::string Any(std::initializer_list<std::string_view> states) {
    std::vector<std::string> ids;
    for (const auto& [id, job] : jobs_) {
      if (std::ranges::find(states, job.state) != states.end()) ids.push_back(id);
    }
    return ids.empty() ? "" : ids[random_.Below(ids.size())];
  }

  std::vector<std::string> AnyOptions(ModelJob& job) {
    std::vector<std::string> options = {"RETRIES", "1",    "BACKOFF",
                                        "fixed",   "BASE", fmt::to_string(kRetryMs)};
    job.retries = 1;
    const auto add = [&](std::initializer_list<std::string> words) {
      options.insert(options.end(), words);
    };
    if (random_.Below(4) == 0) {
      job.state = "scheduled";
      job.due_ms = now_ms() + 700;
      add({"DELAY", "700"});
    }
    if (random_.Below(6) == 0) {
      job.expire_ms = now_ms() + 2'000;
      add({"EXPIRE", "2000"});
    }
    if (random_.Below(4) == 0) add({"PRIORITY", random_.Below(2) == 0 ? "high" : "critical"});
    if (random_.Below(4) == 0) {
      job.key = fmt::format("k{}", random_.Below(2));
      add({"CONCURRENCY", job.key});
    }
    if (random_.Below(4) == 0) {
      job.group = fmt::format("g{}", random_.Below(2));
      add({"GROUP", job.group});
    }
    if (!batches_.empty() && random_.Below(4) == 0) {
      job.batch = batches_.begin()->first;
      add({"BATCH", job.batch});
    }
    if (random_.Below(6) == 0) {
      const std::string on = Any({"pending", "active", "scheduled", "retrying", "held"});
      if (!on.empty()) {
        job.waits_for = {on};
        add({"DEPENDS", "1", on});
      }
    }
    return options;
  }

  void Enqueue() {
    if (batches_.empty()) {
      const std::string id = server_.Value({"JOB.BATCHOPEN", "done"}).text;
      batches_[id] = 0;
    }
    ModelJob job{.queue = AnyQueue()};
    std::vector<std::string> args = {"JOB.ENQUEUE", job.queue, "{}"};
    const std::vector<std::string> options = AnyOptions(job);
    args.insert(args.end(), options.begin(), options.end());
    const bool unique = random_.Below(5) == 0;
    if (unique) {
      job.unique = "u";
      args.insert(args.end(), {"UNIQUE", "u", "PERIOD", "100000000"});
    }
    const auto reply = server_.Value(args);
    ASSERT_EQ(reply.items.size(), 2U) << reply.ToString();
    const bool held = unique && std::ranges::any_of(jobs_, [&](const auto& entry) {
                        return entry.second.queue == job.queue && entry.second.unique == "u" &&
                               !Ended(entry.second.state);
                      });
    ASSERT_EQ(reply.items[1].text == "duplicate", held) << reply.ToString();
    if (!held) jobs_[reply.items[0].text] = job;
  }

  void Fetch() {
    const std::string queue = AnyQueue();
    const auto fetched =
        server_.Fetch(queue, static_cast<int>(random_.Below(4) + 1), fmt::to_string(kLeaseMs));
    for (const auto& leased : fetched) {
      const auto found = jobs_.find(leased.id);
      ASSERT_NE(found, jobs_.end());
      ModelJob& job = found->second;
      ASSERT_EQ(job.state, "pending") << leased.id << " was given out twice";
      ASSERT_EQ(job.queue, queue);
      ASSERT_TRUE(job.waits_for.empty());
      for (const auto& [id, other] : jobs_) {
        ASSERT_FALSE(!job.key.empty() && other.key == job.key && other.queue == queue &&
                     other.state == "active")
            << "two of one key";
      }
      job.state = "active";
      job.token = leased.token;
      job.due_ms = now_ms() + kLeaseMs;
    }
    if (fetched.empty()) {
      // Then nothing that may run was there.
      for (const auto& [id, job] : jobs_) {
        const bool blocked = job.state != "pending" || job.queue != queue ||
                             !job.waits_for.empty() || !job.key.empty();
        ASSERT_TRUE(blocked) << id << " was hidden";
      }
    }
  }

  void End(const std::string& id, const std::string& state) {
    jobs_[id].state = state;
    jobs_[id].waits_for.clear();
    for (auto& [other, job] : jobs_) {
      if (Ended(job.state)) continue;
      if (std::erase(job.waits_for, id) == 0 || state == "completed") continue;
      End(other, "dead");
    }
    if (state == "completed" && jobs_[id].queue == kKeepsNone) jobs_.erase(id);
  }

  // The same token twice now and then: the second is refused.
  void Ack() {
    const std::string id = Any({"active", "completed", "pending"});
    if (id.empty() || jobs_[id].token.empty()) return;
    const bool theirs = jobs_[id].state == "active";
    const std::string reply = server_.Run({"JOB.ACK", id, "TOKEN", jobs_[id].token});
    ASSERT_EQ(reply == "OK", theirs) << reply;
    if (theirs) End(id, "completed");
  }

  void Fail() {
    const std::string id = Any({"active"});
    if (id.empty()) return;
    ModelJob& job = jobs_[id];
    const bool retryable = random_.Below(3) != 0;
    std::vector<std::string> args = {"JOB.FAIL", id, "TOKEN", job.token, "ERROR", "x"};
    if (!retryable) args.emplace_back("NORETRY");
    server_.Run(args);
    if (!retryable || job.retries == 0) return End(id, "dead");
    --job.retries;
    job.reclaims = 0;
    job.state = "retrying";
    job.due_ms = now_ms() + kRetryMs;
  }

  void Heartbeat() {
    const std::string id = Any({"active"});
    if (id.empty()) return;
    ASSERT_EQ(server_.Value({"JOB.HEARTBEAT", id, "TOKEN", jobs_[id].token}).items[0].text, "ok");
    jobs_[id].due_ms = now_ms() + kLeaseMs;
  }

  void Act() {
    const std::string id = Any({"pending", "active", "scheduled", "retrying", "held", "dead"});
    if (id.empty()) return;
    const std::string state = jobs_[id].state;
    const auto expect = [&](const std::string& command, bool possible) {
      const std::string reply = server_.Run({command, id});
      EXPECT_EQ(!reply.starts_with("(error)"), possible) << command << " " << state << reply;
      return possible;
    };
    switch (random_.Below(4)) {
      case 0:
        if (expect("JOB.CANCEL", !Ended(state))) End(id, "cancelled");
        return;
      case 1:
        if (expect("JOB.HOLD", !Ended(state) && state != "held")) jobs_[id].state = "held";
        return;
      case 2:
        if (expect("JOB.APPROVE", state == "held")) jobs_[id].state = "pending";
        return;
      default:
        if (!expect("JOB.DELETE", true)) return;
        if (!Ended(state)) End(id, "cancelled");
        jobs_.erase(id);
    }
  }

  void Move() {
    const std::string id = Any({"pending", "scheduled", "retrying", "held", "dead"});
    if (id.empty()) return;
    const std::string to = AnyQueue();
    const std::string reply = server_.Run({"JOB.MOVE", id, to});
    if (reply == "OK") {
      jobs_[id].queue = to;
    } else {
      ASSERT_EQ(jobs_[id].unique, "u") << reply;
    }
  }

  void Snooze() {
    const std::string id = Any({"active"});
    if (id.empty()) return;
    server_.Run({"JOB.SNOOZE", id, "300", "TOKEN", jobs_[id].token});
    jobs_[id].state = "scheduled";
    jobs_[id].due_ms = now_ms() + 300;
    jobs_[id].reclaims = 0;
  }

  void Retry() {
    const std::string id = Any({"completed", "dead", "cancelled", "retrying", "scheduled"});
    if (id.empty()) return;
    ModelJob& job = jobs_[id];
    const bool ended = Ended(job.state);
    const std::string reply = server_.Run({"JOB.RETRY", id});
    if (reply != "OK") {
      ASSERT_EQ(job.unique, "u") << reply;
      return;
    }
    job.state = "pending";
    job.retries = 1;
    job.reclaims = 0;
    if (ended) job.expire_ms = 0;
  }

  void Clear() {
    const std::string queue = AnyQueue();
    server_.Run({"QUEUE.CLEAR", queue});
    std::vector<std::string> gone;
    for (const auto& [id, job] : jobs_) {
      const bool waits =
          job.state == "pending" || job.state == "scheduled" || job.state == "retrying";
      if (job.queue == queue && waits) gone.push_back(id);
    }
    for (const std::string& id : gone) {
      if (!Ended(jobs_[id].state)) End(id, "cancelled");
    }
    for (const std::string& id : gone) {
      // Who died of what it waited for, in this same queue, was cleared itself.
      jobs_.erase(id);
    }
  }

  void MoveTime() {
    // Steps of one moment each, so that the model need not order what is due at once.
    const int64_t steps = static_cast<int64_t>(random_.Below(12)) + 1;
    for (int64_t i = 0; i < steps; ++i) {
      server_.Advance(kTickMs);
      Elapse();
    }
  }

  void Elapse() {
    const int64_t now = now_ms();
    std::vector<std::string> ids;
    for (const auto& [id, job] : jobs_) ids.push_back(id);
    for (const std::string& id : ids) {
      ModelJob& job = jobs_[id];
      const bool due = job.due_ms <= now;
      const bool expires = job.expire_ms != 0 && job.expire_ms <= now;
      if (expires && !Ended(job.state) && job.state != "active") {
        End(id, "dead");
      } else if (due && (job.state == "scheduled" || job.state == "retrying")) {
        job.state = "pending";
      } else if (due && job.state == "active") {
        if (++job.reclaims > kDefaultMaxReclaims) {
          End(id, "dead");
        } else {
          job.state = "pending";  // and if it has expired meanwhile, dead with the next tick
        }
      }
    }
  }

  SeededRandom random_;
  JobServer server_;
  std::map<std::string, ModelJob> jobs_;
  std::map<std::string, int> batches_;
};

class JobModelTest : public ::testing::TestWithParam<uint64_t> {};

TEST_P(JobModelTest, EveryStepLeavesWhatTheModelSays) {
  Model model(GetParam());
  for (int step = 0; step < kSteps; ++step) {
    model.Step();
    if (HasFatalFailure()) FAIL() << "step " << step;
    model.Check();
    if (HasFailure()) FAIL() << "step " << step;
    if (step % 60 == 59) model.Restart();
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, JobModelTest, ::testing::Range<uint64_t>(1, 5));

}  // namespace
}  // namespace cairn::jobs
