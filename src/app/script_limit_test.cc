// A script that does not end, and everybody else, at both doors of a whole server.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "app/config.h"
#include "app/server.h"
#include "net/http/client.h"
#include "net/resp/client.h"
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

}  // namespace
}  // namespace cairn::app
