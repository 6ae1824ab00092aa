#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "store/scopes.h"
#include "store/space.h"

// The keys of space `jobs`. A family is a few letters and a bar; names end at a zero byte, which no
// name holds; integers are big-endian, times nanoseconds since 1970.
//
//   key                                        value
//   ────────────────────────────────────────   ────────────────────────────────────────────────────
//   j|  job                                    the job, MessagePack (job.h)
//   je| job 00 attempt:4                       {"attempt","error","backtrace","created_at"}
//
//   Where a job stands: exactly one of these, the one its document names (IndexKeyOf in job.h).
//   p|  queue 00 priority:1 ns:8 job           -            pending, critical 0 or high 1
//   qa| queue 00 ns:8 job                      -            pending, normal
//   pk| queue 00 gate:1 key 00 ns:8 job        -            pending, but parked at a gate (job.h)
//   a|  queue 00 job                           expires:8    active
//   s|  queue 00 scheduled:8 job               -            scheduled
//   r|  queue 00 retry:8 job                   -            retrying
//   h|  queue 00 ns:8 job                      -            held
//   f|  queue 00 remove:8 job                  -            finished, in the order of removal
//
//   t|  due:8 kind:1 queue 00 job              (due.h)      what happens at a time
//   t|  due:8 01 queue 00 token                (size:2 job)*  a lease of several jobs: those that
//                                                           still have it (lease_rows.h)
//
//   qn| queue                                  -            the queue exists
//   qc| queue                                  its configuration, JSON (queue_config.h)
//   qs| queue                                  counts, cursors (queue_state.h)
//   qac| queue                                 the last qa| key that was taken
//   u|  queue 00 unique-key                    job '|' expires:8
//   ik| queue 00 idempotency-key               job
//   l|  queue 00 fetched:8 random:8            -            one start, in a queue's rate window
//   lk| queue 00 key 00 fetched:8 random:8     -            the same for a rate key
//   ks| queue 00 gate:1 key                    a key's slots and cursor (gates.h)
//   dp| job 00 waiting-job                     -            who waits for a job's end
//   b|  batch                                  a batch, JSON (batch.h)
//   w|  worker                                 a worker, JSON (worker.h)
//   sc| schedule                               a schedule, JSON
//   ev| number:8                               events of one operation, JSON (event.h)
//   evc|                                       number:8     events up to it have been removed;
//                                              counted:8 count:8  how many are left up to `counted`
//   bg| scope 00 target                        a budget, JSON
//   pv| name                                   a provider, JSON
//   qp| queue                                  the name of the queue's provider
//
// ns is an index time: within a queue each is larger than all before, so a reader that goes on from
// the last one it took meets neither a job that came in behind it nor what it has taken already.
namespace cairn::jobs {

enum class Priority : uint8_t { kCritical = 0, kHigh = 1, kNormal = 2 };

// What a pending job is parked for, beside the line that workers are served from. Stored.
enum class Gate : uint8_t {
  kOpen = 0,           // for nothing: it stands in the line
  kConcurrency = 'c',  // a free slot of its concurrency key
  kDependencies = 'd',
  kGroup = 'g',  // its turn in the round of the queue's groups
  kRate = 'r',   // room in the window of its rate key
};

Bytes JobKey(std::string_view job);
Bytes JobErrorKey(std::string_view job, uint32_t attempt);
Bytes PendingKey(std::string_view queue, Priority priority, uint64_t ns, std::string_view job);
Bytes AppendKey(std::string_view queue, uint64_t ns, std::string_view job);
Bytes ParkedKey(std::string_view queue, Gate gate, std::string_view key, uint64_t ns,
                std::string_view job);
Bytes ActiveKey(std::string_view queue, std::string_view job);
Bytes ScheduledKey(std::string_view queue, uint64_t scheduled_ns, std::string_view job);
Bytes RetryingKey(std::string_view queue, uint64_t retry_ns, std::string_view job);
Bytes HeldKey(std::string_view queue, uint64_t ns, std::string_view job);
Bytes FinishedKey(std::string_view queue, uint64_t remove_ns, std::string_view job);
Bytes DueKey(uint64_t due_ns, uint8_t kind, std::string_view queue, std::string_view job);
Bytes QueueNameKey(std::string_view queue);
Bytes QueueConfigKey(std::string_view queue);
Bytes QueueStateKey(std::string_view queue);
Bytes QueueCursorKey(std::string_view queue);
Bytes UniqueKey(std::string_view queue, std::string_view unique_key);
Bytes IdempotencyKey(std::string_view queue, std::string_view key);
// Its value: a job's id. The key of a request that was answered with a job of another key (a unique
// one that was there) is kept for a time of its own, which follows the id after a zero byte.
struct IdempotencyRow {
  std::string job;
  uint64_t until_ns = 0;  // 0: as long as the job is there
};
Bytes EncodeIdempotencyRow(const IdempotencyRow& row);
IdempotencyRow DecodeIdempotencyRow(BytesView value);
Bytes RateKey(std::string_view queue, uint64_t fetched_ns, uint64_t random);
Bytes KeyRateKey(std::string_view queue, std::string_view key, uint64_t fetched_ns,
                 uint64_t random);
Bytes GateKey(std::string_view queue, Gate gate, std::string_view key);
Bytes DependentKey(std::string_view job, std::string_view waiting);
Bytes BatchKey(std::string_view batch);
Bytes WorkerKey(std::string_view worker);
Bytes ScheduleKey(std::string_view schedule);
Bytes EventKey(uint64_t number);
Bytes EventCursorKey();
Bytes BudgetKey(std::string_view scope, std::string_view target);
Bytes ProviderKey(std::string_view name);
Bytes QueueProviderKey(std::string_view queue);

// What every key of a family with this name begins with: "p|mail\0", "je|job_1\0".
Bytes NamedPrefix(std::string_view family, std::string_view name);
// The families by name, for scans: each ends in its bar.
namespace family {
inline constexpr std::string_view kJob = "j|";
inline constexpr std::string_view kJobError = "je|";
inline constexpr std::string_view kPending = "p|";
inline constexpr std::string_view kAppend = "qa|";
inline constexpr std::string_view kParked = "pk|";
inline constexpr std::string_view kActive = "a|";
inline constexpr std::string_view kScheduled = "s|";
inline constexpr std::string_view kRetrying = "r|";
inline constexpr std::string_view kHeld = "h|";
inline constexpr std::string_view kFinished = "f|";
inline constexpr std::string_view kDue = "t|";
inline constexpr std::string_view kQueueName = "qn|";
inline constexpr std::string_view kQueueConfig = "qc|";
inline constexpr std::string_view kQueueState = "qs|";
inline constexpr std::string_view kQueueCursor = "qac|";
inline constexpr std::string_view kUnique = "u|";
inline constexpr std::string_view kIdempotency = "ik|";
inline constexpr std::string_view kRate = "l|";
inline constexpr std::string_view kKeyRate = "lk|";
inline constexpr std::string_view kGate = "ks|";
inline constexpr std::string_view kDependent = "dp|";
inline constexpr std::string_view kBatch = "b|";
inline constexpr std::string_view kWorker = "w|";
inline constexpr std::string_view kSchedule = "sc|";
inline constexpr std::string_view kEvent = "ev|";
inline constexpr std::string_view kEventCursor = "evc|";
inline constexpr std::string_view kBudget = "bg|";
inline constexpr std::string_view kProvider = "pv|";
inline constexpr std::string_view kQueueProvider = "qp|";
}  // namespace family

// The decoders give nullopt for bytes that are no such key. The views are into the key.
struct TimedJob {  // of qa| s| r| h| f|
  std::string_view queue;
  uint64_t ns = 0;
  std::string_view job;
  friend bool operator==(const TimedJob&, const TimedJob&) = default;
};
std::optional<TimedJob> DecodeTimedKey(std::string_view family, BytesView key);

struct PendingJob {
  std::string_view queue;
  Priority priority = Priority::kNormal;
  uint64_t ns = 0;
  std::string_view job;
  friend bool operator==(const PendingJob&, const PendingJob&) = default;
};
std::optional<PendingJob> DecodePendingKey(BytesView key);

struct ParkedJob {
  std::string_view queue;
  Gate gate = Gate::kOpen;
  std::string_view key;
  uint64_t ns = 0;
  std::string_view job;
  friend bool operator==(const ParkedJob&, const ParkedJob&) = default;
};
std::optional<ParkedJob> DecodeParkedKey(BytesView key);

struct DueEntry {
  uint64_t due_ns = 0;
  uint8_t kind = 0;
  std::string_view queue;
  std::string_view job;
  friend bool operator==(const DueEntry&, const DueEntry&) = default;
};
std::optional<DueEntry> DecodeDueKey(BytesView key);

// Two names with a zero byte between: of a| (queue, job), u| and ik| (queue, key), dp| (job, job).
struct NamePair {
  std::string_view first;
  std::string_view second;
  friend bool operator==(const NamePair&, const NamePair&) = default;
};
std::optional<NamePair> DecodePairKey(std::string_view family, BytesView key);

struct GateName {
  std::string_view queue;
  Gate gate = Gate::kOpen;
  std::string_view key;
  friend bool operator==(const GateName&, const GateName&) = default;
};
std::optional<GateName> DecodeGateKey(BytesView key);

// The one name of j| qn| qc| qs| qac| b| w| sc|.
std::optional<std::string_view> DecodeNameKey(std::string_view family, BytesView key);
std::optional<uint32_t> DecodeErrorAttempt(BytesView key);
std::optional<uint64_t> DecodeEventNumber(BytesView key);

// The value of u|.
struct UniqueLock {
  std::string job;
  uint64_t expires_ns = 0;
  friend bool operator==(const UniqueLock&, const UniqueLock&) = default;
};
Bytes EncodeUniqueLock(std::string_view job, uint64_t expires_ns);
std::optional<UniqueLock> DecodeUniqueLock(BytesView value);

// The key as the store takes it; borrows.
inline store::Key InJobs(BytesView key) { return {store::Space::kJobs, key}; }

}  // namespace cairn::jobs
