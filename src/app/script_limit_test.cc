// A script that does not end, and everybody else, at both doors of a whole server.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "app/config.h"
#include "app/server.h"
#include "app/testing/access_fixture.h"
#include "net/http/client.h"
#include "net/resp/client.h"
#include "tests/support/await.h"
#include "tests/support/temp_directory.h"

namespace cairn::app {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class ScriptLimitTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ConfigSources sources;
    sources.flags = {{"data", directory_ / "data"}, {"resp", "127.0.0.1:0"},
                     {"http", "127.0.0.1:0"},       {"durability", "os"},
                     {"io_threads", "1"},           {"pool_threads", "2"},
                     {"script_time_limit", "5s"}};
    const LoadedConfig loaded = LoadConfig(sources);
    ASSERT_TRUE(loaded.problems.empty()) << loaded.problems.front();
    auto server = Server::Start(loaded.config, {}, clock_, random_, Log::Silent());
    ASSERT_TRUE(server.ok()) << server.error().message;
    server_ = *std::move(server);
    http_.emplace(net::Address{"127.0.0.1", server_->http().port});
  }

  net::RespClient Connect() {
    auto client = net::RespClient::Connect({"127.0.0.1", server_->resp().port});
    EXPECT_TRUE(client.ok());
    return *std::move(client);
  }
  static std::string Run(net::RespClient& client, const std::vector<std::string>& args) {
    const auto reply = client.Command(args);
    return reply.ok() ? reply->text : "gone: " + reply.error().message;
  }
  net::HttpResponse Ask(std::string_view method, const std::string& target,
                        const std::string& body = "") {
    const Result<net::HttpResponse> response =
        http_->Request(method, target, body, {{"Content-Type", "application/json"}});
    return response.ok() ? *response : net::HttpResponse::Text(0, response.error().message);
  }

  cairn::testing::TempDirectory directory_;
  SystemClock clock_;
  SystemRandom random_;
  std::unique_ptr<Server> server_;
  std::optional<net::HttpClient> http_;
};

TEST_F(ScriptLimitTest, OthersAreToldAndTheScriptEnds) {
  net::RespClient runner = Connect();
  net::RespClient other = Connect();
  EXPECT_EQ(Run(other, {"CONFIG", "SET", "busy-reply-threshold", "50"}), "OK");
  ASSERT_TRUE(runner.Send({"EVAL", "redis.call('set', 'k', 'v') while true do end", "0"}).ok());
  net::HttpResponse ready;
  do {
    ready = Ask("GET", "/readyz");
  } while (ready.status == 200);
  EXPECT_EQ(ready.status, 503);
  EXPECT_THAT(ready.body, HasSubstr("a script holds others up"));
  EXPECT_EQ(Ask("GET", "/healthz").status, 200);
  // The script has to look at the time for commands to be refused.
  std::string refused;
  do {
    refused = Run(other, {"GET", "k"});
  } while (refused.empty());
  EXPECT_THAT(refused, StartsWith("BUSY"));
  EXPECT_THAT(Run(other, {"SCRIPT", "KILL"}), StartsWith("UNKILLABLE"));
  EXPECT_EQ(Ask("POST", "/api/v1/enqueue", R"({"queue":"q"})").status, 503);
  EXPECT_EQ(Ask("POST", "/api/v1/auth/keys", R"({"name":"n","role":"admin"})").status, 503);

  const auto ended = runner.Receive();
  ASSERT_TRUE(ended.ok());
  EXPECT_THAT(ended->text, StartsWith("UNAVAILABLE the script was ended after 5000 ms"));
  EXPECT_EQ(Run(other, {"GET", "k"}), "");
  EXPECT_EQ(Ask("GET", "/readyz").status, 200);
  EXPECT_LT(Ask("POST", "/api/v1/enqueue", R"({"queue":"q"})").status, 300);
}

