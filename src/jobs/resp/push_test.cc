// JOB.SUBSCRIBE: what a worker is pushed, when, and how much of it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "jobs/testing/job_server.h"
#include "tests/support/await.h"

namespace cairn::jobs {
namespace {

using doors::testing::TestClient;
using net::RespValue;
using ::testing::HasSubstr;
using testing::JobServer;

// A connection that speaks RESP3 and keeps what it was pushed apart from the replies.
class Worker {
 public:
  explicit Worker(JobServer& server) : client_(server.Connect()) { Run({"HELLO", "3"}); }

  std::string Run(const std::vector<std::string>& args) {
    EXPECT_TRUE(client_.raw().Send(args).ok());
    while (true) {
      RespValue reply = Next();
      if (reply.type != RespValue::Type::kPush) return reply.ToString();
      pushed_.push_back(std::move(reply));
    }
  }
  std::string Subscribe(const std::string& count = "1", const std::string& lease = "60000") {
    return Run({"JOB.SUBSCRIBE", "COUNT", count, "LEASE", lease, "WORKER", "w1", "QUEUES", "q"});
  }

  struct Got {
    std::string id;
    std::string payload;
    std::string token;
  };
  // The next job; the client's own timeout fails the test if there is none.
  Got Take() {
    if (pushed_.empty()) pushed_.push_back(Next());
    const RespValue frame = pushed_.front();
    pushed_.erase(pushed_.begin());
    EXPECT_EQ(frame.type, RespValue::Type::kPush) << frame.ToString();
    EXPECT_EQ(frame.items.size(), 2U) << frame.ToString();
    if (frame.items.size() != 2) return {};
    EXPECT_EQ(frame.items[0].text, "job");
    const RespValue& job = frame.items[1];
    EXPECT_EQ(job.type, RespValue::Type::kMap);
    return {job.items[1].text, job.items[5].text, job.items[11].text};
  }
  std::string TakePayload() { return Take().payload; }
  std::string Ack(const Got& job) { return Run({"JOB.ACK", job.id, "TOKEN", job.token}); }

  // Whether something was pushed that nobody has taken. Each PING is answered behind what its loop
  // had to do, and a push takes fewer rounds of the loop than these.
  bool HasMore() {
    for (int round = 0; round < 8; ++round) Run({"PING"});
    return !pushed_.empty();
  }
  void Close() { client_.raw().Close(); }

 private:
  RespValue Next() {
    const auto reply = client_.raw().Receive();
    EXPECT_TRUE(reply.ok()) << reply.error().message;
    return reply.ok() ? *reply : RespValue();
  }

  TestClient client_;
  std::vector<RespValue> pushed_;
};

class PushTest : public ::testing::Test {
 protected:
  ~PushTest() override { server_.ExpectSound(); }

