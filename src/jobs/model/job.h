#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "jobs/model/keys.h"
#include "jobs/model/limits.h"
#include "store/transaction.h"

// A job as it is stored under j|: a MessagePack map from small numbers (Field in job.cc) to values,
// in which everything that is as it usually is, is left out. JSON that clients gave us (payload,
// tags, result, …) is kept as the bytes it came in, and given back so.
namespace cairn::jobs {

//   enqueue ─→ pending ─fetch─→ active ─ack──→ completed ┐
//         └─→ scheduled ─time─↑    │ ├──fail──→ dead ─────┤ retry ─→ pending
//              retrying ──time─────┘ └─cancel─→ cancelled ┘
//                 ↑ fail                any live ─hold─→ held ─approve─→ pending
// Stored.
enum class State : uint8_t {
  kPending = 0,
  kActive = 1,
  kScheduled = 2,
  kRetrying = 3,
  kHeld = 4,
  kCompleted = 5,
  kDead = 6,
  kCancelled = 7,
};
inline constexpr size_t kStates = 8;
constexpr bool IsFinished(State state) { return state >= State::kCompleted; }
std::string_view StateName(State state);  // "pending"
std::optional<State> ParseState(std::string_view name);

std::string_view PriorityName(Priority priority);  // "critical", "high", "normal"
std::optional<Priority> ParsePriority(std::string_view name);

// How long until the next attempt. Stored.
enum class Backoff : uint8_t { kNone = 0, kFixed = 1, kLinear = 2, kExponential = 3 };
std::string_view BackoffName(Backoff backoff);
std::optional<Backoff> ParseBackoff(std::string_view name);

// What becomes of a job whose dependency did not complete. Stored.
enum class DependencyPolicy : uint8_t {
  kFail = 0,    // it dies
  kIgnore = 1,  // as if it had completed
  kHold = 2,    // it is held for a person to decide
};
std::string_view DependencyPolicyName(DependencyPolicy policy);
std::optional<DependencyPolicy> ParseDependencyPolicy(std::string_view name);

struct RetryPolicy {
  int64_t max_retries = kDefaultMaxRetries;  // after the first run
  Backoff backoff = Backoff::kExponential;
  int64_t base_ms = kDefaultRetryBaseMs;
  int64_t max_ms = kDefaultRetryMaxMs;  // 0: no cap
  int64_t jitter_percent = 0;           // up to this much less, at random
  friend bool operator==(const RetryPolicy&, const RetryPolicy&) = default;
};
// Before retry number `retry`, from 1 on. `random` is any number; it decides the jitter.
int64_t RetryDelayMs(const RetryPolicy& policy, int64_t retry, uint64_t random);

// Times are nanoseconds since 1970; 0: not.
struct Job {
  std::string id;  // of the key, not stored in the document
  std::string queue;
  State state = State::kPending;
  Priority priority = Priority::kNormal;
  std::string payload = "{}";  // JSON

  // Where it stands: with these and the fields above, IndexKeyOf.
  Gate gate = Gate::kOpen;
  uint64_t index_ns = 0;

  RetryPolicy retry;
  int64_t attempt = 0;   // runs started
  int64_t failures = 0;  // of them, those that count against max_retries
  int64_t reclaims = 0;  // leases that lapsed, since the last sign that a run can end
  int64_t timeout_ms = 0;
  bool has_errors = false;  // there are je| rows

  std::string unique_key;
  std::string idempotency_key;
  std::string idempotency_queue;  // where the key holds, if the job was moved since
  std::string concurrency_key;
  std::string rate_key;
  std::string group;
  bool has_slot = false;  // it counts against the limit of its concurrency key

  std::string batch_id;
  std::string parent_id;
  std::string chain_id;
  int64_t chain_step = 0;    // -1 on_exit, -2 on_failure
  std::string chain_config;  // JSON {"steps","on_failure","on_exit"}
  std::vector<std::string> depends_on;
  int64_t waiting_for = 0;  // dependencies that have not ended
  DependencyPolicy on_dependency_failure = DependencyPolicy::kFail;
  bool has_dependents = false;  // there are dp| rows

  std::string tags;  // JSON object
  std::string progress;
  std::string checkpoint;
  std::string agent;  // JSON object: the limits of an agent, as they were given
  std::string result;
  std::string trace_parent;  // W3C trace context of who enqueued it

  std::string worker_id;
  std::string hostname;
  uint64_t lease_token = 0;
  uint64_t lease_expires_ns = 0;
  int64_t lease_ms = 0;
  int64_t lease_sharers = 0;  // jobs that were given out with this token and end; 0: itself alone

  uint64_t created_ns = 0;
  uint64_t scheduled_ns = 0;  // when it is to run: also of a retry and a snooze
  uint64_t expire_ns = 0;
  uint64_t started_ns = 0;
  uint64_t completed_ns = 0;
  uint64_t failed_ns = 0;  // when it died or was cancelled
  std::string reason;      // why it is held, was cancelled, or died without an attempt's error

  friend bool operator==(const Job&, const Job&) = default;
};

Bytes EncodeJob(const Job& job);
// kCorruption for bytes that are not a job.
Result<Job> DecodeJob(std::string_view id, BytesView document);

// The row of its idempotency key, which it has.
Bytes IdempotencyKeyOf(const Job& job);
// The one index key that the job stands under.
Bytes IndexKeyOf(const Job& job);

Result<std::optional<Job>> LoadJob(store::Reader& reader, std::string_view id);

// A lease token as clients have it: 16 hexadecimal digits.
std::string FormatToken(uint64_t token);
std::optional<uint64_t> ParseToken(std::string_view text);

}  // namespace cairn::jobs
