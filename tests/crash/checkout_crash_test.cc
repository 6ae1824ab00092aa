// A checkout is seats, an order and a job in one MULTI, through three layers of one store. Clients
// check out while the server is killed with -9, again and again: afterwards each checkout is there
// with all three or with none of them, and every one that was acknowledged is there.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/server.h"
#include "tests/support/temp_directory.h"

namespace cairn::testing {
namespace {

constexpr int kRounds = 8;
constexpr int kClients = 16;
constexpr std::string_view kQueue = "payments";
// More seats than can be sold in all rounds, so that nobody is refused.
constexpr std::string_view kHouse =
    R"({"hold_seconds":7200,"sections":[{"name":"A","subsections":4,"rows":500,"cols":500,"price":1}]})";

std::string Payload(const std::string& id) { return fmt::format("\"{}\"", id); }

// What one client sent, and whether it was answered.
using Checkouts = std::map<std::string, bool>;

class CheckoutCrashTest : public ::testing::Test {
 protected:
  // False once the connection is gone.
  static bool CheckOut(net::RespClient& connection, const std::string& id, int client) {
    const std::string section = fmt::format("A-{}", client % 4 + 1);
    const std::string order = "order:" + id;
    const std::vector<std::vector<std::string>> commands = {
        {"MULTI"},
        {"SEAT.RESERVE", "house", id, section, "BEST", "1"},
        {"HSET", order, "status", "waiting"},
        {"JOB.ENQUEUE", std::string(kQueue), Payload(id)},
        {"EXEC"}};
    for (const auto& command : commands) {
      if (!connection.Send(command).ok()) return false;
    }
    for (size_t i = 0; i + 1 < commands.size(); ++i) {
      if (!connection.Receive().ok()) return false;
    }
    const auto done = connection.Receive();
    if (!done.ok()) return false;
    EXPECT_EQ(done->items.size(), 3U) << done->ToString();
    for (const net::RespValue& item : done->items) EXPECT_FALSE(item.is_error()) << item.text;
    return true;
  }

  static void Load(const Server& server, int round, int client, Checkouts& checkouts) {
    auto connection = server.Connect();
    if (!connection.ok()) return;
    for (int number = 0;; ++number) {
      const std::string id = fmt::format("{}.{}.{}", round, client, number);
      checkouts[id] = false;
      if (!CheckOut(*connection, id, client)) return;
      checkouts[id] = true;
    }
  }

  void RunAndKill(int round) {
    Server server = Server::MustStart({.data = directory_ / "data"});
    server.Command({"SEAT.CREATE", "house", kHouse});
    std::vector<Checkouts> told(kClients);
    {
      std::vector<std::jthread> threads;
      for (int i = 0; i < kClients; ++i) {
        threads.emplace_back([&, i] { Load(server, round, i, told[static_cast<size_t>(i)]); });
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(250 + 60 * (round % 4)));
      server.process().Kill();
    }
    for (const Checkouts& checkouts : told) checkouts_.insert(checkouts.begin(), checkouts.end());
  }

  // Takes all jobs that are there.
  static std::set<std::string> FetchJobs(net::RespClient& connection) {
    std::set<std::string> jobs;
    for (;;) {
      const auto fetched =
          connection.Command({"JOB.FETCH", "COUNT", "512", "LEASE", "3600000", "QUEUES", kQueue});
      EXPECT_TRUE(fetched.ok() && !fetched->is_error());
      if (!fetched.ok() || fetched->items.empty()) return jobs;
      for (const net::RespValue& job : fetched->items) {
        for (size_t i = 0; i + 1 < job.items.size(); i += 2) {
          if (job.items[i].text != "payload") continue;
          EXPECT_TRUE(jobs.insert(job.items[i + 1].text).second) << "enqueued twice";
        }
      }
    }
  }

  void Check() {
    Server server = Server::MustStart({.data = directory_ / "data"});
    auto connection = server.Connect();
    ASSERT_TRUE(connection.ok());
    const std::set<std::string> jobs = FetchJobs(*connection);
    uint64_t acknowledged = 0;
    uint64_t unanswered_there = 0;
    for (const auto& [id, answered] : checkouts_) {
      const auto booking = connection->Command({"EXISTS", "booking:" + id});
      const auto order = connection->Command({"EXISTS", "order:" + id});
      ASSERT_TRUE(booking.ok() && order.ok());
      const bool has_job = jobs.contains(Payload(id));
      EXPECT_EQ(booking->integer == 1, has_job) << id;
      EXPECT_EQ(order->integer == 1, has_job) << id;
      if (answered) {
        EXPECT_TRUE(has_job) << "acknowledged and lost: " << id;
        ++acknowledged;
      } else if (has_job) {
        ++unanswered_there;
      }
    }
    EXPECT_EQ(jobs.size(), acknowledged + unanswered_there);
    for (const auto& verify : {std::vector<std::string>{"SEAT.VERIFY", "house"}, {"JOB.VERIFY"}}) {
      const auto report = connection->Command(verify);
      ASSERT_TRUE(report.ok());
      EXPECT_NE(report->text.find("\"sound\":true"), std::string::npos) << report->text;
    }
    fmt::print(
        "kill -9: {} times, {} checkouts of seats, order and job acknowledged, none lost; "
        "of {} others {} are there, whole\n",
        kRounds, acknowledged, checkouts_.size() - acknowledged, unanswered_there);
    EXPECT_GT(acknowledged, 0U);
  }

  TempDirectory directory_;
  Checkouts checkouts_;
};

TEST_F(CheckoutCrashTest, SeatsOrderAndJobAreThereTogetherOrNotAtAll) {
  for (int round = 0; round < kRounds; ++round) RunAndKill(round);
  Check();
}

}  // namespace
}  // namespace cairn::testing
