#include "functions/cadence/frontend.h"

#include <utility>

#include "functions/cadence/grpc_wire.h"
#include "functions/cadence/json_wire.h"
#include "functions/cadence/limits.h"
#include "functions/web/send.h"

namespace cairn::functions {
namespace {

using boost::asio::awaitable;

std::unique_ptr<Wire> WireOf(const FrontendOptions& options) {
  if (options.url.empty()) return nullptr;
  const bool json = options.transport == FrontendOptions::Transport::kJson;
  return json ? MakeJsonWire(options.url) : MakeGrpcWire(options.url);
}

}  // namespace

Frontend::Frontend(const Clock& clock, FrontendOptions options)
    : clock_(clock), wire_(WireOf(options)) {}

Frontend::~Frontend() { Stop(); }

std::shared_ptr<outside::HttpService> Frontend::Service() {
  const std::scoped_lock lock(mutex_);
  if (stopped_ || wire_ == nullptr) return nullptr;
  if (http_ == nullptr) {
    http_ = std::make_shared<outside::HttpService>(
        clock_, outside::HttpServiceOptions{.max_in_flight = kMaxFrontendCalls,
                                            .max_waiting = kMaxWaitingCalls});
  }
  return http_;
}

void Frontend::Stop() {
  std::shared_ptr<outside::HttpService> http;
  {
    const std::scoped_lock lock(mutex_);
    stopped_ = true;
    http = http_;
  }
  if (http != nullptr) http->Stop();
}

awaitable<Result<outside::HttpAnswer>> Frontend::Ask(outside::HttpCall call) {
  const std::shared_ptr<outside::HttpService> http = Service();
  if (http == nullptr) {
    co_return Error{ErrorCode::kUnavailable, "there is no server of Cadence to ask"};
  }
  co_return co_await Send(*http, std::move(call));
}

awaitable<Result<std::optional<ActivityTask>>> Frontend::Poll(PollRequest request) {
  if (wire_ == nullptr) co_return std::optional<ActivityTask>();
  const Result<outside::HttpAnswer> answer = co_await Ask(wire_->Poll(request));
  if (!answer.ok()) co_return answer.error();
  co_return wire_->ReadPoll(*answer);
}

awaitable<Result<void>> Frontend::Respond(TaskRef task, const TaskAnswer& answer) {
  if (wire_ == nullptr) co_return Error{ErrorCode::kUnavailable, "Cadence is not configured"};
  const Result<outside::HttpAnswer> told = co_await Ask(wire_->Respond(task, answer));
  if (!told.ok()) co_return told.error();
  co_return wire_->ReadRespond(*told);
}

awaitable<Result<bool>> Frontend::Heartbeat(TaskRef task, std::string_view details) {
  if (wire_ == nullptr) co_return Error{ErrorCode::kUnavailable, "Cadence is not configured"};
  const Result<outside::HttpAnswer> told = co_await Ask(wire_->Heartbeat(task, details));
  if (!told.ok()) co_return told.error();
  co_return wire_->ReadHeartbeat(*told);
}

}  // namespace cairn::functions
