// kill -9 under a load that writes values of all types.
//
// Every client takes numbered steps. A step is one MULTI that changes a hash, a list, a sorted set,
// a set, a stream, a bitmap, a JSON document and a counter of steps, each by a rule that depends on
// the number alone. So the counter says what every value must be: after each kill it stands
// somewhere between the last step acknowledged and the last one sent, and all values agree with it.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <set>
#include <thread>

#include "base/random.h"
#include "tests/support/server.h"
#include "tests/support/temp_directory.h"

namespace cairn::testing {
namespace {

using Request = std::vector<std::string>;

constexpr int kClients = 4;
constexpr int kStepsInFlight = 4;
constexpr uint64_t kNames = 50;  // members of hash, set and sorted set
constexpr uint64_t kListLength = 20;
constexpr uint64_t kStreamLength = 30;
constexpr uint64_t kBits = 100'000;   // more than one segment
constexpr uint64_t kFreshStart = 97;  // steps after which the hash and the set begin anew

int Rounds() {
  const char* rounds = std::getenv("CAIRN_CRASH_ROUNDS");
  return rounds != nullptr ? std::atoi(rounds) : 25;
}

std::string Name(uint64_t step) { return "n" + std::to_string(step % kNames); }

// What the values of one client are after a number of steps.
class Expected {
 public:
  void Apply(uint64_t step) {
    const std::string number = std::to_string(step);
    if (step % kFreshStart == 0) {
      hash_.clear();
      set_.clear();
    }
    hash_[Name(step)] = number;
    list_.push_back(number);
    if (list_.size() > kListLength) list_.pop_front();
    scores_[Name(step)] = number;
    set_.insert(Name(step));
    set_.erase(Name(step + kNames / 2));
    stream_.push_back(number + "-1");
    if (stream_.size() > kStreamLength) stream_.pop_front();
    if (!ones_.insert(step * 37 % kBits).second) ones_.erase(step * 37 % kBits);
    document_ += step;
  }

  void Check(net::RespClient& connection, const std::string& prefix) const {
    const auto ask = [&](Request request) {
      request[1] = prefix + request[1];
      auto reply = connection.Command(request);
      return reply.ok() ? *std::move(reply) : net::RespValue();
    };
    const auto texts = [](const net::RespValue& reply) {
      std::vector<std::string> found;
      for (const net::RespValue& item : reply.items) found.push_back(item.text);
      return found;
    };

    std::map<std::string, std::string> hash;
    const std::vector<std::string> fields = texts(ask({"HGETALL", "hash"}));
    for (size_t i = 0; i + 1 < fields.size(); i += 2) hash[fields[i]] = fields[i + 1];
    EXPECT_EQ(hash, hash_);
    EXPECT_EQ(ask({"HLEN", "hash"}).integer, static_cast<int64_t>(hash_.size()));

    EXPECT_EQ(texts(ask({"LRANGE", "list", "0", "-1"})),
              std::vector<std::string>(list_.begin(), list_.end()));

    std::map<std::string, std::string> scores;
    const std::vector<std::string> ranked = texts(ask({"ZRANGE", "zset", "0", "-1", "WITHSCORES"}));
    for (size_t i = 0; i + 1 < ranked.size(); i += 2) scores[ranked[i]] = ranked[i + 1];
    EXPECT_EQ(scores, scores_);
    EXPECT_EQ(ask({"ZCARD", "zset"}).integer, static_cast<int64_t>(scores_.size()));

    const std::vector<std::string> members = texts(ask({"SMEMBERS", "set"}));
    EXPECT_EQ(std::set<std::string>(members.begin(), members.end()), set_);

    std::vector<std::string> ids;
    for (const net::RespValue& entry : ask({"XRANGE", "stream", "-", "+"}).items) {
      ids.push_back(entry.items.at(0).text);
    }
    EXPECT_EQ(ids, std::vector<std::string>(stream_.begin(), stream_.end()));

    EXPECT_EQ(ask({"BITCOUNT", "bits"}).integer, static_cast<int64_t>(ones_.size()));
    if (document_ > 0) {
      EXPECT_EQ(ask({"JSON.GET", "json", "$.sum"}).text, fmt::format("[{}]", document_));
    }
  }

 private:
  std::map<std::string, std::string> hash_;
  std::deque<std::string> list_;
  std::map<std::string, std::string> scores_;
  std::set<std::string> set_;
  std::deque<std::string> stream_;
  std::set<uint64_t> ones_;
  uint64_t document_ = 0;
};

class Client {
 public:
  explicit Client(int id) : prefix_(fmt::format("client:{}:", id)) {}

