#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <csignal>
#include <filesystem>

#include "tests/support/await.h"
#include "tests/support/process.h"
#include "tests/support/server.h"
#include "tests/support/temp_directory.h"

namespace cairn::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class ServeTest : public ::testing::Test {
 protected:
  std::string data() const { return directory_ / "data"; }

  Server Serve(std::vector<std::string> flags = {},
               std::map<std::string, std::string> environment = {}) {
    return Server::MustStart(
        {.data = data(), .flags = std::move(flags), .environment = std::move(environment)});
  }

  // Waits until `server` has written `text` to its log.
  static bool AwaitLog(Server& server, const std::string& text) {
    for (int i = 0; i < 10'000; ++i) {
      if (server.process().err().find(text) != std::string::npos) return true;
      if (server.process().Wait(milliseconds(2))) break;
    }
    return server.process().err().find(text) != std::string::npos;
  }

  TempDirectory directory_;
};

TEST_F(ServeTest, ServesBothDoorsOnPortsTheSystemChose) {
  Server server = Serve();
  EXPECT_NE(server.resp().port, 0);
  EXPECT_NE(server.http().port, 0);
  EXPECT_EQ(server.Command({"SET", "k", "v"}), "OK");
  EXPECT_EQ(server.Command({"GET", "k"}), "\"v\"");
  Result<net::HttpResponse> health = server.Http().Get("/healthz");
  ASSERT_TRUE(health.ok()) << health.error().message;
  EXPECT_EQ(health->status, 200);
  EXPECT_EQ(server.Http().Get("/readyz")->status, 200);
  EXPECT_TRUE(server.Stop().ok());
}

TEST_F(ServeTest, PrintsWhereItListensAndThreeCommandsToTry) {
  Server server = Serve();
  ASSERT_TRUE(server.Stop().ok());
  const std::string out = server.process().out();
  EXPECT_THAT(out, AllOf(HasSubstr(data()), HasSubstr("durability sync"),
                         HasSubstr(net::ToString(server.resp())),
                         HasSubstr("http://" + net::ToString(server.http())),
                         HasSubstr("redis-cli -p"), HasSubstr("curl http://")));
}

TEST_F(ServeTest, JsonLogsLeaveStdoutToNobody) {
  Server server = Serve({"--log-format", "json"});
  ASSERT_TRUE(server.Stop().ok());
  EXPECT_EQ(server.process().out(), "");
  std::istringstream lines(server.process().err());
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    boost::system::error_code failure;
    boost::json::parse(line, failure);
    EXPECT_FALSE(failure) << line;
  }
  EXPECT_GT(count, 0);
}

TEST_F(ServeTest, ReadyFileIsRemovedByAGracefulStop) {
  const std::string ready = directory_ / "ready.json";
  Result<Process> process =
      Process::Start({{CairnBinary(), "serve", "--data", data(), "--resp", "127.0.0.1:0", "--http",
                       "127.0.0.1:0", "--ready-file", ready},
                      {},
                      {}});
  ASSERT_TRUE(process.ok());
  while (!std::filesystem::exists(ready) && process->running()) process->Wait(milliseconds(2));
  const auto facts = boost::json::parse(ReadWholeFile(ready));
  EXPECT_EQ(facts.at("pid"), process->pid());
  EXPECT_GT(facts.at("resp_port").to_number<int>(), 0);
  EXPECT_GT(facts.at("http_port").to_number<int>(), 0);
  EXPECT_EQ(facts.at("data"), boost::json::string(data()));
  process->Signal(SIGINT);
  EXPECT_EQ(process->Wait(seconds(60)), (ExitStatus{.code = 0, .signal = {}}));
  EXPECT_FALSE(std::filesystem::exists(ready));
}

// What a page of `origin` is told when it asks for `target`: the status, and whom the answer allows
// to read it.
std::pair<int, std::string> AskedByAPage(const Server& server, const std::string& origin,
                                         const std::string& target,
                                         const std::string& method = "GET") {
  const auto response = server.Http().Request(method, target, "", {{"Origin", origin}});
  if (!response.ok()) return {0, response.error().message};
  return {response->status,
          std::string(response->headers.Get("Access-Control-Allow-Origin").value_or(""))};
}

