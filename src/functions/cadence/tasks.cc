#include "functions/cadence/tasks.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "functions/activation/activations.h"
#include "functions/cadence/bindings.h"
#include "functions/cadence/limits.h"
#include "functions/control/values.h"
#include "functions/model/base64.h"
#include "functions/model/digest.h"
#include "functions/model/errors.h"
#include "functions/model/json_object.h"
#include "functions/model/json_writer.h"
#include "functions/model/limits.h"
#include "functions/model/names.h"

namespace cairn::functions {
namespace {

void WriteTask(const WorkerBinding& binding, const ActivityTask& task, JsonWriter& json) {
  json.Text("domain", binding.domain);
  json.Text("tasklist", binding.tasklist);
  json.Text("workflowId", task.workflow_id);
  json.Text("runId", task.run_id);
  json.Text("activityId", task.activity_id);
  json.Text("activityType", task.activity_type);
  json.Integer("attempt", task.attempt);
}

std::string SourceOf(const WorkerBinding& binding, const ActivityTask& task) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  WriteTask(binding, task, json);
  json.Text("task", TokenHash(task.token));
  json.EndObject();
  return text;
}

std::string EventOf(const WorkerBinding& binding, const ActivityTask& task) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.Text("type", "cadence.activity");
  json.BeginObject("cadence");
  WriteTask(binding, task, json);
  json.EndObject();
  json.BeginObject("input");
  json.Text("raw_base64", Base64Encode(task.input));
  json.EndObject();
  json.EndObject();
  return text;
}

std::string ErrorText(const FunctionError& error) {
  std::string text;
  JsonWriter json(text);
  WriteFunctionError(error, "", json);
  return text;
}

}  // namespace

std::string TokenHash(BytesView token) { return Sha256Hex(token); }

std::string TaskActivationId(const NamespaceName& ns, std::string_view token_hash) {
  return DerivedActivationId(fmt::format("cadence\n{}/{}\n{}", ns.tenant, ns.name, token_hash));
}

std::string Encode(const CadenceTask& task) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.Text("activation_id", task.activation_id);
  json.Integer("created_at_ms", task.created_at_ms);
  json.Text("worker", task.worker);
  json.Text("domain", task.domain);
  json.Text("tasklist", task.tasklist);
  json.Text("worker_id", task.worker_id);
  json.Text("token", Base64Encode(task.token));
  json.EndObject();
  return text;
}

Result<CadenceTask> DecodeCadenceTask(std::string_view text) {
  constexpr size_t kAnyText = kMaxTaskTokenBytes * 2;
  return ReadObject(text, Code::kStoreReadFailed, [](ObjectReader& object) {
    const auto any = [&](std::string_view name) {
      return object.OptionalText(name, {0, kAnyText}).value_or("");
    };
    CadenceTask task;
    task.activation_id = object.Text("activation_id", {1, kAnyText});
    task.created_at_ms = object.OptionalInteger("created_at_ms", 0, INT64_MAX / 2).value_or(0);
    task.worker = any("worker");
    task.domain = any("domain");
    task.tasklist = any("tasklist");
    task.worker_id = any("worker_id");
    if (std::optional<Bytes> token = Base64Decode(object.Text("token", {1, kAnyText}))) {
      task.token = *std::move(token);
    } else {
      object.Fail("token", "must be base64");
    }
    return task;
  });
}

CadenceTask TaskRecord(const WorkerBinding& binding, const ActivityTask& task, int64_t now_ms) {
  return {.activation_id = TaskActivationId({binding.tenant, binding.ns}, TokenHash(task.token)),
          .created_at_ms = now_ms,
          .worker = binding.name,
          .domain = binding.domain,
          .tasklist = binding.tasklist,
          .worker_id = binding.worker_id,
          .token = task.token};
}

std::optional<InvocationRequest> RequestOf(const WorkerBinding& binding, const ActivityTask& task,
                                           int64_t now_ms) {
  const auto found = std::ranges::find(binding.activity_map, task.activity_type,
                                       [](const auto& activity) { return activity.first; });
  if (found == binding.activity_map.end()) return std::nullopt;
  const std::string id = TaskActivationId({binding.tenant, binding.ns}, TokenHash(task.token));
  const int64_t may_take_ms = task.timeout_ms > 0 ? task.timeout_ms : kAsyncDeadlineMs;
  return InvocationRequest{
      .activation_id = id,
      .request_id = "req_" + id,
      .tenant = binding.tenant,
      .ns = binding.ns,
      .ref = found->second,
      .trigger = {TriggerType::kCadence, SourceOf(binding, task)},
      .principal = {.sub = std::string(kCadenceSubject),
                    .roles = {std::string(kCadenceRole), std::string(kCadenceSubject)}},
      .deadline_ms = now_ms + std::min(may_take_ms, kCadenceTaskTtlMs),
      .event = EventOf(binding, task)};
}

