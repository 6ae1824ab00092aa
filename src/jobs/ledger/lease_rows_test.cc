// Leases that were given out together stand in one due row, and end as if each had its own.
#include "jobs/ledger/lease_rows.h"

#include <gtest/gtest.h>

#include <set>

#include "jobs/testing/job_server.h"

namespace cairn::jobs {
namespace {

using testing::JobServer;

class LeaseRowsTest : public ::testing::Test {
 protected:
  ~LeaseRowsTest() override { server_.ExpectSound(); }

  std::vector<JobServer::Leased> EnqueueAndFetch(int count) {
    for (int i = 0; i < count; ++i) server_.Enqueue("q");
    auto jobs = server_.Fetch("q", count);
    EXPECT_EQ(jobs.size(), static_cast<size_t>(count));
    return jobs;
  }
  // How many jobs each due row of a lease is about; 0: the one that it names.
  std::vector<size_t> Rows() {
    std::vector<size_t> rows;
    const auto snapshot = server_.store().Read();
    const auto scanned =
        (*snapshot)->Scan(store::Range::Prefix(store::Space::kJobs, family::kDue), {},
                          [&](BytesView key, BytesView value) {
                            const auto entry = DecodeDueKey(key);
                            if (entry && entry->kind == static_cast<uint8_t>(DueKind::kLease)) {
                              rows.push_back(DecodeLeaseRow(value).size());
                            }
                            return true;
                          });
    EXPECT_TRUE(scanned.ok());
    return rows;
  }
  void AckTogether(const std::vector<JobServer::Leased>& jobs) {
    std::vector<std::string> args = {"JOB.ACKM"};
    for (const auto& job : jobs) args.insert(args.end(), {job.id, job.token});
    for (const auto& reply : server_.Value(args).items) EXPECT_FALSE(reply.is_error());
  }