  // Takes steps until the connection breaks.
  void Load(const net::Address& address) {
    auto connection = net::RespClient::Connect(address);
    if (!connection.ok()) return;
    for (;;) {
      std::vector<size_t> replies;
      for (int i = 0; i < kStepsInFlight; ++i) {
        const std::vector<Request> requests = Step(++sent_);
        for (const Request& request : requests) {
          if (!connection->Send(request).ok()) return;
        }
        replies.push_back(requests.size());
      }
      for (const size_t count : replies) {
        for (size_t i = 0; i < count; ++i) {
          auto reply = connection->Receive();
          if (!reply.ok()) return;
          ASSERT_FALSE(reply->is_error()) << reply->ToString();
          if (i + 1 < count) continue;
          for (const net::RespValue& item : reply->items) {
            ASSERT_FALSE(item.is_error()) << reply->ToString();
          }
        }
        ++acknowledged_;
        ++total_acknowledged_;
      }
    }
  }

  void Check(net::RespClient& connection) {
    auto reply = connection.Command({"GET", prefix_ + "steps"});
    ASSERT_TRUE(reply.ok());
    const uint64_t steps = reply->text.empty() ? 0 : std::stoull(reply->text);
    ASSERT_GE(steps, acknowledged_) << prefix_ << " an acknowledged step is lost";
    ASSERT_LE(steps, sent_) << prefix_;
    while (applied_ < steps) expected_.Apply(++applied_);
    expected_.Check(connection, prefix_);
    acknowledged_ = sent_ = steps;
  }

  uint64_t total_acknowledged() const { return total_acknowledged_; }

 private:
  std::vector<Request> Step(uint64_t step) const {
    const std::string number = std::to_string(step);
    const auto key = [this](std::string_view name) { return prefix_ + std::string(name); };
    std::vector<Request> requests = {{"MULTI"}, {"SET", key("steps"), number}};
    if (step % kFreshStart == 0) requests.push_back({"DEL", key("hash"), key("set")});
    if (step == 1) requests.push_back({"JSON.SET", key("json"), "$", R"({"sum":0,"pad":"x"})"});
    requests.insert(
        requests.end(),
        {{"HSET", key("hash"), Name(step), number},
         {"RPUSH", key("list"), number},
         {"LTRIM", key("list"), fmt::format("-{}", kListLength), "-1"},
         {"ZADD", key("zset"), number, Name(step)},
         {"SADD", key("set"), Name(step)},
         {"SREM", key("set"), Name(step + kNames / 2)},
         {"XADD", key("stream"), number + "-1", "step", number},
         {"XTRIM", key("stream"), "MAXLEN", std::to_string(kStreamLength)},
         {"BITFIELD", key("bits"), "INCRBY", "u1", std::to_string(step * 37 % kBits), "1"},
         {"JSON.NUMINCRBY", key("json"), "$.sum", number},
         {"EXEC"}});
    return requests;
  }

  const std::string prefix_;
  Expected expected_;
  uint64_t applied_ = 0;  // steps that expected_ has
  uint64_t sent_ = 0;
  uint64_t acknowledged_ = 0;
  uint64_t total_acknowledged_ = 0;
};

TEST(TypesCrashTest, AllTypesAgreeWithTheStepsTakenAfterEveryKill) {
  const TempDirectory directory;
  const ServerOptions options{.data = directory / "data", .flags = {"--memory", "128MiB"}};
  std::deque<Client> clients;
  for (int id = 0; id < kClients; ++id) clients.emplace_back(id);
  SeededRandom random(2027);

  const int rounds = Rounds();
  for (int round = 0; round <= rounds; ++round) {
    auto server = Server::Start(options);
    ASSERT_TRUE(server.ok()) << "round " << round << ": " << server.error().message;
    auto connection = server->Connect();
    ASSERT_TRUE(connection.ok());
    for (Client& client : clients) {
      client.Check(*connection);
      if (HasFailure()) return;
    }
    if (round == rounds) break;
    std::vector<std::thread> threads;
    for (Client& client : clients) {
      threads.emplace_back([&client, address = server->resp()] { client.Load(address); });
    }
    // How long the load runs is only a way of hitting different moments.
    std::this_thread::sleep_for(std::chrono::milliseconds(20 + random.Below(150)));
    server->process().Kill();
    for (auto& thread : threads) thread.join();
  }
  uint64_t acknowledged = 0;
  for (const Client& client : clients) acknowledged += client.total_acknowledged();
  std::printf("kill -9: %d times, %llu acknowledged steps over all types checked\n", rounds,
              static_cast<unsigned long long>(acknowledged));
  EXPECT_GT(acknowledged, static_cast<uint64_t>(rounds));
}

}  // namespace
}  // namespace cairn::testing
