// One result for each activation, whatever is killed and when: the server, the process that makes
// those of functions, one of these.
#include <dirent.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/functions/functions_server.h"
#include "tests/support/await.h"

namespace cairn::testing {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;

// All processes below `pid`, the nearest first.
std::vector<pid_t> Descendants(pid_t pid) {
  std::multimap<pid_t, pid_t> children;
  DIR* const processes = opendir("/proc");
  while (const dirent* const entry = readdir(processes)) {
    const pid_t one = std::atoi(entry->d_name);
    if (one <= 0) continue;
    std::ifstream file(fmt::format("/proc/{}/stat", one));
    std::string text;
    std::getline(file, text);
    const size_t end = text.rfind(')');
    if (end == std::string::npos) continue;  // it has ended
    children.emplace(std::atoi(text.c_str() + end + 4), one);
  }
  closedir(processes);
  std::vector<pid_t> found = {pid};
  for (size_t i = 0; i < found.size(); ++i) {
    const auto [begin, end] = children.equal_range(found[i]);
    for (auto at = begin; at != end; ++at) found.push_back(at->second);
  }
  found.erase(found.begin());
  return found;
}

class KillsTest : public ::testing::Test {
 protected:
  KillsTest() {
    server_.Publish("work", R"(
      export default async (event) => {
        await cs.kv.set('a:' + event.n, 1);
        return {body: String(event.n)};
      })");
    // Fails in every other run, and is tried again.
    server_.Publish("flaky", R"(
      export default async (event) => {
        const runs = ((await cs.kv.get('a:runs:' + event.n)) ?? 0) + 1;
        await cs.kv.set('a:runs:' + event.n, runs);
        if (runs % 2 === 1) throw new Error('not yet');
        return {body: String(event.n)};
      })",
                    "{}", R"({"max_retries":10})");
  }

  // What a client was told of an activation.
  struct Told {
    std::string key;
    std::optional<json::value> answer;  // of a synchronous one
  };

  void Client(int number, const std::atomic<bool>& stop) {
    for (int i = 0; !stop; ++i) {
      const std::string key = fmt::format("{}.{}.{}", round_, number, i);
      const std::string event = fmt::format(R"({{"n":"{}"}})", key);
      if (i % 3 == 0) {
        const JsonAnswer answer = server_.Invoke("work", event);
        if (answer.status == 0) return;      // it is gone
        if (answer.status != 200) continue;  // busy, or no process for it now
        Note(std::string(answer.body.at("activation_id").as_string()), {key, answer.body});
      } else {
        const std::string id = server_.InvokeLater(i % 3 == 1 ? "work" : "flaky", event);
        if (id.empty()) return;
        Note(id, {key, {}});
      }
    }
  }
  void Note(const std::string& id, Told told) {
    const std::scoped_lock lock(mutex_);
    EXPECT_TRUE(told_.emplace(id, std::move(told)).second) << id << " was given out twice";
  }
  size_t Count() {
    const std::scoped_lock lock(mutex_);
    return told_.size();
  }
  void AwaitMore(size_t count) {
    const size_t wanted = Count() + count;
    Await("activations to be accepted", [&] { return Count() >= wanted; });
  }

  // One of the processes of functions, whichever it is.
  void KillOne(std::mt19937& random) {
    const std::vector<pid_t> all = Descendants(server_.server().process().pid());
    if (all.empty()) return;
    ::kill(all[random() % all.size()], SIGKILL);
    ++processes_killed_;
  }

  // Ids of activations by how many results they have.
  std::map<std::string, int> TakeResults() {
    std::map<std::string, int> results;
    for (;;) {
      const JsonAnswer claimed =
          server_.Call("POST", "/v1/codeq/topics/cs.results/claim", R"({"count":500})");
      const json::array& messages = claimed.body.at("messages").as_array();
      if (messages.empty()) return results;
      for (const json::value& message : messages) {
        ++results[std::string(message.at("message").at("body").at("activation_id").as_string())];
      }
    }
  }

