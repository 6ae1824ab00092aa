#pragma once

#include <vector>

#include "base/result.h"
#include "doors/line_wait.h"
#include "jobs/operations.h"
#include "jobs/routes.h"

// Jobs on their way to a worker, for coroutines on its loop. What a coroutine borrows must live
// until it has ended.
namespace cairn::jobs {

// Takes what there is, none if there is nothing, and returns when that is durable. Whoever stands
// in `line`, which may be null, leaves it by taking something.
boost::asio::awaitable<Result<std::vector<Job>>> TakeJobs(const RouteParts& parts,
                                                          const FetchRequest& request,
                                                          doors::LineWait* line);

// Puts back what nobody will work on, its attempt uncounted.
boost::asio::awaitable<void> GiveBack(const RouteParts& parts, const std::vector<Job>& jobs);

}  // namespace cairn::jobs
