#include "jobs/event.h"

#include <gtest/gtest.h>

#include "jobs/testing/job_server.h"

namespace cairn::jobs {
namespace {

using testing::JobServer;

std::vector<std::string> TypesAfter(JobServer& server, uint64_t number) {
  auto snapshot = server.store().Read();
  EXPECT_TRUE(snapshot.ok());
  const auto events = ReadEvents(**snapshot, number, 1'000);
  EXPECT_TRUE(events.ok());
  std::vector<std::string> types;
  for (const Event& event : *events) types.emplace_back(EventTypeName(event.type));
  return types;
}

TEST(EventTest, EveryTransitionIsInTheLogInOrder) {
  JobServer server;
  const std::string id = server.Enqueue("q", "{}", {"RETRIES", "1", "BASE", "1000"});
  server.Fail(server.Fetch("q").at(0));
  server.Advance(1'020);
  server.Run({"JOB.HOLD", id, "why \"so\""});
  server.Run({"JOB.APPROVE", id});
  server.Ack(server.Fetch("q").at(0));
  server.Run({"JOB.DELETE", id});
  EXPECT_EQ(TypesAfter(server, 0),
            (std::vector<std::string>{"enqueued", "started", "failed", "retrying", "promoted",
                                      "held", "approved", "started", "completed", "deleted"}));
  auto snapshot = server.store().Read();
  const auto events = ReadEvents(**snapshot, 0, 1'000);
  EXPECT_EQ((*events)[5].data, R"({"reason":"why \"so\""})");
  EXPECT_EQ((*events)[5].job, id);
  EXPECT_EQ((*events)[5].queue, "q");
  EXPECT_EQ(*NewestEvent(**snapshot), events->back().number);
}

TEST(EventTest, OldEventsAreRemoved) {
  JobServer server;
  ASSERT_TRUE(DueTimers::StartTidying(server.store()).ok());
  server.Enqueue("q");
  server.Advance(kEventsKeptMs - 60'000);
  server.Enqueue("q");
  EXPECT_EQ(TypesAfter(server, 0).size(), 2U);
  server.Advance(130'000);
  EXPECT_EQ(TypesAfter(server, 0).size(), 1U);
  auto snapshot = server.store().Read();
  EXPECT_GT(*RemovedEvents(**snapshot), 0U);
  server.ExpectSound();
}

TEST(EventTest, TypesHaveNames) {
  for (int type = 0; type <= static_cast<int>(EventType::kBatchCompleted); ++type) {
    EXPECT_EQ(ParseEventType(EventTypeName(static_cast<EventType>(type))),
              static_cast<EventType>(type));
  }
  EXPECT_FALSE(ParseEventType("nope"));
}

}  // namespace
}  // namespace cairn::jobs
