#include "functions/codeq/tasks.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/time_text.h"
#include "functions/model/json_writer.h"
#include "jobs/model/json_members.h"

namespace cairn::functions::codeq {
namespace {

constexpr std::string_view kTaskType = "Task";
constexpr int64_t kMaxDelaySeconds = jobs::kMaxDelayMs / 1'000;

std::string_view MemberOf(std::string_view object, std::string_view name) {
  std::string_view found;
  for (const jobs::RawMember& member :
       jobs::MembersOf(object).value_or(std::vector<jobs::RawMember>())) {
    if (member.name == name) found = member.json;
  }
  return found;
}

// What a worker is given: what the producer gave, without the envelope that was made for it.
std::string_view TaskPayload(std::string_view text) {
  if (jobs::StringOf(MemberOf(text, "type")) != kTaskType) return text;
  const std::string_view payload = MemberOf(MemberOf(text, "body"), "payload");
  return payload.empty() ? text : payload;
}

std::string TaskTags(int64_t priority) {
  return fmt::format(R"({{"codeq":{{"priority":{}}}}})", priority);
}

int64_t PriorityIn(const jobs::Job& job) {
  const std::string_view number = MemberOf(MemberOf(job.tags, "codeq"), "priority");
  int64_t priority = 0;
  const auto parsed = std::from_chars(number.data(), number.data() + number.size(), priority);
  if (parsed.ec == std::errc() && !number.empty()) return priority;
  switch (job.priority) {
    case jobs::Priority::kCritical:
      return 7;
    case jobs::Priority::kHigh:
      return 4;
    case jobs::Priority::kNormal:
      break;
  }
  return 0;
}

std::string_view StatusOf(jobs::State state) {
  switch (state) {
    case jobs::State::kActive:
      return "IN_PROGRESS";
    case jobs::State::kCompleted:
      return "COMPLETED";
    case jobs::State::kDead:
    case jobs::State::kCancelled:
      return "FAILED";
    default:
      return "PENDING";
  }
}

void ReadTime(ObjectReader& object, PublishRequest& request) {
  const auto at = object.OptionalText("runAt", {1, 64});
  const auto delay_seconds = object.OptionalInteger("delaySeconds", 0, kMaxDelaySeconds);
  if (!at) {
    request.delay_ms = delay_seconds.value_or(0) * 1'000;
    return;
  }
  const std::optional<uint64_t> ns = ParseTime(*at);
  if (!ns) object.Fail("runAt", "must be a time of RFC 3339");
  request.at_ns = ns.value_or(0);
}

void ReadBackoff(ObjectReader& object, PublishRequest& request) {
  const std::string policy =
      object
          .OptionalChoice("backoffPolicy",
                          {"fixed", "linear", "exponential", "exp_equal_jitter", "exp_full_jitter"})
          .value_or("exp_full_jitter");
  request.backoff = jobs::ParseBackoff(policy).value_or(jobs::Backoff::kExponential);
  if (policy == "exp_equal_jitter") request.jitter_percent = 50;
  if (policy == "exp_full_jitter") request.jitter_percent = 100;
  request.backoff_base_ms = kTaskBackoffBaseMs;
  request.backoff_max_ms = kTaskBackoffMaxMs;
}

// When the job last changed, as far as it says.
uint64_t UpdatedNs(const jobs::Job& job) {
  return std::max({job.created_ns, job.started_ns, job.completed_ns, job.failed_ns});
}

}  // namespace

jobs::Priority PriorityOfTask(int64_t priority) {
  if (priority >= 7) return jobs::Priority::kCritical;
  return priority >= 4 ? jobs::Priority::kHigh : jobs::Priority::kNormal;
}

PublishRequest ReadTask(ObjectReader& object, const TaskOrigin& origin) {
  PublishRequest request{.topic = object.Text("command", {1, jobs::kMaxQueueNameBytes})};
  const std::string_view payload = object.Raw("payload");
  if (payload.empty() || payload == "null") object.Fail("payload", "is missing");
  const int64_t priority = object.OptionalInteger("priority", 0, kMaxTaskPriority).value_or(0);
  request.priority = PriorityOfTask(priority);
  request.tags = TaskTags(priority);
  request.max_retries = object.OptionalInteger("maxAttempts", 1, jobs::kMaxMaxRetries)
                            .value_or(kDefaultTaskAttempts) -
                        1;
  request.idempotency_key =
      object.OptionalText("idempotencyKey", {0, jobs::kMaxKeyBytes - 64}).value_or("");
  ReadTime(object, request);
  ReadBackoff(object, request);
  if (!object.OptionalText("webhook", {0, kMaxMessageBytes}).value_or("").empty()) {
    object.Fail("webhook", "is not called by single tasks: register one at /api/v1/webhooks");
  }
  // Other members may be those of a later codeQ, whose server does not look at them either.
  request.trace_parent = origin.trace_parent;
  // A platform's topic has no other messages than its own; there the payload is checked as it is.
  if (!DeadTopicOf(request.topic).empty() || LooksLikeEnvelope(payload)) {
    request.text = payload;
    return request;
  }
  request.text = EnvelopeText({.id = origin.message_id,
                               .ts_ms = origin.now_ms,
                               .tenant = origin.tenant,
                               .type = std::string(kTaskType),
                               .body = fmt::format(R"({{"payload":{}}})", payload)});
  return request;
}

std::string TaskJson(const jobs::Job& job, std::string_view payload) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.Text("id", job.id);
  json.Text("command", job.queue);
  json.Text("payload", TaskPayload(payload));
  json.Integer("priority", PriorityIn(job));
  json.Text("status", StatusOf(job.state));
  if (job.state == jobs::State::kActive) {
    json.Text("workerId", job.worker_id);
    json.Text("leaseUntil", FormatTime(job.lease_expires_ns));
    json.Text("leaseToken", jobs::FormatToken(job.lease_token));
  }
  json.Integer("attempts", job.attempt);
  json.Integer("maxAttempts", job.retry.max_retries + 1);
  if (!job.reason.empty()) json.Text("error", job.reason);
  if (!job.trace_parent.empty()) json.Text("traceParent", job.trace_parent);
  const std::optional<std::string> tenant = jobs::StringOf(MemberOf(payload, "tenant"));
  if (tenant) json.Text("tenantId", *tenant);
  json.Text("createdAt", FormatTime(job.created_ns));
  json.Text("updatedAt", FormatTime(UpdatedNs(job)));
  json.EndObject();
  return text;
}

