#include "jobs/testing/route_server.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "base/log.h"
#include "jobs/http/routes.h"
#include "jobs/ledger/event_trim.h"
#include "jobs/ledger/verify.h"
#include "jobs/operations/due_timers.h"
#include "jobs/resp/commands.h"
#include "jobs/schedule/schedule.h"
#include "jobs/webhook/webhook_loop.h"
#include "net/resp/client.h"
#include "store/timers.h"

namespace cairn::jobs::testing {

namespace json = boost::json;

RouteServer::RouteServer()
    : server_({.add_commands = [](doors::Instance& instance) { AddJobCommands(instance); }}),
      store_(server_.instance().traffic().turns, loops_, server_.instance().pools().store),
      http_({}, loops_, Factory(), server_.clock(), random_, Log::Silent()) {
  loops_.Start();
  const auto port = http_.Listen({"127.0.0.1", 0});
  EXPECT_TRUE(port.ok());
  port_ = *port;
  client_ = std::make_unique<net::HttpClient>(NewClient());
}

RouteServer::~RouteServer() {
  client_.reset();
  http_.Drain(std::chrono::seconds(30));
  loops_.Stop();
  server_.instance().pools().store.Stop();
}

net::HttpHandlerFactory RouteServer::Factory() {
  AddJobRoutes({.store = store_,
                .clock = server_.clock(),
                .random = random_,
                .version = "1.2.3",
                .webhook_targets = {.loopback = true},
                .gaps = gaps_},
               table_);
  return [this](net::Loop& loop) {
    return std::make_unique<WebhookLoopGuard>(std::string(kOrigin), table_.MakeHandler(loop));
  };
}

void RouteServer::KeepEvents(uint64_t count) {
  bool more = true;
  while (more) {
    const auto done = server_.store().Run(
        store::Scopes::Exclusive(), [&](store::Transaction& transaction) -> Result<void> {
          CAIRN_ASSIGN_OR_RETURN(more, TrimEvents(transaction, {.kept = count}));
          return {};
        });
    ASSERT_TRUE(done.ok()) << done.error().message;
  }
}

net::HttpResponse RouteServer::Ask(std::string_view method, const std::string& target,
                                   const std::string& body, const net::HttpHeaders& headers) {
  const auto response = client_->Request(method, target, body, headers);
  EXPECT_TRUE(response.ok()) << response.error().message;
  if (!response.ok()) return {};
  CheckSchema(method, target, *response);
  return *response;
}

void RouteServer::CheckSchema(std::string_view method, const std::string& target,
                              const net::HttpResponse& response) {
  const Result<net::HttpTarget> asked = net::ParseTarget(target);
  ASSERT_TRUE(asked.ok());
  size_t best = table_.size();
  size_t best_names = 100;
  for (size_t i = 0; i < table_.size(); ++i) {
    const Result<net::HttpTarget> row = net::ParseTarget(table_.row(i).path);
    if (table_.row(i).method != method || row->segments.size() != asked->segments.size()) continue;
    size_t names = 0;
    bool fits = true;
    for (size_t s = 0; s < row->segments.size(); ++s) {
      const bool name = row->segments[s].starts_with('{');
      names += name ? 1 : 0;
      fits = fits && (name || row->segments[s] == asked->segments[s]);
    }
    if (!fits || names >= best_names) continue;
    best = i;
    best_names = names;
  }
  if (best == table_.size() || response.status == 204) return;
  const doors::JsonSchema* schema = table_.ResponseSchema(best, response.status);
  ASSERT_NE(schema, nullptr) << target << " has no status " << response.status << ": "
                             << response.body;
  boost::system::error_code failure;
  const json::value body = json::parse(response.body, failure);
  ASSERT_FALSE(failure) << target << ": " << response.body;
  EXPECT_EQ(schema->FindFault(body).value_or(""), "") << target << ": " << response.body;
}

json::value RouteServer::PostOk(const std::string& path, const std::string& body) {
  const net::HttpResponse response = Post(path, body);
  EXPECT_LT(response.status, 300) << path << ": " << response.body;
  return response.body.empty() ? json::value() : json::parse(response.body);
}

json::value RouteServer::GetOk(const std::string& path) {
  const net::HttpResponse response = Get(path);
  EXPECT_LT(response.status, 300) << path << ": " << response.body;
  return json::parse(response.body);
}

std::string RouteServer::Refusal(const net::HttpResponse& response) {
  boost::system::error_code failure;
  const json::value body = json::parse(response.body, failure);
  if (failure || !body.is_object() || !body.as_object().contains("code")) {
    return fmt::format("{} {}", response.status, response.body);
  }
  return fmt::format("{} {}", response.status, std::string_view(body.at("code").as_string()));
}

std::string RouteServer::Enqueue(const std::string& queue, const std::string& more) {
  const json::value answer = PostOk(
      "/enqueue", fmt::format(R"({{"queue":"{}"{}{}}})", queue, more.empty() ? "" : ",", more));
  return std::string(answer.at("job_id").as_string());
}

json::value RouteServer::Fetch(const std::string& queue, const std::string& more) {
  const json::value answer =
      PostOk("/fetch/batch",
             fmt::format(R"({{"queues":["{}"],"worker_id":"w1","hostname":"h","wait":0{}{}}})",
                         queue, more.empty() ? "" : ",", more));
  const json::array& jobs = answer.at("jobs").as_array();
  return jobs.empty() ? json::value() : jobs.front();
}

std::string RouteServer::StateOf(const std::string& id) {
  return std::string(GetOk("/jobs/" + id).at("state").as_string());
}

void RouteServer::Advance(int64_t ms) {
  server_.clock().AdvanceMillis(ms);
  FireTimers();
}

void RouteServer::FireTimers() {
  ScheduleTicks schedules;
  DueTimers due;
  due.Register(DueKind::kSchedule, schedules);
  store::TimerService timers(server_.store(), server_.clock(), Log::Silent());
  due.RegisterWith(timers);
  // Looking sets timers of now, which act.
  for (Result<size_t> fired = 1; *fired > 0;) {
    fired = timers.RunDue();
    ASSERT_TRUE(fired.ok()) << fired.error().message;
  }
}

void RouteServer::ExpectSound() {
  const auto snapshot = server_.store().Read();
  ASSERT_TRUE(snapshot.ok());
  const Result<VerifyReport> report = Verify(**snapshot);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_TRUE(report->sound()) << report->ToJson();
}

EventReader::EventReader(uint16_t port, const std::string& query, const std::string& last_event_id)
    : client_(*net::RespClient::Connect({"127.0.0.1", port})) {
  std::string request = fmt::format("GET /api/v1/events{} HTTP/1.1\r\nHost: test\r\n", query);
  if (!last_event_id.empty()) request += "Last-Event-ID: " + last_event_id + "\r\n";
  EXPECT_TRUE(client_.SendRaw(request + "\r\n").ok());
}

std::string EventReader::Next() {
  while (true) {
    const size_t end = text_.find("\n\n");
    if (end == std::string::npos) {
      if (!ReadMore()) return "no event came: " + text_;
      continue;
    }
    const std::string block = text_.substr(0, end);
    text_.erase(0, end + 2);
    const size_t begin = block.find("id: ");
    if (begin == std::string::npos) continue;
    const auto field = [&](std::string_view name) {
      const size_t at = block.find(name, begin) + name.size();
      return block.substr(at, block.find('\n', at) - at);
    };
    last_id_ = field("id: ");
    data_ = json::parse(field("data: "));
    const std::string type = field("event: ");
    const json::value* queue = data_.as_object().if_contains("queue");
    return queue == nullptr ? type : type + " " + std::string(queue->as_string());
  }
}

bool EventReader::ReadMore() {
  pollfd ready{client_.fd(), POLLIN, 0};
  if (poll(&ready, 1, 60'000) <= 0) return false;
  char buffer[4096];
  const ssize_t size = recv(client_.fd(), buffer, sizeof(buffer), 0);
  if (size <= 0) return false;
  text_.append(buffer, static_cast<size_t>(size));
  return true;
}

}  // namespace cairn::jobs::testing