  FunctionsServer server_;
  int round_ = 0;
  std::mutex mutex_;
  std::map<std::string, Told> told_;  // by activation
  int processes_killed_ = 0;
};

// Rounds of the test below, each with one kill of the server: 3 unless CAIRN_FUNCTIONS_KILL_ROUNDS
// says another number. A round is about 130 activations, so 20 make some thousands.
int Rounds() {
  const char* const given = std::getenv("CAIRN_FUNCTIONS_KILL_ROUNDS");
  return given == nullptr ? 3 : std::max(1, std::atoi(given));
}

TEST(IdleFunctionsTest, AServerThatRunsNoFunctionHasNoProcessForIt) {
  FunctionsServer server;
  EXPECT_THAT(Descendants(server.server().process().pid()), ::testing::IsEmpty());
  // Nor is it a client or a worker of its own.
  EXPECT_THAT(server.server().Command({"INFO", "clients"}),
              ::testing::HasSubstr("blocked_clients:0"));
  EXPECT_EQ(server.Call("GET", "/api/v1/workers").body.as_array().size(), 0U);
  server.Publish("first", "export default () => 1");
  EXPECT_EQ(server.Invoke("first").status, 200);
  EXPECT_THAT(Descendants(server.server().process().pid()), ::testing::Not(::testing::IsEmpty()));
}

TEST_F(KillsTest, EachActivationHasOneResultWhateverIsKilled) {
  constexpr int kClients = 6;
  constexpr int kKillsOfARound = 5;
  const int rounds = Rounds();
  std::mt19937 random(std::random_device{}());
  for (round_ = 0; round_ < rounds; ++round_) {
    std::atomic<bool> stop = false;
    std::vector<std::jthread> clients;
    for (int client = 0; client < kClients; ++client) {
      clients.emplace_back([&, client] { Client(client, stop); });
    }
    for (int i = 0; i < kKillsOfARound; ++i) {
      AwaitMore(5 + random() % 30);
      KillOne(random);
    }
    AwaitMore(1 + random() % 60);
    ::kill(server_.server().process().pid(), SIGKILL);
    stop = true;
    clients.clear();
    server_.Kill();
  }

  std::map<std::string, int> ends;
  int64_t retries = 0;
  for (const auto& [id, told] : told_) {
    const json::value record = server_.Ended(id);
    const std::string status(record.at("status").as_string());
    ++ends[status];
    retries += record.at("retries").as_int64();
    if (told.answer) {  // the caller was told what is recorded
      EXPECT_EQ(told.answer->at("status").as_string(), status) << id;
      EXPECT_EQ(told.answer->at("result"), record.at("result")) << id;
    }
    if (status == "success") {
      EXPECT_EQ(record.at("result").at("body").as_string(), told.key) << id;
      continue;
    }
    // Only what was killed may have failed, and it says so.
    EXPECT_THAT(json::serialize(record),
                ::testing::AnyOf(HasSubstr("\"crash\""), HasSubstr("Unavailable"),
                                 HasSubstr("Busy"), HasSubstr("timeout")))
        << id;
  }
  std::map<std::string, int> results = TakeResults();
  for (const auto& [id, told] : told_) EXPECT_EQ(results[id], 1) << id;
  for (const auto& [id, count] : results) EXPECT_EQ(count, 1) << id;
  const JsonAnswer verified = server_.Call("GET", "/v1/admin/verify");
  EXPECT_EQ(verified.status, 200) << verified.text;
  EXPECT_THAT(verified.text, HasSubstr(R"("sound":true)"));
  EXPECT_EQ(server_.server().Command({"QUEUE.GET", "cs.dlq.invoke"}).find("\"pending\":1"),
            std::string::npos);
  fmt::print(
      "{} activations accepted, {} kills of the server, {} of processes of functions; {} retries; "
      "ended: {} success, {} error, {} timeout; {} activations with a result, each one\n",
      told_.size(), rounds, processes_killed_, retries, ends["success"], ends["error"],
      ends["timeout"], results.size());
}

}  // namespace
}  // namespace cairn::testing
