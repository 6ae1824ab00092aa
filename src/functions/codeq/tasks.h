#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "functions/codeq/topics.h"
#include "functions/model/json_object.h"
#include "jobs/model/job.h"
#include "jobs/model/limits.h"

// Tasks, as codeQ's own HTTP API has them, are messages of the topic that is their command:
//
//   command         the topic: any queue
//   payload         of cs.invoke and cs.results the envelope, which is checked as any; elsewhere
//   any
//                   JSON, kept in an envelope of type "Task" as `body.payload`
//   priority 0..9   0..3 normal, 4..6 high, 7..9 critical; the number is kept in the job's tags
//   maxAttempts     as many deliveries, not fewer: a lease that lapses is no attempt
//   status          PENDING (also delayed, retrying and held), IN_PROGRESS, COMPLETED, FAILED
//
// A message that was published otherwise is a task too, with its envelope as its payload.
namespace cairn::functions::codeq {

inline constexpr int64_t kMaxTaskPriority = 9;
inline constexpr int64_t kDefaultTaskAttempts = 5;
inline constexpr int64_t kDefaultTaskLeaseSeconds = 300;
inline constexpr int64_t kMaxTaskLeaseSeconds = 24 * 3'600;
inline constexpr int64_t kMaxTaskWaitSeconds = 30;
inline constexpr int64_t kMaxTaskResultWaitSeconds = 60;
inline constexpr size_t kMaxTaskBatch = 100;
inline constexpr size_t kMaxTaskClaim = 10;
// How long a task that was given back waits: full jitter over an exponential backoff.
inline constexpr int64_t kTaskBackoffBaseMs = 5'000;
inline constexpr int64_t kTaskBackoffMaxMs = 900'000;

jobs::Priority PriorityOfTask(int64_t priority);

// What is the same for all tasks of a request.
struct TaskOrigin {
  std::string tenant;
  std::string message_id;  // of the envelope that is made, NewMessageId
  int64_t now_ms = 0;
  std::string trace_parent = {};
};
// The members of one task's JSON: command, payload, priority, maxAttempts, idempotencyKey, runAt or
// delaySeconds, and backoffPolicy. Faults are noted in the reader.
PublishRequest ReadTask(ObjectReader& object, const TaskOrigin& origin);

// A task as clients see it. `payload` is the job's, or what was claimed.
std::string TaskJson(const jobs::Job& job, std::string_view payload);
// The result of a task that has ended, as it was submitted; nullopt for one that has not.
std::optional<std::string> TaskResultJson(const jobs::Job& job);

// What a worker submits.
struct TaskResult {
  bool completed = false;
  std::string result;     // JSON object, of one that is completed
  std::string error;      // of one that has failed
  std::string artifacts;  // JSON array; empty: none
};
TaskResult ReadTaskResult(ObjectReader& object);
// What is kept of it.
std::string KeptResult(const TaskResult& result);

}  // namespace cairn::functions::codeq
