#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "doors/access/name_patterns.h"
#include "jobs/ledger/context.h"
#include "jobs/model/ids.h"
#include "jobs/operations/fetch.h"
#include "store/transaction.h"

// The workers that were heard of lately, by what they fetch and by their heartbeats. Their rows are
// w|; a worker that stays silent for kWorkerForgottenMs is forgotten.
namespace cairn::jobs {

struct Worker {
  std::string id;
  std::string hostname;
  std::vector<std::string> queues;
  uint64_t last_heartbeat_ns = 0;
  uint64_t started_ns = 0;
};
Result<std::vector<Worker>> ListWorkers(store::Reader& reader);
// Leaves out of the workers the queues that are not among `queues`, and workers with no others.
void KeepAllowed(const doors::NamePatterns* queues, std::vector<Worker>& list);

// A worker without a name is not written down, and needs no scopes.
void AddWorkerScopes(std::string_view worker_id, Held& held);
Result<void> CheckWorker(const FetchRequest& worker);
// Notes that the worker is alive, unless that was done a moment ago (kWorkerFreshMs).
Result<void> TouchWorker(Context& context, const FetchRequest& worker);
// The same for a worker that has no job: CheckWorker, then TouchWorker.
Result<void> WorkerHeartbeat(Context& context, const FetchRequest& worker);

// For the timer at which the worker would be forgotten: it may have been heard of meanwhile.
Result<void> ForgetWorkerIfGone(Context& context, std::string_view id);

}  // namespace cairn::jobs