  JobServer server_;
};

TEST_F(PushTest, JobsArePushedInOrderAsTheyCome) {
  Worker worker(server_);
  for (int i = 0; i < 3; ++i) server_.Enqueue("q", fmt::to_string(i));
  EXPECT_EQ(worker.Subscribe("100"), "OK");
  for (int i = 3; i < 20; ++i) server_.Enqueue("q", fmt::to_string(i));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(worker.TakePayload(), fmt::to_string(i));
  server_.Enqueue("q", "20", {"PRIORITY", "high"});
  EXPECT_EQ(worker.TakePayload(), "20");
  EXPECT_EQ(server_.Count("q", "active"), 21);
}

TEST_F(PushTest, TheWindowBoundsWhatAWorkerHasAndAnswersMakeRoom) {
  for (int i = 0; i < 8; ++i) server_.Enqueue("q", fmt::to_string(i));
  Worker worker(server_);
  worker.Subscribe("2");
  const Worker::Got a = worker.Take();
  const Worker::Got b = worker.Take();
  EXPECT_FALSE(worker.HasMore());
  EXPECT_EQ(server_.Count("q", "active"), 2);

  EXPECT_EQ(worker.Ack(b), "OK");
  const Worker::Got c = worker.Take();
  EXPECT_EQ(c.payload, "2");
  EXPECT_FALSE(worker.HasMore());
  worker.Run({"JOB.FAIL", a.id, "TOKEN", a.token, "ERROR", "boom"});
  const Worker::Got d = worker.Take();
  worker.Run({"JOB.SNOOZE", c.id, "60000", "TOKEN", c.token});
  const Worker::Got e = worker.Take();
  worker.Run({"JOB.ACKM", d.id, d.token, e.id, e.token});
  const Worker::Got f = worker.Take();
  const Worker::Got g = worker.Take();
  EXPECT_EQ(f.payload + g.payload, "56");
  // A heartbeat is no answer.
  worker.Run({"JOB.HEARTBEAT", f.id, "TOKEN", f.token});
  EXPECT_FALSE(worker.HasMore());
  // What is answered in a transaction counts.
  worker.Run({"MULTI"});
  worker.Run({"JOB.ACK", g.id, "TOKEN", g.token});
  worker.Run({"EXEC"});
  EXPECT_EQ(worker.TakePayload(), "7");
  EXPECT_FALSE(worker.HasMore());
  EXPECT_EQ(server_.Count("q", "active"), 2);
}

TEST_F(PushTest, ATransactionsCommitWakes) {
  Worker worker(server_);
  worker.Subscribe("10");
  EXPECT_FALSE(worker.HasMore());
  TestClient producer = server_.Connect();
  producer.Run({"MULTI"});
  producer.Run({"JOB.ENQUEUE", "q", "1"});
  producer.Run({"JOB.ENQUEUE", "q", "2"});
  EXPECT_FALSE(worker.HasMore());
  producer.Run({"EXEC"});
  EXPECT_EQ(worker.TakePayload(), "1");
  EXPECT_EQ(worker.TakePayload(), "2");
  // The connection itself may be the one that enqueues.
  worker.Run({"JOB.ENQUEUE", "q", "3"});
  EXPECT_EQ(worker.TakePayload(), "3");
}

TEST_F(PushTest, TimeMakesJobsRunnable) {
  Worker worker(server_);
  worker.Subscribe("10");
  server_.Enqueue("q", "1", {"DELAY", "1000"});
  EXPECT_FALSE(worker.HasMore());
  server_.Advance(1'100);
  EXPECT_EQ(worker.TakePayload(), "1");
}

TEST_F(PushTest, SubscribersTakeTurnsWithThoseWhoFetch) {
  Worker first(server_);
  Worker second(server_);
  first.Subscribe("1");
  second.Subscribe("1");
  server_.Enqueue("q", "1");
  server_.Enqueue("q", "2");
  server_.Enqueue("q", "3");
  EXPECT_THAT((std::vector{first.TakePayload(), second.TakePayload()}),
              ::testing::UnorderedElementsAre("1", "2"));
  EXPECT_EQ(server_.Fetch("q").at(0).payload, "3");
}

TEST_F(PushTest, AnEndLeavesJobsToTheirLeases) {
  Worker worker(server_);
  worker.Subscribe("5", "1000");
  const std::string id = server_.Enqueue("q", "1");
  const Worker::Got job = worker.Take();
  EXPECT_EQ(worker.Run({"JOB.UNSUBSCRIBE"}), "(integer) 1");
  EXPECT_EQ(worker.Run({"JOB.UNSUBSCRIBE"}), "(integer) 0");
  const std::string next = server_.Enqueue("q", "2");
  EXPECT_FALSE(worker.HasMore());
  // One that was taken for it in the last moment is put back.
  cairn::testing::Await("the next job to be free",
                        [&] { return server_.State(next) == "pending"; });
  EXPECT_EQ(server_.State(id), "active");
  EXPECT_EQ(worker.Ack(job), "OK");

  Worker gone(server_);
  gone.Subscribe("5", "1000");
  EXPECT_EQ(gone.TakePayload(), "2");
  gone.Close();
  server_.Enqueue("q", "3");
  // The line has forgotten it, or a job that was taken for it in the last moment is put back.
  cairn::testing::Await("the job to be free", [&] {
    const auto fetched = server_.Fetch("q");
    return !fetched.empty() && fetched[0].payload == "3";
  });
  EXPECT_EQ(server_.State(next), "active");
  server_.Advance(1'100);
  EXPECT_EQ(server_.State(next), "pending");
}

TEST_F(PushTest, AWindowOpensWhenLeasesLapse) {
  Worker worker(server_);
  worker.Subscribe("1", "200");
  server_.Enqueue("q", "1");
  const Worker::Got first = worker.Take();
  server_.Enqueue("q", "2");
  EXPECT_FALSE(worker.HasMore());
  server_.Advance(300);  // the job is pending again, behind the other
  EXPECT_EQ(worker.TakePayload(), "2");
  EXPECT_THAT(worker.Ack(first), HasSubstr("LEASE_LOST"));
}

TEST_F(PushTest, ResetAndAnotherProtocolEndIt) {
  Worker worker(server_);
  worker.Subscribe("5");
  worker.Run({"RESET"});
  const std::string id = server_.Enqueue("q", "1");
  EXPECT_FALSE(worker.HasMore());
  EXPECT_EQ(server_.State(id), "pending");
  worker.Run({"HELLO", "3"});
  worker.Subscribe("1");
  EXPECT_EQ(worker.TakePayload(), "1");
  worker.Run({"HELLO", "2"});
  server_.Enqueue("q", "2");
  EXPECT_FALSE(worker.HasMore());
}

TEST_F(PushTest, WhatCannotBeIsRefused) {
  TestClient old = server_.Connect();
  EXPECT_EQ(old.Run({"JOB.SUBSCRIBE", "QUEUES", "q"}),
            "(error) VALIDATION_ERROR jobs are pushed over RESP3: say HELLO 3 first, or fetch with "
            "BLOCK");
  EXPECT_EQ(old.Run({"JOB.UNSUBSCRIBE"}), "(integer) 0");
  Worker worker(server_);
  EXPECT_THAT(worker.Run({"JOB.SUBSCRIBE", "COUNT", "513", "QUEUES", "q"}),
              HasSubstr("VALIDATION_ERROR COUNT is 1 to 512"));
  EXPECT_THAT(worker.Run({"JOB.SUBSCRIBE", "LEASE", "1", "QUEUES", "q"}),
              HasSubstr("VALIDATION_ERROR the lease must be"));
  EXPECT_THAT(worker.Run({"JOB.SUBSCRIBE", "BLOCK", "0", "QUEUES", "q"}),
              HasSubstr("VALIDATION_ERROR BLOCK is for JOB.FETCH"));
  EXPECT_THAT(worker.Run({"JOB.SUBSCRIBE", "COUNT", "1"}), HasSubstr("VALIDATION_ERROR queues"));
  EXPECT_EQ(worker.Subscribe(), "OK");
  EXPECT_THAT(worker.Subscribe(), HasSubstr("VALIDATION_ERROR the connection is subscribed"));
  worker.Run({"MULTI"});
  EXPECT_THAT(worker.Run({"JOB.SUBSCRIBE", "QUEUES", "q"}), HasSubstr("(error)"));
}

TEST_F(PushTest, AServerStopsWithSubscribers) {
  Worker idle(server_);
  idle.Subscribe("5");
  server_.Enqueue("q", "1");
  Worker full(server_);
  EXPECT_EQ(idle.TakePayload(), "1");
  full.Subscribe("1");
  server_.Enqueue("q", "2");
  server_.Restart();
  EXPECT_GE(server_.Count("q", "active") + server_.Count("q", "pending"), 2);
}

}  // namespace
}  // namespace cairn::jobs
