// Three nodes on one database under load while everything dies: nodes by kill -9, their sessions by
// pg_terminate_backend, the primary by kill -9 with its synchronous standby taking over.
//
// Every writer remembers what it sent and what was acknowledged. In the end each looks: what was
// acknowledged is there, once and in order; what belongs together is there together; keys with an
// expiry are gone and counted once; what was pushed was popped by one client, most of them waiting
// on another node.
//
// About 20 seconds of load in make test; CAIRN_NODES_SECONDS for more.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <thread>

#include "base/random.h"
#include "tests/nodes/nodes.h"
#include "tests/support/await.h"
#include "tests/support/postgres_cluster.h"

namespace cairn::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr size_t kNodes = 3;
constexpr int kWriters = 8;
constexpr int kPoppers = 3;
constexpr int kAccounts = 10;
constexpr int kUnitsEach = 1000;
constexpr int kPipeline = 8;

seconds LoadTime() {
  const char* given = std::getenv("CAIRN_NODES_SECONDS");
  return seconds(given != nullptr ? std::atoi(given) : 20);
}

std::string Account(uint64_t number) { return fmt::format("account:{}", number); }

// A client that goes on with another connection, to any node, whenever its own breaks.
class Client {
 public:
  Client(const Nodes& nodes, const std::atomic<bool>& stop, uint64_t seed)
      : nodes_(nodes), stop_(stop), random_(seed) {}

  void Run() {
    while (!stop_) {
      const size_t node = random_.Below(kNodes);
      auto connection = nodes_.Connect(node);
      if (!connection.ok()) {
        std::this_thread::sleep_for(milliseconds(20));
        continue;
      }
      while (!stop_ && Step(*connection, node)) {
      }
    }
  }

 protected:
  ~Client() = default;
  // False once the connection is of no use, or the node has answered with an error.
  virtual bool Step(net::RespClient& connection, size_t node) = 0;

  const Nodes& nodes_;
  const std::atomic<bool>& stop_;
  SeededRandom random_;
};

class Writer final : public Client {
 public:
  Writer(const Nodes& nodes, const std::atomic<bool>& stop, int id)
      : Client(nodes, stop, static_cast<uint64_t>(id) + 1), id_(id) {}

  struct Counts {
    uint64_t acknowledged = 0;
    uint64_t unanswered = 0;
    uint64_t timers = 0;
    uint64_t transfers = 0;
  };
  const Counts& counts() const { return counts_; }
  const std::set<std::string>& pushed() const { return pushed_; }
  const std::set<std::string>& perhaps_pushed() const { return perhaps_pushed_; }

  void Check(net::RespClient& connection) const {
    for (const auto& [key, value] : values_) {
      const auto reply = connection.Command({"GET", key});
      ASSERT_TRUE(reply.ok());
      ASSERT_EQ(reply->text, value) << key << ": an acknowledged SET is lost";
    }
    const auto log = connection.Command({"LRANGE", Key("log"), "0", "-1"});
    const auto count = connection.Command({"GET", Key("count")});
    ASSERT_TRUE(log.ok() && count.ok());
    ASSERT_EQ(std::to_string(log->items.size()), count->text.empty() ? "0" : count->text)
        << "half a MULTI is there";
    std::set<uint64_t> logged;
    uint64_t last = 0;
    for (const net::RespValue& item : log->items) {
      const uint64_t number = std::stoull(item.text);
      ASSERT_GT(number, last) << "a MULTI is there twice, or out of order";
      logged.insert(last = number);
    }
    for (const uint64_t number : logged_) {
      ASSERT_TRUE(logged.contains(number)) << "an acknowledged MULTI is lost";
    }
  }

 private:
  std::string Key(std::string_view name) const { return fmt::format("writer:{}:{}", id_, name); }

  bool Step(net::RespClient& connection, size_t node) override {
    switch (random_.Below(5)) {
      case 0:
        return Log(connection);
      case 1:
        return Transfer(connection);
      case 2:
        return SetTimer(connection);
      case 3:
        return Push(connection, node);
      default:
        return SetMany(connection);
    }
  }

  bool Answered(bool acknowledged) {
    ++(acknowledged ? counts_.acknowledged : counts_.unanswered);
    return acknowledged;
  }

  // One transaction; whether EXEC was answered with what its commands did.
  static bool Exec(net::RespClient& connection,
                   std::initializer_list<std::initializer_list<std::string_view>> commands) {
    if (!connection.Send({"MULTI"}).ok()) return false;
    for (const auto& command : commands) {
      if (!connection.Send(command).ok()) return false;
    }
    if (!connection.Send({"EXEC"}).ok()) return false;
    for (size_t i = 0; i < commands.size() + 1; ++i) {
      if (!connection.Receive().ok()) return false;
    }
    const auto done = connection.Receive();
    return done.ok() && done->type == net::RespValue::Type::kArray;
  }

  bool Log(net::RespClient& connection) {
    const uint64_t number = ++sent_;
    const std::string text = std::to_string(number);
    const std::string log = Key("log");
    const std::string count = Key("count");
    const bool done = Exec(connection, {{"RPUSH", log, text}, {"INCR", count}});
    if (done) logged_.push_back(number);
    return Answered(done);
  }

