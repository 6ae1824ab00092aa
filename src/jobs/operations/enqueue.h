#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "jobs/ledger/context.h"
#include "jobs/model/batch.h"
#include "jobs/model/ids.h"
#include "jobs/model/job.h"
#include "jobs/model/limits.h"

// New jobs, one or several at a time (operations.h has the rules for all operations).
namespace cairn::jobs {

// What happens if another job holds the unique key.
enum class UniqueMode : uint8_t {
  kReject,    // the holder stays, nothing is enqueued
  kReplace,   // a holder that is not active is cancelled; the new job takes the key
  kDebounce,  // a holder that is not active gets the new payload, and its delay begins again
};
std::optional<UniqueMode> ParseUniqueMode(std::string_view name);

struct EnqueueRequest {
  std::string queue;
  std::string payload = "{}";  // JSON, checked and kept byte for byte
  // How large the payload may be. Layers whose messages are larger than what clients of this one
  // may send set it; it is not part of any request from outside.
  size_t payload_limit = kMaxPayloadBytes;
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
  // For a job that continues a chain made elsewhere.
  std::string chain_id = {};
  int64_t chain_step = 0;
  std::string chain_config = {};

  std::string batch_id = {};  // of an open batch

  std::string concurrency_key = {};
  std::string rate_key = {};
  std::string group = {};

  std::string trace_parent = {};  // W3C trace context, given to the worker

  // A name made by the caller (MakeId with the lane of the queue), for what must happen once: a
  // job that has this name already is the answer.
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

struct EnqueueBatchRequest {
  std::vector<EnqueueRequest> jobs;
  std::optional<BatchOptions> batch = {};  // the jobs are a closed batch
  bool idempotent = false;                 // every job has an idempotency key (SetIdempotencyKey)
};
// Gives each job a key of its own, made of `key` and its place. The same request is then answered
// the second time as it was the first time.
void SetIdempotencyKey(EnqueueBatchRequest& request, std::string_view key);
struct EnqueueBatchResult {
  std::vector<EnqueueResult> jobs;  // in the order of the request
  std::string batch_id;
};
// Refuses a request of no jobs, or of too many.
Result<void> CheckBatchSize(size_t jobs);
// All or none: the refusal names the place of the first job that cannot be enqueued.
void AddEnqueueScopes(const EnqueueBatchRequest& request, Held& held);
Result<EnqueueBatchResult> EnqueueBatch(Context& context, const EnqueueBatchRequest& request);

}  // namespace cairn::jobs
