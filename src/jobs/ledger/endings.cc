// What follows from the end of a job: its lock is free, its batch counts it, its chain goes on, who
// waits for it is told. Every way to an end comes through here.
#include <fmt/format.h>

#include "base/check.h"
#include "base/json_text.h"
#include "jobs/ledger/ledger.h"
#include "jobs/model/chain.h"
#include "jobs/model/limits.h"
#include "jobs/model/topics.h"

namespace cairn::jobs {
namespace {

using store::Space;

constexpr uint64_t kNsPerMs = 1'000'000;

}  // namespace

Result<Remains> Ledger::End(Job& job, State state, ChainThen then) {
  CAIRN_CHECK(IsFinished(state), "{} cannot end {}", job.id, StateName(state));
  CAIRN_ASSIGN_OR_RETURN(Queue* const queue, QueueOf(job.queue));
  CAIRN_ASSIGN_OR_RETURN(const QueueConfig* const config, ConfigOf(*queue));
  job.state = state;
  job.lease_token = 0;
  job.lease_expires_ns = 0;
  job.lease_ms = 0;
  job.waiting_for = 0;
  const bool completed = state == State::kCompleted;
  (completed ? job.completed_ns : job.failed_ns) = now_ns();
  const int64_t kept_ms = completed ? config->retention_ms : config->failed_retention_ms;
  job.index_ns = now_ns() + static_cast<uint64_t>(kept_ms) * kNsPerMs;
  if (std::exchange(job.has_dependents, false)) ended_.push_back({job.id, state});
  const Remains remains = completed && kept_ms == 0 ? Remains::kNothing : Remains::kJob;
  if (remains == Remains::kJob) {
    CAIRN_RETURN_IF_ERROR(Enter(job));
  } else {
    CAIRN_RETURN_IF_ERROR(ReleaseSlot(*queue, job));
    CAIRN_RETURN_IF_ERROR(DeleteRows(job));
  }
  CAIRN_RETURN_IF_ERROR(ReleaseUnique(job));
  CAIRN_RETURN_IF_ERROR(CountInBatch(job));
  CAIRN_RETURN_IF_ERROR(AdvanceChain(job, then));
  transaction_.Wake(JobTopic(job.id));
  return remains;
}

Result<std::optional<UniqueLock>> Ledger::UniqueLockOf(std::string_view queue,
                                                       std::string_view key) {
  CAIRN_ASSIGN_OR_RETURN(const auto row, transaction_.Get(InJobs(UniqueKey(queue, key))));
  if (!row) return std::optional<UniqueLock>();
  auto lock = DecodeUniqueLock(*row);
  if (!lock) return Error{ErrorCode::kCorruption, "a unique lock cannot be decoded"};
  return lock;
}

Result<void> Ledger::ReleaseUnique(const Job& job) {
  if (job.unique_key.empty()) return {};
  CAIRN_ASSIGN_OR_RETURN(const auto lock, UniqueLockOf(job.queue, job.unique_key));
  if (lock && lock->job == job.id) {
    transaction_.Delete(InJobs(UniqueKey(job.queue, job.unique_key)));
  }
  return {};
}

// --- Batches -------------------------------------------------------------------------------------

Result<std::optional<Ledger::BatchRow*>> Ledger::BatchOf(std::string_view id) {
  const auto found = batches_.find(id);
  if (found != batches_.end()) return std::optional(&found->second);
  const auto lane = FirstLaneOfId(id);
  if (!lane) return std::optional<BatchRow*>();
  CAIRN_RETURN_IF_ERROR(Require(*lane));
  CAIRN_ASSIGN_OR_RETURN(auto batch, LoadBatch(transaction_, id));
  if (!batch) return std::optional<BatchRow*>();
  return std::optional(
      &batches_.emplace(std::string(id), BatchRow{.batch = std::move(*batch)}).first->second);
}

std::string Ledger::NewBatch(const BatchOptions& options, Lane lane) {
  Batch batch{.sealed = false, .options = options, .created_ns = now_ns()};
  batch.id =
      MakeId({.prefix = "batch_", .ns = now_ns(), .lane = lane, .serial = transaction_.NewStamp()});
  batches_.emplace(batch.id, BatchRow{.batch = batch, .changed = true});
  return batch.id;
}

Result<void> Ledger::CountInBatch(const Job& job) {
  if (job.batch_id.empty()) return {};
  CAIRN_ASSIGN_OR_RETURN(const auto found, BatchOf(job.batch_id));
  if (!found) return {};  // done and removed since
  BatchRow& row = **found;
  row.changed = true;
  --row.batch.pending;
  ++(job.state == State::kCompleted ? row.batch.succeeded
     : job.state == State::kDead    ? row.batch.failed
                                    : row.batch.cancelled);
  return CompleteIfDone(row);
}

Result<void> Ledger::Uncount(const Job& job) {
  if (job.batch_id.empty()) return {};
  CAIRN_ASSIGN_OR_RETURN(const auto found, BatchOf(job.batch_id));
  if (!found) return {};
  BatchRow& row = **found;
  row.changed = true;
  ++row.batch.pending;
  --(job.state == State::kCompleted ? row.batch.succeeded
     : job.state == State::kDead    ? row.batch.failed
                                    : row.batch.cancelled);
  return {};
}

Result<void> Ledger::CompleteIfDone(BatchRow& row) {
  Batch& batch = row.batch;
  if (!batch.sealed || batch.pending > 0 || batch.done) return {};
  batch.done = true;
  batch.completed_ns = now_ns();
  row.changed = true;
  const std::string totals = fmt::format(
      R"("batch_id":{},"total":{},"succeeded":{},"failed":{},"cancelled":{})", JsonString(batch.id),
      batch.total, batch.succeeded, batch.failed, batch.cancelled);
  if (!batch.options.callback_queue.empty()) {
    Job callback;
    callback.queue = batch.options.callback_queue;
    CAIRN_ASSIGN_OR_RETURN(Queue* const queue, QueueOf(callback.queue));
    CAIRN_ASSIGN_OR_RETURN(const QueueConfig* const config, ConfigOf(*queue));
    ApplyDefaults(*config, callback);
    const std::string_view own = batch.options.callback_payload;
    callback.payload = Overlay(totals, own.empty() ? "{}" : own);
    CAIRN_RETURN_IF_ERROR(Add(callback));
    batch.callback_job = callback.id;
  }
  due_.Set(now_ns() + static_cast<uint64_t>(kDefaultRetentionMs) * kNsPerMs, DueKind::kBatch, {},
           batch.id);
  Tell(EventType::kBatchCompleted, batch.options.callback_queue, fmt::format("{{{}}}", totals));
  return {};
}

// --- Chains --------------------------------------------------------------------------------------

Result<void> Ledger::AdvanceChain(const Job& job, ChainThen then) {
  if (job.chain_config.empty() || job.chain_step < 0) return {};
  const Result<Chain> chain = ParseChain(job.chain_config);
  if (!chain.ok()) return {};  // given by the client as it is: not one of ours
  if (job.state == State::kCompleted) {
    const ChainStep* const exit = chain->on_exit ? &*chain->on_exit : nullptr;
    const ChainStep* const next =
        then == ChainThen::kExits ? exit : NextStep(*chain, job.chain_step);
    if (next == nullptr) return {};
    std::string base = fmt::format(R"("previous_job_id":{})", JsonString(job.id));
    if (!job.result.empty()) base += fmt::format(R"(,"previous_result":{})", job.result);
    return AddChainJob(job, *next, next == exit ? kExitStep : job.chain_step + 1, base);
  }
  if (!chain->on_failure) return {};
  const std::string base = fmt::format(R"("failed_job_id":{},"failed_step":{},"error":{})",
                                       JsonString(job.id), job.chain_step, JsonString(job.reason));
  return AddChainJob(job, *chain->on_failure, kFailureStep, base);
}

Result<void> Ledger::AddChainJob(const Job& job, const ChainStep& step, int64_t number,
                                 std::string_view base) {
  Job next;
  next.queue = step.queue;
  next.payload = Overlay(base, step.payload);
  next.chain_id = job.chain_id;
  next.chain_step = number;
  next.chain_config = job.chain_config;
  CAIRN_ASSIGN_OR_RETURN(Queue* const queue, QueueOf(next.queue));
  CAIRN_ASSIGN_OR_RETURN(const QueueConfig* const config, ConfigOf(*queue));
  ApplyDefaults(*config, next);
  return Add(next);
}

// --- Dependencies --------------------------------------------------------------------------------

// One after the other, not one inside the other: a long row of jobs that wait for one another costs
// no stack.
Result<void> Ledger::TellDependants() {
  while (!ended_.empty()) {
    const Ended ended = std::move(ended_.back());
    ended_.pop_back();
    std::vector<std::string> waiting;
    CAIRN_RETURN_IF_ERROR(transaction_.Scan(
        store::Range::Prefix(Space::kJobs, NamedPrefix(family::kDependent, ended.id)), {},
        [&](BytesView key, BytesView) {
          if (const auto pair = DecodePairKey(family::kDependent, key)) {
            waiting.emplace_back(pair->second);
          }
          return true;
        }));
    for (const std::string& id : waiting) {
      transaction_.Delete(InJobs(DependentKey(ended.id, id)));
      CAIRN_RETURN_IF_ERROR(DependencyEnded(id, ended));
    }
  }
  return {};
}

Result<void> Ledger::DependencyEnded(std::string_view waiting_id, const Ended& ended) {
  CAIRN_RETURN_IF_ERROR(Require(FirstLaneOfId(waiting_id).value_or(0)));
  CAIRN_ASSIGN_OR_RETURN(auto found, LoadJob(transaction_, waiting_id));
  // It may have been cancelled meanwhile: then it waits for nothing.
  if (!found || found->waiting_for == 0) return {};
  Job& job = *found;
  const bool met =
      ended.state == State::kCompleted || job.on_dependency_failure == DependencyPolicy::kIgnore;
  if (met && (job.waiting_for > 1 || job.state != State::kPending)) {
    --job.waiting_for;
    Store(job);
    return {};
  }
  CAIRN_RETURN_IF_ERROR(Leave(job));
  job.waiting_for = 0;
  return met ? Enter(job) : DependencyFailed(job, ended.id, ended.state);
}

Result<void> Ledger::DependencyFailed(Job& job, std::string_view dependency, State state) {
  job.reason = fmt::format("its dependency {} ended {}", dependency, StateName(state));
  job.waiting_for = 0;
  if (job.on_dependency_failure == DependencyPolicy::kHold) {
    job.state = State::kHeld;
    CAIRN_RETURN_IF_ERROR(Enter(job));
    Tell(EventType::kHeld, job, fmt::format(R"({{"reason":{}}})", JsonString(job.reason)));
    return {};
  }
  CAIRN_RETURN_IF_ERROR(End(job, State::kDead));
  Tell(EventType::kDead, job, fmt::format(R"({{"reason":{}}})", JsonString(job.reason)));
  return {};
}

}  // namespace cairn::jobs
