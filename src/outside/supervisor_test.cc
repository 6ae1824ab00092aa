#include "outside/supervisor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace cairn::outside {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::Le;
using ::testing::SizeIs;
using ::testing::StartsWith;
using State = Supervisor::State;

ChildOptions Shell(const std::string& script) {
  return {.arguments = {"/bin/sh", "-c", script}, .environment = {"PATH=/usr/bin:/bin"}};
}

class Notes final : public ChildWatcher {
 public:
  void Started(ChildProcess& /*child*/) override { ++starts; }
  void Output(std::string_view bytes) override { output += bytes; }
  void Errors(std::string_view bytes) override { errors += bytes; }
  void Ended(const ChildExit& exit) override { ends.push_back(exit.ToString()); }

  int starts = 0;
  std::string output;
  std::string errors;
  std::vector<std::string> ends;
};

class SupervisorTest : public ::testing::Test {
 protected:
  void Make(SupervisorOptions options) {
    supervisor_ = std::make_unique<Supervisor>(std::move(options), notes_, clock_, random_);
  }
  // Steps until `done`, whenever the child has something to say. Time stands still.
  void StepUntil(const std::function<bool()>& done) {
    while (true) {
      (void)supervisor_->Step();
      if (done()) return;
      ChildProcess* const child = supervisor_->child();
      ASSERT_NE(child, nullptr) << "no child, and not what the test waits for";
      pollfd fds[] = {{child->exit_fd(), POLLIN, 0}, {child->output_fd(), POLLIN, 0}};
      ASSERT_GT(poll(fds, 2, 60'000), 0) << "waited for the child in vain";
    }
  }
  void StepUntilEnded(size_t times) {
    StepUntil([&] { return notes_.ends.size() >= times; });
  }

  ManualClock clock_;
  SeededRandom random_{11};
  Notes notes_;
  std::unique_ptr<Supervisor> supervisor_;
};

TEST_F(SupervisorTest, OneThatEndsIsStartedAgainAfterAPauseThatGrows) {
  Make({.child = Shell("echo hi; exit 1"),
        .backoff = {.first = milliseconds(100), .longest = milliseconds(400)}});
  const std::vector<int64_t> longest = {100, 200, 400, 400, 400};
  for (size_t i = 0; i < longest.size(); ++i) {
    StepUntilEnded(i + 1);
    ASSERT_EQ(supervisor_->state(), State::kPausing);
    const std::optional<milliseconds> pause = supervisor_->Step();
    ASSERT_TRUE(pause);
    EXPECT_THAT(pause->count(), AllOf(Ge(longest[i] * 3 / 4), Le(longest[i])));
    clock_.AdvanceMillis(pause->count() - 1);
    EXPECT_EQ(supervisor_->Step(), milliseconds(1));
    clock_.AdvanceMillis(1);
  }
  EXPECT_EQ(notes_.starts, 5);
  EXPECT_EQ(notes_.output, "hi\nhi\nhi\nhi\nhi\n");
  EXPECT_EQ(notes_.ends.back(), "exited with code 1");
}

TEST_F(SupervisorTest, OneThatWasWellForAWhileStartsAnew) {
  SupervisorOptions options{
      .child = Shell("trap 'exit 2' TERM; echo ready; while :; do sleep 0.01; done"),
      .backoff = {.first = milliseconds(100)},
      .well_after = seconds(60)};
  Make(options);
  const auto run_for = [&](int64_t ms) {
    const size_t before = notes_.output.size();
    StepUntil([&] { return notes_.output.size() > before; });
    clock_.AdvanceMillis(ms);
    supervisor_->child()->Terminate(seconds(5));
    StepUntilEnded(notes_.ends.size() + 1);
    const int64_t failures = supervisor_->failures();
    clock_.AdvanceMillis(supervisor_->Step()->count());
    return failures;
  };
  EXPECT_EQ(run_for(0), 1);
  EXPECT_EQ(run_for(59'999), 2);
  EXPECT_EQ(run_for(10), 3);
  EXPECT_EQ(run_for(60'000), 1);
  EXPECT_EQ(run_for(10), 2);
}

TEST_F(SupervisorTest, GivesUpAfterAsManyFailuresAsItIsTold) {
  Make({.child = {.arguments = {"/no/such/program"}}, .max_failures = 3});
  for (int i = 0; i < 2; ++i) {
    const std::optional<milliseconds> pause = supervisor_->Step();
    ASSERT_TRUE(pause);
    clock_.AdvanceMillis(pause->count());
  }
  EXPECT_FALSE(supervisor_->Step());
  EXPECT_EQ(supervisor_->state(), State::kGivenUp);
  EXPECT_THAT(notes_.ends, SizeIs(3));
  EXPECT_THAT(notes_.ends[0], StartsWith("cannot start /no/such/program"));
  clock_.AdvanceMillis(1'000'000);
  EXPECT_FALSE(supervisor_->Step());
  EXPECT_EQ(notes_.starts, 0);
}

TEST_F(SupervisorTest, StoppingEndsTheChildAndIsNotAFailureToRetry) {
  Make({.child = Shell("trap '' TERM; echo ready; while :; do sleep 1000; done"),
        .grace = seconds(3)});
  StepUntil([&] { return !notes_.output.empty(); });
  supervisor_->Stop();
  supervisor_->Stop();
  EXPECT_EQ(supervisor_->state(), State::kStopping);
  EXPECT_EQ(supervisor_->Step(), seconds(3));
  clock_.AdvanceMillis(3'000);
  StepUntilEnded(1);
  EXPECT_EQ(supervisor_->state(), State::kStopped);
  EXPECT_THAT(notes_.ends, ElementsAre("was killed by signal 9"));
}

TEST_F(SupervisorTest, StoppingInAPauseStartsNothing) {
  Make({.child = Shell("exit 1")});
  StepUntilEnded(1);
  supervisor_->Stop();
  EXPECT_EQ(supervisor_->state(), State::kStopped);
  clock_.AdvanceMillis(1'000'000);
  EXPECT_FALSE(supervisor_->Step());
  EXPECT_EQ(notes_.starts, 1);
}

TEST_F(SupervisorTest, WhatItWroteLastIsToldBeforeItsEnd) {
  Make({.child = Shell("head -c 60000 /dev/zero; echo oh >&2; exit 4")});
  StepUntilEnded(1);
  EXPECT_EQ(notes_.output.size(), 60'000U);
  EXPECT_EQ(notes_.errors, "oh\n");
}

TEST_F(SupervisorTest, AStepReadsABoundedPartOfAFlood) {
  Make({.child = {.arguments = {"/bin/cat", "/dev/zero"}}});
  size_t last = 0;
  while (last < 2'000'000) {
    (void)supervisor_->Step();
    EXPECT_LE(notes_.output.size() - last, 4U * 65'536);
    last = notes_.output.size();
  }
  supervisor_->child()->Kill();
  StepUntilEnded(1);
}

// The model: what the state machine may do next, whatever children and clock do.
TEST_F(SupervisorTest, KeepsItsPromisesUnderRandomOrders) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SeededRandom dice(seed);
    notes_ = {};
    Make({.child = Shell("exit " + std::to_string(seed % 3)),
          .backoff = {.first = milliseconds(10), .longest = milliseconds(80)},
          .well_after = milliseconds(50),
          .max_failures = seed % 2 == 0 ? std::optional<int64_t>(4) : std::nullopt});
    for (int i = 0; i < 60 && !supervisor_->over(); ++i) {
      const State before = supervisor_->state();
      const size_t ends = notes_.ends.size();
      const int starts = notes_.starts;
      const std::optional<milliseconds> wait = supervisor_->Step();
      EXPECT_LE(notes_.starts - starts, 1);
      EXPECT_LE(notes_.ends.size() - ends, 1U);
      if (supervisor_->state() == State::kPausing) {
        ASSERT_TRUE(wait);
        EXPECT_LE(*wait, milliseconds(80));
      }
      if (before == State::kRunning) {
        EXPECT_EQ(notes_.starts, starts);
      }
      EXPECT_EQ(supervisor_->child() != nullptr,
                notes_.starts > static_cast<int>(notes_.ends.size()));
      clock_.AdvanceMillis(static_cast<int64_t>(dice.Below(40)));
      if (dice.Below(40) == 0) supervisor_->Stop();
    }
    supervisor_.reset();
  }
}

// --- The thread ----------------------------------------------------------------------------------

struct Told {
  std::mutex mutex;
  std::condition_variable changed;
  std::string output;
  int ends = 0;
  bool gone = false;

  void Await(const char* what, const std::function<bool()>& done) {
    std::unique_lock lock(mutex);
    EXPECT_TRUE(changed.wait_for(lock, seconds(60), done)) << "waited for " << what;
  }
};

class Teller final : public ChildWatcher {
 public:
  explicit Teller(Told& told) : told_(told) {}
  ~Teller() override {
    Change([&] { told_.gone = true; });
  }
  void Output(std::string_view bytes) override {
    Change([&] { told_.output += bytes; });
  }
  void Ended(const ChildExit& /*exit*/) override {
    Change([&] { ++told_.ends; });
  }

 private:
  void Change(const std::function<void()>& change) {
    const std::lock_guard lock(told_.mutex);
    change();
    told_.changed.notify_all();
  }
  Told& told_;
};

class ChildKeeperTest : public ::testing::Test {
 protected:
  ManualClock clock_;
  SeededRandom random_{3};
  Told a_;
  Told b_;
  ChildKeeper keeper_{clock_, random_, Log::Silent()};
};

TEST_F(ChildKeeperTest, KeepsManyAndStartsThemAgain) {
  keeper_.Add("a", {.child = Shell("echo a; exit 1")}, std::make_unique<Teller>(a_));
  keeper_.Add("b", {.child = Shell("echo b; sleep 1000")}, std::make_unique<Teller>(b_));
  b_.Await("b to run", [&] { return b_.output == "b\n"; });
  for (int ends = 1; ends <= 3; ++ends) {
    a_.Await("a to end", [&] { return a_.ends == ends; });
    clock_.AdvanceMillis(30'000);
    keeper_.Wake();
  }
  keeper_.Stop();
  EXPECT_EQ(b_.ends, 0);
  EXPECT_TRUE(a_.gone);
  EXPECT_TRUE(b_.gone);
}

TEST_F(ChildKeeperTest, OneThatIsRemovedIsAskedToEndAndForgotten) {
  const auto id =
      keeper_.Add("a", {.child = Shell("trap '' TERM; echo a; while :; do sleep 1000; done")},
                  std::make_unique<Teller>(a_));
  a_.Await("a to run", [&] { return !a_.output.empty(); });
  keeper_.Remove(id);
  keeper_.Remove(12'345);
  keeper_.Add("b", {.child = Shell("echo b; sleep 1000")}, std::make_unique<Teller>(b_));
  b_.Await("the thread to have come round", [&] { return !b_.output.empty(); });
  clock_.AdvanceMillis(5'000);
  keeper_.Wake();
  a_.Await("a to be gone", [&] { return a_.gone && a_.ends == 1; });
}

TEST_F(ChildKeeperTest, StoppingDoesNotWaitForTheUnwilling) {
  keeper_.Add("a", {.child = Shell("trap '' TERM; echo a; while :; do sleep 1000; done")},
              std::make_unique<Teller>(a_));
  a_.Await("a to run", [&] { return !a_.output.empty(); });
  keeper_.Stop();  // and time has not moved
  EXPECT_TRUE(a_.gone);
  keeper_.Stop();
}

}  // namespace
}  // namespace cairn::outside