std::string TokenHashOf(const Trigger& trigger) {
  if (trigger.type != TriggerType::kCadence) return {};
  const auto hash = ReadObject(trigger.source, Code::kValidation, [](ObjectReader& object) {
    return object.OptionalText("task", {0, kMaxTriggerSourceBytes}).value_or("");
  });
  return hash.ok() ? *hash : std::string();
}

std::string_view ReasonOf(const Error& error, const Ref& ref) {
  if (IsRefusal(error, Code::kRoleMissing)) return kTaskRoleMissing;
  if (ref.version && IsRefusal(error, Code::kNotFound)) return kVersionNotFound;
  return kResolveFailed;
}

TaskAnswer FailureOf(std::string_view reason, const Error& error) {
  return {.failed = true,
          .reason = std::string(reason),
          .text = ErrorText({.type = std::string(CodeRowOf(error).name),
                             .message = std::string(RefusalText(error))})};
}

TaskAnswer AnswerOf(const Activation& activation) {
  TaskAnswer answer;
  if (activation.status == Status::kSuccess) {
    JsonWriter json(answer.text);
    WriteFunctionResult(activation.result.value_or(FunctionResult()), "", json);
    return answer;
  }
  answer.failed = true;
  answer.reason = StatusName(activation.status);
  answer.text = ErrorText(activation.error.value_or(FunctionError()));
  return answer;
}

bool IsAboutTheRequest(const Error& error) {
  return error.message.starts_with(CodeRowOf(error).name) && error.code != ErrorCode::kWouldBlock;
}

Result<void> PutTask(store::Transaction& transaction, const NamespaceName& ns,
                     const CadenceTask& task) {
  return WriteString(transaction, CadenceTaskKey(ns, TokenHash(task.token)), Encode(task),
                     transaction.now().millis() + kCadenceTaskTtlMs);
}

Result<std::optional<CadenceTask>> FindTask(store::Transaction& transaction,
                                            const NamespaceName& ns, std::string_view token_hash) {
  const Result<std::optional<Bytes>> record =
      ReadString(transaction, CadenceTaskKey(ns, token_hash));
  const auto damaged = [](const Error& error) { return IsRefusal(error, Code::kStoreReadFailed); };
  if (!record.ok()) {
    if (damaged(record.error())) return std::optional<CadenceTask>();
    return record.error();
  }
  if (!*record) return std::optional<CadenceTask>();
  Result<CadenceTask> task = DecodeCadenceTask(**record);
  if (!task.ok()) return std::optional<CadenceTask>();
  return std::optional(*std::move(task));
}

Result<void> RemoveTask(store::Transaction& transaction, const NamespaceName& ns,
                        std::string_view token_hash) {
  CAIRN_RETURN_IF_ERROR(RemoveKey(transaction, CadenceTaskKey(ns, token_hash)));
  return {};
}

Result<std::vector<PendingTask>> ListTasks(store::Transaction& transaction) {
  std::vector<PendingTask> found;
  CAIRN_ASSIGN_OR_RETURN(const std::vector<NamespaceName> namespaces,
                         CadenceNamespaces(transaction));
  for (const NamespaceName& ns : namespaces) {
    CAIRN_ASSIGN_OR_RETURN(const std::vector<std::string> hashes,
                           KeysBehind(transaction, CadenceTaskKey(ns, "")));
    for (const std::string& hash : hashes) {
      CAIRN_ASSIGN_OR_RETURN(std::optional<CadenceTask> task, FindTask(transaction, ns, hash));
      if (!task) continue;
      const auto activation = LoadActivation(transaction, ns.tenant, task->activation_id);
      if (!activation.ok() && !IsRefusal(activation.error(), Code::kStoreReadFailed)) {
        return activation.error();
      }
      PendingTask pending{.ns = ns, .task = *std::move(task), .ended_ms = {}};
      if (!activation.ok() || !*activation) {
        pending.ended_ms = 0;
      } else if (IsTerminal((*activation)->status)) {
        pending.ended_ms = (*activation)->end_ms.value_or(0);
      }
      found.push_back(std::move(pending));
    }
  }
  return found;
}

}  // namespace cairn::functions