using Told = std::pair<int, std::string>;

TEST_F(ServeTest, WithoutAPasswordOnlyPagesOfThisMachineMayUseIt) {
  Server server = Serve();
  const std::string page = "http://localhost:5173";
  for (const char* target : {"/openapi.json", "/api/v1/queues", "/metrics"}) {
    EXPECT_EQ(AskedByAPage(server, "https://evil.example", target), Told(403, "")) << target;
    EXPECT_EQ(AskedByAPage(server, page, target), Told(200, page)) << target;
  }
  EXPECT_EQ(AskedByAPage(server, page, "/api/v1/enqueue", "OPTIONS"), Told(200, page));
  // What a form on any site could do.
  EXPECT_EQ(AskedByAPage(server, "https://evil.example", "/api/v1/enqueue", "POST"), Told(403, ""));
}

TEST_F(ServeTest, WithAPasswordEveryPageThatHasItMayUseIt) {
  Server server = Serve({}, {{"CAIRN_PASSWORD", "sesame"}});
  const std::string page = "https://app.example.com";
  EXPECT_EQ(AskedByAPage(server, page, "/api/v1/queues"), Told(401, "*"));
  EXPECT_EQ(AskedByAPage(server, page, "/api/v1/queues", "OPTIONS"), Told(200, "*"))
      << "a browser asks without the password";
  // The password is taken away: what was safe with it is not without it.
  net::RespClient client = *server.Connect();
  ASSERT_EQ(client.Command({"AUTH", "sesame"})->ToString(), "OK");
  ASSERT_EQ(client.Command({"CONFIG", "SET", "requirepass", ""})->ToString(), "OK");
  EXPECT_EQ(AskedByAPage(server, page, "/api/v1/queues"), Told(403, ""));
}

TEST_F(ServeTest, CorsOriginsNameThePagesThatMayUseIt) {
  Server server = Serve({"--cors-origins", "https://app.example.com"});
  EXPECT_EQ(AskedByAPage(server, "https://app.example.com", "/metrics"),
            Told(200, "https://app.example.com"));
  EXPECT_EQ(AskedByAPage(server, "http://localhost:5173", "/metrics"), Told(403, ""));
}

TEST_F(ServeTest, AWebPageCannotSendCommandsToTheRedisPort) {
  Server server = Serve({});
  for (const std::string_view first : {"POST / HTTP/1.1\r\n", "GET x\r\nHost: here\r\n"}) {
    auto client = server.Connect();
    ASSERT_TRUE(client.ok());
    ASSERT_TRUE(client->SendRaw(std::string(first) + "\r\nSET evil 1\r\n").ok());
    EXPECT_TRUE(client->ReceiveUntilClosed().ok());
  }
  EXPECT_EQ(server.Command({"SET", "evil", "2", "NX"}), "OK");
}

TEST_F(ServeTest, SettingsOfTheEnvironmentHold) {
  Server server = Serve({}, {{"CAIRN_PASSWORD", "sesame"}});
  EXPECT_THAT(server.Command({"GET", "k"}), HasSubstr("NOAUTH"));
  EXPECT_TRUE(server.Stop().ok());
}

TEST_F(ServeTest, HttpNeedsThePasswordExceptForHealth) {
  const std::string file = directory_.Write("password", "sesame\n");
  Server server = Serve({"--password-file", file});
  net::HttpClient http = server.Http();
  EXPECT_EQ(http.Get("/healthz")->status, 200);
  EXPECT_EQ(http.Get("/readyz")->status, 200);
  EXPECT_EQ(http.Get("/metrics")->status, 401);
  for (const char* target : {"/openapi.json", "/docs", "/"}) {
    EXPECT_EQ(http.Get(target)->status, 401) << target;
    EXPECT_LT(http.Get(target, {{"X-API-Key", "sesame"}})->status, 400) << target;
  }
  EXPECT_EQ(http.Get("/no/such/route")->status, 401);
  EXPECT_EQ(http.Get("/metrics", {{"Authorization", "Bearer sesame"}})->status, 200);
  EXPECT_EQ(http.Get("/metrics", {{"X-API-Key", "sesame"}})->status, 200);
  EXPECT_EQ(http.Get("/metrics", {{"X-API-Key", "sesam"}})->status, 401);
  // Guesses are seen.
  EXPECT_TRUE(AwaitLog(server, "failed logins: wrong password, user or key"));
  EXPECT_THAT(http.Get("/metrics", {{"X-API-Key", "sesame"}})->body,
              HasSubstr("cairn_failed_logins_total 1"));
}

