#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "base/result.h"
#include "doors/access/principal.h"
#include "doors/turn/route_store.h"
#include "jobs/model/job.h"
#include "jobs/operations/fetch.h"
#include "jobs/operations/store_access.h"

// Jobs on their way to a worker, for coroutines on its loop, at either door. What a coroutine
// borrows must live until it has ended.
namespace cairn::jobs {

// For whom jobs are taken. Others may take them on its behalf, so it does not borrow the principal.
struct Fetcher {
  doors::RouteStore& store;
  std::shared_ptr<const doors::Principal> principal = {};  // null: anybody, for all queues
};

// Takes what there is, none if there is nothing, and returns when that is durable.
boost::asio::awaitable<Result<std::vector<Job>>> TakeJobs(const Fetcher& fetcher,
                                                          const FetchRequest& request);
// Stands in line until there is something to take. None at the deadline, and when the coroutine is
// cancelled.
boost::asio::awaitable<Result<std::vector<Job>>> AwaitJobs(
    const Fetcher& fetcher, const FetchRequest& request,
    std::chrono::steady_clock::time_point deadline);

// Puts back what nobody will work on, its attempt uncounted.
boost::asio::awaitable<void> GiveBack(StoreAccess access, const std::vector<Job>& jobs);

}  // namespace cairn::jobs
