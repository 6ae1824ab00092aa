#include "jobs/operations/actions.h"

#include <fmt/format.h>

#include "base/json_text.h"
#include "base/time_text.h"
#include "base/utf8.h"
#include "jobs/ledger/ledger.h"
#include "jobs/model/json_members.h"
#include "jobs/model/refusal.h"

namespace cairn::jobs {
namespace {

using store::Space;

Error WrongState(Reason reason, const Job& job, std::string_view what) {
  return Refuse(reason,
                fmt::format("{} is {} and cannot be {}", job.id, StateName(job.state), what));
}

std::string ReasonData(std::string_view reason) {
  if (reason.empty()) return {};
  std::string data = R"({"reason":)";
  AppendJsonString(reason, data);
  data.push_back('}');
  return data;
}

void DropLease(Job& job) {
  job.lease_token = 0;
  job.lease_expires_ns = 0;
  job.lease_ms = 0;
}

// Puts a job that stands nowhere into the line; one that waits for others goes on waiting.
Result<void> Requeue(Ledger& ledger, Job& job) {
  DropLease(job);
  job.state = State::kPending;
  job.scheduled_ns = 0;
  return ledger.Enter(job);
}

// The unique key of a job that comes back to life, or into another queue, must be free there.
Result<void> CheckUniqueFree(Ledger& ledger, const Job& job, std::string_view queue,
                             Reason reason) {
  if (job.unique_key.empty()) return {};
  CAIRN_ASSIGN_OR_RETURN(const auto lock, ledger.UniqueLockOf(queue, job.unique_key));
  if (!lock || lock->job == job.id || lock->expires_ns <= ledger.now_ns()) return {};
  return Refuse(reason, fmt::format("the unique key of {} is held by {}", job.id, lock->job));
}

void TakeUnique(Ledger& ledger, const Job& job, uint64_t expires_ns) {
  if (job.unique_key.empty()) return;
  ledger.transaction().Put(InJobs(UniqueKey(job.queue, job.unique_key)),
                           EncodeUniqueLock(job.id, expires_ns));
}

uint64_t NewUniqueEnd(const Ledger& ledger) {
  return ledger.now_ns() + static_cast<uint64_t>(kDefaultUniquePeriodMs) * 1'000'000;
}

}  // namespace

Result<Job> Get(store::Reader& reader, std::string_view id) {
  if (IsId(id)) {
    CAIRN_ASSIGN_OR_RETURN(auto job, LoadJob(reader, id));
    if (job) return std::move(*job);
  }
  return NoSuchJob(id);
}

Result<std::vector<JobError>> GetErrors(store::Reader& reader, const Job& job) {
  std::vector<JobError> errors;
  if (!job.has_errors) return errors;
  CAIRN_RETURN_IF_ERROR(
      reader.Scan(store::Range::Prefix(Space::kJobs, NamedPrefix(family::kJobError, job.id)), {},
                  [&](BytesView key, BytesView value) {
                    const auto members = MembersOf(value);
                    if (!members) return true;
                    JobError error{.attempt = DecodeErrorAttempt(key).value_or(0)};
                    for (const auto& [name, json] : *members) {
                      if (name == "error") error.error = StringOf(json).value_or("");
                      if (name == "backtrace") error.backtrace = StringOf(json).value_or("");
                      if (name == "created_at") {
                        error.created_ns = ParseTime(StringOf(json).value_or("")).value_or(0);
                      }
                    }
                    errors.push_back(std::move(error));
                    return true;
                  }));
  return errors;
}

void AddJobScopes(std::string_view id, Held& held) { held.AddJob(id); }

Result<CancelResult> Cancel(Context& context, std::string_view id, std::string_view reason) {
  Ledger ledger(context);
  CAIRN_ASSIGN_OR_RETURN(Job job, ledger.LoadNamed(id));
  if (IsFinished(job.state)) return WrongState(Reason::kCancel, job, "cancelled");
  const CancelResult result{.was_active = job.state == State::kActive};
  CAIRN_RETURN_IF_ERROR(ledger.Leave(job));
  job.reason = CleanText(reason, kMaxReasonBytes);
  CAIRN_RETURN_IF_ERROR(ledger.End(job, State::kCancelled));
  ledger.Tell(EventType::kCancelled, job, ReasonData(job.reason));
  CAIRN_RETURN_IF_ERROR(ledger.Save());
  return result;
}

Result<void> Hold(Context& context, std::string_view id, std::string_view reason) {
  Ledger ledger(context);
  CAIRN_ASSIGN_OR_RETURN(Job job, ledger.LoadNamed(id));
  if (IsFinished(job.state) || job.state == State::kHeld) {
    return WrongState(Reason::kHold, job, "held");
  }
  CAIRN_RETURN_IF_ERROR(ledger.Leave(job));
  DropLease(job);
  job.state = State::kHeld;
  job.scheduled_ns = 0;
  job.reason = CleanText(reason, kMaxReasonBytes);
  CAIRN_RETURN_IF_ERROR(ledger.Enter(job));
  ledger.Tell(EventType::kHeld, job, ReasonData(job.reason));
  return ledger.Save();
}

Result<void> Approve(Context& context, std::string_view id) {
  Ledger ledger(context);
  CAIRN_ASSIGN_OR_RETURN(Job job, ledger.LoadNamed(id));
  if (job.state != State::kHeld) return WrongState(Reason::kApprove, job, "approved");
  CAIRN_RETURN_IF_ERROR(ledger.Leave(job));
  job.reason.clear();
  CAIRN_RETURN_IF_ERROR(Requeue(ledger, job));
  ledger.Tell(EventType::kApproved, job);
  return ledger.Save();
}

Result<void> Reject(Context& context, std::string_view id, std::string_view reason) {
  Ledger ledger(context);
  CAIRN_ASSIGN_OR_RETURN(Job job, ledger.LoadNamed(id));
  if (job.state != State::kHeld) return WrongState(Reason::kReject, job, "rejected");
  CAIRN_RETURN_IF_ERROR(ledger.Leave(job));
  job.reason = reason.empty() ? std::string("rejected") : CleanText(reason, kMaxReasonBytes);
  CAIRN_RETURN_IF_ERROR(ledger.End(job, State::kDead));
  ledger.Tell(EventType::kRejected, job, ReasonData(job.reason));
  return ledger.Save();
}

void AddMoveScopes(std::string_view id, std::string_view queue, Held& held) {
  held.AddJob(id);
  held.AddQueue(queue);
}

Result<void> Move(Context& context, std::string_view id, std::string_view queue) {
  if (!IsName(queue, kMaxQueueNameBytes)) {
    return Refuse(Reason::kValidation, "queue is not the name of a queue");
  }
  CAIRN_RETURN_IF_ERROR(CheckQueue(context.queues, queue));
  Ledger ledger(context);
  CAIRN_ASSIGN_OR_RETURN(Job job, ledger.LoadNamed(id));
  if (job.state == State::kActive) return WrongState(Reason::kMove, job, "moved");
  if (job.queue == queue) return {};
  CAIRN_RETURN_IF_ERROR(ledger.RequireQueue(queue));
  const bool live = !IsFinished(job.state);
  if (live) CAIRN_RETURN_IF_ERROR(CheckUniqueFree(ledger, job, queue, Reason::kMove));
  CAIRN_ASSIGN_OR_RETURN(const auto lock, ledger.UniqueLockOf(job.queue, job.unique_key));
  CAIRN_RETURN_IF_ERROR(ledger.Leave(job));
  CAIRN_RETURN_IF_ERROR(ledger.ReleaseUnique(job));
  CAIRN_RETURN_IF_ERROR(ledger.GiveUpSlot(job));
  const std::string from = std::exchange(job.queue, std::string(queue));
  // Who sends the request again sends it to the queue that it named.
  if (!job.idempotency_key.empty() && job.idempotency_queue.empty()) job.idempotency_queue = from;
  CAIRN_RETURN_IF_ERROR(ledger.Enter(job));
  if (live && lock && lock->job == job.id) TakeUnique(ledger, job, lock->expires_ns);
  std::string data = R"({"from":)";
  AppendJsonString(from, data);
  ledger.Tell(EventType::kMoved, job, data + "}");
  return ledger.Save();
}

Result<void> Retry(Context& context, std::string_view id, const RetryOptions& options) {
  Ledger ledger(context);
  CAIRN_ASSIGN_OR_RETURN(Job job, ledger.LoadNamed(id));
  const bool waits = job.state == State::kScheduled || job.state == State::kRetrying;
  if (!waits && !IsFinished(job.state)) return WrongState(Reason::kRetry, job, "retried");
  if (!waits) {
    CAIRN_RETURN_IF_ERROR(CheckUniqueFree(ledger, job, job.queue, Reason::kRetry));
    CAIRN_RETURN_IF_ERROR(ledger.Uncount(job));
  }
  CAIRN_RETURN_IF_ERROR(ledger.Leave(job));
  if (!options.keep_attempts) {
    job.failures = 0;
    job.reclaims = 0;
  }
  if (!waits) {
    job.completed_ns = 0;
    job.failed_ns = 0;
    job.expire_ns = 0;
    job.result.clear();
    TakeUnique(ledger, job, NewUniqueEnd(ledger));
  }
  job.reason.clear();
  CAIRN_RETURN_IF_ERROR(Requeue(ledger, job));
  ledger.Tell(EventType::kRetried, job);
  return ledger.Save();
}

Result<void> SetPriority(Context& context, std::string_view id, Priority priority) {
  Ledger ledger(context);
  CAIRN_ASSIGN_OR_RETURN(Job job, ledger.LoadNamed(id));
  if (job.state == State::kActive || IsFinished(job.state)) {
    return WrongState(Reason::kPriority, job, "given another priority");
  }
  if (job.priority == priority) return {};
  CAIRN_RETURN_IF_ERROR(ledger.Leave(job));
  job.priority = priority;
  CAIRN_RETURN_IF_ERROR(ledger.Enter(job));
  ledger.Tell(EventType::kReprioritized, job,
              fmt::format(R"({{"priority":{}}})", static_cast<int>(priority)));
  return ledger.Save();
}

Result<EnqueueResult> Replay(Context& context, std::string_view id) {
  Ledger ledger(context);
  CAIRN_ASSIGN_OR_RETURN(const Job source, ledger.LoadNamed(id));
  Job job;
  job.queue = source.queue;
  job.priority = source.priority;
  job.payload = source.payload;
  job.retry = source.retry;
  job.timeout_ms = source.timeout_ms;
  job.tags = source.tags;
  job.checkpoint = source.checkpoint;
  job.agent = source.agent;
  job.parent_id = source.id;
  job.concurrency_key = source.concurrency_key;
  job.rate_key = source.rate_key;
  job.group = source.group;
  CAIRN_RETURN_IF_ERROR(ledger.Add(job));
  CAIRN_RETURN_IF_ERROR(ledger.Save());
  return EnqueueResult{.id = job.id, .state = job.state};
}

Result<void> Delete(Context& context, std::string_view id) {
  Ledger ledger(context);
  CAIRN_ASSIGN_OR_RETURN(Job job, ledger.LoadNamed(id));
  CAIRN_RETURN_IF_ERROR(ledger.Remove(job, "deleted"));
  return ledger.Save();
}

}  // namespace cairn::jobs