TEST_F(ServeTest, TheFrontDoorLeadsToTheReferenceOfRoutesAndCommands) {
  Server server = Serve();
  net::HttpClient http = server.Http();
  const Result<net::HttpResponse> front = http.Get("/");
  ASSERT_TRUE(front.ok()) << front.error().message;
  EXPECT_EQ(front->status, 302);
  EXPECT_EQ(front->headers.Get("Location"), "/docs");

  const Result<net::HttpResponse> page = http.Get("/docs");
  ASSERT_TRUE(page.ok()) << page.error().message;
  EXPECT_EQ(page->status, 200);
  EXPECT_EQ(page->headers.Get("Content-Type"), "text/html; charset=utf-8");
  EXPECT_THAT(page->body,
              AllOf(HasSubstr("id=\"POST/api/v1/enqueue\""), HasSubstr("id=\"GET/v1/events/:id\""),
                    HasSubstr("id=\"command/zadd\""), HasSubstr("id=\"command/job.enqueue\"")));
  const std::string etag(page->headers.Get("ETag").value_or(""));
  EXPECT_EQ(http.Get("/docs", {{"If-None-Match", etag}})->status, 304);
  EXPECT_EQ(http.Request("HEAD", "/docs", "", {})->headers.Get("ETag"), etag);
}

TEST_F(ServeTest, APasswordSetWhileServingHoldsForBothDoors) {
  Server server = Serve();
  EXPECT_EQ(server.Http().Get("/metrics")->status, 200);
  EXPECT_EQ(server.Command({"CONFIG", "SET", "requirepass", "sesame"}), "OK");
  EXPECT_EQ(server.Http().Get("/metrics")->status, 401);
  EXPECT_EQ(server.Http().Get("/metrics", {{"X-API-Key", "sesame"}})->status, 200);
  EXPECT_THAT(server.Command({"GET", "k"}), HasSubstr("NOAUTH"));
}

TEST_F(ServeTest, LimitsReachTheListeners) {
  Server server =
      Serve({"--limits-bulk", "1MiB", "--limits-http-body", "1KiB", "--max-clients", "1"});
  EXPECT_THAT(server.Command({"SET", "k", std::string((1 << 20) + 1, 'x')}),
              HasSubstr("invalid bulk length"));
  EXPECT_EQ(server.Command({"SET", "k", std::string(1 << 20, 'x')}), "OK");
  EXPECT_EQ(server.Http().Post("/v1/admin/backup", std::string(2000, ' '))->status, 413);
  const Result<net::RespClient> first = server.Connect();
  ASSERT_TRUE(first.ok());
  EXPECT_THAT(server.Command({"PING"}), HasSubstr("max number of clients reached"));
}

TEST_F(ServeTest, ConfigGetAndSetKnowTheProcessUnderRedisNames) {
  Server server = Serve({"--max-clients", "50", "--idle-timeout", "5m"});
  const auto get = [&](std::string_view name) { return server.Command({"CONFIG", "GET", name}); };
  EXPECT_EQ(get("dir"), "[\"dir\", \"" + data() + "\"]");
  EXPECT_EQ(get("port"), fmt::format("[\"port\", \"{}\"]", server.resp().port));
  EXPECT_EQ(get("timeout"), "[\"timeout\", \"300\"]");
  EXPECT_EQ(get("maxclients"), "[\"maxclients\", \"50\"]");
  EXPECT_EQ(server.Command({"CONFIG", "SET", "maxclients", "1", "timeout", "0"}), "OK");
  EXPECT_EQ(get("timeout"), "[\"timeout\", \"0\"]");
  const Result<net::RespClient> first = server.Connect();
  EXPECT_THAT(server.Command({"PING"}), HasSubstr("max number of clients reached"));
}

