#include "admin/routes.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/json/parse.hpp>
#include <filesystem>
#include <memory>
#include <optional>

#include "admin/cluster_status.h"
#include "admin/metrics.h"
#include "net/loop.h"
#include "store/rocks/open.h"
#include "tests/support/temp_directory.h"

namespace cairn::admin {
namespace {

class RoutesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    store::rocks::Options options;
    options.directory = directory_ / "data";
    options.memory = store::rocks::MemoryBudget::FromTotal(64 << 20);
    auto store = store::rocks::Open(options, clock_, Log::Silent());
    ASSERT_TRUE(store.ok()) << store.error().message;
    store_ = *std::move(store);
    health_.emplace(*store_);
    AddRoutes({.store = *store_,
               .health = *health_,
               .clock = clock_,
               .pool = pool_,
               .data = directory_ / "data",
               .backups = directory_ / "backups",
               .metrics = [this] { return FormatMetrics({.store = store_->stats()}); },
               .cluster = [this] { return ClusterStatusJson(cluster_); }},
              table_);
    handler_ = table_.MakeHandler(loop_);
  }

  net::HttpResponse Ask(std::string method, const std::string& path, std::string body = "",
                        net::HttpHeaders headers = {{"Content-Type", "application/json"}}) {
    net::HttpRequest request;
    request.method = std::move(method);
    request.path = path;
    request.segments = net::ParseTarget(path)->segments;
    request.body = std::move(body);
    request.headers = std::move(headers);
    std::optional<net::HttpReply> reply;
    boost::asio::co_spawn(io_, handler_->Handle(std::move(request)),
                          [&](const std::exception_ptr& failure, net::HttpReply made) {
                            if (!failure) reply = std::move(made);
                          });
    io_.restart();
    io_.run();
    return reply ? std::get<net::HttpResponse>(*reply) : net::HttpResponse::Empty(0);
  }

  // What is wrong with an answer according to the row it belongs to; empty if nothing is.
  std::string Fault(std::string_view path, const net::HttpResponse& response) {
    for (size_t i = 0; i < table_.size(); ++i) {
      if (table_.row(i).path != path) continue;
      const doors::JsonSchema* schema = table_.ResponseSchema(i, response.status);
      if (schema == nullptr) return "the row has no such status";
      return schema->FindFault(boost::json::parse(response.body)).value_or("");
    }
    return "there is no such row";
  }

  testing::TempDirectory directory_;
  SystemClock clock_;
  std::unique_ptr<store::Store> store_;
  std::optional<house::Health> health_;
  ClusterStatus cluster_;
  boost::asio::io_context io_;  // outlives the pool, as OnPool needs it
  ThreadPool pool_{{.name = "test", .threads = 1}};
  net::Loop loop_;
  doors::RouteTable table_;
  std::unique_ptr<net::HttpHandler> handler_;
};

TEST_F(RoutesTest, HealthAnswersAsItsRowSays) {
  const net::HttpResponse response = Ask("GET", "/healthz");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(Fault("/healthz", response), "");
}

TEST_F(RoutesTest, ReadinessFollowsTheServerAndSaysWhyNot) {
  const net::HttpResponse ready = Ask("GET", "/readyz");
  EXPECT_EQ(ready.status, 200);
  EXPECT_EQ(Fault("/readyz", ready), "");
  health_->SetDraining();
  const net::HttpResponse draining = Ask("GET", "/readyz");
  EXPECT_EQ(draining.status, 503);
  EXPECT_EQ(Fault("/readyz", draining), "");
  EXPECT_NE(draining.body.find("the server is stopping"), std::string::npos);
}

TEST_F(RoutesTest, MetricsAreInPrometheusTextFormat) {
  const net::HttpResponse response = Ask("GET", "/metrics");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.headers.Get("Content-Type"), kMetricsType);
  EXPECT_NE(response.body.find("cairn_store_commits_total"), std::string::npos);
}

TEST_F(RoutesTest, MetricsAreAlsoWhereJobClientsLook) {
  const net::HttpResponse response = Ask("GET", "/api/v1/metrics");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.headers.Get("Content-Type"), kMetricsType);
  EXPECT_EQ(response.body, Ask("GET", "/metrics").body);
}

