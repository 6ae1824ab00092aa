// What runs triggers: on loops of the test's process, beside what the test does to the store.
#include "functions/trigger/runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "doors/resp/instance.h"
#include "functions/testing/trigger_fixture.h"
#include "net/loop.h"
#include "tests/support/await.h"

namespace cairn::functions {
namespace {

using cairn::testing::Await;
using ::testing::HasSubstr;
using testing::kFunction;
using ::testing::SizeIs;

class TriggerRunnerTest : public testing::TriggerTest {
 protected:
  TriggerRunnerTest()
      : instance_({.pool_threads = 2}, *store_, clock_, own_random_, Log::Silent()),
        routes_(instance_.traffic().turns, loops_, instance_.pools().store) {}

  void TearDown() override {
    StopRunner();
    TriggerTest::TearDown();
  }

  void StartRunner() {
    loops_.Start();
    runner_.emplace(TriggerRunner::Parts{.store = *store_,
                                         .routes = routes_,
                                         .loops = loops_,
                                         .clock = clock_,
                                         .random = own_random_,
                                         .log = Log::Silent(),
                                         .seats_prefix = ""});
    runner_->Start();
  }
  void StopRunner() {
    if (!runner_) return;
    runner_->Stop();
    loops_.Stop();
    instance_.pools().Stop();
    runner_.reset();
  }

  void AwaitState(const std::string& id, std::string_view state) {
    Await(std::string("the job to be ").append(state), [&] { return StateOfJob(id) == state; });
  }
  void EndAll() {
    for (const Claimed& claimed : ClaimAll()) EndWith(claimed, Status::kSuccess);
  }

  SeededRandom own_random_{11};
  doors::Instance instance_;
  net::LoopGroup loops_{1};
  doors::RouteStore routes_;
  std::optional<TriggerRunner> runner_;
};

TEST_F(TriggerRunnerTest, JobsAreTakenWhenTheyComeAndWhenABatchHasEnded) {
  StartRunner();
  TriggerConfig trigger = FromQueue();
  trigger.batch_size = 1;
  ASSERT_TRUE(MakeTrigger("mails", trigger).ok());
  const std::string one = Enqueue("mail");
  const std::string two = Enqueue("mail");
  AwaitState(one, "active");
  EXPECT_EQ(StateOfJob(two), "pending");
  EndAll();
  EXPECT_EQ(StateOfJob(one), "completed");
  AwaitState(two, "active");
  EndAll();
  EXPECT_EQ(StateOfJob(two), "completed");
  Await("the figures to say so", [&] { return runner_->figures().batches == 2; });
  EXPECT_EQ(runner_->figures().running, 1U);
}

TEST_F(TriggerRunnerTest, TriggersThatWereThereBeforeTheStartRun) {
  ASSERT_TRUE(MakeTrigger("mails", FromQueue()).ok());
  const std::string id = Enqueue("mail");
  StartRunner();
  AwaitState(id, "active");
  EndAll();
}

TEST_F(TriggerRunnerTest, WhatIsChangedTakesEffect) {
  StartRunner();
  ASSERT_TRUE(MakeTrigger("mails", FromQueue()).ok());
  ASSERT_TRUE(MakeTrigger("others", FromQueue({"others"})).ok());
  Await("both to run", [&] { return runner_->figures().running == 2; });
  ASSERT_TRUE(Change("mails", {.enabled = false}).ok());
  Await("one to run", [&] { return runner_->figures().running == 1; });
  const std::string waits = Enqueue("mail");
  AwaitState(Enqueue("others"), "active");
  EXPECT_EQ(StateOfJob(waits), "pending");
  EndAll();
  ASSERT_TRUE(Change("mails", {.source = FromQueue({"sms"}).source, .enabled = true}).ok());
  AwaitState(Enqueue("sms"), "active");
  EXPECT_EQ(StateOfJob(waits), "pending");
  ASSERT_TRUE(Change("mails", {.source = FromQueue({"mail"}).source, .concurrency = 2}).ok());
  AwaitState(waits, "active");
  EndAll();
  ASSERT_TRUE(Drop("mails").ok());
  ASSERT_TRUE(Drop("others").ok());
  Await("none to run", [&] { return runner_->figures().running == 0; });
}

TEST_F(TriggerRunnerTest, ChangedBackAtOnceItStillRuns) {
  StartRunner();
  ASSERT_TRUE(MakeTrigger("mails", FromQueue()).ok());
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(Change("mails", {.enabled = false}).ok());
    ASSERT_TRUE(Change("mails", {.enabled = true}).ok());
    Enqueue("others");
  }
  const std::string id = Enqueue("mail");
  AwaitState(id, "active");
  EndAll();
}

TEST_F(TriggerRunnerTest, APausedTriggerSaysWhyAndGoesOn) {
  StartRunner();
  const auto enable = [&](bool on) {
    ASSERT_TRUE(Do([&](Context& context) { return SetEnabled(context, kFunction, on); }).ok());
  };
  ASSERT_TRUE(MakeTrigger("mails", FromQueue()).ok());
  enable(false);
  const std::string id = Enqueue("mail");
  Await("the reason to be shown",
        [&] { return Show("mails").state.last_error.find("DISABLED") != std::string::npos; });
  EXPECT_EQ(StateOfJob(id), "pending");
  EXPECT_GT(runner_->figures().paused, 0);
  enable(true);
  AwaitState(id, "active");
  EndAll();
}

TEST_F(TriggerRunnerTest, EventsAreToldWhenTheyHappen) {
  StartRunner();
  ASSERT_TRUE(MakeTrigger("told", From(SourceType::kJobs, {"mail"}, {"enqueued"})).ok());
  const std::string id = Enqueue("mail");
  std::vector<Claimed> claimed;
  Await("the event to be told", [&] {
    claimed = ClaimAll();
    return !claimed.empty();
  });
  ASSERT_THAT(claimed, SizeIs(1));
  EXPECT_THAT(claimed.front().request.event, HasSubstr(id));
  EndWith(claimed.front(), Status::kSuccess);
}

}  // namespace
}  // namespace cairn::functions
