#include "jobs/handing_out.h"

#include <utility>

#include "jobs/refusal.h"
#include "jobs/route_support.h"

namespace cairn::jobs {

awaitable<Result<std::vector<Job>>> TakeJobs(const RouteParts& parts, const FetchRequest& request,
                                             doors::LineWait* line) {
  Held held;
  AddFetchScopes(request, held);
  std::vector<Job> jobs;
  const ChangeBody body = [&](Context& context) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(jobs, Fetch(context, request));
    if (line != nullptr && !jobs.empty()) line->LeaveAfterCommit(context.transaction);
    return {};
  };
  const Result<void> done = co_await Change(parts, std::move(held), body);
  if (!done.ok()) co_return done.error();
  co_return jobs;
}

awaitable<void> GiveBack(const RouteParts& parts, const std::vector<Job>& jobs) {
  if (jobs.empty()) co_return;
  Held held;
  for (const Job& job : jobs) AddJobScopes(job.id, held);
  const ChangeBody body = [&](Context& context) -> Result<void> {
    for (const Job& job : jobs) {
      const Result<uint64_t> back =
          Snooze(context, {.id = job.id, .token = job.lease_token}, /*delay_ms=*/0);
      // Cancelled or deleted meanwhile, say: then there is nothing to put back.
      if (!back.ok() && FindReason(back.error()) == nullptr) return back.error();
    }
    return {};
  };
  const Result<void> done = co_await Change(parts, std::move(held), body);
  if (!done.ok()) co_return;  // their leases will lapse
}

}  // namespace cairn::jobs
