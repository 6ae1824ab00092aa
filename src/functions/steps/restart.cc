#include "functions/steps/restart.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "functions/activation/accept.h"
#include "functions/activation/activations.h"
#include "functions/activation/views.h"
#include "functions/model/errors.h"
#include "functions/model/json_object.h"
#include "functions/model/limits.h"
#include "functions/steps/history.h"

namespace cairn::functions {
namespace {

// Those before `from` that have ended, in the order in which they did.
std::vector<StepRecord> Kept(const History& history, uint32_t from) {
  std::vector<StepRecord> kept;
  for (const auto& [position, record] : history.steps) {
    if (position < from && record.ended()) kept.push_back(record);
  }
  std::ranges::sort(kept, {}, &StepRecord::seq);
  for (size_t i = 0; i < kept.size(); ++i) kept[i].seq = static_cast<uint32_t>(i);
  return kept;
}

Result<std::string> EventOf(const RestartRequest& request, const History& history) {
  if (request.event) {
    if (request.event->size() > kMaxEventBytes) {
      return Refuse(Code::kTooLarge, fmt::format("an event has up to {} bytes", kMaxEventBytes));
    }
    if (!IsJson(*request.event)) return Refuse(Code::kValidation, "the event is not JSON");
    return *request.event;
  }
  if (history.input) return *history.input;
  return Refuse(Code::kValidation,
                fmt::format("event is missing: that of the activation had more than {} bytes, and "
                            "is not kept",
                            kMaxKeptInputBytes));
}

}  // namespace

void AddRestartScopes(codeq::Locks& locks) {
  locks.lanes.AddQueue(kInvokeTopic);
  locks.lanes.AddQueue(kInvokeDeadTopic);
}

std::string RestartedText(const Restarted& restarted) {
  return fmt::format(R"({{"activation_id":"{}","status":"queued","kept_steps":{}}})",
                     restarted.activation_id, restarted.kept);
}

Result<Restarted> Restart(jobs::Context& context, const doors::NamePatterns* names,
                          const RestartRequest& request) {
  store::Transaction& transaction = context.transaction;
  CAIRN_ASSIGN_OR_RETURN(const Activation ended,
                         FindActivation(transaction, names, request.tenant, request.activation));
  if (!IsTerminal(ended.status)) {
    return Refuse(Code::kConflict, fmt::format("the activation {} is {}: only one that has ended "
                                               "can be restarted",
                                               request.activation, StatusName(ended.status)));
  }
  CAIRN_ASSIGN_OR_RETURN(const History history,
                         LoadHistory(transaction, request.tenant, request.activation));
  if (history.steps.empty()) {
    return Refuse(Code::kConflict,
                  fmt::format("the activation {} has no steps: invoke its function again",
                              request.activation));
  }
  const uint32_t last = history.steps.rbegin()->first;
  if (request.from > last + 1) {
    return Refuse(Code::kValidation,
                  fmt::format("from must be a position up to {}: the history of the activation {} "
                              "ends there",
                              last + 1, request.activation));
  }
  CAIRN_ASSIGN_OR_RETURN(std::string event, EventOf(request, history));
  const int64_t now_ms = transaction.now().millis();
  InvocationRequest again{
      .activation_id = request.new_activation,
      .request_id = request.request_id,
      .tenant = request.tenant,
      .ns = ended.ns,
      .ref = request.ref.value_or(ended.ref),
      .trigger = {TriggerType::kApi,
                  fmt::format(R"({{"mode":"async","restart_of":"{}","from":{}}})",
                              request.activation, request.from)},
      .principal = request.principal,
      .deadline_ms = now_ms + kAsyncDeadlineMs,
      .event = std::move(event)};
  again.ref.function = ended.ref.function;
  CAIRN_RETURN_IF_ERROR(CheckRequest(transaction, again));
  RequestOptions options{.message_id = request.message_id, .now_ms = now_ms};
  CAIRN_ASSIGN_OR_RETURN(QueuedRequest queued, PrepareRequest(again, std::move(options)));
  const std::vector<StepRecord> kept = Kept(history, request.from);
  if (!kept.empty()) {
    queued.activation.durable.emplace();
    CAIRN_RETURN_IF_ERROR(
        PutSteps(transaction, request.tenant, request.new_activation, kept,
                 HistoryBegin{.input = again.event, .expire_ms = HistoryExpiry(now_ms)}));
  }
  jobs::Context own = codeq::OwnContext(context);
  CAIRN_ASSIGN_OR_RETURN(const AcceptedRequest accepted, AcceptRequest(own, queued));
  if (accepted.existing) {
    return Refuse(Code::kConflict, "there is an activation of the new id already");
  }
  return Restarted{.activation_id = request.new_activation,
                   .kept = static_cast<uint32_t>(kept.size())};
}

}  // namespace cairn::functions
