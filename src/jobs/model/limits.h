#pragma once

#include <cstddef>
#include <cstdint>

// The limits of this layer; docs/jobs.md shows them.
namespace cairn::jobs {

inline constexpr size_t kMaxPayloadBytes = 256 * 1024;
// Of a result, a checkpoint, a progress report, tags and a chain.
inline constexpr size_t kMaxDocumentBytes = 256 * 1024;
inline constexpr size_t kMaxErrorBytes = 16 * 1024;
inline constexpr size_t kMaxBacktraceBytes = 64 * 1024;
inline constexpr size_t kMaxReasonBytes = 1'024;

inline constexpr size_t kMaxQueueNameBytes = 128;
inline constexpr size_t kMaxWorkerIdBytes = 128;
// Of a unique key, a concurrency key, a rate key, a group, an idempotency key.
inline constexpr size_t kMaxKeyBytes = 256;

// Jobs of one batch enqueue, one fetch, one bulk acknowledgement.
inline constexpr size_t kMaxEnqueueBatch = 10'000;
inline constexpr size_t kMaxFetch = 512;
inline constexpr size_t kMaxAckBatch = 512;
// What one answer shows or hands out of jobs: past it a page or a fetch ends early, and what cannot
// end early is refused.
inline constexpr size_t kMaxAnswerBytes = 16 * 1024 * 1024;
// Entries of one page of events or deliveries, jobs of one bulk-get.
inline constexpr int64_t kMaxPage = 1'000;
inline constexpr size_t kMaxBulkGet = 1'000;
// How long a request may wait for a job, for an end, for an empty queue.
inline constexpr int64_t kMaxWaitSeconds = 60;

// Bodies of HTTP requests. Of an enqueue: a payload, tags, a checkpoint and a chain, each as large
// as they may be.
inline constexpr size_t kMaxEnqueueBodyBytes = 5 * kMaxPayloadBytes;
// Of what a worker reports about one job.
inline constexpr size_t kMaxReportBodyBytes = 4 * kMaxDocumentBytes;
// Of a batch, enqueued or acknowledged: many jobs of a few kilobytes each, or a few of the largest.
inline constexpr size_t kMaxBatchBodyBytes = 64 * 1024 * 1024;

inline constexpr size_t kMaxDependencies = 100;
inline constexpr size_t kMaxChainSteps = 100;

inline constexpr int64_t kDefaultLeaseMs = 60'000;
inline constexpr int64_t kMinLeaseMs = 100;
inline constexpr int64_t kMaxLeaseMs = 24 * 3'600'000;
// How long anything may be put off: a schedule, a retry, a snooze, an expiry, a retention.
inline constexpr int64_t kMaxDelayMs = 10LL * 366 * 24 * 3'600'000;

inline constexpr int64_t kDefaultMaxRetries = 3;
inline constexpr int64_t kMaxMaxRetries = 1'000;
inline constexpr int64_t kDefaultRetryBaseMs = 5'000;
inline constexpr int64_t kDefaultRetryMaxMs = 600'000;
inline constexpr int64_t kDefaultMaxReclaims = 5;
inline constexpr int64_t kDefaultUniquePeriodMs = 3'600'000;
inline constexpr int64_t kDefaultRetentionMs = 7LL * 24 * 3'600'000;

// Entries of a rate window, per queue and per key.
inline constexpr int64_t kMaxRateLimit = 1'000'000;
inline constexpr int64_t kMaxConcurrency = 1'000'000;

// A worker that was not heard of for this long is forgotten.
inline constexpr int64_t kWorkerForgottenMs = 5 * 60'000;
// How old the time of a worker's last sign of life may be before it is written again.
inline constexpr int64_t kWorkerFreshMs = 5'000;

// The event log keeps events for this long, and at most this many.
inline constexpr int64_t kEventsKeptMs = 24 * 3'600'000;
inline constexpr uint64_t kEventsKept = 2'000'000;

// Containers in containers of a payload or another document.
inline constexpr size_t kMaxJsonDepth = 256;
// Jobs that one fetch moves aside before it lets others have a turn.
inline constexpr int64_t kMaxAside = 1'000;

inline constexpr size_t kMaxSchedules = 10'000;
inline constexpr size_t kMaxScheduleNameBytes = 128;

inline constexpr size_t kMaxWebhooks = 1'000;
inline constexpr size_t kMaxWebhookUrlBytes = 2'048;
inline constexpr size_t kMaxWebhookSecretBytes = 256;
inline constexpr int64_t kDefaultWebhookTries = 3;
inline constexpr int64_t kMaxWebhookTries = 20;
// Of one webhook; beyond, the oldest are dropped.
inline constexpr int64_t kMaxDeadDeliveries = 10'000;

}  // namespace cairn::jobs
