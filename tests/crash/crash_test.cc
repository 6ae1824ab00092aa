// kill -9 of the real binary under a concurrent load, again and again.
//
// Every client keeps two keys of its own that only ever change together, in MULTI, and a counter;
// it remembers what it sent and what was acknowledged. After each kill the server is started again
// on the same directory, and every client looks: what was acknowledged is there, what was sent last
// may be there or not, and the two keys agree. All clients also move units between shared accounts,
// whose sum must never change.
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <thread>

#include "base/random.h"
#include "tests/support/server.h"
#include "tests/support/temp_directory.h"

namespace cairn::testing {
namespace {

constexpr int kClients = 8;
constexpr int kPipeline = 8;
constexpr int kAccounts = 20;
constexpr int kUnitsEach = 1000;

// 100 in make test; CAIRN_CRASH_ROUNDS for more.
int Rounds() {
  const char* rounds = std::getenv("CAIRN_CRASH_ROUNDS");
  return rounds != nullptr ? std::atoi(rounds) : 100;
}

std::string Account(uint64_t number) { return "account:" + std::to_string(number); }

// One client's memory of what it did, across all restarts.
class Client {
 public:
  explicit Client(int id) : id_(id), random_(static_cast<uint64_t>(id) + 1) {}

  // Writes until the connection breaks.
  void Load(const net::Address& address) {
    auto connection = net::RespClient::Connect(address);
    if (!connection.ok()) return;
    while (Pipeline(*connection) && Transfer(*connection)) {
    }
  }

  // Compares what the server has with what was acknowledged, and takes over what it found.
  void Check(net::RespClient& connection) {
    const uint64_t pair_a = Number(connection, Key("a"));
    const uint64_t pair_b = Number(connection, Key("b"));
    const uint64_t count = Number(connection, Key("count"));
    ASSERT_EQ(pair_a, pair_b) << "client " << id_ << ": half a MULTI is there";
    ASSERT_GE(pair_a, acknowledged_) << "client " << id_ << ": an acknowledged MULTI is lost";
    ASSERT_LE(pair_a, sent_) << "client " << id_ << ": something is there that was never sent";
    ASSERT_GE(count, counted_) << "client " << id_ << ": an acknowledged INCR is lost";
    ASSERT_LE(count, count_sent_);
    acknowledged_ = sent_ = pair_a;
    counted_ = count_sent_ = count;
  }

  uint64_t total_acknowledged() const { return total_acknowledged_; }

 private:
  std::string Key(const std::string& name) const {
    return "client:" + std::to_string(id_) + ":" + name;
  }

  static uint64_t Number(net::RespClient& connection, const std::string& key) {
    auto value = connection.Command({"GET", key});
    EXPECT_TRUE(value.ok());
    const std::string text = value.ok() ? value->text : "";
    return text.empty() ? 0 : std::stoull(text);
  }

  // A pipeline of transactions and counters; false once the connection is gone.
  bool Pipeline(net::RespClient& connection) {
    std::vector<uint64_t> numbers;
    for (int i = 0; i < kPipeline; ++i) {
      const std::string number = std::to_string(++sent_);
      ++count_sent_;
      numbers.push_back(sent_);
      if (!connection.Send({"MULTI"}).ok() || !connection.Send({"SET", Key("a"), number}).ok() ||
          !connection.Send({"SET", Key("b"), number}).ok() || !connection.Send({"EXEC"}).ok() ||
          !connection.Send({"INCR", Key("count")}).ok()) {
        return false;
      }
    }
    for (const uint64_t number : numbers) {
      for (int reply = 0; reply < 4; ++reply) {
        auto received = connection.Receive();
        if (!received.ok() || received->is_error()) return false;
      }
      acknowledged_ = number;
      ++total_acknowledged_;
      auto counted = connection.Receive();
      if (!counted.ok() || counted->is_error()) return false;
      ++counted_;
      ++total_acknowledged_;
    }
    return true;
  }

  // Moves units between two shared accounts, in one transaction.
  bool Transfer(net::RespClient& connection) {
    const std::string units = std::to_string(1 + random_.Below(5));
    const std::string from = Account(random_.Below(kAccounts));
    const std::string to = Account(random_.Below(kAccounts));
    if (!connection.Send({"MULTI"}).ok() || !connection.Send({"DECRBY", from, units}).ok() ||
        !connection.Send({"INCRBY", to, units}).ok() || !connection.Send({"EXEC"}).ok()) {
      return false;
    }
    for (int reply = 0; reply < 4; ++reply) {
      auto received = connection.Receive();
      if (!received.ok() || received->is_error()) return false;
    }
    ++total_acknowledged_;
    return true;
  }

  const int id_;
  SeededRandom random_;
  uint64_t sent_ = 0;
  uint64_t acknowledged_ = 0;
  uint64_t count_sent_ = 0;
  uint64_t counted_ = 0;
  uint64_t total_acknowledged_ = 0;
};

int64_t SumOfAccounts(net::RespClient& connection) {
  int64_t sum = 0;
  for (int i = 0; i < kAccounts; ++i) {
    auto value = connection.Command({"GET", Account(static_cast<uint64_t>(i))});
    EXPECT_TRUE(value.ok());
    if (value.ok()) sum += std::stoll(value->text);
  }
  return sum;
}

TEST(CrashTest, NothingAcknowledgedIsLostAndNothingIsHalfThere) {
  const TempDirectory directory;
  const ServerOptions options{.data = directory / "data", .flags = {"--memory", "128MiB"}};
  std::deque<Client> clients;
  for (int id = 0; id < kClients; ++id) clients.emplace_back(id);
  SeededRandom random(2026);

  const int rounds = Rounds();
  for (int round = 0; round <= rounds; ++round) {
    auto server = Server::Start(options);
    ASSERT_TRUE(server.ok()) << "round " << round << ": " << server.error().message;
    auto connection = server->Connect();
    ASSERT_TRUE(connection.ok());
    if (round == 0) {
      for (int i = 0; i < kAccounts; ++i) {
        auto set = connection->Command(
            {"SET", Account(static_cast<uint64_t>(i)), std::to_string(kUnitsEach)});
        ASSERT_TRUE(set.ok());
      }
    }
    for (Client& client : clients) {
      client.Check(*connection);
      if (::testing::Test::HasFatalFailure()) return;
    }
    ASSERT_EQ(SumOfAccounts(*connection), kAccounts * kUnitsEach) << "round " << round;
    if (round == rounds) break;

    std::vector<std::thread> threads;
    for (Client& client : clients) {
      threads.emplace_back([&client, address = server->resp()] { client.Load(address); });
    }
    // How long the load runs is only a way of hitting different moments.
    std::this_thread::sleep_for(std::chrono::milliseconds(20 + random.Below(120)));
    server->process().Kill();
    for (auto& thread : threads) thread.join();
  }
  uint64_t acknowledged = 0;
  for (const Client& client : clients) acknowledged += client.total_acknowledged();
  std::printf("kill -9: %d times, %llu acknowledged writes checked, none lost, none half there\n",
              rounds, static_cast<unsigned long long>(acknowledged));
  EXPECT_GT(acknowledged, static_cast<uint64_t>(rounds));
}

}  // namespace
}  // namespace cairn::testing
