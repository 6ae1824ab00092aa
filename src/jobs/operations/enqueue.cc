#include "jobs/operations/enqueue.h"

#include <fmt/format.h>

#include <algorithm>

#include "jobs/ledger/ledger.h"
#include "jobs/model/chain.h"
#include "jobs/model/json_check.h"
#include "jobs/model/refusal.h"
#include "jobs/operations/batches.h"

namespace cairn::jobs {
namespace {

constexpr uint64_t kNsPerMs = 1'000'000;

Error Bad(std::string_view text) { return Refuse(Reason::kValidation, text); }

// --- What can be checked without looking ---------------------------------------------------------

Result<void> CheckName(std::string_view what, std::string_view name, size_t limit) {
  if (name.empty() || IsName(name, limit)) return {};
  return Bad(
      fmt::format("{} must be at most {} bytes of text without control characters", what, limit));
}

Result<void> CheckNumber(std::string_view what, int64_t value, int64_t most) {
  if (value >= 0 && value <= most) return {};
  return Bad(fmt::format("{} must be from 0 to {}", what, most));
}

Result<void> CheckJson(std::string_view what, std::string_view json, size_t limit, JsonKind kind) {
  if (json.empty()) return {};
  if (json.size() > limit) {
    return Refuse(Reason::kPayloadTooLarge,
                  fmt::format("{} is {} bytes, above the limit of {}", what, json.size(), limit));
  }
  if (IsJson(json, kind)) return {};
  return Bad(fmt::format("{} is not {}", what,
                         kind == JsonKind::kObject ? "a JSON object" : "valid JSON"));
}

Result<void> CheckNames(const EnqueueRequest& request) {
  if (!IsName(request.queue, kMaxQueueNameBytes)) {
    return Bad(fmt::format("queue is required: 1 to {} bytes of text without control characters",
                           kMaxQueueNameBytes));
  }
  CAIRN_RETURN_IF_ERROR(CheckName("unique_key", request.unique_key, kMaxKeyBytes));
  CAIRN_RETURN_IF_ERROR(CheckName("idempotency_key", request.idempotency_key, kMaxKeyBytes));
  CAIRN_RETURN_IF_ERROR(CheckName("concurrency_key", request.concurrency_key, kMaxKeyBytes));
  CAIRN_RETURN_IF_ERROR(CheckName("rate_key", request.rate_key, kMaxKeyBytes));
  CAIRN_RETURN_IF_ERROR(CheckName("group", request.group, kMaxKeyBytes));
  CAIRN_RETURN_IF_ERROR(CheckName("parent_id", request.parent_id, kMaxKeyBytes));
  CAIRN_RETURN_IF_ERROR(CheckName("chain_id", request.chain_id, kMaxKeyBytes));
  if (!request.id.empty() && FirstLaneOfId(request.id) != LaneOfQueue(request.queue)) {
    return Bad("the id belongs to another queue");
  }
  return {};
}

Result<void> CheckNumbers(const EnqueueRequest& request) {
  CAIRN_RETURN_IF_ERROR(CheckNumber("unique_period", request.unique_period_ms, kMaxDelayMs));
  CAIRN_RETURN_IF_ERROR(CheckNumber("delay", request.delay_ms, kMaxDelayMs));
  CAIRN_RETURN_IF_ERROR(CheckNumber("expire_after", request.expire_after_ms, kMaxDelayMs));
  CAIRN_RETURN_IF_ERROR(CheckNumber("timeout", request.timeout_ms, kMaxDelayMs));
  CAIRN_RETURN_IF_ERROR(CheckNumber("retry_jitter_percent", request.retry_jitter_percent, 100));
  CAIRN_RETURN_IF_ERROR(
      CheckNumber("max_retries", request.max_retries.value_or(0), kMaxMaxRetries));
  CAIRN_RETURN_IF_ERROR(
      CheckNumber("retry_base_delay", request.retry_base_delay_ms.value_or(0), kMaxDelayMs));
  return CheckNumber("retry_max_delay", request.retry_max_delay_ms.value_or(0), kMaxDelayMs);
}

Result<void> CheckDocuments(const EnqueueRequest& request) {
  if (request.payload.empty()) return Bad("payload is not valid JSON");
  CAIRN_RETURN_IF_ERROR(
      CheckJson("payload", request.payload, request.payload_limit, JsonKind::kAny));
  CAIRN_RETURN_IF_ERROR(CheckJson("tags", request.tags, kMaxDocumentBytes, JsonKind::kObject));
  CAIRN_RETURN_IF_ERROR(
      CheckJson("checkpoint", request.checkpoint, kMaxDocumentBytes, JsonKind::kAny));
  CAIRN_RETURN_IF_ERROR(CheckJson("agent", request.agent, kMaxDocumentBytes, JsonKind::kObject));
  CAIRN_RETURN_IF_ERROR(
      CheckJson("chain_config", request.chain_config, kMaxDocumentBytes, JsonKind::kObject));
  if (request.chain.empty()) return {};
  CAIRN_ASSIGN_OR_RETURN(const Chain chain, ParseChain(request.chain));
  if (chain.steps.front().queue != request.queue) {
    return Refuse(Reason::kChain, "the queue of the first step must be that of the job");
  }
  return {};
}

}  // namespace

Result<void> CheckEnqueue(const EnqueueRequest& request) {
  CAIRN_RETURN_IF_ERROR(CheckNames(request));
  CAIRN_RETURN_IF_ERROR(CheckNumbers(request));
  CAIRN_RETURN_IF_ERROR(CheckDocuments(request));
  if (request.depends_on.size() > kMaxDependencies) {
    return Refuse(Reason::kDependency,
                  fmt::format("a job can depend on at most {} others", kMaxDependencies));
  }
  return {};
}

namespace {

// --- Whether the one who asks may --------------------------------------------------------------

Result<void> CheckChain(const doors::NamePatterns* queues, std::string_view json) {
  if (json.empty()) return {};
  CAIRN_ASSIGN_OR_RETURN(const Chain chain, ParseChain(json));
  for (const ChainStep& step : chain.steps) {
    CAIRN_RETURN_IF_ERROR(CheckQueue(queues, step.queue));
  }
  for (const auto& step : {chain.on_failure, chain.on_exit}) {
    if (step) CAIRN_RETURN_IF_ERROR(CheckQueue(queues, step->queue));
  }
  return {};
}

// Its own queue, and those that its end may put jobs into.
Result<void> CheckQueues(const doors::NamePatterns* queues, const EnqueueRequest& request) {
  if (queues == nullptr) return {};
  CAIRN_RETURN_IF_ERROR(CheckQueue(queues, request.queue));
  CAIRN_RETURN_IF_ERROR(CheckChain(queues, request.chain));
  return CheckChain(queues, request.chain_config);
}

// A batch that is closed from the start needs no callback to be somebody's: all its jobs are.
Result<void> CheckCallback(const doors::NamePatterns* queues, const BatchOptions& options) {
  return options.callback_queue.empty() ? Result<void>()
                                        : CheckQueue(queues, options.callback_queue);
}

// --- What the store has to say -------------------------------------------------------------------

// Checks that must not fail half way through a batch.
Result<void> CheckStored(Ledger& ledger, const EnqueueRequest& request) {
  if (!request.batch_id.empty()) {
    CAIRN_ASSIGN_OR_RETURN(const auto batch, ledger.BatchOf(request.batch_id));
    if (!batch) {
      return Refuse(Reason::kNotFound,
                    fmt::format("there is no batch {}", Printable(request.batch_id, 64)));
    }
    CAIRN_RETURN_IF_ERROR(CheckBatch(ledger.context().queues, (*batch)->batch));
    if ((*batch)->batch.sealed) {
      return Refuse(Reason::kBatch, fmt::format("batch {} is sealed", request.batch_id));
    }
  }
  for (const std::string& id : request.depends_on) {
    const Result<Job> dependency = ledger.LoadNamed(id);
    if (dependency.ok()) continue;
    const ReasonRow* const reason = FindReason(dependency.error());
    if (reason == nullptr) return dependency.error();
    return Refuse(Reason::kDependency,
                  fmt::format("the dependency {} does not exist", Printable(id, 64)));
  }
  return {};
}

std::optional<EnqueueResult> AsExisting(const std::optional<Job>& job) {
  if (!job) return std::nullopt;
  return EnqueueResult{.id = job->id, .state = job->state, .existing = true};
}

Job NewJob(const EnqueueRequest& request, const QueueConfig& config) {
  Job job;
  job.id = request.id;
  job.queue = request.queue;
  job.priority = request.priority;
  job.payload = request.payload;
  ApplyDefaults(config, job);
  job.retry.max_retries = request.max_retries.value_or(job.retry.max_retries);
  job.retry.backoff = request.retry_backoff.value_or(job.retry.backoff);
  job.retry.base_ms = request.retry_base_delay_ms.value_or(job.retry.base_ms);
  job.retry.max_ms = request.retry_max_delay_ms.value_or(job.retry.max_ms);
  job.retry.jitter_percent = request.retry_jitter_percent;
  if (request.timeout_ms > 0) job.timeout_ms = request.timeout_ms;
  job.unique_key = request.unique_key;
  job.idempotency_key = request.idempotency_key;
  job.trace_parent = request.trace_parent;
  job.concurrency_key = request.concurrency_key;
  job.rate_key = request.rate_key;
  job.group = request.group;
  job.batch_id = request.batch_id;
  job.parent_id = request.parent_id;
  job.chain_id = request.chain_id;
  job.chain_step = request.chain_step;
  job.chain_config = request.chain.empty() ? request.chain_config : request.chain;
  job.depends_on = request.depends_on;
  job.on_dependency_failure = request.on_dependency_failure;
  job.tags = request.tags;
  job.checkpoint = request.checkpoint;
  job.agent = request.agent;
  return job;
}

uint64_t ScheduledNs(const EnqueueRequest& request, uint64_t now_ns) {
  const uint64_t at = request.delay_ms > 0
                          ? now_ns + static_cast<uint64_t>(request.delay_ms) * kNsPerMs
                          : request.scheduled_ns;
  return at > now_ns ? at : 0;
}

// A scheduled job waits for its time; any other is pending.
void SetSchedule(Job& job, uint64_t scheduled_ns) {
  job.scheduled_ns = scheduled_ns;
  job.state = scheduled_ns == 0 ? State::kPending : State::kScheduled;
  if (scheduled_ns != 0) job.index_ns = scheduled_ns;
}

// --- Unique keys ---------------------------------------------------------------------------------

Result<EnqueueResult> Debounce(Ledger& ledger, Job& holder, const EnqueueRequest& request) {
  holder.payload = request.payload;
  // One that is held stays so until somebody has looked at it, and a retry keeps its distance.
  if (holder.state == State::kHeld || holder.state == State::kRetrying) {
    ledger.Store(holder);
  } else {
    CAIRN_RETURN_IF_ERROR(ledger.Leave(holder));
    SetSchedule(holder, ScheduledNs(request, ledger.now_ns()));
    CAIRN_RETURN_IF_ERROR(ledger.Enter(holder));
  }
  ledger.Tell(EventType::kUpdated, holder);
  return EnqueueResult{.id = holder.id, .state = holder.state, .existing = true, .debounced = true};
}

// What the holder of the key means for the request; nullopt: it may go on.
Result<std::optional<EnqueueResult>> MeetHolder(Ledger& ledger, const EnqueueRequest& request) {
  if (request.unique_key.empty()) return std::optional<EnqueueResult>();
  CAIRN_ASSIGN_OR_RETURN(const auto lock, ledger.UniqueLockOf(request.queue, request.unique_key));
  if (!lock || lock->expires_ns <= ledger.now_ns()) return std::optional<EnqueueResult>();
  CAIRN_ASSIGN_OR_RETURN(Job holder, ledger.Load(lock->job));
  // A job that runs has seen what it has seen: what came after needs a run of its own.
  const bool running = holder.state == State::kActive;
  if (request.unique_mode == UniqueMode::kReject) return AsExisting(holder);
  if (running) return std::optional<EnqueueResult>();
  if (request.unique_mode == UniqueMode::kDebounce) {
    CAIRN_ASSIGN_OR_RETURN(EnqueueResult result, Debounce(ledger, holder, request));
    return std::optional(std::move(result));
  }
  CAIRN_RETURN_IF_ERROR(ledger.Leave(holder));
  holder.reason = "replaced";
  CAIRN_RETURN_IF_ERROR(ledger.End(holder, State::kCancelled));
  ledger.Tell(EventType::kCancelled, holder, R"({"reason":"replaced"})");
  return std::optional<EnqueueResult>();
}

// --- Dependencies --------------------------------------------------------------------------------

// Registers the new job with those it waits for, and tells which of them has failed already.
Result<std::optional<Job>> Await(Ledger& ledger, Job& job) {
  std::optional<Job> failed;
  std::vector<Job> live;
  for (const std::string& id : job.depends_on) {
    CAIRN_ASSIGN_OR_RETURN(Job dependency, ledger.Load(id));
    if (!IsFinished(dependency.state)) {
      const bool twice = std::ranges::find(live, id, &Job::id) != live.end();
      if (!twice) live.push_back(std::move(dependency));
    } else if (dependency.state != State::kCompleted) {
      failed = std::move(dependency);
    }
  }
  if (failed && job.on_dependency_failure != DependencyPolicy::kIgnore) return failed;
  job.waiting_for = static_cast<int64_t>(live.size());
  for (Job& dependency : live) {
    dependency.has_dependents = true;
    ledger.Store(dependency);
  }
  return std::optional<Job>();
}

Result<void> AddWaiting(Ledger& ledger, Job& job) {
  CAIRN_ASSIGN_OR_RETURN(const auto failed, Await(ledger, job));
  if (!failed) {
    CAIRN_RETURN_IF_ERROR(ledger.Add(job));
    if (job.waiting_for == 0) return {};
    for (const std::string& id : job.depends_on) {
      CAIRN_ASSIGN_OR_RETURN(const Job dependency, ledger.Load(id));
      if (IsFinished(dependency.state)) continue;
      ledger.transaction().Put(InJobs(DependentKey(id, job.id)), {});
    }
    return {};
  }
  job.waiting_for = 1;  // so that it is not in the line before it is taken out again
  CAIRN_RETURN_IF_ERROR(ledger.Add(job));
  CAIRN_RETURN_IF_ERROR(ledger.Leave(job));
  return ledger.DependencyFailed(job, failed->id, failed->state);
}

// --- One job -------------------------------------------------------------------------------------

// A job that the request names already: by id or idempotency key.
Result<std::optional<EnqueueResult>> FindNamed(Ledger& ledger, const EnqueueRequest& request) {
  if (!request.id.empty()) {
    CAIRN_ASSIGN_OR_RETURN(const auto job, LoadJob(ledger.transaction(), request.id));
    if (job) return AsExisting(job);
  }
  if (request.idempotency_key.empty()) return std::optional<EnqueueResult>();
  CAIRN_ASSIGN_OR_RETURN(
      const auto row,
      ledger.transaction().Get(InJobs(IdempotencyKey(request.queue, request.idempotency_key))));
  if (!row) return std::optional<EnqueueResult>();
  const std::string id = DecodeIdempotencyRow(*row).job;
  CAIRN_ASSIGN_OR_RETURN(const auto job, LoadJob(ledger.transaction(), id));
  if (job) return AsExisting(job);
  return std::optional(EnqueueResult{.id = id, .state = State::kCompleted, .existing = true});
}

Result<void> JoinBatch(Ledger& ledger, const Job& job) {
  if (job.batch_id.empty()) return {};
  CAIRN_ASSIGN_OR_RETURN(const auto batch, ledger.BatchOf(job.batch_id));
  CAIRN_CHECK(batch, "batch {}", job.batch_id);
  ++(*batch)->batch.total;
  ++(*batch)->batch.pending;
  (*batch)->changed = true;
  return {};
}

// The request has passed all checks.
Result<EnqueueResult> EnqueueChecked(Ledger& ledger, const EnqueueRequest& request) {
  CAIRN_ASSIGN_OR_RETURN(auto existing, FindNamed(ledger, request));
  if (existing) return std::move(*existing);
  CAIRN_ASSIGN_OR_RETURN(existing, MeetHolder(ledger, request));
  if (existing) {
    if (!request.idempotency_key.empty()) {
      ledger.KeepIdempotencyKey(request.queue, request.idempotency_key, existing->id);
    }
    return std::move(*existing);
  }

  CAIRN_ASSIGN_OR_RETURN(Ledger::Queue* const queue, ledger.QueueOf(request.queue));
  CAIRN_ASSIGN_OR_RETURN(const QueueConfig* const config, ledger.ConfigOf(*queue));
  Job job = NewJob(request, *config);
  const uint64_t now_ns = ledger.now_ns();
  SetSchedule(job, ScheduledNs(request, now_ns));
  if (request.expire_after_ms > 0) {
    job.expire_ns = now_ns + static_cast<uint64_t>(request.expire_after_ms) * kNsPerMs;
  }
  if (!request.chain.empty() && job.chain_id.empty()) {
    job.chain_id = MakeId({.prefix = "chn_",
                           .ns = ledger.NextNs(*queue),
                           .lane = LaneOfQueue(job.queue),
                           .serial = ledger.transaction().NewStamp()});
  }
  // Before it is added: a job that is dead on arrival is counted as any other.
  CAIRN_RETURN_IF_ERROR(JoinBatch(ledger, job));
  if (job.depends_on.empty()) {
    CAIRN_RETURN_IF_ERROR(ledger.Add(job));
  } else {
    CAIRN_RETURN_IF_ERROR(AddWaiting(ledger, job));
  }
  if (!job.unique_key.empty() && !IsFinished(job.state)) {
    const uint64_t until = now_ns + static_cast<uint64_t>(request.unique_period_ms) * kNsPerMs;
    ledger.transaction().Put(InJobs(UniqueKey(job.queue, job.unique_key)),
                             EncodeUniqueLock(job.id, until));
  }
  if (!job.idempotency_key.empty()) {
    ledger.transaction().Put(InJobs(IdempotencyKeyOf(job)), EncodeIdempotencyRow({job.id}));
  }
  return EnqueueResult{.id = job.id, .state = job.state};
}

// The answer to a request that was done before under the same key: what it was then. nullopt if
// this is the first time.
Result<std::optional<EnqueueBatchResult>> FindEarlier(store::Reader& reader,
                                                      const EnqueueBatchRequest& request) {
  EnqueueBatchResult earlier;
  for (const EnqueueRequest& job : request.jobs) {
    CAIRN_ASSIGN_OR_RETURN(const auto row,
                           reader.Get(InJobs(IdempotencyKey(job.queue, job.idempotency_key))));
    if (!row) return std::optional<EnqueueBatchResult>();
    earlier.jobs.push_back({.id = DecodeIdempotencyRow(*row).job, .existing = true});
    if (!request.batch || !earlier.batch_id.empty()) continue;
    CAIRN_ASSIGN_OR_RETURN(const auto made, LoadJob(reader, earlier.jobs.back().id));
    // One that was there before, under another key, was none of the batch.
    if (made && made->idempotency_key == job.idempotency_key) earlier.batch_id = made->batch_id;
  }
  return std::optional(std::move(earlier));
}

// That of the queue it calls back, so that its end needs no more than its members' names tell.
Lane LaneOfBatch(const EnqueueBatchRequest& request) {
  const std::string& callback = request.batch->callback_queue;
  return LaneOfQueue(callback.empty() ? request.jobs.front().queue : callback);
}

}  // namespace

// A refusal of one of several jobs.
static Error AtPlace(size_t place, const Error& error) {
  const ReasonRow* const reason = FindReason(error);
  if (reason == nullptr) return error;
  return Refuse(reason->reason, fmt::format("job {}: {}", place, RefusalText(error)));
}

std::optional<UniqueMode> ParseUniqueMode(std::string_view name) {
  if (name == "reject") return UniqueMode::kReject;
  if (name == "replace") return UniqueMode::kReplace;
  if (name == "debounce") return UniqueMode::kDebounce;
  return std::nullopt;
}

void AddEnqueueScopes(const EnqueueRequest& request, Held& held) {
  held.AddQueue(request.queue);
  if (!request.batch_id.empty()) held.AddJob(request.batch_id);
  for (const std::string& id : request.depends_on) held.AddJob(id);
}

Result<EnqueueResult> Enqueue(Context& context, const EnqueueRequest& request) {
  CAIRN_RETURN_IF_ERROR(CheckEnqueue(request));
  CAIRN_RETURN_IF_ERROR(CheckQueues(context.queues, request));
  Ledger ledger(context);
  CAIRN_RETURN_IF_ERROR(CheckStored(ledger, request));
  CAIRN_ASSIGN_OR_RETURN(EnqueueResult result, EnqueueChecked(ledger, request));
  CAIRN_RETURN_IF_ERROR(ledger.Save());
  return result;
}

void AddEnqueueScopes(const EnqueueBatchRequest& request, Held& held) {
  for (const EnqueueRequest& job : request.jobs) AddEnqueueScopes(job, held);
  if (request.batch && !request.jobs.empty()) held.AddLane(LaneOfBatch(request));
}

void SetIdempotencyKey(EnqueueBatchRequest& request, std::string_view key) {
  request.idempotent = true;
  size_t place = 0;
  for (EnqueueRequest& job : request.jobs) {
    job.idempotency_key = fmt::format("{}:{}", key, place++);
  }
}

Result<void> CheckBatchSize(size_t jobs) {
  if (jobs == 0 || jobs > kMaxEnqueueBatch) {
    return Bad(fmt::format("jobs must be 1 to {}", kMaxEnqueueBatch));
  }
  return {};
}

Result<EnqueueBatchResult> EnqueueBatch(Context& context, const EnqueueBatchRequest& request) {
  CAIRN_RETURN_IF_ERROR(CheckBatchSize(request.jobs.size()));
  Ledger ledger(context);
  for (size_t i = 0; i < request.jobs.size(); ++i) {
    Result<void> checked = CheckEnqueue(request.jobs[i]);
    if (checked.ok()) checked = CheckQueues(context.queues, request.jobs[i]);
    if (checked.ok() && request.batch && !request.jobs[i].batch_id.empty()) {
      checked = Refuse(Reason::kBatch, "a job of a batch request cannot name another batch_id");
    }
    if (checked.ok()) continue;
    return AtPlace(i, checked.error());
  }
  if (request.batch) {
    CAIRN_RETURN_IF_ERROR(CheckBatchOptions(*request.batch));
    CAIRN_RETURN_IF_ERROR(CheckCallback(context.queues, *request.batch));
  }
  if (request.idempotent) {
    CAIRN_ASSIGN_OR_RETURN(auto earlier, FindEarlier(context.transaction, request));
    if (earlier) return std::move(*earlier);
  }
  for (size_t i = 0; i < request.jobs.size(); ++i) {
    const Result<void> checked = CheckStored(ledger, request.jobs[i]);
    if (!checked.ok()) return AtPlace(i, checked.error());
  }
  EnqueueBatchResult result;
  if (request.batch) {
    result.batch_id = ledger.NewBatch(*request.batch, LaneOfBatch(request));
  }
  result.jobs.reserve(request.jobs.size());
  for (const EnqueueRequest& job : request.jobs) {
    if (!request.batch) {
      CAIRN_ASSIGN_OR_RETURN(result.jobs.emplace_back(), EnqueueChecked(ledger, job));
      continue;
    }
    EnqueueRequest member = job;
    member.batch_id = result.batch_id;
    CAIRN_ASSIGN_OR_RETURN(result.jobs.emplace_back(), EnqueueChecked(ledger, member));
  }
  if (request.batch) {
    CAIRN_ASSIGN_OR_RETURN(const auto row, ledger.BatchOf(result.batch_id));
    (*row)->batch.sealed = true;
    CAIRN_RETURN_IF_ERROR(ledger.CompleteIfDone(**row));
  }
  CAIRN_RETURN_IF_ERROR(ledger.Save());
  return result;
}

}  // namespace cairn::jobs
