#include "functions/cadence/grpc_wire.h"

#include <cadence_api.pb.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "functions/cadence/grpc_frame.h"
#include "functions/cadence/limits.h"
#include "functions/model/limits.h"

namespace cairn::functions {
namespace {

constexpr std::string_view kService = "/uber.cadence.api.v1.WorkerAPI/";
constexpr int kNormalTaskList = 1;
constexpr int64_t kMillisPerSecond = 1'000;
constexpr int64_t kNanosPerMilli = 1'000'000;

template <typename Message>
Result<Message> ReadMessage(const outside::HttpAnswer& answer) {
  CAIRN_ASSIGN_OR_RETURN(const Bytes bytes, grpc::ReadAnswer(answer));
  Message message;
  if (!message.ParseFromString(bytes)) {
    return Error{ErrorCode::kCorruption, "the answer's message is not the one that was expected"};
  }
  return message;
}

// Of a duration that may say anything.
int64_t MillisOf(const cadence::Duration& duration) {
  constexpr int64_t kMostSeconds = kCadenceTaskTtlMs / kMillisPerSecond;
  if (duration.seconds() < 0 || duration.nanos() < 0) return 0;
  return std::min(duration.seconds(), kMostSeconds) * kMillisPerSecond +
         duration.nanos() / kNanosPerMilli;
}

class GrpcWire final : public Wire {
 public:
  explicit GrpcWire(std::string url) : url_(std::move(url)) {}

  outside::HttpCall Poll(const PollRequest& request) const override {
    cadence::PollForActivityTaskRequest message;
    message.set_domain(request.domain);
    message.mutable_task_list()->set_name(request.tasklist);
    message.mutable_task_list()->set_kind(kNormalTaskList);
    message.set_identity(request.worker_id);
    outside::HttpCall call = CallOf("PollForActivityTask", message, kGrpcPollTimeout);
    call.max_answer_bytes = kMaxPollAnswerBytes;
    return call;
  }

  Result<std::optional<ActivityTask>> ReadPoll(const outside::HttpAnswer& answer) const override {
    CAIRN_ASSIGN_OR_RETURN(auto message, ReadMessage<cadence::PollForActivityTaskResponse>(answer));
    if (message.task_token().empty()) return std::optional<ActivityTask>();
    ActivityTask task{.token = message.task_token(),
                      .workflow_id = message.workflow_execution().workflow_id(),
                      .run_id = message.workflow_execution().run_id(),
                      .activity_id = message.activity_id(),
                      .activity_type = message.activity_type().name(),
                      .attempt = message.attempt(),
                      .input = std::move(*message.mutable_input()->mutable_data()),
                      .timeout_ms = MillisOf(message.start_to_close_timeout())};
    CAIRN_RETURN_IF_ERROR(CheckTask(task));
    return std::optional(std::move(task));
  }

  outside::HttpCall Respond(const TaskRef& task, const TaskAnswer& answer) const override {
    if (answer.failed) {
      cadence::RespondActivityTaskFailedRequest message;
      message.set_task_token(task.token.data(), task.token.size());
      message.mutable_failure()->set_reason(answer.reason);
      message.mutable_failure()->set_details(answer.text);
      message.set_identity(std::string(task.worker_id));
      return CallOf("RespondActivityTaskFailed", message, kCallTimeout);
    }
    cadence::RespondActivityTaskCompletedRequest message;
    message.set_task_token(task.token.data(), task.token.size());
    message.mutable_result()->set_data(answer.text);
    message.set_identity(std::string(task.worker_id));
    return CallOf("RespondActivityTaskCompleted", message, kCallTimeout);
  }

  Result<void> ReadRespond(const outside::HttpAnswer& answer) const override {
    CAIRN_RETURN_IF_ERROR(grpc::ReadAnswer(answer));
    return {};
  }

  outside::HttpCall Heartbeat(const TaskRef& task, std::string_view details) const override {
    cadence::RecordActivityTaskHeartbeatRequest message;
    message.set_task_token(task.token.data(), task.token.size());
    message.mutable_details()->set_data(details.data(), details.size());
    message.set_identity(std::string(task.worker_id));
    return CallOf("RecordActivityTaskHeartbeat", message, kCallTimeout);
  }

  Result<bool> ReadHeartbeat(const outside::HttpAnswer& answer) const override {
    CAIRN_ASSIGN_OR_RETURN(const auto message,
                           ReadMessage<cadence::RecordActivityTaskHeartbeatResponse>(answer));
    return message.cancel_requested();
  }

 private:
  // Cadence's server is one of YARPC: it wants to know who calls, whom, and in which encoding.
  template <typename Message>
  outside::HttpCall CallOf(std::string_view method, const Message& message,
                           std::chrono::milliseconds timeout) const {
    outside::HttpCall call = FrontendCall(fmt::format("{}{}{}", url_, kService, method),
                                          grpc::Frame(message.SerializeAsString()));
    call.version = outside::HttpCall::Version::kHttp2;
    call.timeout = timeout;
    call.headers = {"content-type: application/grpc",
                    "te: trailers",
                    "grpc-timeout: " + grpc::TimeoutText(timeout),
                    "grpc-accept-encoding: identity",
                    "rpc-caller: cairn",
                    "rpc-service: cadence-frontend",
                    "rpc-encoding: proto"};
    return call;
  }

  const std::string url_;
};

}  // namespace

std::unique_ptr<Wire> MakeGrpcWire(std::string url) {
  return std::make_unique<GrpcWire>(std::move(url));
}

}  // namespace cairn::functions
