#include "functions/activation/accept.h"

#include <fmt/format.h>

#include <utility>

#include "functions/activation/activations.h"
#include "functions/activation/resolve.h"
#include "functions/model/names.h"

namespace cairn::functions {
namespace {

// A message is given out again until its deadline has passed, whatever happens to who has it.
constexpr int64_t kMessageRetries = 1'000;

// The control plane knows topics without knowing jobs.
static_assert(kTopicKind == jobs::kQueueKind);
constexpr std::string_view kSyncMode = R"({"mode":"sync")";
constexpr std::string_view kAsyncMode = R"({"mode":"async")";

}  // namespace

std::string ApiSource(bool sync, std::string_view trace_parent) {
  const std::string_view mode = sync ? kSyncMode : kAsyncMode;
  if (trace_parent.empty()) return fmt::format("{}}}", mode);
  return fmt::format(R"({},"traceparent":"{}"}})", mode, trace_parent);
}

bool IsSyncSource(std::string_view source) { return source.starts_with(kSyncMode); }

FunctionName NameOf(const Activation& activation) {
  return {activation.tenant, activation.ns, activation.ref.function};
}

Activation ActivationOf(const InvocationRequest& request) {
  Activation activation;
  activation.activation_id = request.activation_id;
  activation.tenant = request.tenant;
  activation.ns = request.ns;
  activation.ref = request.ref;
  activation.trigger = request.trigger;
  activation.request_id = request.request_id;
  return activation;
}

InvocationResult ResultOf(const Activation& activation) {
  return {.activation_id = activation.activation_id,
          .request_id = activation.request_id,
          .status = activation.status,
          .duration_ms = activation.duration_ms.value_or(0),
          .result = activation.result,
          .error = activation.error};
}

std::string IdempotentActivationId(const FunctionName& function, const Ref& ref,
                                   std::string_view key) {
  const std::string reference = ref.version ? fmt::to_string(*ref.version) : ref.alias;
  return DerivedActivationId(fmt::format("{}\n{}\n{}", ResourceName(function), reference, key));
}

Result<Resolved> CheckRequest(store::Transaction& transaction, const InvocationRequest& request) {
  CAIRN_ASSIGN_OR_RETURN(Resolved resolved,
                         ResolveRef(transaction, {request.tenant, request.ns}, request.ref,
                                    static_cast<uint64_t>(DrawOf(request.activation_id))));
  CAIRN_RETURN_IF_ERROR(
      CheckRoles(resolved.version.config, request.trigger.type, request.principal));
  return resolved;
}

Result<QueuedRequest> PrepareRequest(const InvocationRequest& request, RequestOptions options) {
  QueuedRequest queued{.activation = ActivationOf(request)};
  CAIRN_ASSIGN_OR_RETURN(
      queued.message,
      codeq::Prepare({.topic = std::string(kInvokeTopic),
                      .text = EnvelopeText({.id = std::move(options.message_id),
                                            .ts_ms = options.now_ms,
                                            .tenant = request.tenant,
                                            .type = std::string(kRequestType),
                                            .body = InvocationRequestText(request)}),
                      .trace_parent = std::move(options.trace_parent),
                      .max_retries = kMessageRetries,
                      .after = std::move(options.after)}));
  if (queued.message.fault) return *queued.message.fault;
  return queued;
}

void AddRequestScopes(const QueuedRequest& queued, codeq::Locks& locks) {
  codeq::AddPublishScopes(queued.message, locks);
}

Result<AcceptedRequest> AcceptRequest(jobs::Context& context, const QueuedRequest& queued) {
  const Activation& activation = queued.activation;
  AcceptedRequest accepted;
  CAIRN_ASSIGN_OR_RETURN(accepted.existing, LoadActivation(context.transaction, activation.tenant,
                                                           activation.activation_id));
  if (accepted.existing) return accepted;
  CAIRN_ASSIGN_OR_RETURN(codeq::Published published, codeq::TryPublish(context, queued.message));
  if (published.refused) return *published.refused;
  CAIRN_RETURN_IF_ERROR(PutActivation(context.transaction, activation));
  accepted.message = std::move(published.id);
  return accepted;
}

}  // namespace cairn::functions
