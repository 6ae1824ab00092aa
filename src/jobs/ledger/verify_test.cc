// What JOB.VERIFY finds: each test leaves the rows as no operation does, by hand.
#include "jobs/ledger/verify.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "jobs/ledger/due.h"
#include "jobs/model/job.h"
#include "jobs/model/keys.h"
#include "jobs/model/queue_state.h"
#include "jobs/testing/job_server.h"

namespace cairn::jobs {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::JobServer;

class VerifyTest : public ::testing::Test {
 protected:
  std::vector<std::string> Problems() {
    const auto snapshot = server_.store().Read();
    EXPECT_TRUE(snapshot.ok());
    const Result<VerifyReport> report = Verify(**snapshot);
    EXPECT_TRUE(report.ok()) << report.error().message;
    return report.ok() ? report->problems : std::vector<std::string>();
  }
  void Change(const std::function<Result<void>(store::Transaction&)>& body) {
    const auto commit = server_.store().Run(store::Scopes::Exclusive(), body);
    ASSERT_TRUE(commit.ok()) << commit.error().message;
  }
  GateState GateOf(Gate gate, std::string_view key) {
    const auto snapshot = server_.store().Read();
    const auto value = (*snapshot)->Get(InJobs(GateKey("q", gate, key)));
    EXPECT_TRUE(value.ok() && *value) << "no gate of " << key;
    return value.ok() && *value ? *DecodeGateState(**value) : GateState();
  }
  // The gate's row and the documents agree that nobody is inside any more, and yet it is shut.
  void PutGate(Gate gate, std::string_view key, const GateState& state) {
    Change([&](store::Transaction& transaction) -> Result<void> {
      transaction.Put(InJobs(GateKey("q", gate, key)), EncodeGateState(state));
      return {};
    });
  }
  // As Ledger::Erase forgets a job that stands nowhere, but nobody tells the gates.
  void Vanish(const std::string& id) {
    Change([&](store::Transaction& transaction) -> Result<void> {
      CAIRN_ASSIGN_OR_RETURN(const auto document, transaction.Get(InJobs(JobKey(id))));
      CAIRN_ASSIGN_OR_RETURN(const Job job, DecodeJob(id, *document));
      transaction.Delete(InJobs(JobKey(id)));
      transaction.Delete(InJobs(IndexKeyOf(job)));
      CAIRN_ASSIGN_OR_RETURN(auto queue, LoadQueueState(transaction, job.queue));
      --queue->counts[static_cast<size_t>(job.state)];
      --queue->line[static_cast<size_t>(job.priority)];
      transaction.Put(InJobs(QueueStateKey(job.queue)), EncodeQueueState(*queue));
      return {};
    });
  }