  bool Transfer(net::RespClient& connection) {
    const std::string from = Account(random_.Below(kAccounts));
    const std::string to = Account(random_.Below(kAccounts));
    const bool done = Exec(connection, {{"DECRBY", from, "7"}, {"INCRBY", to, "7"}});
    if (done) ++counts_.transfers;
    return Answered(done);
  }

  bool SetTimer(net::RespClient& connection) {
    const std::string key = Key(fmt::format("brief:{}", ++sent_));
    const auto reply = connection.Command({"SET", key, "x", "PX", "400"});
    const bool done = reply.ok() && !reply->is_error();
    if (done) ++counts_.timers;
    return Answered(done);
  }

  bool Push(net::RespClient& connection, size_t node) {
    const std::string token = fmt::format("{}:{}:{}", node, id_, ++sent_);
    const auto reply = connection.Command({"RPUSH", "line", token});
    const bool done = reply.ok() && !reply->is_error();
    (done ? pushed_ : perhaps_pushed_).insert(token);
    return Answered(done);
  }

  bool SetMany(net::RespClient& connection) {
    std::vector<std::pair<std::string, std::string>> sent;
    for (int i = 0; i < kPipeline; ++i) {
      sent.emplace_back(Key(fmt::format("value:{}", random_.Below(200))), std::to_string(++sent_));
      if (!connection.Send({"SET", sent.back().first, sent.back().second}).ok()) break;
    }
    bool all = true;
    for (const auto& [key, value] : sent) {
      const auto reply = connection.Receive();
      const bool done = reply.ok() && !reply->is_error();
      if (done) {
        values_[key] = value;
      } else {
        values_.erase(key);  // may be there or not
      }
      all = Answered(done) && all;
    }
    return all;
  }

  const int id_;
  uint64_t sent_ = 0;
  Counts counts_;
  std::vector<uint64_t> logged_;
  std::map<std::string, std::string> values_;
  std::set<std::string> pushed_;
  std::set<std::string> perhaps_pushed_;
};

// Waits for what is pushed, on whatever node.
class Popper final : public Client {
 public:
  Popper(const Nodes& nodes, const std::atomic<bool>& stop, int id)
      : Client(nodes, stop, static_cast<uint64_t>(id) + 1000) {}

  const std::vector<std::string>& popped() const { return popped_; }
  uint64_t cut() const { return cut_; }
  uint64_t from_other_nodes() const { return from_other_nodes_; }

 private:
  bool Step(net::RespClient& connection, size_t node) override {
    const auto reply = connection.Command({"BLPOP", "line", "1"});
    if (!reply.ok() || reply->is_error()) {
      ++cut_;  // it may have taken one whose name never arrived
      return false;
    }
    if (reply->items.size() != 2) return true;
    popped_.push_back(reply->items[1].text);
    if (popped_.back()[0] != static_cast<char>('0' + node)) ++from_other_nodes_;
    return true;
  }

  std::vector<std::string> popped_;
  uint64_t cut_ = 0;
  uint64_t from_other_nodes_ = 0;
};

class FailoverTest : public ::testing::Test {
 protected:
  FailoverTest() {
    // From now on a commit is answered when the standby has it too.
    primary_.Execute("ALTER SYSTEM SET synchronous_standby_names = '*'");
    primary_.Execute("SELECT pg_reload_conf()");
    AwaitSynchronous();
    nodes_ = std::make_unique<Nodes>(PostgresCluster::UrlOfEither(primary_, standby_), kNodes);
    for (int i = 0; i < kAccounts; ++i) {
      EXPECT_EQ((*nodes_)[0].Command({"SET", Account(i), std::to_string(kUnitsEach)}), "OK");
    }
    for (int i = 0; i < kWriters; ++i)
      writers_.push_back(std::make_unique<Writer>(*nodes_, stop_, i));
    for (int i = 0; i < kPoppers; ++i)
      poppers_.push_back(std::make_unique<Popper>(*nodes_, stop_, i));
  }

  void AwaitSynchronous() {
    const auto deadline = steady_clock::now() + seconds(60);
    while (primary_.Count("SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'") == 0) {
      CAIRN_CHECK(steady_clock::now() < deadline, "the standby does not follow");
    }
  }

  void KillANode() {
    const size_t node = random_.Below(kNodes);
    nodes_->Kill(node);
    nodes_->Start(node);
    ++killed_nodes_;
  }

