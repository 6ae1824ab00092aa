// The control plane over HTTP: every answer is checked against the schema of its row.
#include "functions/http/control_routes.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <memory>
#include <string>
#include <vector>

#include "base/base64.h"
#include "base/log.h"
#include "data/commands.h"
#include "doors/testing/test_server.h"
#include "functions/control/verify.h"
#include "functions/model/limits.h"
#include "functions/model/manifest.h"
#include "net/http/client.h"
#include "net/http/server.h"
#include "net/loop.h"

namespace cairn::functions {
namespace {

namespace json = boost::json;

constexpr std::string_view kBase = "/v1/tenants/{tenant}/namespaces/{namespace}/functions";

std::string FilesJson() {
  return fmt::format(R"({{"function.js":"{}","manifest.json":"{}"}})",
                     Base64Encode("export default () => 1"),
                     Base64Encode(ManifestText({.timeout_ms = 3000, .memory_mb = 64})));
}

class ControlRoutesTest : public ::testing::Test {
 protected:
  ControlRoutesTest()
      : server_({.add_commands = data::AddDataCommands}),
        loops_(1),
        store_(server_.instance().traffic().turns, loops_, server_.instance().pools().store),
        http_({}, loops_, Factory(), server_.clock(), random_, Log::Silent()) {
    loops_.Start();
    const auto port = http_.Listen({"127.0.0.1", 0});
    EXPECT_TRUE(port.ok());
    client_ = std::make_unique<net::HttpClient>(net::Address{"127.0.0.1", *port});
  }
  ~ControlRoutesTest() override {
    client_.reset();
    http_.Drain(std::chrono::seconds(30));
    loops_.Stop();
    server_.instance().pools().store.Stop();
    house::Verification verification;
    EXPECT_TRUE(VerifyFunctions(server_.store(), verification).ok());
    EXPECT_TRUE(verification.sound()) << verification.problems().front();
  }

  net::HttpHandlerFactory Factory() {
    AddControlRoutes({.store = store_,
                      .pool = server_.instance().pools().store,
                      .clock = server_.clock(),
                      .random = random_,
                      .secrets = secrets_},
                     table_);
    return [this](net::Loop& loop) { return table_.MakeHandler(loop); };
  }

  // Asks for kBase + `path`; `at` are the function and what else the path names.
  net::HttpResponse Ask(std::string_view method, const std::string& path,
                        const std::vector<std::string>& at = {}, const std::string& body = "") {
    const std::string row = std::string(kBase) + path;
    std::vector<std::string> values = {"t_abc123", "payments"};
    values.insert(values.end(), at.begin(), at.end());
    std::string target;
    size_t word = 0;
    for (size_t i = 0; i < row.size(); ++i) {
      if (row[i] != '{') {
        target.push_back(row[i]);
        continue;
      }
      target += values[word++];
      i = row.find('}', i);
    }
    const auto response = client_->Request(method, target, body, {{"X-Request-Id", "req_test1"}});
    EXPECT_TRUE(response.ok()) << response.error().message;
    EXPECT_EQ(response->headers.Get("X-Request-Id"), "req_test1");
    CheckSchema(method, row.substr(0, row.find('?')), *response);
    return *response;
  }

  void CheckSchema(std::string_view method, std::string_view path,
                   const net::HttpResponse& response) {
    for (size_t i = 0; i < table_.size(); ++i) {
      if (table_.row(i).path != path || table_.row(i).method != method) continue;
      const doors::JsonSchema* schema = table_.ResponseSchema(i, response.status);
      ASSERT_NE(schema, nullptr) << path << " has no status " << response.status << ": "
                                 << response.body;
      EXPECT_EQ(schema->FindFault(json::parse(response.body)).value_or(""), "") << response.body;
      return;
    }
    FAIL() << "no row " << method << " " << path;
  }

  // "404 CS_NOT_FOUND".
  static std::string Refusal(const net::HttpResponse& response) {
    const json::value body = json::parse(response.body);
    const json::value* error = body.as_object().if_contains("error");
    if (error == nullptr) return fmt::format("{} no error", response.status);
    EXPECT_EQ(error->at("request_id").as_string(), "req_test1");
    return fmt::format("{} {}", response.status, error->at("code").as_string().c_str());
  }
  static json::value Json(const net::HttpResponse& response, int status) {
    EXPECT_EQ(response.status, status) << response.body;
    return json::parse(response.body);
  }

  void Create(const std::string& name = "reconcile") {
    Json(Ask("POST", "", {}, fmt::format(R"({{"name":"{}"}})", name)), 201);
  }
  net::HttpResponse PublishFiles(const std::string& more = "") {
    return Ask("POST", "/{name}/versions", {"reconcile"},
               fmt::format(R"({{"files":{}{}}})", FilesJson(), more));
  }

