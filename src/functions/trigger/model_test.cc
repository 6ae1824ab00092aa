// Random jobs, batches, ends and restarts, against what must come of each job: it is acknowledged
// by the end of an activation that has succeeded with it, and by nothing else; it fails by its own
// policy; and none is lost or held for ever.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "functions/testing/trigger_fixture.h"

namespace cairn::functions {
namespace {

constexpr int kSteps = 500;
constexpr int64_t kRetries = 2;

class TriggerModelTest : public testing::TriggerTest {
 protected:
  struct Expected {
    int64_t failures = 0;
    bool done = false;
    bool dead = false;
    bool in_batch = false;
  };

  uint64_t Draw(uint64_t below) { return draw_.Below(below); }

  void StepEnqueue() {
    for (uint64_t i = 0; i <= Draw(4); ++i) {
      jobs_[Enqueue(Draw(3) == 0 ? "sms" : "mail", "{}", kRetries)] = {};
    }
  }

  void StepChange() {
    TriggerUpdate update;
    if (Draw(2) == 0) update.batch_size = static_cast<int64_t>(1 + Draw(4));
    if (Draw(2) == 0) update.concurrency = static_cast<int64_t>(1 + Draw(3));
    if (Draw(2) == 0) update.window_ms = static_cast<int64_t>(Draw(3) * 1'000);
    if (Draw(3) == 0) update.enabled = Draw(3) != 0;
    ASSERT_TRUE(Change("mails", update).ok());
  }

  void StepPump() {
    const TriggerDetail before = Show("mails");
    const BatchOutcome outcome = Pump("mails");
    const auto most = static_cast<size_t>(before.trigger.concurrency);
    if (!before.trigger.enabled) {
      EXPECT_TRUE(outcome.changed);
      EXPECT_EQ(outcome.batches, 0U);
    }
    EXPECT_LE(outcome.batches, most - std::min(most, before.state.inflight.size()));
  }

  void StepClaim() {
    for (Claimed& claimed : ClaimAll()) {
      const std::optional<TriggerCause> cause = ParseCause(claimed.request.trigger.source);
      ASSERT_TRUE(cause);
      for (const std::string& id : cause->jobs) {
        Expected& one = jobs_.at(id);
        EXPECT_FALSE(one.in_batch) << id << " is in two activations";
        EXPECT_FALSE(one.done || one.dead) << id << " comes after its end";
        one.in_batch = true;
      }
      running_.push_back({std::move(claimed), cause->jobs});
    }
  }

  void Fail(const std::string& id) {
    Expected& one = jobs_.at(id);
    one.dead = ++one.failures > kRetries;
  }

  void StepEnd() {
    if (running_.empty()) return;
    const auto at = running_.begin() + static_cast<ptrdiff_t>(Draw(running_.size()));
    const uint64_t how = Draw(4);
    std::string failures;
    for (const std::string& id : at->jobs) {
      jobs_.at(id).in_batch = false;
      if (how == 0) {
        Fail(id);
      } else if (how == 1 && Draw(2) == 0) {
        failures += fmt::format(R"({}{{"job_id":"{}"}})", failures.empty() ? "" : ",", id);
        Fail(id);
      } else {
        jobs_.at(id).done = true;
      }
    }
    EndWith(at->claimed,
            how == 0 ? (Draw(2) == 0 ? Status::kError : Status::kTimeout) : Status::kSuccess,
            fmt::format(R"({{"batchItemFailures":[{}]}})", failures));
    running_.erase(at);
  }

  void Compare() {
    size_t active = 0;
    for (const auto& [id, one] : jobs_) {
      const std::string state = StateOfJob(id);
      EXPECT_EQ(state == "completed", one.done) << id << " is " << state;
      EXPECT_EQ(state == "dead", one.dead) << id << " is " << state;
      active += state == "active" ? 1U : 0U;
      if (one.in_batch) EXPECT_EQ(state, "active") << id;
      const std::optional<jobs::Job> job = JobOf(id);
      if (job) EXPECT_EQ(job->failures, one.failures) << id;
    }
    // None is active that no activation has.
    size_t in_state = 0;
    const TriggerState state = Show("mails").state;
    for (const TriggerState::Inflight& inflight : state.inflight) {
      const Result<std::optional<Activation>> activation = Do([&](Context& context) {
        return LoadActivation(context.transaction, kTenant, inflight.activation_id);
      });
      ASSERT_TRUE(activation.ok() && *activation);
      in_state += ParseCause((*activation)->trigger.source)->jobs.size();
    }
    EXPECT_EQ(active, in_state);
  }

  static constexpr std::string_view kTenant = "t_abc123";
  struct Run {
    Claimed claimed;
    std::vector<std::string> jobs;
  };
  SeededRandom draw_{31};
  std::map<std::string, Expected> jobs_;
  std::vector<Run> running_;
};

TEST_F(TriggerModelTest, NoJobIsLostAndNoneDoneWithoutItsActivation) {
  TriggerConfig trigger = FromQueue({"mail", "sms"});
  trigger.batch_size = 3;
  trigger.concurrency = 2;
  ASSERT_TRUE(MakeTrigger("mails", trigger).ok());
  for (int step = 0; step < kSteps && !HasFatalFailure(); ++step) {
    switch (Draw(10)) {
      case 0:
      case 1:
        StepEnqueue();
        break;
      case 2:
        StepChange();
        break;
      case 3:
      case 4:
      case 5:
        StepPump();
        break;
      case 6:
        StepClaim();
        break;
      case 7:
      case 8:
        StepEnd();
        break;
      default:
        if (Draw(5) == 0) RestartAll();
        // Less than after which a batch is looked for whose message is gone.
        clock_.AdvanceMillis(static_cast<int64_t>(Draw(2'000)));
        break;
    }
    if (step % 10 == 0) Compare();
    if (HasFailure()) FAIL() << "in step " << step;
  }
  ASSERT_TRUE(Change("mails", {.window_ms = 0, .enabled = true}).ok());
  do {
    while (!running_.empty()) StepEnd();
    StepPump();
    StepClaim();
  } while (!running_.empty());
  Compare();
  size_t done = 0;
  size_t dead = 0;
  for (const auto& [id, one] : jobs_) {
    EXPECT_TRUE(one.done || one.dead) << id << " has not ended";
    done += one.done ? 1U : 0U;
    dead += one.dead ? 1U : 0U;
  }
  EXPECT_GT(done, 50U);
  EXPECT_GT(dead, 2U);
}

// Events of jobs: whatever is restarted, each is in one activation, in their order.
TEST_F(TriggerModelTest, EachEventIsInOneActivation) {
  TriggerConfig trigger = From(SourceType::kJobs, {"mail"}, {"enqueued"});
  trigger.batch_size = 3;
  trigger.concurrency = 2;
  ASSERT_TRUE(MakeTrigger("mails", trigger).ok());
  std::vector<std::string> enqueued;
  std::vector<std::string> told;
  const auto take = [&] {
    for (Claimed& claimed : ClaimAll()) {
      const std::string& event = claimed.request.event;
      for (size_t at = event.find("\"job_id\":\""); at != std::string::npos;
           at = event.find("\"job_id\":\"", at + 1)) {
        const size_t begin = at + 10;
        told.push_back(event.substr(begin, event.find('"', begin) - begin));
      }
      running_.push_back({std::move(claimed), {}});
    }
  };
  const auto end = [&] {
    if (running_.empty()) return;
    EndWith(running_.front().claimed, Draw(3) == 0 ? Status::kError : Status::kSuccess);
    running_.erase(running_.begin());
  };
  for (int step = 0; step < kSteps / 2; ++step) {
    switch (Draw(7)) {
      case 0:
      case 1:
        enqueued.push_back(Enqueue("mail"));
        break;
      case 2:
        Enqueue("sms");
        break;
      case 3:
        Pump("mails");
        break;
      case 4:
        take();
        break;
      case 5:
        end();
        break;
      default:
        if (Draw(5) == 0) RestartAll();
        clock_.AdvanceMillis(static_cast<int64_t>(Draw(1'000)));
        break;
    }
  }
  do {
    while (!running_.empty()) end();
    Pump("mails");
    take();
  } while (!running_.empty());
  EXPECT_EQ(told, enqueued);
  EXPECT_GT(told.size(), 30U);
}

}  // namespace
}  // namespace cairn::functions