  void CutSessions() {
    (failed_over_ ? standby_ : primary_)
        .Execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = "
            "'cairn' AND pid <> pg_backend_pid() AND random() < 0.7");
    ++cut_sessions_;
  }

  void FailOver() {
    primary_.KillNow();
    standby_.Promote();
    failed_over_ = true;
  }

  void Disturb() {
    const auto begin = steady_clock::now();
    const auto end = begin + LoadTime();
    while (steady_clock::now() < end) {
      std::this_thread::sleep_for(milliseconds(700));
      if (!failed_over_ && steady_clock::now() > begin + LoadTime() / 2) {
        FailOver();
      } else if (random_.Below(2) == 0) {
        KillANode();
      } else {
        CutSessions();
      }
    }
  }

  void RunLoad() {
    std::vector<std::thread> threads;
    for (const auto& writer : writers_) threads.emplace_back([&] { writer->Run(); });
    for (const auto& popper : poppers_) threads.emplace_back([&] { popper->Run(); });
    Disturb();
    stop_ = true;
    for (std::thread& thread : threads) thread.join();
  }

  net::RespClient Connect() {
    auto client = nodes_->Connect(0);
    CAIRN_CHECK(client.ok(), "{}", client.error().message);
    return *std::move(client);
  }

  // Everything that was pushed was popped once, is still there, or was on its way to a popper whose
  // connection was cut.
  void CheckLine(net::RespClient& connection) {
    std::set<std::string> found;
    uint64_t cut = 0;
    for (const auto& popper : poppers_) {
      cut += popper->cut();
      from_other_nodes_ += popper->from_other_nodes();
      for (const std::string& token : popper->popped()) {
        EXPECT_TRUE(found.insert(token).second) << token << " was popped twice";
      }
    }
    popped_ = found.size();
    const auto rest = connection.Command({"LRANGE", "line", "0", "-1"});
    ASSERT_TRUE(rest.ok());
    for (const net::RespValue& item : rest->items) {
      EXPECT_TRUE(found.insert(item.text).second) << item.text << " was popped and is still there";
    }
    uint64_t missing = 0;
    for (const auto& writer : writers_) {
      for (const std::string& token : writer->pushed()) missing += found.erase(token) == 0 ? 1 : 0;
      for (const std::string& token : writer->perhaps_pushed()) found.erase(token);
    }
    EXPECT_LE(missing, cut) << "acknowledged pushes are lost";
    EXPECT_TRUE(found.empty()) << *found.begin() << " was never pushed";
  }

  void CheckAccounts(net::RespClient& connection) {
    int64_t sum = 0;
    for (int i = 0; i < kAccounts; ++i) {
      const auto value = connection.Command({"GET", Account(i)});
      ASSERT_TRUE(value.ok());
      sum += std::stoll(value->text);
    }
    EXPECT_EQ(sum, int64_t{kAccounts} * kUnitsEach) << "half a transfer is there";
  }

  // A timer that fired twice would have been counted twice.
  void CheckTimers(net::RespClient& connection) {
    // Those of keys: other layers always have something to do later.
    const std::string timers = "SELECT key FROM cairn.timers WHERE get_byte(key, 8) = 1";
    cairn::testing::Await(
        "the timers to fire", [&] { return standby_.Count(timers) == 0; }, seconds(120));
    const auto size = connection.Command({"DBSIZE"});
    const auto keys = connection.Command({"KEYS", "*"});
    ASSERT_TRUE(size.ok() && keys.ok());
    EXPECT_EQ(static_cast<size_t>(size->integer), keys->items.size());
    for (const net::RespValue& key : keys->items) {
      EXPECT_EQ(key.text.find(":brief:"), std::string::npos) << key.text << " did not expire";
    }
  }

  void Report() const {
    Writer::Counts sum;
    for (const auto& writer : writers_) {
      sum.acknowledged += writer->counts().acknowledged;
      sum.unanswered += writer->counts().unanswered;
      sum.timers += writer->counts().timers;
      sum.transfers += writer->counts().transfers;
    }
    fmt::print(
        "nodes: {} requests acknowledged, {} without an answer, {} transfers, {} timers, {} popped "
        "({} pushed on another node), {} nodes killed, sessions cut {} times, {} failover\n",
        sum.acknowledged, sum.unanswered, sum.transfers, sum.timers, popped_, from_other_nodes_,
        killed_nodes_, cut_sessions_, failed_over_ ? 1 : 0);
    EXPECT_GT(sum.acknowledged, 0U);
    EXPECT_GT(sum.timers, 0U);
    EXPECT_GT(from_other_nodes_, 0U);
  }

  PostgresCluster primary_{{}};
  PostgresCluster standby_{{.primary = &primary_}};
  std::unique_ptr<Nodes> nodes_;
  std::atomic<bool> stop_{false};
  SeededRandom random_{7};
  std::vector<std::unique_ptr<Writer>> writers_;
  std::vector<std::unique_ptr<Popper>> poppers_;
  bool failed_over_ = false;
  int killed_nodes_ = 0;
  int cut_sessions_ = 0;
  uint64_t popped_ = 0;
  uint64_t from_other_nodes_ = 0;
};

TEST_F(FailoverTest, NothingAcknowledgedIsLostWhateverDies) {
  RunLoad();
  net::RespClient connection = Connect();
  for (const auto& writer : writers_) writer->Check(connection);
  CheckLine(connection);
  CheckAccounts(connection);
  CheckTimers(connection);
  Report();
}

}  // namespace
}  // namespace cairn::testing
