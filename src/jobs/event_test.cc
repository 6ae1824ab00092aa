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

std::vector<Event> EventsOf(JobServer& server, const std::string& id) {
  auto snapshot = server.store().Read();
  Result<std::vector<Event>> events = ReadEvents(**snapshot, 0, 1'000);
  EXPECT_TRUE(events.ok());
  std::erase_if(*events, [&](const Event& event) { return event.job != id; });
  return std::move(*events);
}

TEST(EventTest, TheCompletionOfAJobThatIsNotKeptTellsItsResult) {
  JobServer server;
  server.Run({"QUEUE.CONFIG", "q", R"({"retention_ms":0})"});
  const std::string with = server.Enqueue("q");
  const std::string without = server.Enqueue("q");
  server.Ack(server.Fetch("q").at(0), R"({"n":[1]})");
  server.Run({"JOB.ACK", without, "TOKEN", server.Fetch("q").at(0).token});
  EXPECT_EQ(EventsOf(server, with).back().data, R"({"removed":true,"result":{"n":[1]}})");
  EXPECT_EQ(EventsOf(server, without).back().data, R"({"removed":true})");
  auto snapshot = server.store().Read();
  const auto removal = FindRemoval(**snapshot, with, 0);
  ASSERT_TRUE(removal.ok() && *removal);
  EXPECT_EQ((*removal)->result, R"({"n":[1]})");
  EXPECT_EQ((*FindRemoval(**snapshot, without, 0))->result, "");
  EXPECT_FALSE(*FindRemoval(**snapshot, "job_none", 0));
}

TEST(EventTest, DataIsAsDeepAsItWasGiven) {
  JobServer server;
  const std::string id = server.Enqueue("q");
  const std::string deep = std::string(200, '[') + std::string(200, ']');
  const auto job = server.Fetch("q").at(0);
  server.Run({"JOB.HEARTBEAT", id, "TOKEN", job.token, "PROGRESS", deep});
  EXPECT_EQ(EventsOf(server, id).back().data, deep);
}

TEST(EventTest, NamesWithQuotesComeBack) {
  JobServer server;
  const std::string queue = R"(a "quoted\" one)";
  const std::string id = server.Enqueue(queue);
  EXPECT_EQ(EventsOf(server, id).back().queue, queue);
}

TEST(EventTest, OtherRowsAreNoEvents) {
  const Bytes key = EventKey(7);
  EXPECT_TRUE(DecodeEvent(key, R"({"at_ns":1,"type":"started"})").ok());
  for (const char* row :
       {"", "{", R"({"at_ns":,"type":"started"})", R"({"at_ns":1,"type":"begun"})",
        R"({"at_ns":1,"type":"started")", R"({"at_ns":1,"type":"started","job_id":"x)",
        R"({"at_ns":1,"type":"started","data":})", R"({"at_ns":1,"type":"started","more":1})"}) {
    EXPECT_FALSE(DecodeEvent(key, row).ok()) << row;
  }
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
