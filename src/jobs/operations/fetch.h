#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "jobs/ledger/context.h"
#include "jobs/model/ids.h"
#include "jobs/model/job.h"
#include "jobs/model/limits.h"
#include "store/scopes.h"

// Jobs for a worker (operations.h has the rules for all operations).
namespace cairn::jobs {

struct FetchRequest {
  std::vector<std::string> queues;  // served in this order
  std::string worker_id = {};
  std::string hostname = {};
  int64_t lease_ms = kDefaultLeaseMs;
  size_t count = 1;
};
// Everything about a request that can be wrong by itself; Fetch refuses what this refuses.
Result<void> CheckFetch(const FetchRequest& request);
void AddFetchScopes(const FetchRequest& request, Held& held);

// The jobs, active now. Empty if there is nothing to do: wait for one of FetchTopics and ask again.
Result<std::vector<Job>> Fetch(Context& context, const FetchRequest& request);
std::vector<store::Topic> FetchTopics(std::span<const std::string> queues);

}  // namespace cairn::jobs