TEST_F(ServeTest, TlsServesTheDoorsItIsMeantFor) {
  const std::string cert = directory_ / "cert.pem";
  const std::string key = directory_ / "key.pem";
  const Finished made =
      RunToEnd({{"/usr/bin/openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                 "ec_paramgen_curve:P-256", "-nodes", "-keyout", key, "-out", cert, "-days", "10",
                 "-subj", "/CN=cairn.test", "-addext", "subjectAltName=IP:127.0.0.1"},
                {},
                {}});
  ASSERT_EQ(made.status.code, 0) << made.err;
  Server server = Serve({"--tls-cert", cert, "--tls-key", key, "--tls-doors", "http",
                         "--backup-directory", directory_.path()});
  net::HttpClient https(server.http(), {.tls = true, .ca_file = cert});
  const Result<net::HttpResponse> health = https.Get("/healthz");
  ASSERT_TRUE(health.ok()) << health.error().message;
  EXPECT_EQ(health->status, 200);
  EXPECT_FALSE(server.Http().Get("/healthz").ok());
  EXPECT_EQ(server.Command({"PING"}), "PONG");
  EXPECT_THAT(server.process().out(), HasSubstr("https://"));

  const std::string url = "https://" + net::ToString(server.http());
  const Finished backup =
      RunCairn({"backup", "--to", directory_ / "backup", "--url", url, "--ca", cert});
  EXPECT_EQ(backup.status.code, 0) << backup.err;
  const Finished doctor =
      RunCairn({"doctor", "--data", data(), "--tls-cert", cert, "--tls-key", key});
  EXPECT_THAT(doctor.out, AllOf(HasSubstr("certificate and key fit"), HasSubstr("renew")));
}

TEST_F(ServeTest, DataSurvivesARestart) {
  Server first = Serve();
  EXPECT_EQ(first.Command({"SET", "k", "v"}), "OK");
  EXPECT_TRUE(first.Stop().ok());
  Server second = Serve({"--durability", "interval"});
  EXPECT_EQ(second.Command({"GET", "k"}), "\"v\"");
}

TEST_F(ServeTest, GracefulStopKeepsWhatEveryModeAcknowledged) {
  for (const char* mode : {"interval", "os"}) {
    Server server = Serve({"--durability", mode});
    EXPECT_EQ(server.Command({"SET", mode, "kept"}), "OK");
    EXPECT_TRUE(server.Stop().ok());
    Server again = Serve();
    EXPECT_EQ(again.Command({"GET", mode}), "\"kept\"");
  }
}

TEST_F(ServeTest, AScriptInTheMiddleOfAPatternDoesNotKeepItFromStopping) {
  Server server = Serve({"--drain-timeout", "100ms"});
  auto client = server.Connect();
  ASSERT_TRUE(client.ok());
  // All ways to match thirty optional letters, inside one call.
  const std::string script =
      "return string.rep('a', 34):find(string.rep('a?', 34) .. string.rep('a', 34))";
  ASSERT_TRUE(client->Send({"EVAL", script, "0"}).ok());
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_EQ(server.Stop().code, 0);
}

TEST_F(ServeTest, SecondServerOnTheSameDirectoryIsRefused) {
  Server server = Serve();
  const Result<Server> second = Server::Start({.data = data()});
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(second.error().message,
              AllOf(HasSubstr("cairn: "), HasSubstr(data()), HasSubstr("another process")));
  EXPECT_EQ(server.Command({"PING"}), "PONG");
}

TEST_F(ServeTest, DirectoryOfANewerFormatIsRefusedByName) {
  ASSERT_TRUE(Serve().Stop().ok());
  std::string format = ReadWholeFile(data() + "/FORMAT");
  format.replace(format.find("format "), 8, "format 9");
  directory_.Write("data/FORMAT", format);
  const Finished finished =
      RunCairn({"serve", "--data", data(), "--resp", "127.0.0.1:0", "--http", "127.0.0.1:0"});
  EXPECT_EQ(finished.status.code, 1);
  EXPECT_THAT(finished.err, AllOf(HasSubstr("FORMAT"), HasSubstr("version 9")));
}

TEST_F(ServeTest, DirectoryWithSomethingElseInItIsRefused) {
  std::filesystem::create_directory(data());
  directory_.Write("data/letters.txt", "dear all");
  const Finished finished =
      RunCairn({"serve", "--data", data(), "--resp", "127.0.0.1:0", "--http", "127.0.0.1:0"});
  EXPECT_EQ(finished.status.code, 1);
  EXPECT_THAT(finished.err, HasSubstr("letters.txt"));
}