std::optional<std::string> TaskResultJson(const jobs::Job& job) {
  if (!jobs::IsFinished(job.state)) return std::nullopt;
  const bool completed = job.state == jobs::State::kCompleted;
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.Text("taskId", job.id);
  json.Text("status", StatusOf(job.state));
  // Of one that was acknowledged otherwise the result is whatever was given.
  const std::string_view result = MemberOf(job.result, "result");
  if (completed) json.Raw("result", result.empty() ? "{}" : result);
  if (!completed) json.Text("error", job.reason);
  const std::string_view artifacts = MemberOf(job.result, "artifacts");
  if (!artifacts.empty()) json.Raw("artifacts", artifacts);
  json.Text("completedAt", FormatTime(completed ? job.completed_ns : job.failed_ns));
  json.EndObject();
  return text;
}

TaskResult ReadTaskResult(ObjectReader& object) {
  TaskResult result;
  result.completed = object.Choice("status", {"COMPLETED", "FAILED"}) == "COMPLETED";
  const auto value = object.RawObject("result");
  if (result.completed && !value) object.Fail("result", "is missing from a task that is COMPLETED");
  result.result = value.value_or("");
  result.error = object.OptionalText("error", {0, jobs::kMaxErrorBytes}).value_or("");
  if (!result.completed && result.error.empty()) {
    object.Fail("error", "is missing from a task that has FAILED");
  }
  if (object.Has("artifacts")) {
    const std::string_view artifacts = object.Raw("artifacts");
    if (artifacts != "null" && !jobs::ItemsOf(artifacts))
      object.Fail("artifacts", "must be an array");
    if (artifacts != "null") result.artifacts = artifacts;
  }
  return result;
}

std::string KeptResult(const TaskResult& result) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.Raw("result", result.result);
  if (!result.artifacts.empty()) json.Raw("artifacts", result.artifacts);
  json.EndObject();
  return text;
}

}  // namespace cairn::functions::codeq