  JobServer server_;
};

TEST_F(VerifyTest, FindsAConcurrencyGateLeftShut) {
  const std::string first = server_.Enqueue("q", "{}", {"CONCURRENCY", "k"});
  server_.Enqueue("q", "{}", {"CONCURRENCY", "k"});
  EXPECT_THAT(Problems(), IsEmpty());
  Vanish(first);
  GateState gate = GateOf(Gate::kConcurrency, "k");
  ASSERT_EQ(gate.used, 1);
  ASSERT_EQ(gate.parked, 1);
  gate.used = 0;
  PutGate(Gate::kConcurrency, "k", gate);
  EXPECT_THAT(Problems(),
              ElementsAre(AllOf(HasSubstr("the gate ks|q"), HasSubstr("is shut for 1 "))));
}

TEST_F(VerifyTest, FindsAConcurrencyGateThatAHigherLimitDidNotOpen) {
  server_.Enqueue("q", "{}", {"CONCURRENCY", "k"});
  server_.Enqueue("q", "{}", {"CONCURRENCY", "k"});
  Change([&](store::Transaction& transaction) -> Result<void> {
    transaction.Put(InJobs(QueueConfigKey("q")), R"({"key_concurrency":2})");
    return {};
  });
  EXPECT_THAT(Problems(), ElementsAre(HasSubstr("is shut for 1 ")));
}

TEST_F(VerifyTest, FindsAGroupWhoseTurnNeverComes) {
  const std::string first = server_.Enqueue("q", "{}", {"GROUP", "g"});
  server_.Enqueue("q", "{}", {"GROUP", "g"});
  server_.Enqueue("q", "{}", {"GROUP", "g"});
  EXPECT_THAT(Problems(), IsEmpty());
  Vanish(first);
  GateState gate = GateOf(Gate::kGroup, "g");
  gate.used = 0;
  PutGate(Gate::kGroup, "g", gate);
  EXPECT_THAT(Problems(), ElementsAre(HasSubstr("is shut for 2 ")));
}

class VerifyRateTest : public VerifyTest {
 protected:
  VerifyRateTest() {
    server_.Run({"QUEUE.CONFIG", "q", R"({"key_rate_limit":1,"key_rate_window_ms":1000})"});
    for (int i = 0; i < 3; ++i) server_.Enqueue("q", "{}", {"RATE", "r"});
    EXPECT_EQ(server_.Fetch("q", 3).size(), 1U);
    EXPECT_THAT(Problems(), IsEmpty());
    EXPECT_EQ(GateOf(Gate::kRate, "r").parked, 2);
  }
  void DeleteDueRow() {
    Change([&](store::Transaction& transaction) -> Result<void> {
      transaction.Delete(InJobs(DueKey(GateOf(Gate::kRate, "r").due_ns,
                                       static_cast<uint8_t>(DueKind::kKeyRate), "q", "r")));
      return {};
    });
  }
};

TEST_F(VerifyRateTest, FindsAWindowThatNoTimerOpens) {
  DeleteDueRow();
  EXPECT_THAT(Problems(), ElementsAre(AllOf(HasSubstr("the gate ks|q"), HasSubstr("lacks a row"))));
  GateState gate = GateOf(Gate::kRate, "r");
  gate.due_ns = 0;
  PutGate(Gate::kRate, "r", gate);
  EXPECT_THAT(Problems(), ElementsAre(HasSubstr("is shut for 2 ")));
}

TEST_F(VerifyRateTest, FindsAWindowWithoutALimit) {
  Change([&](store::Transaction& transaction) -> Result<void> {
    transaction.Put(InJobs(QueueConfigKey("q")), "{}");
    return {};
  });
  EXPECT_THAT(Problems(), ElementsAre(HasSubstr("is shut for 2 ")));
}

TEST_F(VerifyTest, FindsAParkedJobThatItsGateHasPassedOver) {
  server_.Enqueue("q", "{}", {"CONCURRENCY", "k"});
  const std::string parked = server_.Enqueue("q", "{}", {"CONCURRENCY", "k"});
  GateState gate = GateOf(Gate::kConcurrency, "k");
  gate.cursor_ns = ~0ULL;
  PutGate(Gate::kConcurrency, "k", gate);
  EXPECT_THAT(Problems(), ElementsAre(parked + " stands before the cursor of its gate"));
}

TEST_F(VerifyTest, FindsAThrottledQueueThatNoTimerWakes) {
  server_.Run({"QUEUE.THROTTLE", "q", "1", "1000"});
  server_.Enqueue("q");
  ASSERT_EQ(server_.Fetch("q").size(), 1U);
  EXPECT_THAT(Problems(), IsEmpty());
  Change([&](store::Transaction& transaction) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(const auto queue, LoadQueueState(transaction, "q"));
    transaction.Delete(
        InJobs(DueKey(queue->throttle_due_ns, static_cast<uint8_t>(DueKind::kThrottle), "q", {})));
    return {};
  });
  EXPECT_THAT(Problems(), ElementsAre("queue q lacks a row"));
}

}  // namespace
}  // namespace cairn::jobs