TEST_F(ServeTest, AddressInUseIsOneClearLine) {
  Server server = Serve();
  const std::string taken = net::ToString(server.resp());
  const Finished finished = RunCairn({"serve", "--data", directory_ / "other", "--resp", taken,
                                      "--http", "127.0.0.1:0", "--log-level", "error"});
  EXPECT_EQ(finished.status.code, 1);
  EXPECT_THAT(finished.err, StartsWith("cairn: cannot listen on " + taken));
  EXPECT_EQ(std::ranges::count(finished.err, '\n'), 1) << finished.err;
}

TEST_F(ServeTest, UnreadableTlsFileIsNamed) {
  const Finished finished =
      RunCairn({"serve", "--data", data(), "--resp", "127.0.0.1:0", "--http", "127.0.0.1:0",
                "--tls-cert", directory_ / "no.pem", "--tls-key", directory_ / "no.key"});
  EXPECT_EQ(finished.status.code, 1);
  EXPECT_THAT(finished.err, HasSubstr("no.pem"));
}

class DrainTest : public ServeTest {
 protected:
  // A connection called "busy" whose request `args` has begun, its reply not received yet.
  static net::RespClient Begin(Server& server, std::initializer_list<std::string_view> args) {
    Result<net::RespClient> busy = server.Connect();
    Result<net::RespClient> observer = server.Connect();
    CAIRN_CHECK(busy.ok() && observer.ok());
    CAIRN_CHECK(busy->Command({"CLIENT", "SETNAME", "busy"}).ok());
    CAIRN_CHECK(busy->Send(args).ok());
    const std::string begun = fmt::format("cmd={}", *args.begin());
    for (;;) {
      const Result<net::RespValue> list = observer->Command({"CLIENT", "LIST"});
      CAIRN_CHECK(list.ok(), "{}", list.error().message);
      const size_t line = list->text.find("name=busy");
      CAIRN_CHECK(line != std::string::npos);
      const std::string_view rest = std::string_view(list->text).substr(line);
      if (rest.substr(0, rest.find('\n')).find(begun) != std::string_view::npos) break;
    }
    return *std::move(busy);
  }

  // A connection that asks for more than the kernel's buffers hold and never reads: the server
  // cannot get rid of its reply.
  static net::RespClient BeginWithoutReading(Server& server) {
    EXPECT_EQ(server.Command({"SET", "large", std::string(32 << 20, 'x')}), "OK");
    return Begin(server, {"get", "large"});
  }
};

TEST_F(DrainTest, ARequestInFlightIsAnsweredBeforeTheServerEnds) {
  constexpr int kKeys = 100'000;
  Server server = Serve({"--durability", "os"});
  Result<net::RespClient> writer = server.Connect();
  ASSERT_TRUE(writer.ok());
  std::vector<std::string> many = {"MSET"};
  for (int i = 0; i < kKeys; ++i) {
    many.push_back("key:" + std::to_string(i));
    many.emplace_back("v");
  }
  ASSERT_EQ(writer->Command(many)->ToString(), "OK");
  net::RespClient busy = Begin(server, {"keys", "*"});
  server.process().Signal(SIGTERM);
  const Result<net::RespValue> reply = busy.Receive();
  ASSERT_TRUE(reply.ok()) << reply.error().message;
  EXPECT_EQ(reply->items.size(), static_cast<size_t>(kKeys));
  EXPECT_EQ(server.process().Wait(seconds(60)), (ExitStatus{.code = 0, .signal = {}}));
}

