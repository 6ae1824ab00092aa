// How commands read their arguments; what they do is tested beside the operations.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "jobs/model/limits.h"
#include "jobs/testing/job_server.h"

namespace cairn::jobs {
namespace {

using testing::JobServer;

class CommandsTest : public ::testing::Test {
 protected:
  ~CommandsTest() override { server_.ExpectSound(); }

  // The words of `head`, and `word` so often behind them.
  static std::vector<std::string> Words(std::vector<std::string> head, const std::string& word,
                                        size_t times) {
    head.insert(head.end(), times, word);
    return head;
  }

  JobServer server_;
};

TEST_F(CommandsTest, TooManyJobsAreRefusedBeforeTheyAreRead) {
  const std::string refusal = "(error) VALIDATION_ERROR jobs must be 1 to 10000";
  EXPECT_EQ(server_.Run(Words({"JOB.ENQUEUEM", "JOBS"}, "no JSON", kMaxEnqueueBatch + 1)), refusal);
  EXPECT_EQ(server_.Run(Words({"JOB.ENQUEUEM", "q", "PAYLOADS"}, "{}", kMaxEnqueueBatch + 1)),
            refusal);
  EXPECT_EQ(server_.Run({"JOB.ENQUEUEM", "q", "PAYLOADS"}), refusal);
}

TEST_F(CommandsTest, TooManyAcksAreRefused) {
  EXPECT_EQ(server_.Run(Words({"JOB.ACKM"}, "job", 2 * (kMaxAckBatch + 1))),
            "(error) VALIDATION_ERROR acks must be 1 to 512");
  EXPECT_EQ(server_.Run({"JOB.ACKM", "RESULTS", "job", "token"}),
            "(error) VALIDATION_ERROR each job needs its token, and with RESULTS its result");
}

TEST_F(CommandsTest, PayloadsShareTheOptionsBeforeThem) {
  const std::vector<std::string> many = {"JOB.ENQUEUEM", "q",           "PRIORITY",
                                         "high",         "IDEMPOTENCY", "key",
                                         "PAYLOADS",     R"({"n":1})",  R"({"n":2})"};
  const std::string ids = server_.Run(many);
  EXPECT_EQ(server_.Run(many), ids);
  const auto jobs = server_.Fetch("q", 3);
  ASSERT_EQ(jobs.size(), 2U);
  EXPECT_EQ(jobs[0].payload, R"({"n":1})");
  EXPECT_EQ(jobs[1].payload, R"({"n":2})");
  EXPECT_EQ(server_.Job(jobs[1].id).at("priority").as_int64(),
            static_cast<int64_t>(Priority::kHigh));
}

TEST_F(CommandsTest, ABadCallInATransactionIsAnErrorInItsPlace) {
  EXPECT_EQ(server_.Run({"MULTI"}), "OK");
  EXPECT_EQ(server_.Run({"JOB.ENQUEUE", "q", "{}", "DELAY", "soon"}), "QUEUED");
  EXPECT_EQ(server_.Run({"JOB.ENQUEUE", "q", "{}"}), "QUEUED");
  const std::string replies = server_.Run({"EXEC"});
  EXPECT_TRUE(replies.starts_with("[(error) VALIDATION_ERROR DELAY needs a whole number, [\""))
      << replies;
  EXPECT_EQ(server_.Count("q", "pending"), 1);
}

}  // namespace
}  // namespace cairn::jobs