  using Sizes = std::vector<size_t>;
  JobServer server_;
};

TEST_F(LeaseRowsTest, AJobFetchedAloneHasARowOfItsOwn) {
  const auto jobs = EnqueueAndFetch(1);
  EXPECT_EQ(Rows(), (Sizes{0}));
  server_.Ack(jobs[0]);
  EXPECT_EQ(Rows(), Sizes());
}

TEST_F(LeaseRowsTest, JobsFetchedTogetherShareRowsThatGoWithThem) {
  const auto jobs = EnqueueAndFetch(2 * kLeasesPerRow + 3);
  EXPECT_EQ(Rows(), (Sizes{kLeasesPerRow, kLeasesPerRow, 3}));
  std::set<std::string> tokens;
  for (const auto& job : jobs) tokens.insert(job.token);
  EXPECT_EQ(tokens.size(), 3U);
  server_.ExpectSound();
  AckTogether(jobs);
  EXPECT_EQ(Rows(), Sizes());
}

TEST_F(LeaseRowsTest, AcknowledgedOneByOneTheyLeaveTheRowOneByOne) {
  auto jobs = EnqueueAndFetch(4);
  server_.Ack(jobs[1]);
  EXPECT_EQ(Rows(), (Sizes{3}));
  server_.ExpectSound();
  AckTogether({jobs[3], jobs[0]});
  EXPECT_EQ(Rows(), (Sizes{1}));
  server_.ExpectSound();
  server_.Ack(jobs[2]);
  EXPECT_EQ(Rows(), Sizes());
}

TEST_F(LeaseRowsTest, WhenTheLeaseLapsesOnlyThoseThatStillHaveItAreReclaimed) {
  const auto jobs = EnqueueAndFetch(5);
  server_.Ack(jobs[0]);
  server_.clock().AdvanceMillis(1'000);
  server_.Run({"JOB.HEARTBEAT", jobs[1].id, "TOKEN", jobs[1].token});
  server_.Run({"JOB.CANCEL", jobs[2].id});
  EXPECT_EQ(Rows(), (Sizes{2, 0}));
  server_.ExpectSound();
  server_.Advance(59'020);
  EXPECT_EQ(server_.State(jobs[0].id), "completed");
  EXPECT_EQ(server_.State(jobs[1].id), "active");
  EXPECT_EQ(server_.State(jobs[2].id), "cancelled");
  EXPECT_EQ(server_.State(jobs[3].id), "pending");
  EXPECT_EQ(server_.State(jobs[4].id), "pending");
  EXPECT_EQ(Rows(), (Sizes{0}));
  EXPECT_TRUE(server_.Ack(jobs[3]).starts_with("(error) LEASE_LOST"));
  EXPECT_EQ(server_.Ack(jobs[1]), "OK");
}

TEST_F(LeaseRowsTest, OneThatIsFetchedAgainHasAnotherToken) {
  const auto jobs = EnqueueAndFetch(2);
  server_.Run({"JOB.SNOOZE", jobs[0].id, "0", "TOKEN", jobs[0].token});
  const auto again = server_.Fetch("q").at(0);
  EXPECT_EQ(again.id, jobs[0].id);
  EXPECT_NE(again.token, jobs[0].token);
  EXPECT_TRUE(server_.Ack(jobs[0]).starts_with("(error) LEASE_LOST"));
  EXPECT_EQ(server_.Ack(jobs[1]), "OK");
  EXPECT_EQ(server_.Ack(again), "OK");
}

// Its name tells of another queue than the row does.
TEST_F(LeaseRowsTest, OneThatWasMovedHereIsReclaimedLikeTheOthers) {
  const std::string moved = server_.Enqueue("elsewhere");
  server_.Run({"JOB.MOVE", moved, "q"});
  EnqueueAndFetch(3);
  EXPECT_EQ(Rows(), (Sizes{3}));
  EXPECT_EQ(server_.State(moved), "active");
  server_.Advance(60'020);
  EXPECT_EQ(server_.Count("q", "pending"), 4);
  EXPECT_EQ(Rows(), Sizes());
}

TEST_F(LeaseRowsTest, AttemptsOfOtherLengthsStandElsewhere) {
  server_.Enqueue("q");
  server_.Enqueue("q", "{}", {"TIMEOUT", "500", "RETRIES", "0"});
  server_.Enqueue("q");
  EXPECT_EQ(server_.Fetch("q", 3).size(), 3U);
  EXPECT_EQ(Rows(), (Sizes{0, 0, 0}));
  server_.Advance(520);
  EXPECT_EQ(server_.Count("q", "dead"), 1);
  EXPECT_EQ(server_.Count("q", "active"), 2);
}

// Their ends reach further than their names: batch, chain, a job that waits for them.
TEST_F(LeaseRowsTest, WhatFollowsFromALapsedLeaseFollowsForEach) {
  server_.Run({"QUEUE.CONFIG", "q", R"({"max_reclaims":0})"});
  const std::string batch = server_.Value({"JOB.BATCHOPEN", "done"}).text;
  const std::string chain =
      R"({"steps":[{"queue":"q","payload":{}},{"queue":"next","payload":{}}],)"
      R"("on_failure":{"queue":"sorry","payload":{}}})";
  server_.Enqueue("q", "{}", {"BATCH", batch});
  server_.Enqueue("q", "{}", {"CHAIN", chain});
  const std::string awaited = server_.Enqueue("q");
  const std::string waiting = server_.Enqueue("later", "{}", {"DEPENDS", "1", awaited});
  server_.Run({"JOB.BATCHSEAL", batch});
  EXPECT_EQ(server_.Fetch("q", 3).size(), 3U);
  EXPECT_EQ(Rows(), (Sizes{3}));
  server_.Advance(60'020);
  EXPECT_EQ(server_.Count("q", "dead"), 3);
  EXPECT_EQ(server_.Count("done", "pending"), 1);
  EXPECT_EQ(server_.Count("sorry", "pending"), 1);
  EXPECT_EQ(server_.State(waiting), "dead");
  EXPECT_EQ(Rows(), Sizes());
}

TEST_F(LeaseRowsTest, EachQueueHasItsOwnRow) {
  for (const char* queue : {"a", "b"}) {
    for (int i = 0; i < 2; ++i) server_.Enqueue(queue);
  }
  const auto reply = server_.Value({"JOB.FETCH", "COUNT", "4", "QUEUES", "a", "b"});
  EXPECT_EQ(reply.items.size(), 4U);
  EXPECT_EQ(Rows(), (Sizes{2, 2}));
  server_.Run({"QUEUE.DELETE", "a"});
  EXPECT_EQ(Rows(), (Sizes{2}));
}

}  // namespace
}  // namespace cairn::jobs
