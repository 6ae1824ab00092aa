#include "functions/invoker/begin.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "functions/activation/activations.h"
#include "functions/activation/resolve.h"
#include "functions/control/aliases.h"
#include "functions/model/errors.h"
#include "jobs/operations/actions.h"
#include "jobs/operations/lease.h"
#include "jobs/operations/store_access.h"

namespace cairn::functions {
namespace {

constexpr uint64_t kNsPerUs = 1'000;
constexpr uint64_t kNsPerMs = 1'000'000;

Result<void> FindVersion(store::Transaction& transaction, Begun& begun) {
  begun.expired = transaction.now().millis() >= begun.deadline_ms;
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

std::string NameOfVersion(const FunctionName& function, uint64_t version) {
  return fmt::format("{}:{}", ResourceName(function), version);
}

Result<void> PutBack(jobs::Context& context, const jobs::LeaseRef& lease, int64_t delay_ms) {
  CAIRN_ASSIGN_OR_RETURN(const uint64_t until,
                         jobs::Snooze(context, lease, std::max<int64_t>(1, delay_ms)));
  (void)until;
  return {};
}

}  // namespace

BeginWork::BeginWork(Options options)
    : stopping_(options.stopping), has_room_(std::move(options.has_room)) {
  claim_.topics = {std::string(kInvokeTopic)};
  claim_.count = options.count;
  claim_.lease_ms = options.lease_ms;
  // Without a worker_id: the server is not listed among the workers of queues.
  codeq::AddClaimScopes(claim_, locks_);
  scopes = locks_.ToScopes();
  access = store::Access::kWrite;
}

Result<bool> BeginWork::WaitForOwner(jobs::Context& context, const Begun& begun) {
  const std::string& owner = begun.activation.message;
  // Its own lease has ended, or it would not have been claimed.
  if (owner.empty() || owner == begun.lease.id) return false;
  const Result<jobs::Job> job = jobs::Get(context.transaction, owner);
  if (!job.ok()) {
    if (job.error().code == ErrorCode::kNotFound) return false;
    return job.error();
  }
  const auto now_ns = static_cast<uint64_t>(context.transaction.now().us) * kNsPerUs;
  if (job->state != jobs::State::kActive || job->lease_expires_ns <= now_ns) return false;
  const uint64_t left_ms = (job->lease_expires_ns - now_ns) / kNsPerMs + 1;
  CAIRN_RETURN_IF_ERROR(PutBack(context, begun.lease, static_cast<int64_t>(left_ms)));
  return true;
}

Result<bool> BeginWork::Park(jobs::Context& context, const Begun& begun) {
  const FunctionName function = NameOf(begun.activation);
  const std::string name = NameOfVersion(function, begun.version.version);
  const auto taken = taken_.find(name);
  const int64_t more = (taken == taken_.end() ? 0 : taken->second) + 1;
  if (!has_room_ || has_room_(function, begun.version, more)) {
    taken_[name] = more;
    return false;
  }
  // Past its deadline it is answered without being run.
  const int64_t left_ms = begun.deadline_ms - context.transaction.now().millis();
  CAIRN_RETURN_IF_ERROR(PutBack(context, begun.lease, std::min(kParkedMs, left_ms)));
  if (begun.activation.status == Status::kRunning) {
    Activation queued = begun.activation;
    queued.status = Status::kQueued;
    queued.message.clear();
    CAIRN_RETURN_IF_ERROR(PutActivation(context.transaction, queued));
  }
  parked_.push_back({.function = function,
                     .version = begun.version.version,
                     .max_concurrency = begun.version.config.max_concurrency,
                     .message = begun.lease.id});
  return true;
}

Result<void> BeginWork::Begin(jobs::Context& context, const codeq::Message& message) {
  store::Transaction& transaction = context.transaction;
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
    begun_.push_back(std::move(begun));
    return {};
  }
  begun.activation = stored ? *std::move(stored) : ActivationOf(request);
  begun.activation.ref = request.ref;  // the record may name the version of an earlier attempt
  if (IsTerminal(begun.activation.status)) {
    begun.ended = true;
    begun_.push_back(std::move(begun));
    return {};
  }
  if (begun.activation.status == Status::kRunning) {
    CAIRN_ASSIGN_OR_RETURN(const bool waits, WaitForOwner(context, begun));
    if (waits) return {};
  }
  CAIRN_RETURN_IF_ERROR(FindVersion(transaction, begun));
  if (!begun.expired && !begun.refused) {
    CAIRN_ASSIGN_OR_RETURN(const bool parked, Park(context, begun));
    if (parked) return {};
  }
  begun.activation.status = Status::kRunning;
  begun.activation.start_ms = transaction.now().millis();
  begun.activation.message = begun.lease.id;
  CAIRN_RETURN_IF_ERROR(PutActivation(transaction, begun.activation));
  begun_.push_back(std::move(begun));
  return {};
}

Result<void> BeginWork::Run(store::Transaction& transaction) {
  begun_.clear();
  parked_.clear();
  taken_.clear();
  claimed_ = 0;
  if (stopping_ != nullptr && *stopping_) return {};
  const jobs::ChangeBody body = [this](jobs::Context& context) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(const std::vector<codeq::Message> messages,
                           codeq::Claim(context, claim_));
    claimed_ = messages.size();
    for (const codeq::Message& message : messages) {
      CAIRN_RETURN_IF_ERROR(Begin(context, message));
    }
    return {};
  };
  return jobs::RunUnder(locks_.lanes, held, transaction, /*queues=*/nullptr, body);
}

}  // namespace cairn::functions
