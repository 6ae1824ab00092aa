#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "doors/access/name_patterns.h"
#include "jobs/ledger/context.h"
#include "jobs/model/job.h"
#include "jobs/model/queue_config.h"
#include "store/transaction.h"

// What can be done to a queue (operations.h has the rules for all operations).
namespace cairn::jobs {

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
// Leaves out the queues that are not among `queues`.
void KeepAllowed(const doors::NamePatterns* queues, std::vector<QueueInfo>& list);

// Scopes of what follows: Held::AddQueue. Up to the sweeps, the queue is made if it does not exist.
Result<void> PauseQueue(Context& context, std::string_view queue);
Result<void> ResumeQueue(Context& context, std::string_view queue);
// Pauses, and tells how many jobs are still active; QueueIdleTopic is woken when none is left.
Result<int64_t> DrainQueue(Context& context, std::string_view queue);
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

}  // namespace cairn::jobs