TEST_F(RoutesTest, AServerAloneTellsAllAboutTheCluster) {
  cluster_ = {.node_id = "n1",
              .version = "1.2.3",
              .started = Timestamp::FromMillis(1'700'000'000'000),
              .now = Timestamp::FromMillis(1'700'000'090'500),
              .last_commit = 12,
              .durable_commit = 11};
  const net::HttpResponse response = Ask("GET", "/api/v1/cluster/status");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(Fault("/api/v1/cluster/status", response), "");
  EXPECT_EQ(boost::json::parse(response.body), boost::json::parse(R"({
      "mode":"single","node_id":"n1","server_version":"1.2.3","status":"ready",
      "started_at":"2023-11-14T22:13:20Z","uptime_seconds":90,"durability":"sync",
      "last_commit":12,"durable_commit":11,"fires_timers":true,"nodes":[{"id":"n1"}]})"));
}

TEST_F(RoutesTest, AServerAmongOthersTellsOnlyWhatItKnows) {
  cluster_ = {.shared = true, .why_not_ready = "the server is stopping"};
  const net::HttpResponse response = Ask("GET", "/api/v1/cluster/status");
  EXPECT_EQ(Fault("/api/v1/cluster/status", response), "");
  const boost::json::value status = boost::json::parse(response.body);
  EXPECT_EQ(status.at("mode"), "cluster");
  EXPECT_EQ(status.at("status"), "not_ready");
  EXPECT_EQ(status.at("reason"), "the server is stopping");
  for (const char* unknown : {"fires_timers", "nodes", "events", "sqlite_mirror"}) {
    EXPECT_FALSE(status.as_object().contains(unknown)) << unknown;
  }
}

TEST_F(RoutesTest, BackupAnswersAsItsRowSaysAndTheBackupIsThere) {
  const std::string to = directory_ / "backups/nightly/1";
  const net::HttpResponse response =
      Ask("POST", "/v1/admin/backup", R"({"directory":")" + to + R"("})");
  EXPECT_EQ(response.status, 200) << response.body;
  EXPECT_EQ(Fault("/v1/admin/backup", response), "");
  EXPECT_TRUE(std::filesystem::exists(to + "/BACKUP"));
  EXPECT_EQ(Ask("POST", "/v1/admin/backup", R"({"directory":")" + to + R"("})").status, 409);
  EXPECT_EQ(Ask("POST", "/v1/admin/backup", R"({"directory":"nightly/1"})").status, 409);
  EXPECT_EQ(Ask("POST", "/v1/admin/backup", R"({"directory":"nightly/2"})").status, 200);
  EXPECT_TRUE(std::filesystem::exists(directory_ / "backups/nightly/2/BACKUP"));
}

TEST_F(RoutesTest, BackupRefusesWhatItShould) {
  const auto status = [&](const std::string& body, const std::string& type) {
    return Ask("POST", "/v1/admin/backup", body, {{"Content-Type", type}}).status;
  };
  EXPECT_EQ(status(R"({"directory":"/x"})", "application/json"), 403);
  EXPECT_EQ(status(R"({"directory":"../x"})", "application/json"), 403);
  EXPECT_EQ(status(R"({"directory":""})", "application/json"), 400);
  EXPECT_EQ(status(R"({"directory":5})", "application/json"), 400);
  EXPECT_EQ(status(R"({"directory":"/x","folder":"/y"})", "application/json"), 400);
  EXPECT_EQ(status("directory=/x", "application/json; charset=utf-8"), 400);
  EXPECT_EQ(status(R"({"directory":"/x"})", "text/plain"), 415);
  EXPECT_EQ(status(R"({"directory":"/x"})", ""), 415);
  EXPECT_EQ(status(R"({"directory":"/x","data":"/somewhere/else"})", "application/json"), 409);
}

TEST_F(RoutesTest, OnlyHealthAndTheApiDescriptionAreOpenToEveryone) {
  for (size_t i = 0; i < table_.size(); ++i) {
    const doors::Route& route = table_.row(i);
    const bool open =
        route.path == "/healthz" || route.path == "/readyz" || route.path == "/openapi.json";
    EXPECT_EQ(route.permission.empty(), open) << route.path;
  }
}

TEST_F(RoutesTest, AFullPoolIsAnErrorNotAWait) {
  ThreadPool stopped({.name = "stopped", .threads = 1});
  stopped.Stop();
  doors::RouteTable table;
  AddRoutes({.store = *store_,
             .health = *health_,
             .clock = clock_,
             .pool = stopped,
             .data = directory_ / "data",
             .backups = directory_ / "backups",
             .metrics = [] { return FormatMetrics({}); },
             .cluster = [] { return ClusterStatusJson({}); }},
            table);
  handler_ = table.MakeHandler(loop_);
  EXPECT_EQ(Ask("GET", "/metrics").status, 429);
}

}  // namespace
}  // namespace cairn::admin