// With keys: operators go on at both doors while somebody's script runs.
class ScriptAndOperatorsTest : public AccessTest {
 protected:
  void SetUp() override {
    more_flags_ = {{"pool_threads", "2"}, {"script_time_limit", "5s"}};
    StartServer();
    MakeAdmin();
  }
  net::RespClient ConnectAs(const std::string& key) {
    net::RespClient client = Connect();
    EXPECT_EQ(Run(client, {"AUTH", key}), "OK");
    return client;
  }
  void AwaitBusy(net::RespClient& other) {
    std::string refused;
    cairn::testing::Await("commands to be refused while a script runs", [&] {
      refused = Run(other, {"GET", "k"});
      return refused.starts_with("BUSY");
    });
  }
};

// Where it has written, it can be ended by its time limit alone: everybody else is answered.
TEST_F(ScriptAndOperatorsTest, AKeyOfOneQueueHoldsUpNobody) {
  const std::string one = MakeKey("one", R"("role":"operator","queue_scope":"mine")");
  const std::string hash = HashOf("one");
  net::RespClient runner = ConnectAs(one);
  net::RespClient other = ConnectAs(admin_);
  net::RespClient idle = ConnectAs(admin_);
  const auto id = idle.Command({"CLIENT", "ID"});
  ASSERT_TRUE(id.ok());
  EXPECT_EQ(Run(other, {"CONFIG", "SET", "busy-reply-threshold", "50"}), "OK");
  ASSERT_TRUE(
      runner.Send({"EVAL", "redis.call('JOB.ENQUEUE', 'mine', '1') while true do end", "0"}).ok());
  AwaitBusy(other);
  EXPECT_EQ(Ask("", "GET", "/healthz").status, 200);
  EXPECT_EQ(Ask("", "GET", "/readyz").status, 503);
  EXPECT_THAT(Run(other, {"SCRIPT", "KILL"}), StartsWith("UNKILLABLE"));
  const std::string idle_id = std::to_string(id->integer);
  EXPECT_THAT(Run(other, {"CLIENT", "KILL", "ID", idle_id}), StartsWith("BUSY"));
  const std::string named = fmt::format(R"({{"key_hash":"{}"}})", hash);
  EXPECT_EQ(Ask(admin_, "DELETE", "/api/v1/auth/keys", named).status, 503);

  const auto ended = runner.Receive();
  ASSERT_TRUE(ended.ok());
  EXPECT_THAT(ended->text, StartsWith("UNAVAILABLE the script was ended after 5000 ms"));
  EXPECT_EQ(Ask(admin_, "GET", "/api/v1/queues").body, "[]") << "nothing of it remains";
  EXPECT_EQ(other.Command({"CLIENT", "KILL", "ID", idle_id})->integer, 1);
  EXPECT_LT(Ask(admin_, "DELETE", "/api/v1/auth/keys", named).status, 300);
  cairn::testing::Await("what the deleted key had opened to be closed",
                        [&] { return Run(runner, {"PING"}).starts_with("gone"); });
}

// A pattern tries more ways than there is time for, inside one call of a library.
TEST_F(ScriptAndOperatorsTest, APatternIsInterruptedAndHealthIsShownMeanwhile) {
  net::RespClient runner = ConnectAs(admin_);
  net::RespClient other = ConnectAs(admin_);
  EXPECT_EQ(Run(other, {"CONFIG", "SET", "busy-reply-threshold", "50"}), "OK");
  ASSERT_TRUE(
      runner
          .Send({"EVAL", "return string.find(string.rep('a', 5000), string.rep('.-', 30) .. 'b')",
                 "0"})
          .ok());
  AwaitBusy(other);
  EXPECT_EQ(Ask("", "GET", "/healthz").status, 200);
  EXPECT_EQ(Ask("", "GET", "/readyz").status, 503);
  EXPECT_EQ(Run(other, {"SCRIPT", "KILL"}), "OK");
  const auto ended = runner.Receive();
  ASSERT_TRUE(ended.ok());
  EXPECT_THAT(ended->text, HasSubstr("killed"));
  EXPECT_EQ(Ask("", "GET", "/readyz").status, 200);
}

}  // namespace
}  // namespace cairn::app
