#include "functions/cadence/json_wire.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "functions/cadence/limits.h"
#include "functions/model/base64.h"
#include "functions/model/json_object.h"
#include "functions/model/json_writer.h"

namespace cairn::functions {
namespace {

constexpr int kHttpOk = 200;
constexpr int kHttpBeyondOk = 300;
constexpr int kHttpBadRequest = 400;
constexpr int kHttpNotFound = 404;
constexpr int kHttpGone = 410;
constexpr size_t kAnyBytes = kMaxPollAnswerBytes;
constexpr int64_t kMaxAttempt = INT32_MAX;

Result<void> CheckStatus(const outside::HttpAnswer& answer) {
  if (answer.status >= kHttpOk && answer.status < kHttpBeyondOk) return {};
  ErrorCode code = ErrorCode::kUnavailable;
  if (answer.status == kHttpBadRequest) code = ErrorCode::kInvalid;
  if (answer.status == kHttpNotFound || answer.status == kHttpGone) code = ErrorCode::kNotFound;
  return Error{code, fmt::format("the server answered with HTTP status {}", answer.status)};
}

Error Broken(const Error& error) {
  return {ErrorCode::kCorruption,
          fmt::format("the answer is not as it should be: {}", RefusalText(error))};
}

// Tokens of the facade are text.
ActivityTask ReadTask(ObjectReader& object) {
  const auto text = [&](std::string_view name) {
    return object.OptionalText(name, {0, kAnyBytes}).value_or("");
  };
  ActivityTask task{.token = object.Text("task_token", {1, kAnyBytes}),
                    .workflow_id = text("workflow_id"),
                    .run_id = text("run_id"),
                    .activity_id = text("activity_id"),
                    .activity_type = text("activity_type"),
                    .attempt = object.OptionalInteger("attempt", 0, kMaxAttempt).value_or(0)};
  if (std::optional<Bytes> input = Base64Decode(text("input_base64"))) {
    task.input = *std::move(input);
  } else {
    object.Fail("input_base64", "must be base64");
  }
  return task;
}

class JsonWire final : public Wire {
 public:
  explicit JsonWire(std::string url) : url_(std::move(url)) {}

  outside::HttpCall Poll(const PollRequest& request) const override {
    outside::HttpCall call = CallOf("/v1/poll-activity-task", [&](JsonWriter& json) {
      json.Text("domain", request.domain);
      json.Text("tasklist", request.tasklist);
      json.Text("worker_id", request.worker_id);
    });
    call.timeout = kJsonPollTimeout;
    call.max_answer_bytes = kMaxPollAnswerBytes;
    return call;
  }

  Result<std::optional<ActivityTask>> ReadPoll(const outside::HttpAnswer& answer) const override {
    CAIRN_RETURN_IF_ERROR(CheckStatus(answer));
    auto read = ReadObject(answer.body, Code::kValidation, [](ObjectReader& object) {
      std::optional<ActivityTask> task;
      if (auto given = object.OptionalObject("task")) task = ReadTask(*given);
      return task;
    });
    if (!read.ok()) return Broken(read.error());
    if (*read) CAIRN_RETURN_IF_ERROR(CheckTask(**read));
    return read;
  }

  outside::HttpCall Respond(const TaskRef& task, const TaskAnswer& answer) const override {
    if (answer.failed) {
      return CallOf("/v1/respond-activity-failed", [&](JsonWriter& json) {
        json.Text("task_token", task.token);
        json.Text("reason", answer.reason);
        json.Text("details_base64", Base64Encode(answer.text));
      });
    }
    return CallOf("/v1/respond-activity-completed", [&](JsonWriter& json) {
      json.Text("task_token", task.token);
      json.Text("payload_base64", Base64Encode(answer.text));
    });
  }

  Result<void> ReadRespond(const outside::HttpAnswer& answer) const override {
    return CheckStatus(answer);
  }

  outside::HttpCall Heartbeat(const TaskRef& task, std::string_view details) const override {
    return CallOf("/v1/record-activity-heartbeat", [&](JsonWriter& json) {
      json.Text("task_token", task.token);
      json.Text("details_base64", Base64Encode(details));
    });
  }

  Result<bool> ReadHeartbeat(const outside::HttpAnswer& answer) const override {
    CAIRN_RETURN_IF_ERROR(CheckStatus(answer));
    // The facade need not say anything.
    if (answer.body.find_first_not_of(" \t\r\n") == std::string::npos) return false;
    const auto read = ReadObject(answer.body, Code::kValidation, [](ObjectReader& object) {
      return object.OptionalSwitch("cancel_requested").value_or(false);
    });
    if (!read.ok()) return Broken(read.error());
    return *read;
  }

 private:
  template <typename Write>
  outside::HttpCall CallOf(std::string_view path, const Write& write) const {
    std::string body;
    JsonWriter json(body);
    json.BeginObject();
    write(json);
    json.EndObject();
    outside::HttpCall call = FrontendCall(url_ + std::string(path), std::move(body));
    call.headers = {"Content-Type: application/json"};
    return call;
  }

  const std::string url_;
};

}  // namespace

std::unique_ptr<Wire> MakeJsonWire(std::string url) {
  return std::make_unique<JsonWire>(std::move(url));
}

}  // namespace cairn::functions
