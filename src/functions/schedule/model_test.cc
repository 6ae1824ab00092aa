// Random operations on schedules, time that moves on, activations that end, and restarts, against a
// map of what is expected: each tick has come once, and has one activation or a reason for none.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "functions/testing/schedule_fixture.h"

namespace cairn::functions {
namespace {

constexpr int kSteps = 600;
constexpr int kNames = 4;

// What is known of a schedule.
struct Expected {
  Schedule schedule;
  int64_t next_ms = 0;
  int64_t ticks = 0;
  int64_t skipped = 0;
  std::string last_id;              // of the activation that was queued last
  int64_t last_until_ms = 0;        // its marker is there until then
  std::deque<std::string> waiting;  // that queue, the oldest first
};

class ScheduleModelTest : public testing::ScheduleTest {
 protected:
  uint64_t Draw(uint64_t below) { return draw_.Below(below); }
  std::string DrawName() { return fmt::format("schedule-{}", Draw(kNames)); }

  bool HasEnded(const std::string& id) const { return ended_.contains(id); }

  // One tick, as the rules have it.
  void Tick(Expected& one, int64_t tick_ms) {
    ++one.ticks;
    if (one.schedule.overlap == Overlap::kSkip && now_ms() < one.last_until_ms &&
        !HasEnded(one.last_id)) {
      ++one.skipped;
      return;
    }
    const bool queues = one.schedule.overlap == Overlap::kQueue;
    if (queues) {
      while (!one.waiting.empty() && HasEnded(one.waiting.front())) one.waiting.pop_front();
      if (one.waiting.size() >= static_cast<size_t>(kMaxCatchUpTicks)) {
        ++one.skipped;
        return;
      }
    }
    const std::string id = TickActivationId(one.schedule, tick_ms);
    EXPECT_TRUE(fired_.insert(id).second) << "a tick of " << one.schedule.name << " came twice";
    one.last_id = id;
    one.last_until_ms = now_ms() + (queues ? kDayMs : kAsyncDeadlineMs) + 5 * kSecondMs;
    if (queues) one.waiting.push_back(id);
  }

  void TickAll() {
    for (auto& [name, one] : expected_) {
      if (!one.schedule.enabled) continue;
      const int64_t every_ms = one.schedule.every_seconds * kSecondMs;
      while (one.next_ms <= now_ms()) {
        const int64_t behind = (now_ms() - one.next_ms) / every_ms + 1 - kMaxCatchUpTicks;
        const int64_t tick_ms = one.next_ms + std::max<int64_t>(0, behind) * every_ms;
        Tick(one, tick_ms);
        one.next_ms = tick_ms + every_ms;
      }
    }
  }

  void StepMake() {
    const std::string name = DrawName();
    Schedule schedule = Every(static_cast<int64_t>(1 + Draw(20)), static_cast<Overlap>(Draw(3)));
    schedule.enabled = Draw(4) != 0;
    const Result<ScheduleDetail> made = Make(name, schedule);
    ASSERT_EQ(made.ok(), !expected_.contains(name));
    if (!made.ok()) return;
    expected_[name] = {.schedule = made->schedule, .next_ms = now_ms()};
  }
  void StepUpdate() {
    const std::string name = DrawName();
    ScheduleUpdate update;
    if (Draw(2) == 0) update.enabled = Draw(2) == 0;
    if (Draw(4) == 0) update.every_seconds = static_cast<int64_t>(1 + Draw(20));
    if (Draw(4) == 0) update.payload = fmt::format("[{}]", Draw(100));
    const Result<ScheduleDetail> updated = Update(name, update);
    const auto found = expected_.find(name);
    ASSERT_EQ(updated.ok(), found != expected_.end());
    if (!updated.ok()) return;
    Expected& one = found->second;
    const Schedule before = one.schedule;
    one.schedule = updated->schedule;
    const int64_t every_ms = one.schedule.every_seconds * kSecondMs;
    if (one.schedule.every_seconds != before.every_seconds) {
      one.next_ms = now_ms() + every_ms;
    } else if (one.schedule.enabled && !before.enabled && one.next_ms < now_ms()) {
      one.next_ms += (now_ms() - one.next_ms + every_ms - 1) / every_ms * every_ms;
    }
  }
  void StepRemove() {
    const std::string name = DrawName();
    ASSERT_EQ(Remove(name).ok(), expected_.erase(name) == 1);
  }
  void StepClaim() {
    for (Claimed& claimed : ClaimAll()) {
      EXPECT_TRUE(claimed_.insert(claimed.request.activation_id).second);
      running_.push_back(std::move(claimed));
    }
  }
  void StepEnd() {
    if (running_.empty()) return;
    const auto at = running_.begin() + static_cast<ptrdiff_t>(Draw(running_.size()));
    End(*at, Draw(3) == 0 ? Status::kError : Status::kSuccess);
    ended_.insert(at->request.activation_id);
    running_.erase(at);
  }

  void Compare() {
    for (const auto& [name, one] : expected_) {
      const ScheduleState state = StateOf(name);
      EXPECT_EQ(state.tick_seq, one.ticks) << name;
      EXPECT_EQ(state.skipped, one.skipped) << name;
      EXPECT_EQ(state.next_tick_ms, one.next_ms) << name;
      EXPECT_EQ(state.failed, 0) << name << ": " << state.last_error;
    }
  }

  SeededRandom draw_{20};
  std::map<std::string, Expected> expected_;
  std::set<std::string> fired_;
  std::set<std::string> claimed_;
  std::set<std::string> ended_;
  std::vector<Claimed> running_;
};

TEST_F(ScheduleModelTest, EachTickComesOnceWhateverHappens) {
  for (int step = 0; step < kSteps && !HasFatalFailure(); ++step) {
    switch (Draw(12)) {
      case 0:
      case 1:
        StepMake();
        break;
      case 2:
        StepUpdate();
        break;
      case 3:
        if (Draw(4) == 0) StepRemove();
        break;
      case 4:
      case 5:
        StepClaim();
        break;
      case 6:
      case 7:
        StepEnd();
        break;
      case 8:
        if (Draw(10) == 0) clock_.AdvanceMillis(static_cast<int64_t>(Draw(1'500'000)));
        RestartAll();
        break;
      default:
        clock_.AdvanceMillis(static_cast<int64_t>(Draw(30'000)));
        break;
    }
    TickAll();
    FireTimers();
    Compare();
    if (HasFailure()) FAIL() << "in step " << step;
  }
  // Everything that was fired is given out, also what queues behind others.
  do {
    while (!running_.empty()) StepEnd();
    StepClaim();
  } while (!running_.empty());
  EXPECT_EQ(claimed_, fired_);
  EXPECT_GT(fired_.size(), 100U);
}

}  // namespace
}  // namespace cairn::functions
