#include "functions/steps/suspension.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "functions/activation/activations.h"
#include "functions/activation/views.h"
#include "functions/model/errors.h"
#include "functions/model/json_object.h"
#include "functions/model/json_writer.h"
#include "functions/model/limits.h"
#include "functions/model/names.h"
#include "functions/steps/events.h"
#include "functions/steps/settle.h"
#include "jobs/ledger/ledger.h"
#include "jobs/operations/actions.h"
#include "jobs/operations/operations.h"

namespace cairn::functions {
namespace {

// What a suspended activation shows of what it waits for.
constexpr size_t kShownWaits = 20;

std::string WaitsText(const History& history) {
  std::string text;
  JsonWriter json(text);
  json.BeginArray();
  size_t shown = 0;
  for (const auto& [position, record] : history.steps) {
    if (record.ended() || ++shown > kShownWaits) continue;
    json.BeginObject();
    json.Integer("position", position);
    json.Text("kind", StepKindName(record.kind));
    if (!record.name.empty()) json.Text("name", record.name);
    if (record.wake_ms) json.Integer("until_ms", *record.wake_ms);
    json.EndObject();
  }
  json.EndArray();
  return text;
}

struct Parent {
  std::string activation;
  int64_t depth = 0;
};
std::optional<Parent> ParentOf(const Activation& activation) {
  const auto read = [](ObjectReader& object) {
    return Parent{.activation = object.OptionalText("parent", {0, kMaxRequestBytes}).value_or(""),
                  .depth = object.OptionalInteger("depth", 0, kMaxInvokeDepth).value_or(0)};
  };
  Result<Parent> parent = ReadObject(activation.trigger.source, Code::kValidation, read);
  if (!parent.ok() || !IsName(NameKind::kActivation, parent->activation)) return std::nullopt;
  return *std::move(parent);
}

}  // namespace

Result<void> Suspend(jobs::Context& context, const SuspendRequest& request, const History& history,
                     Activation& activation) {
  store::Transaction& transaction = context.transaction;
  const int64_t now_ms = transaction.now().millis();
  int64_t until_ms = request.last_ms;
  for (const auto& [position, record] : history.steps) {
    if (!record.ended() && record.wake_ms) until_ms = std::min(until_ms, *record.wake_ms);
  }
  CAIRN_ASSIGN_OR_RETURN(const Settled settled, LookForEnds(transaction, activation.tenant,
                                                            activation.activation_id, history));
  if (settled.any()) until_ms = now_ms;
  until_ms = std::max(until_ms, now_ms);
  jobs::Context own = codeq::OwnContext(context);
  CAIRN_ASSIGN_OR_RETURN(const uint64_t woken_ns,
                         jobs::Snooze(own, request.lease, until_ms - now_ms));
  (void)woken_ns;
  activation.status = Status::kQueued;
  activation.durable->suspended = Suspension{.since_ms = now_ms,
                                             .until_ms = until_ms,
                                             .waits_for = WaitsText(history),
                                             .message = request.lease.id};
  return MoveActivation(transaction, Status::kRunning, activation);
}

void Resume(int64_t now_ms, Activation& activation) {
  if (!activation.durable || !activation.durable->suspended) return;
  Activation::Durable& durable = *activation.durable;
  durable.suspended_ms += std::max<int64_t>(0, now_ms - durable.suspended->since_ms);
  durable.suspended.reset();
}

Result<void> Wake(jobs::Context& context, const Activation& activation) {
  if (!activation.durable || !activation.durable->suspended) return {};
  const std::string& message = activation.durable->suspended->message;
  CAIRN_ASSIGN_OR_RETURN(const std::optional<jobs::Job> job,
                         jobs::LoadJob(context.transaction, message));
  // It is due already, or somebody has put it elsewhere.
  if (!job || job->state != jobs::State::kScheduled) return {};
  jobs::Context own = codeq::OwnContext(context);
  return codeq::InOurWords(jobs::Retry(own, message, {.keep_attempts = true}));
}

Result<void> CheckSignal(const SignalRequest& request) {
  CAIRN_RETURN_IF_ERROR(CheckName(NameKind::kTenant, request.tenant));
  CAIRN_RETURN_IF_ERROR(CheckName(NameKind::kActivation, request.activation));
  CAIRN_RETURN_IF_ERROR(CheckStepName("the name of an event", request.name));
  if (request.payload.size() > kMaxEventPayloadBytes) {
    return Refuse(Code::kTooLarge, fmt::format("the payload has {} bytes, and may have {}",
                                               request.payload.size(), kMaxEventPayloadBytes));
  }
  if (!IsJson(request.payload)) {
    return Refuse(Code::kValidation, "the payload is not JSON, or nested too deeply");
  }
  return {};
}

void AddSignalScopes(codeq::Locks& locks) { locks.lanes.AddQueue(kInvokeTopic); }

Result<uint64_t> Signal(jobs::Context& context, const doors::NamePatterns* names,
                        const SignalRequest& request) {
  CAIRN_RETURN_IF_ERROR(CheckSignal(request));
  CAIRN_ASSIGN_OR_RETURN(
      const Activation activation,
      FindActivation(context.transaction, names, request.tenant, request.activation));
  if (IsTerminal(activation.status)) {
    return Refuse(Code::kConflict, fmt::format("the activation {} has ended: {}",
                                               request.activation, StatusName(activation.status)));
  }
  CAIRN_ASSIGN_OR_RETURN(const uint64_t number,
                         KeepEvent(context.transaction, request.tenant, request.activation,
                                   request.name, request.payload));
  CAIRN_ASSIGN_OR_RETURN(const History history,
                         LoadHistory(context.transaction, request.tenant, request.activation));
  const bool waits = std::ranges::any_of(history.steps, [&](const auto& one) {
    const StepRecord& record = one.second;
    return record.state == StepState::kWaiting && record.kind == StepKind::kEvent &&
           record.name == request.name;
  });
  if (waits) CAIRN_RETURN_IF_ERROR(Wake(context, activation));
  return number;
}

Result<void> TellParent(jobs::Context& context, const Activation& child) {
  const std::optional<Parent> parent = ParentOf(child);
  if (!parent) return {};
  CAIRN_ASSIGN_OR_RETURN(const std::optional<Activation> activation,
                         LoadActivation(context.transaction, child.tenant, parent->activation));
  if (!activation) return {};
  return Wake(context, *activation);
}

std::string InvokeSource(std::string_view parent, uint32_t position, int64_t depth) {
  return fmt::format(R"({{"mode":"async","parent":"{}","position":{},"depth":{}}})", parent,
                     position, depth);
}

int64_t InvokeDepth(const Activation& activation) {
  const std::optional<Parent> parent = ParentOf(activation);
  return parent ? parent->depth : 0;
}

}  // namespace cairn::functions
