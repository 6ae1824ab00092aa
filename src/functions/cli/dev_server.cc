#include "functions/cli/dev_server.h"

#include <fmt/format.h>

#include <chrono>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "functions/cli/call.h"
#include "functions/model/errors.h"
#include "functions/model/json_writer.h"
#include "functions/model/limits.h"
#include "functions/web/gateway.h"
#include "net/http/host.h"

namespace cairn::functions::cli {
namespace {

using boost::asio::awaitable;
using net::HttpReply;
using net::HttpRequest;
using net::HttpResponse;

constexpr size_t kMaxConnections = 64;
constexpr std::chrono::milliseconds kDrain(200);

// What whoever develops the function wants to know.
HttpResponse FailureOf(int status, std::string_view code, std::string_view message,
                       std::string_view stack, std::string_view log) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.BeginObject("error");
  json.Text("code", code);
  json.Text("message", message);
  if (!stack.empty()) json.Text("stack", stack);
  json.EndObject();
  json.Text("logs", log);
  json.EndObject();
  return HttpResponse::Json(status, std::move(text));
}

HttpResponse ResponseOf(const LocalOutcome& outcome) {
  if (outcome.end.result) return GatewayResponse(*outcome.end.result);
  const FunctionError error = outcome.end.error.value_or(FunctionError());
  const bool late = outcome.end.status == Status::kTimeout;
  const Code code = late ? Code::kRuntimeTimeout : Code::kException;
  const std::string message = fmt::format("{}: {}", error.type, error.message);
  return FailureOf(late ? 504 : 500, CodeRowOf(code).name, message, error.stack, outcome.log);
}

void Tell(const HttpRequest& request, const LocalOutcome& outcome, int status) {
  Note(fmt::format("{} {}  {}  {} ms", request.method, request.path, status, outcome.duration_ms));
  for (const LocalMessage& message : outcome.messages) {
    Note(fmt::format("  {} to {}: {}", message.call, message.name, message.payload));
  }
  if (const auto& error = outcome.end.error) {
    Note(fmt::format("  {}: {}\n{}", error->type, error->message, error->stack));
  }
}

}  // namespace

class DevServer::Handler final : public net::HttpHandler {
 public:
  Handler(LocalRuntime& runtime, std::shared_ptr<Shown> shown)
      : runtime_(runtime), shown_(std::move(shown)) {}

  size_t BodyLimit(HttpRequest& /*head*/) override { return kMaxEventBytes; }

  awaitable<HttpReply> Handle(HttpRequest request) override {
    std::shared_ptr<const LocalFunction> function;
    std::string failure;
    {
      const std::scoped_lock lock(shown_->mutex);
      function = shown_->function;
      failure = shown_->failure;
    }
    if (!failure.empty() || !function) {
      co_return HttpReply(FailureOf(500, "CS_VALIDATION_FAILED", failure, "", ""));
    }
    LocalRuntime::Invocation invocation;
    Result<std::string> event = GatewayEvent(request, request.path);
    if (!event.ok()) {
      const CodeRow& row = CodeRowOf(event.error());
      co_return HttpReply(FailureOf(row.http_status, row.name, RefusalText(event.error()), "", ""));
    }
    invocation.event = *std::move(event);
    invocation.trigger.type = TriggerType::kHttp;
    invocation.logged = [](std::string_view level, std::string_view text) {
      Note(fmt::format("  [{}] {}", level, text));
    };
    const LocalOutcome outcome = co_await runtime_.Run(function, std::move(invocation));
    HttpResponse response = ResponseOf(outcome);
    Tell(request, outcome, response.status);
    co_return HttpReply(std::move(response));
  }

 private:
  LocalRuntime& runtime_;
  const std::shared_ptr<Shown> shown_;
};

DevServer::DevServer(LocalRuntime& runtime) : runtime_(runtime), shown_(std::make_shared<Shown>()) {
  net::HttpServerOptions options;
  options.max_connections = kMaxConnections;
  // A page of another name that leads to 127.0.0.1 is not answered.
  options.hosts = [] {
    static const net::AllowedHosts loopback;
    return &loopback;
  };
  server_ = std::make_unique<net::HttpServer>(
      options, runtime.loops(),
      [this](net::Loop&) { return std::make_unique<Handler>(runtime_, shown_); }, runtime.clock(),
      runtime.random(), Log(LogLevel::kWarn, LogFormat::kText));
}

DevServer::~DevServer() { server_->Drain(kDrain); }

Result<uint16_t> DevServer::Listen(uint16_t port) {
  return server_->Listen({.host = "127.0.0.1", .port = port});
}

void DevServer::Show(std::shared_ptr<const LocalFunction> function) {
  const std::scoped_lock lock(shown_->mutex);
  shown_->function = std::move(function);
  shown_->failure.clear();
}

void DevServer::Fail(std::string why) {
  const std::scoped_lock lock(shown_->mutex);
  shown_->failure = std::move(why);
}

}  // namespace cairn::functions::cli
