#include "functions/invoker/begin.h"

#include <algorithm>
#include <utility>

#include "functions/activation/activations.h"
#include "functions/activation/resolve.h"
#include "functions/control/aliases.h"
#include "functions/model/errors.h"
#include "functions/model/limits.h"
#include "functions/steps/suspension.h"
#include "jobs/operations/store_access.h"

namespace cairn::functions {
namespace {

Result<void> FindVersion(store::Transaction& transaction, Begun& begun) {
  begun.expired = transaction.now().millis() >= std::min(begun.deadline_ms, begun.last_ms);
  if (begun.expired) return {};
  Activation& activation = begun.activation;
  Result<Resolved> resolved = ResolveRef(transaction, {activation.tenant, activation.ns},
                                         activation.ref, DrawOf(activation.activation_id));
  if (!resolved.ok()) {
    if (resolved.error().code == ErrorCode::kWouldBlock) return resolved.error();
    begun.refused = resolved.error();
    return {};
  }
  begun.version = std::move(resolved->version);
  begun.shift = std::move(resolved->shift);
  activation.resolved_version = begun.version.version;
  const Result<void> allowed =
      CheckRoles(begun.version.config, activation.trigger.type, begun.principal);
  if (!allowed.ok()) begun.refused = allowed.error();
  return {};
}

Result<Begun> Begin(store::Transaction& transaction, const codeq::Message& message) {
  CAIRN_ASSIGN_OR_RETURN(const Envelope envelope, ParseEnvelope(message.text));
  CAIRN_ASSIGN_OR_RETURN(InvocationRequest request, ParseInvocationRequest(envelope.body));
  Begun begun;
  begun.lease = {.id = message.job.id, .token = message.job.lease_token};
  begun.principal = std::move(request.principal);
  begun.event = std::move(request.event);
  begun.deadline_ms = request.deadline_ms;
  CAIRN_ASSIGN_OR_RETURN(std::optional<Activation> stored,
                         LoadActivation(transaction, request.tenant, request.activation_id));
  if (stored && (stored->request_id != request.request_id || stored->ns != request.ns ||
                 stored->ref.function != request.ref.function)) {
    begun.stranger = true;
    begun.activation = ActivationOf(request);
    return begun;
  }
  begun.activation = stored ? *std::move(stored) : ActivationOf(request);
  if (IsTerminal(begun.activation.status)) {
    begun.ended = true;
    return begun;
  }
  Activation& activation = begun.activation;
  const int64_t now_ms = transaction.now().millis();
  begun.last_ms = begun.deadline_ms + kMaxSuspendedMs;
  Resume(now_ms, activation);
  if (activation.durable) begun.deadline_ms += activation.durable->suspended_ms;
  CAIRN_RETURN_IF_ERROR(FindVersion(transaction, begun));
  activation.status = Status::kRunning;
  if (!activation.durable || !activation.start_ms) activation.start_ms = now_ms;
  CAIRN_RETURN_IF_ERROR(PutActivation(transaction, activation));
  return begun;
}

}  // namespace

BeginWork::BeginWork(Options options) : stopping_(options.stopping) {
  claim_.topics = {std::string(kInvokeTopic)};
  claim_.count = options.count;
  claim_.lease_ms = options.lease_ms;
  claim_.worker_id = std::move(options.worker_id);
  codeq::AddClaimScopes(claim_, locks_);
  scopes = locks_.ToScopes();
  access = store::Access::kWrite;
}

Result<void> BeginWork::Run(store::Transaction& transaction) {
  begun_.clear();
  if (stopping_ != nullptr && *stopping_) return {};
  const jobs::ChangeBody body = [this](jobs::Context& context) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(const std::vector<codeq::Message> messages,
                           codeq::Claim(context, claim_));
    for (const codeq::Message& message : messages) {
      CAIRN_ASSIGN_OR_RETURN(begun_.emplace_back(), Begin(context.transaction, message));
    }
    return {};
  };
  return jobs::RunUnder(locks_.lanes, held, transaction, /*queues=*/nullptr, body);
}

}  // namespace cairn::functions
