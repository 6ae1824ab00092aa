// kill -9 of the real binary while programs write to their actors, again and again.
//
// Each program has an actor of its own. A batch writes the same number to three entries, one of
// them long enough for several rows, empties a range, and carries the number as its idempotency id.
// After each kill the three agree: on the last acknowledged number, or on the one that was sent
// behind it. The batch that was sent last is then sent again, and done exactly once.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"
#include "tests/support/process.h"
#include "tests/support/server.h"
#include "tests/support/temp_directory.h"

namespace cairn::testing {
namespace {

constexpr int kPrograms = 4;
constexpr size_t kLongBytes = 25'000;

// 15 in make test; CAIRN_CRASH_ROUNDS for more.
int Rounds() {
  const char* rounds = std::getenv("CAIRN_CRASH_ROUNDS");
  return rounds != nullptr ? std::atoi(rounds) : 15;
}

class Program {
 public:
  explicit Program(int number) : number_(number) {}

  void Create(net::RespClient& connection) {
    const auto made = connection.Command(std::vector<std::string>{
        "ACTOR.GETORCREATE", "default", "program", fmt::format("{}", number_)});
    ASSERT_TRUE(made.ok() && !made->is_error());
    const size_t id = made->text.find(R"("actor_id":")");
    ASSERT_NE(id, std::string::npos) << made->text;
    const std::string found = made->text.substr(id + 12, 30);
    ASSERT_TRUE(id_.empty() || id_ == found) << "the directory has another actor";
    id_ = found;
  }

  // Writes until the connection breaks.
  void Load(const net::Address& address) {
    auto connection = net::RespClient::Connect(address);
    if (!connection.ok()) return;
    while (Write(*connection, ++sent_)) acknowledged_ = sent_;
  }

  // Compares what is there with what was acknowledged, and sends the last batch again.
  void Check(net::RespClient& connection) {
    const uint64_t found = Number(connection);
    ASSERT_GE(found, acknowledged_) << "program " << number_ << ": an acknowledged batch is lost";
    ASSERT_LE(found, sent_) << "program " << number_ << ": a batch is there that was never sent";
    if (sent_ == 0) return;
    ASSERT_TRUE(Write(connection, sent_));
    ASSERT_EQ(Number(connection), sent_);
    acknowledged_ = sent_;
  }

  uint64_t acknowledged() const { return acknowledged_; }

 private:
  bool Write(net::RespClient& connection, uint64_t number) {
    const std::string text = fmt::format("{}", number);
    const auto reply = connection.Command(std::vector<std::string>{
        "ACTOR.BATCH", id_, "ID", text, "PUT", "a", text, "PUT", "b", Long(text), "DELRANGE", "log",
        "log~", "PUT", "c", text, "PUT", "log" + text, "x"});
    return reply.ok() && !reply->is_error();
  }

  static std::string Long(const std::string& text) {
    std::string bytes;
    while (bytes.size() < kLongBytes) bytes += text + ",";
    return bytes;
  }

  // What all three entries say; the test fails if they do not agree.
  uint64_t Number(net::RespClient& connection) {
    const auto reply =
        connection.Command(std::vector<std::string>{"ACTOR.GET", id_, "a", "b", "c"});
    EXPECT_TRUE(reply.ok() && reply->items.size() == 3);
    if (!reply.ok() || reply->items.size() != 3) return 0;
    const std::string& text = reply->items[0].text;
    EXPECT_EQ(reply->items[1].text, text.empty() ? "" : Long(text)) << "half a batch is there";
    EXPECT_EQ(reply->items[2].text, text) << "half a batch is there";
    return text.empty() ? 0 : std::stoull(text);
  }

  const int number_;
  std::string id_;
  uint64_t sent_ = 0;
  uint64_t acknowledged_ = 0;
};

TEST(ActorsCrashTest, ABatchIsThereWholeOrNotAtAllAndNoneThatWasAcknowledgedIsLost) {
  const TempDirectory directory;
  const ServerOptions options{.data = directory / "data", .flags = {"--memory", "128MiB"}};
  std::deque<Program> programs;
  for (int i = 0; i < kPrograms; ++i) programs.emplace_back(i);
  SeededRandom random(21);
  const int rounds = Rounds();
  for (int round = 0; round <= rounds; ++round) {
    auto server = Server::Start(options);
    ASSERT_TRUE(server.ok()) << "round " << round << ": " << server.error().message;
    auto connection = server->Connect();
    ASSERT_TRUE(connection.ok());
    for (Program& program : programs) {
      program.Create(*connection);
      program.Check(*connection);
      if (HasFatalFailure()) return;
    }
    if (round == rounds) {
      const Finished verified =
          RunCairn({"verify", "--url", "http://" + net::ToString(server->http())});
      EXPECT_EQ(verified.status.code, 0) << verified.out << verified.err;
      break;
    }
    std::vector<std::thread> threads;
    for (Program& program : programs) {
      threads.emplace_back([&program, address = server->resp()] { program.Load(address); });
    }
    // How long the load runs is only a way of hitting different moments.
    std::this_thread::sleep_for(std::chrono::milliseconds(20 + random.Below(120)));
    server->process().Kill();
    for (auto& thread : threads) thread.join();
  }
  uint64_t acknowledged = 0;
  for (const Program& program : programs) acknowledged += program.acknowledged();
  EXPECT_GT(acknowledged, static_cast<uint64_t>(rounds));
}

}  // namespace
}  // namespace cairn::testing
