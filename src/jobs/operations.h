#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "doors/queue_scope.h"
#include "jobs/event.h"
#include "jobs/ids.h"
#include "jobs/job.h"
#include "jobs/queue_config.h"
#include "store/transaction.h"

// What can be done with jobs. Each function is one step inside a transaction: it checks first and
// writes afterwards, so a refusal (refusal.h) has changed nothing. Document, index, due row,
// counts, unique lock, slot, batch, chain, dependants and event change together, whichever way a
// job takes.
//
// Each needs the scopes of a Held, made from the request by the function beside it. An operation
// that finds out that it needs more (ids.h) sets Held::wants_everything and fails with kWouldBlock;
// the caller runs it again with Held::Everything().
namespace cairn::jobs {

struct Context {
  store::Transaction& transaction;
  Held& held;
  // The queues that whoever asks may touch; null: all. What names another one, or a job of another
  // one, is refused (FORBIDDEN). What follows from an operation, a chain's next step for one, was
  // allowed when it was asked for.
  const doors::QueueScope* queues = nullptr;
};

// Refuses a queue that is not among `queues`.
Result<void> CheckQueue(const doors::QueueScope* queues, std::string_view queue);
// What is said about a job that does not exist.
Error NoSuchJob(std::string_view id);
// Refuses a job of such a queue as if it did not exist: else the refusal would tell that it does.
Result<void> CheckJob(const doors::QueueScope* queues, const Job& job);

// --- Enqueue -------------------------------------------------------------------------------------

enum class UniqueMode : uint8_t {
  kReject,    // the holder stays, nothing is enqueued
  kReplace,   // a holder that is not active is cancelled; the new job takes the key
  kDebounce,  // a holder that is not active gets the new payload, and its delay begins again
};
std::optional<UniqueMode> ParseUniqueMode(std::string_view name);

struct EnqueueRequest {
  std::string queue;
  std::string payload = "{}";  // JSON, checked and kept byte for byte
  Priority priority = Priority::kNormal;

  std::string unique_key = {};
  int64_t unique_period_ms = kDefaultUniquePeriodMs;
  UniqueMode unique_mode = UniqueMode::kReject;
  std::string idempotency_key = {};  // the same key again, while its job is kept, is the same job

  uint64_t scheduled_ns = 0;  // not later than now: at once
  int64_t delay_ms = 0;       // instead of it
  int64_t expire_after_ms = 0;

  // What is missing comes from the queue, then from limits.h.
  std::optional<int64_t> max_retries = {};
  std::optional<Backoff> retry_backoff = {};
  std::optional<int64_t> retry_base_delay_ms = {};
  std::optional<int64_t> retry_max_delay_ms = {};
  int64_t retry_jitter_percent = 0;
  int64_t timeout_ms = 0;  // per attempt

  std::string tags = {};        // JSON object
  std::string checkpoint = {};  // JSON
  std::string agent = {};       // JSON object
  std::string parent_id = {};
  std::vector<std::string> depends_on = {};
  DependencyPolicy on_dependency_failure = DependencyPolicy::kFail;

  // {"steps":[{"queue","payload"}…],"on_failure":{"queue","payload"},"on_exit":{…}}: this job is
  // step 0, whose queue it must be.
  std::string chain = {};
  // Of a job that goes on with a chain that somebody else made.
  std::string chain_id = {};
  int64_t chain_step = 0;
  std::string chain_config = {};

  std::string batch_id = {};  // of an open batch

  std::string concurrency_key = {};
  std::string rate_key = {};
  std::string group = {};

  std::string trace_parent = {};  // W3C trace context, given to the worker

