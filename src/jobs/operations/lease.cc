#include "jobs/operations/lease.h"

#include <fmt/format.h>

#include "base/json_text.h"
#include "base/time_text.h"
#include "base/utf8.h"
#include "jobs/ledger/ledger.h"
#include "jobs/model/json_check.h"
#include "jobs/model/refusal.h"
#include "jobs/operations/registry.h"

namespace cairn::jobs {
namespace {

constexpr uint64_t kNsPerMs = 1'000'000;

bool IsTheirs(const Job& job, const LeaseRef& lease) {
  if (lease.token) return *lease.token == job.lease_token;
  return (lease.worker_id.empty() || lease.worker_id == job.worker_id) &&
         (!lease.attempt || *lease.attempt == job.attempt);
}

// Refuses a job that is not active or not leased to the one who asks.
Result<void> CheckLeased(const Job& job, const LeaseRef& lease, Reason otherwise) {
  if (job.state != State::kActive && !lease.token) {
    return Refuse(otherwise, fmt::format("{} is {}, not active", job.id, StateName(job.state)));
  }
  if (job.state != State::kActive || !IsTheirs(job, lease)) {
    return Refuse(Reason::kLeaseLost,
                  fmt::format("you no longer hold the lease of {}; the job is {}", job.id,
                              StateName(job.state)));
  }
  return {};
}

Result<void> CheckDocument(std::string_view what, std::string_view json) {
  if (json.size() > kMaxDocumentBytes) {
    return Refuse(Reason::kPayloadTooLarge, fmt::format("the {} is {} bytes, above the limit of {}",
                                                        what, json.size(), kMaxDocumentBytes));
  }
  if (json.empty() || IsJson(json)) return {};
  return Refuse(Reason::kValidation, fmt::format("the {} is not valid JSON", what));
}

Result<void> AckOne(Ledger& ledger, const AckRequest& request) {
  CAIRN_RETURN_IF_ERROR(CheckDocument("result", request.result));
  CAIRN_RETURN_IF_ERROR(CheckDocument("checkpoint", request.checkpoint));
  // Not moved out of the result: a job has many strings.
  Result<Job> loaded = ledger.LoadNamed(request.lease.id);
  if (!loaded.ok()) return loaded.error();
  Job& job = *loaded;
  CAIRN_RETURN_IF_ERROR(CheckLeased(job, request.lease, Reason::kAck));
  CAIRN_RETURN_IF_ERROR(ledger.Leave(job));
  if (!request.result.empty()) job.result = request.result;
  if (!request.checkpoint.empty()) job.checkpoint = request.checkpoint;
  job.reason = CleanText(request.exit_reason, kMaxReasonBytes);
  const ChainThen then = request.exit_chain ? ChainThen::kExits : ChainThen::kGoesOn;
  CAIRN_ASSIGN_OR_RETURN(const Remains remains, ledger.End(job, State::kCompleted, then));
  ledger.Tell(EventType::kCompleted, job,
              remains == Remains::kJob ? std::string() : RemovalData(job.result));
  return {};
}

// A refusal is a result; what the store could not do is not.
bool IsStores(const Result<void>& result) {
  return !result.ok() && FindReason(result.error()) == nullptr;
}

std::string ErrorRow(const Job& job, const AttemptError& error, uint64_t now_ns) {
  std::string row = fmt::format(R"({{"attempt":{},"error":)", job.attempt);
  AppendJsonString(CleanText(error.error, kMaxErrorBytes), row);
  if (!error.backtrace.empty()) {
    row += R"(,"backtrace":)";
    AppendJsonString(CleanText(error.backtrace, kMaxBacktraceBytes), row);
  }
  row += R"(,"created_at":)";
  AppendJsonString(FormatTime(now_ns), row);
  row.push_back('}');
  return row;
}

}  // namespace

void AddLeaseScopes(const LeaseRef& lease, Held& held) {
  held.AddJob(lease.id);
  AddWorkerScopes(lease.worker_id, held);
}

Result<void> Ack(Context& context, const AckRequest& request) {
  Ledger ledger(context);
  CAIRN_RETURN_IF_ERROR(AckOne(ledger, request));
  return ledger.Save();
}

Result<void> CheckAckBatchSize(size_t requests) {
  if (requests == 0 || requests > kMaxAckBatch) {
    return Refuse(Reason::kValidation, fmt::format("acks must be 1 to {}", kMaxAckBatch));
  }
  return {};
}

Result<std::vector<Result<void>>> AckBatch(Context& context, std::span<const AckRequest> requests) {
  CAIRN_RETURN_IF_ERROR(CheckAckBatchSize(requests.size()));
  Ledger ledger(context);
  std::vector<Result<void>> results;
  results.reserve(requests.size());
  std::vector<std::string_view> ids;
  ids.reserve(requests.size());
  for (const AckRequest& request : requests) ids.push_back(request.lease.id);
  CAIRN_RETURN_IF_ERROR(ledger.Expect(ids));
  for (const AckRequest& request : requests) {
    results.push_back(AckOne(ledger, request));
    if (IsStores(results.back())) return results.back().error();
  }
  CAIRN_RETURN_IF_ERROR(ledger.Save());
  return results;
}

uint64_t LeaseEnd(const Job& job, uint64_t now_ns) {
  const uint64_t end = now_ns + static_cast<uint64_t>(job.lease_ms) * kNsPerMs;
  if (job.timeout_ms == 0) return end;
  return std::min(end, job.started_ns + static_cast<uint64_t>(job.timeout_ms) * kNsPerMs);
}

Result<FailResult> FailAttempt(Ledger& ledger, Job& job, const AttemptError& error) {
  const uint64_t now_ns = ledger.now_ns();
  ++job.failures;
  job.reclaims = 0;
  job.has_errors = true;
  job.reason = CleanText(error.error, kMaxReasonBytes);
  job.failed_ns = now_ns;
  ledger.transaction().Put(InJobs(JobErrorKey(job.id, static_cast<uint32_t>(job.attempt))),
                           ErrorRow(job, error, now_ns));
  std::string data = fmt::format(R"({{"attempt":{},"error":)", job.attempt);
  AppendJsonString(job.reason, data);
  FailResult result{.attempts_remaining =
                        std::max<int64_t>(0, job.retry.max_retries + 1 - job.failures)};
  if (!error.retryable || result.attempts_remaining == 0) {
    result.state = State::kDead;
    result.attempts_remaining = 0;
    CAIRN_RETURN_IF_ERROR(ledger.End(job, State::kDead));
    ledger.Tell(EventType::kFailed, job, data + "}");
    ledger.Tell(EventType::kDead, job);
    return result;
  }
  const int64_t delay_ms = error.delay_ms.value_or(
      RetryDelayMs(job.retry, job.failures, ledger.transaction().NewStamp() * 2654435761U));
  result.next_attempt_ns = now_ns + static_cast<uint64_t>(delay_ms) * kNsPerMs;
  job.lease_token = 0;
  job.lease_expires_ns = 0;
  job.state = delay_ms == 0 ? State::kPending : State::kRetrying;
  job.scheduled_ns = result.next_attempt_ns;
  job.index_ns = result.next_attempt_ns;
  CAIRN_RETURN_IF_ERROR(ledger.Enter(job));
  ledger.Tell(EventType::kFailed, job,
              fmt::format("{},\"next_attempt_at_ns\":{}}}", data, result.next_attempt_ns));
  ledger.Tell(EventType::kRetrying, job);
  return result;
}

Result<FailResult> Fail(Context& context, const FailRequest& request) {
  if (request.delay_ms && (*request.delay_ms < 0 || *request.delay_ms > kMaxDelayMs)) {
    return Refuse(Reason::kValidation, "the delay is out of range");
  }
  Ledger ledger(context);
  CAIRN_ASSIGN_OR_RETURN(Job job, ledger.LoadNamed(request.lease.id));
  CAIRN_RETURN_IF_ERROR(CheckLeased(job, request.lease, Reason::kFail));
  CAIRN_RETURN_IF_ERROR(ledger.Leave(job));
  CAIRN_ASSIGN_OR_RETURN(const FailResult result, FailAttempt(ledger, job,
                                                              {.error = request.error,
                                                               .backtrace = request.backtrace,
                                                               .retryable = request.retryable,
                                                               .delay_ms = request.delay_ms}));
  CAIRN_RETURN_IF_ERROR(ledger.Save());
  return result;
}

Result<HeartbeatResult> Heartbeat(Context& context, const HeartbeatRequest& request) {
  CAIRN_RETURN_IF_ERROR(CheckDocument("progress", request.progress));
  CAIRN_RETURN_IF_ERROR(CheckDocument("checkpoint", request.checkpoint));
  if (request.lease_ms && (*request.lease_ms < kMinLeaseMs || *request.lease_ms > kMaxLeaseMs)) {
    return Refuse(Reason::kValidation,
                  fmt::format("a lease must be from {} to {} ms", kMinLeaseMs, kMaxLeaseMs));
  }
  Ledger ledger(context);
  CAIRN_ASSIGN_OR_RETURN(Job job, ledger.LoadNamed(request.lease.id));
  if (job.state != State::kActive) return HeartbeatResult{.cancelled = true};
  CAIRN_RETURN_IF_ERROR(CheckLeased(job, request.lease, Reason::kHeartbeat));
  if (request.lease_ms) job.lease_ms = *request.lease_ms;
  ledger.Relet(job, LeaseEnd(job, ledger.now_ns()));
  if (!request.checkpoint.empty()) job.checkpoint = request.checkpoint;
  if (!request.progress.empty()) {
    job.progress = request.progress;
    ledger.Tell(EventType::kProgress, job, job.progress);
  }
  ledger.Store(job);
  CAIRN_RETURN_IF_ERROR(ledger.Save());
  if (!request.lease.worker_id.empty()) {
    CAIRN_RETURN_IF_ERROR(
        TouchWorker(context, {.worker_id = request.lease.worker_id, .hostname = job.hostname}));
  }
  return HeartbeatResult{.lease_expires_ns = job.lease_expires_ns};
}

Result<uint64_t> Snooze(Context& context, const LeaseRef& lease, int64_t delay_ms) {
  if (delay_ms < 0 || delay_ms > kMaxDelayMs) {
    return Refuse(Reason::kValidation, "the delay is out of range");
  }
  Ledger ledger(context);
  CAIRN_ASSIGN_OR_RETURN(Job job, ledger.LoadNamed(lease.id));
  CAIRN_RETURN_IF_ERROR(CheckLeased(job, lease, Reason::kSnooze));
  CAIRN_RETURN_IF_ERROR(ledger.Leave(job));
  const uint64_t until_ns = ledger.now_ns() + static_cast<uint64_t>(delay_ms) * kNsPerMs;
  --job.attempt;
  job.reclaims = 0;
  job.lease_token = 0;
  job.lease_expires_ns = 0;
  job.state = delay_ms == 0 ? State::kPending : State::kScheduled;
  job.scheduled_ns = until_ns;
  job.index_ns = until_ns;
  CAIRN_RETURN_IF_ERROR(ledger.Enter(job));
  ledger.Tell(EventType::kSnoozed, job, fmt::format(R"({{"until_ns":{}}})", until_ns));
  CAIRN_RETURN_IF_ERROR(ledger.Save());
  return until_ns;
}

}  // namespace cairn::jobs