  doors::testing::TestServer server_;
  net::LoopGroup loops_;
  SeededRandom random_{5};
  SecretKeys secrets_ = *SecretKeys::Parse("0123456789abcdef0123456789abcdef");
  doors::RouteStore store_;
  doors::RouteTable table_;
  net::HttpServer http_;
  std::unique_ptr<net::HttpClient> client_;
};

TEST_F(ControlRoutesTest, FromAFunctionToAnAlias) {
  Create();
  const json::value draft = Json(
      Ask("PUT", "/{name}/draft", {"reconcile"}, fmt::format(R"({{"files":{}}})", FilesJson())),
      200);
  const std::string id(draft.at("draft_id").as_string());
  const json::value published = Json(
      Ask("POST", "/{name}/versions", {"reconcile"},
          fmt::format(R"({{"draft_id":"{}","config":{{"timeout_ms":50}},"alias":"prod"}})", id)),
      201);
  EXPECT_EQ(published.at("version").as_int64(), 1);
  EXPECT_EQ(published.at("sha256"), draft.at("sha256"));
  const json::value detail = Json(Ask("GET", "/{name}", {"reconcile"}), 200);
  EXPECT_EQ(detail.at("aliases").at(0).at("version").as_int64(), 1);
  EXPECT_EQ(detail.at("latest_version").at("config").at("timeout_ms").as_int64(), 50);
  // What any Redis client sees.
  EXPECT_EQ(server_.Run({"GET", "cs:fn:t_abc123:payments:reconcile:version_seq"}), "\"1\"");
  EXPECT_EQ(server_.Run({"ZRANGE", "cs:fn:t_abc123:payments:index", "0", "-1"}), "[\"reconcile\"]");
  EXPECT_EQ(server_.Run({"TTL", "cs:fn:t_abc123:payments:reconcile:draft:" + id}),
            "(integer) 86400");
  const int64_t size = Json(Ask("GET", "/{name}/versions/{version}", {"reconcile", "1"}), 200)
                           .at("version")
                           .as_int64();
  EXPECT_EQ(size, 1);
}

TEST_F(ControlRoutesTest, StatusesSayWhatIsWrong) {
  EXPECT_EQ(Refusal(Ask("GET", "/{name}", {"reconcile"})), "404 CS_NOT_FOUND");
  EXPECT_EQ(Refusal(PublishFiles()), "404 CS_NOT_FOUND");
  Create();
  EXPECT_EQ(Refusal(Ask("POST", "", {}, R"({"name":"reconcile"})")), "409 CS_CONFLICT");
  EXPECT_EQ(Refusal(Ask("POST", "", {}, R"({"name":"No"})")), "400 CS_VALIDATION_NAME_INVALID");
  EXPECT_EQ(Refusal(Ask("POST", "", {}, R"({"name":"abc","colour":1})")),
            "400 CS_VALIDATION_FAILED");
  EXPECT_EQ(Refusal(Ask("POST", "", {}, "{")), "400 CS_VALIDATION_FAILED");
  EXPECT_EQ(Refusal(Ask("POST", "", {}, "")), "400 CS_VALIDATION_FAILED");
  EXPECT_EQ(Refusal(Ask("POST", "/{name}/purge", {"reconcile"})), "409 CS_CONFLICT");
  EXPECT_EQ(Refusal(Ask("PUT", "/{name}/draft", {"reconcile"},
                        R"({"files":{"function.js":"!","manifest.json":""}})")),
            "400 CS_VALIDATION_FAILED");
  EXPECT_EQ(Refusal(Ask("PUT", "/{name}/draft", {"reconcile"},
                        R"({"files":{"function.js":"","manifest.json":"e30="}})")),
            "400 CS_VALIDATION_MANIFEST_INVALID");
  const std::string large = Base64Encode(Bytes(kMaxBundleBytes, 'x'));
  EXPECT_EQ(Refusal(Ask("PUT", "/{name}/draft", {"reconcile"},
                        R"({"files":{"manifest.json":"e30=","function.js":")" + large + R"("}})")),
            "413 CS_VALIDATION_BUNDLE_TOO_LARGE");
  EXPECT_EQ(
      Refusal(Ask("PUT", "/{name}/aliases/{alias}", {"reconcile", "prod"}, R"({"version":1})")),
      "404 CS_NOT_FOUND");
  EXPECT_EQ(Refusal(Ask("GET", "/{name}/versions/{version}", {"reconcile", "x"})),
            "400 CS_VALIDATION_FAILED");
  EXPECT_EQ(Refusal(Ask("GET", "/{name}/versions?limit=501", {"reconcile"})),
            "400 CS_VALIDATION_FAILED");
  EXPECT_EQ(server_.Run({"KEYS", "cs:*:reconcile:*"}),
            "[\"cs:fn:t_abc123:payments:reconcile:meta\"]");
}

TEST_F(ControlRoutesTest, AnExpiredDraftIsGone) {
  Create();
  const json::value draft = Json(
      Ask("PUT", "/{name}/draft", {"reconcile"}, fmt::format(R"({{"files":{}}})", FilesJson())),
      200);
  server_.clock().AdvanceMillis(kDraftTtlMs);
  EXPECT_EQ(
      Refusal(Ask("POST", "/{name}/versions", {"reconcile"},
                  fmt::format(R"({{"draft_id":"{}"}})", draft.at("draft_id").as_string().c_str()))),
      "410 CS_GONE");
}

TEST_F(ControlRoutesTest, FaultsOfAConfigNameTheMember) {
  Create();
  const net::HttpResponse response = PublishFiles(R"(,"config":{"memory_mb":5000})");
  EXPECT_EQ(Refusal(response), "400 CS_VALIDATION_FAILED");
  EXPECT_EQ(json::parse(response.body).at("error").at("message").as_string(),
            "config.memory_mb must be an integer from 0 to 4096");
}

TEST_F(ControlRoutesTest, SecretsAreNeverShown) {
  Create();
  Json(PublishFiles(R"(,"config":{"env":{"TOKEN":"correct-horse"},"secrets":["TOKEN"]})"), 201);
  const net::HttpResponse shown = Ask("GET", "/{name}/versions/{version}", {"reconcile", "1"});
  EXPECT_EQ(shown.body.find("correct-horse"), std::string::npos);
  EXPECT_EQ(Json(shown, 200).at("config").at("env_names").at(0).as_string(), "TOKEN");
}

TEST_F(ControlRoutesTest, AliasesAreSetSplitShiftedAndRolledBack) {
  Create();
  Json(PublishFiles(R"(,"alias":"prod")"), 201);
  Json(PublishFiles(), 201);
  const std::vector<std::string> prod = {"reconcile", "prod"};
  const json::value split =
      Json(Ask("PUT", "/{name}/aliases/{alias}", prod,
               R"({"version":1,"weights":[{"version":2,"weight":10}],"min_warm":1})"),
           200);
  EXPECT_EQ(split.at("weights").at(0).at("weight").as_int64(), 10);
  EXPECT_EQ(Json(Ask("POST", "/{name}/aliases/{alias}/rollback", prod), 200)
                .as_object()
                .contains("weights"),
            false);
  const json::value shifting =
      Json(Ask("POST", "/{name}/aliases/{alias}/shift", prod,
               R"({"to":2,"step_percent":20,"interval_seconds":60,"max_error_rate":0.05})"),
           200);
  EXPECT_EQ(shifting.at("shift").at("to").as_int64(), 2);
  EXPECT_EQ(Json(Ask("GET", "/{name}/aliases", {"reconcile"}), 200).at("aliases").at(0), shifting);
  EXPECT_EQ(Json(Ask("GET", "/{name}/aliases/{alias}", prod), 200), shifting);
  Json(Ask("POST", "/{name}/aliases/{alias}/rollback", prod), 200);
  Json(Ask("DELETE", "/{name}/aliases/{alias}", prod), 200);
  EXPECT_EQ(Refusal(Ask("DELETE", "/{name}/aliases/{alias}", prod)), "404 CS_NOT_FOUND");
}

TEST_F(ControlRoutesTest, FunctionsArePagedDisabledDeletedAndPurged) {
  Create("alpha");
  Create("bravo");
  Create("reconcile");
  Json(PublishFiles(R"(,"alias":"prod")"), 201);
  Json(Ask("PUT", "/{name}/draft", {"reconcile"}, fmt::format(R"({{"files":{}}})", FilesJson())),
       200);
  const json::value page = Json(Ask("GET", "?limit=2"), 200);
  EXPECT_EQ(page.at("functions").as_array().size(), 2U);
  EXPECT_EQ(page.at("cursor").as_string(), "bravo");
  const json::value last = Json(Ask("GET", "?limit=2&cursor=bravo"), 200);
  EXPECT_EQ(last.at("functions").at(0).at("name").as_string(), "reconcile");
  EXPECT_TRUE(last.at("cursor").is_null());
  EXPECT_FALSE(Json(Ask("POST", "/{name}/disable", {"alpha"}), 200).at("enabled").as_bool());
  EXPECT_TRUE(Json(Ask("POST", "/{name}/enable", {"alpha"}), 200).at("enabled").as_bool());
  EXPECT_EQ(Json(Ask("DELETE", "/{name}", {"reconcile"}), 200).at("status").as_string(), "deleted");
  EXPECT_EQ(Refusal(Ask("GET", "/{name}", {"reconcile"})), "404 CS_NOT_FOUND");
  Json(Ask("GET", "/{name}?include_deleted=true", {"reconcile"}), 200);
  Json(Ask("POST", "/{name}/purge", {"reconcile"}), 200);
  EXPECT_EQ(server_.Run({"KEYS", "cs:fn:t_abc123:payments:reconcile:*"}), "[]");
}

}  // namespace
}  // namespace cairn::functions