  // A name made by the caller (MakeId with the lane of the queue), for what must happen once: if
  // there is a job of this name already, it is the answer.
  std::string id = {};
};

struct EnqueueResult {
  std::string id;
  State state = State::kPending;
  bool existing = false;  // by its unique key, idempotency key or id: nothing new
  bool debounced = false;
};

// Everything about a request that can be wrong by itself; Enqueue refuses what this refuses.
Result<void> CheckEnqueue(const EnqueueRequest& request);
void AddEnqueueScopes(const EnqueueRequest& request, Held& held);
Result<EnqueueResult> Enqueue(Context& context, const EnqueueRequest& request);

struct BatchOptions {
  std::string callback_queue = {};    // empty: no callback
  std::string callback_payload = {};  // JSON
};
struct EnqueueBatchRequest {
  std::vector<EnqueueRequest> jobs;
  std::optional<BatchOptions> batch = {};  // they are a closed batch
  bool idempotent = false;                 // every job has an idempotency key (SetIdempotencyKey)
};
// One key for all gives each its own, by its place. The same request again is then answered as it
// was the first time.
void SetIdempotencyKey(EnqueueBatchRequest& request, std::string_view key);
struct EnqueueBatchResult {
  std::vector<EnqueueResult> jobs;  // in the order of the request
  std::string batch_id;
};
// All or none: the first that cannot be is refused by its place.
void AddEnqueueScopes(const EnqueueBatchRequest& request, Held& held);
Result<EnqueueBatchResult> EnqueueBatch(Context& context, const EnqueueBatchRequest& request);

// --- Workers -------------------------------------------------------------------------------------

struct FetchRequest {
  std::vector<std::string> queues;  // served in this order
  std::string worker_id = {};
  std::string hostname = {};
  int64_t lease_ms = kDefaultLeaseMs;
  size_t count = 1;
};
// The jobs, active now. Empty if there is nothing to do: wait for one of FetchTopics and ask again.
void AddFetchScopes(const FetchRequest& request, Held& held);
Result<std::vector<Job>> Fetch(Context& context, const FetchRequest& request);
std::vector<store::Topic> FetchTopics(std::span<const std::string> queues);

// Who says that a job is theirs: by the token of the lease, or, in clients that know none, by
// worker and attempt (each compared if given).
struct LeaseRef {
  std::string id;
  std::optional<uint64_t> token = {};
  std::string worker_id = {};
  std::optional<int64_t> attempt = {};
};
// Of all that follow; a single job needs AddJobScopes.
void AddLeaseScopes(const LeaseRef& lease, Held& held);
void AddJobScopes(std::string_view id, Held& held);

struct AckRequest {
  LeaseRef lease;
  std::string result = {};      // JSON
  std::string checkpoint = {};  // JSON
  bool exit_chain = false;      // the chain ends here
  std::string exit_reason = {};
};
Result<void> Ack(Context& context, const AckRequest& request);
// Exactly that many acks: each has its own result, and those that are refused change nothing.
// An Error of the whole is the store's.
Result<std::vector<Result<void>>> AckBatch(Context& context, std::span<const AckRequest> requests);

struct FailRequest {
  LeaseRef lease;
  std::string error = {};
  std::string backtrace = {};
  bool retryable = true;
  std::optional<int64_t> delay_ms = {};  // instead of the policy's
};
struct FailResult {
  State state = State::kRetrying;  // or dead
  uint64_t next_attempt_ns = 0;
  int64_t attempts_remaining = 0;
};
Result<FailResult> Fail(Context& context, const FailRequest& request);

struct HeartbeatRequest {
  LeaseRef lease;
  std::string progress = {};    // JSON
  std::string checkpoint = {};  // JSON
};
struct HeartbeatResult {
  bool cancelled = false;  // it is not this worker's any more: stop
  uint64_t lease_expires_ns = 0;
};
// Renews the lease by its own length. A job that is not active, or is leased to somebody else, is
// not an error but `cancelled`; only a job that does not exist at all is refused.
Result<HeartbeatResult> Heartbeat(Context& context, const HeartbeatRequest& request);
// A sign of life of a worker that has no job.
Result<void> WorkerHeartbeat(Context& context, const FetchRequest& worker);
void AddWorkerScopes(std::string_view worker_id, Held& held);

// Puts an active job back for a while without using up an attempt.
Result<uint64_t> Snooze(Context& context, const LeaseRef& lease, int64_t delay_ms);

// --- One job -------------------------------------------------------------------------------------

// Refuses a job that does not exist.
Result<Job> Get(store::Reader& reader, std::string_view id);
struct JobError {
  int64_t attempt = 0;
  std::string error;
  std::string backtrace;
  uint64_t created_ns = 0;
};
Result<std::vector<JobError>> GetErrors(store::Reader& reader, const Job& job);
// Woken when the job has ended or is gone.
store::Topic JobTopic(std::string_view id);

struct CancelResult {
  bool was_active = false;  // its worker learns of it by its next heartbeat
};
Result<CancelResult> Cancel(Context& context, std::string_view id, std::string_view reason);
Result<void> Hold(Context& context, std::string_view id, std::string_view reason);
Result<void> Approve(Context& context, std::string_view id);
Result<void> Reject(Context& context, std::string_view id, std::string_view reason);
void AddMoveScopes(std::string_view id, std::string_view queue, Held& held);
Result<void> Move(Context& context, std::string_view id, std::string_view queue);
// A finished, scheduled or retrying job is pending again; `keep_attempts` leaves its counts.
struct RetryOptions {
  bool keep_attempts = false;
};
Result<void> Retry(Context& context, std::string_view id, const RetryOptions& options);
Result<void> SetPriority(Context& context, std::string_view id, Priority priority);
// A new job like this one, with its checkpoint.
Result<EnqueueResult> Replay(Context& context, std::string_view id);
Result<void> Delete(Context& context, std::string_view id);

// --- Batches -------------------------------------------------------------------------------------

struct Batch {
  std::string id;
  int64_t total = 0;
  int64_t pending = 0;  // members that have not ended
  int64_t succeeded = 0;
  int64_t failed = 0;
  int64_t cancelled = 0;
  bool sealed = true;
  bool done = false;
  BatchOptions options;
  std::string callback_job;
  uint64_t created_ns = 0;
  uint64_t completed_ns = 0;
};
std::string BatchJson(const Batch& batch);
// A batch is its callback queue's. One without is refused to who may not touch all queues.
Result<void> CheckBatch(const doors::QueueScope* queues, const BatchOptions& options);
// One that is stored is refused as if it did not exist.
Result<void> CheckBatch(const doors::QueueScope* queues, const Batch& batch);
// An open batch: jobs join by EnqueueRequest::batch_id until it is sealed.
void AddBatchScopes(const BatchOptions& options, Held& held);
Result<Batch> OpenBatch(Context& context, const BatchOptions& options);
// Scopes: AddJobScopes with the batch's id.
Result<Batch> SealBatch(Context& context, std::string_view id);
Result<Batch> GetBatch(store::Reader& reader, std::string_view id);

// --- Queues --------------------------------------------------------------------------------------

struct QueueInfo {
  std::string name;
  QueueConfig config;
  std::array<int64_t, kStates> counts = {};  // by State
  int64_t parked = 0;                        // of the pending ones, those at a gate
  int64_t enqueued = 0;                      // ever
  uint64_t created_ns = 0;
  uint64_t oldest_pending_ns = 0;  // index time of the head of the line; 0: none
};
Result<std::vector<QueueInfo>> ListQueues(store::Reader& reader);
Result<QueueInfo> GetQueue(store::Reader& reader, std::string_view queue);

// These make the queue if it does not exist.
Result<void> PauseQueue(Context& context, std::string_view queue);
Result<void> ResumeQueue(Context& context, std::string_view queue);
// Pauses, and tells how many jobs are active still; QueueIdleTopic is woken when none is left.
Result<int64_t> DrainQueue(Context& context, std::string_view queue);
store::Topic QueueIdleTopic(std::string_view queue);
Result<QueueConfig> ConfigureQueue(Context& context, std::string_view queue,
                                   std::string_view json_patch);
Result<void> SetConcurrency(Context& context, std::string_view queue, int64_t max);  // <= 0: none
Result<void> SetThrottle(Context& context, std::string_view queue, int64_t rate, int64_t window_ms);
Result<void> RemoveThrottle(Context& context, std::string_view queue);

// Work on many jobs, in pieces of one transaction each: `more` asks to be called again.
struct Sweep {
  int64_t removed = 0;
  bool more = false;
};
// Cancels and removes all pending, scheduled and retrying jobs.
Result<Sweep> ClearQueue(Context& context, std::string_view queue);
// Removes all its jobs whatever their state, and then the queue itself.
Result<Sweep> DeleteQueue(Context& context, std::string_view queue);

// --- Workers' registry ---------------------------------------------------------------------------

struct Worker {
  std::string id;
  std::string hostname;
  std::vector<std::string> queues;
  uint64_t last_heartbeat_ns = 0;
  uint64_t started_ns = 0;
};
Result<std::vector<Worker>> ListWorkers(store::Reader& reader);

// Leaves out of a list what is of no queue among `queues`; of workers, the names of other queues.
void KeepAllowed(const doors::QueueScope* queues, std::vector<QueueInfo>& list);
void KeepAllowed(const doors::QueueScope* queues, std::vector<Worker>& list);

}  // namespace cairn::jobs