// It is one transaction: all of it happens, or nothing, and either way the server ends in order.
TEST_F(DrainTest, AQueueThatIsBeingDeletedDoesNotSpoilTheEnd) {
  constexpr int kBatches = 6;
  Server server = Serve({"--durability", "os", "--drain-timeout", "100ms"});
  std::string batch = R"({"jobs":[{"queue":"q"})";
  for (int i = 1; i < 10'000; ++i) batch += R"(,{"queue":"q"})";
  batch += "]}";
  for (int i = 0; i < kBatches; ++i) {
    const auto added = server.Http().Post("/api/v1/enqueue/batch", batch);
    ASSERT_TRUE(added.ok()) << added.error().message;
    ASSERT_EQ(added->status, 201) << added->body.substr(0, 200);
  }
  net::RespClient deleting = Begin(server, {"queue.delete", "q"});
  server.process().Signal(SIGTERM);
  (void)deleting.Receive();
  EXPECT_EQ(server.process().Wait(seconds(60)), (ExitStatus{.code = 0, .signal = {}}))
      << server.process().err();
  const auto left = Serve().Http().Get("/api/v1/queues");
  ASSERT_TRUE(left.ok()) << left.error().message;
  EXPECT_TRUE(left->body == "[]" || left->body.find(R"("pending":60000,)") != std::string::npos)
      << left->body;
}

TEST_F(DrainTest, ASecondSignalEndsTheServerAtOnce) {
  Server server = Serve({"--drain-timeout", "10m"});
  const net::RespClient stuck = BeginWithoutReading(server);
  server.process().Signal(SIGTERM);
  ASSERT_TRUE(AwaitLog(server, "stopping"));
  EXPECT_TRUE(server.process().running());
  server.process().Signal(SIGTERM);
  EXPECT_EQ(server.process().Wait(seconds(60)), (ExitStatus{.code = {}, .signal = SIGTERM}));
  EXPECT_EQ(Serve().Command({"STRLEN", "large"}), "(integer) 33554432");
}

TEST_F(DrainTest, ADrainEndsAtItsTimeout) {
  Server server = Serve({"--drain-timeout", "100ms"});
  const net::RespClient stuck = BeginWithoutReading(server);
  EXPECT_TRUE(server.Stop().ok());
}

TEST_F(DrainTest, AScriptWithoutEndDoesNotKeepTheServer) {
  Server server = Serve({"--drain-timeout", "100ms"});
  EXPECT_EQ(server.Command({"CONFIG", "SET", "busy-reply-threshold", "1"}), "OK");
  Result<net::RespClient> client = server.Connect();
  ASSERT_TRUE(client.ok());
  ASSERT_TRUE(client->Send({"EVAL", "redis.call('SET','k','v') while true do end", "1", "k"}).ok());
  // It runs where it may take long, and says so.
  cairn::testing::Await("the script to take long",
                        [&] { return server.Command({"PING"}).starts_with("(error) BUSY"); });
  EXPECT_TRUE(server.Stop().ok());
  // What it wrote was never committed.
  EXPECT_EQ(Serve().Command({"EXISTS", "k"}), "(integer) 0");
}

TEST_F(DrainTest, APipelineCutByTheDrainHasWholeRepliesAndTheirWritesAreKept) {
  constexpr int kWrites = 5000;
  Server server = Serve();
  Result<net::RespClient> client = server.Connect();
  ASSERT_TRUE(client.ok());
  for (int i = 0; i < kWrites; ++i) {
    ASSERT_TRUE(client->Send({"SET", "k" + std::to_string(i), "v"}).ok());
  }
  server.process().Signal(SIGTERM);
  int acknowledged = 0;
  for (Result<net::RespValue> reply = client->Receive(); reply.ok(); reply = client->Receive()) {
    ASSERT_EQ(reply->ToString(), "OK");
    ++acknowledged;
  }
  EXPECT_EQ(server.process().Wait(seconds(60)), (ExitStatus{.code = 0, .signal = {}}));
  Server again = Serve();
  EXPECT_GE(std::stoi(again.Command({"DBSIZE"}).substr(10)), acknowledged);
  if (acknowledged > 0) {
    EXPECT_EQ(again.Command({"GET", "k" + std::to_string(acknowledged - 1)}), "\"v\"");
  }
}

TEST_F(ServeTest, ShutdownCommandStopsTheServer) {
  Server server = Serve();
  Result<net::RespClient> client = server.Connect();
  ASSERT_TRUE(client.ok());
  ASSERT_TRUE(client->Send({"SHUTDOWN"}).ok());
  EXPECT_EQ(server.process().Wait(seconds(60)), (ExitStatus{.code = 0, .signal = {}}));
}

}  // namespace
}  // namespace cairn::testing
