#include "functions/testing/codeq_server.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

#include "base/log.h"
#include "data/commands.h"
#include "data/value/entry.h"
#include "functions/http/codeq_routes.h"
#include "functions/resp/codeq_commands.h"
#include "jobs/ledger/verify.h"
#include "jobs/operations/due_timers.h"
#include "jobs/resp/commands.h"
#include "store/timers.h"

namespace cairn::functions::testing {

namespace json = boost::json;

CodeqServer::CodeqServer()
    : server_({.add_commands =
                   [](doors::Instance& instance) {
                     data::AddDataCommands(instance);
                     jobs::AddJobCommands(instance);
                     AddCodeqCommands(instance);
                   }}),
      store_(server_.instance().traffic().turns, loops_, server_.instance().pools().store),
      http_({}, loops_, Factory(), server_.clock(), random_, Log::Silent()) {
  loops_.Start();
  const auto port = http_.Listen({"127.0.0.1", 0});
  EXPECT_TRUE(port.ok());
  port_ = *port;
  client_ = std::make_unique<net::HttpClient>(NewClient());
}

CodeqServer::~CodeqServer() {
  client_.reset();
  http_.Drain(std::chrono::seconds(30));
  loops_.Stop();
  server_.instance().pools().store.Stop();
}

net::HttpHandlerFactory CodeqServer::Factory() {
  AddCodeqRoutes({.store = store_, .clock = server_.clock(), .random = random_}, table_);
  return [this](net::Loop& loop) { return table_.MakeHandler(loop); };
}

net::HttpResponse CodeqServer::Ask(std::string_view method, const std::string& target,
                                   const std::string& body, const net::HttpHeaders& headers) {
  const auto response = client_->Request(method, target, body, headers);
  EXPECT_TRUE(response.ok()) << response.error().message;
  return response.ok() ? *response : net::HttpResponse();
}

json::value CodeqServer::Json(int status, std::string_view method, const std::string& target,
                              const std::string& body, const net::HttpHeaders& headers) {
  const net::HttpResponse response = Ask(method, target, body, headers);
  EXPECT_EQ(response.status, status) << target << ": " << response.body;
  if (response.body.empty()) return nullptr;
  boost::system::error_code failure;
  json::value value = json::parse(response.body, failure);
  EXPECT_FALSE(failure) << response.body;
  return value;
}

std::string CodeqServer::Refusal(const net::HttpResponse& response) {
  boost::system::error_code failure;
  const json::value body = json::parse(response.body, failure);
  const json::value* const error =
      failure || !body.is_object() ? nullptr : body.as_object().if_contains("error");
  if (error == nullptr || !error->is_object()) {
    return fmt::format("{} {}", response.status, response.body);
  }
  return fmt::format("{} {} {}", response.status, std::string_view(error->at("code").as_string()),
                     std::string_view(error->at("message").as_string()));
}

void CodeqServer::Advance(int64_t ms) {
  server_.clock().AdvanceMillis(ms);
  jobs::DueTimers due;
  std::atomic<uint64_t> expired{0};
  data::ExpiryTimers expiry(server_.instance().traffic().pubsub, expired);
  data::ReclaimTimers reclaim;
  store::TimerService timers(server_.store(), server_.clock(), Log::Silent());
  due.RegisterWith(timers);
  timers.Register(store::kTimerKeyExpiry, expiry);
  timers.Register(store::kTimerReclaim, reclaim);
  for (Result<size_t> fired = 1; *fired > 0;) {
    fired = timers.RunDue();
    ASSERT_TRUE(fired.ok()) << fired.error().message;
  }
}

void CodeqServer::ExpectSound() {
  const auto snapshot = server_.store().Read();
  ASSERT_TRUE(snapshot.ok());
  const Result<jobs::VerifyReport> report = jobs::Verify(**snapshot);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_TRUE(report->sound()) << report->ToJson();
}

// --- Messages ------------------------------------------------------------------------------------

namespace {

struct Member {
  std::string_view name;
  std::string json;
};

std::string ObjectWithout(const std::vector<Member>& members, std::string_view without,
                          std::string_view more) {
  std::string text = "{" + std::string(more);
  for (const Member& member : members) {
    if (member.name == without) continue;
    if (text.size() > 1) text += ',';
    text += fmt::format(R"("{}":{})", member.name, member.json);
  }
  return text + "}";
}

std::string Quoted(std::string_view text) { return fmt::format("\"{}\"", text); }

}  // namespace

std::string ActivationId(int number) {
  return fmt::format("00000000-0000-4000-8000-{:012}", number);
}
std::string RequestId(int number) { return fmt::format("req_{:08}", number); }

std::string MessageAround(std::string_view type, std::string_view body, int number) {
  return fmt::format(
      R"({{"schema":"cs.envelope.v1","id":"msg_{}","ts_ms":1700000000000,"tenant":"{}",)"
      R"("type":"{}","body":{}}})",
      number, kTenant, type, body);
}

std::string RequestMessage(int number, std::string_view without, std::string_view more) {
  return MessageAround("InvocationRequest",
                       ObjectWithout({{"activation_id", Quoted(ActivationId(number))},
                                      {"request_id", Quoted(RequestId(number))},
                                      {"tenant", Quoted(kTenant)},
                                      {"namespace", R"("payments")"},
                                      {"ref", R"({"function":"reconcile","alias":"prod"})"},
                                      {"trigger", R"({"type":"api","source":{}})"},
                                      {"principal", R"({"sub":"user:123","roles":["role:app"]})"},
                                      {"deadline_ms", "1730000003000"},
                                      {"event", R"({"n":1})"}},
                                     without, more),
                       number);
}

std::string ResultMessage(int number, std::string_view without, std::string_view more) {
  return MessageAround("InvocationResult",
                       ObjectWithout({{"activation_id", Quoted(ActivationId(number))},
                                      {"request_id", Quoted(RequestId(number))},
                                      {"status", R"("success")"},
                                      {"duration_ms", "12"},
                                      {"result", R"({"statusCode":200,"headers":{},"body":"e30=",)"
                                                 R"("isBase64Encoded":true})"}},
                                     without, more),
                       number);
}

}  // namespace cairn::functions::testing
