#pragma once

#include <cstdint>

#include "base/result.h"
#include "jobs/operations.h"

// What the operations of workers share.
namespace cairn::jobs {

// When a lease that is given now ends: after its length, or when the attempt has to end.
uint64_t LeaseEnd(const Job& job, uint64_t now_ns);

Result<void> CheckWorker(const FetchRequest& worker);
// Writes down that the worker lives, unless that was done a moment ago.
Result<void> TouchWorker(Context& context, const FetchRequest& worker);

class Ledger;
// Ends the attempt of an active job, which is not in the books any more: it will be retried or is
// dead. `error` goes into the record of the attempt.
struct AttemptError {
  std::string_view error;
  std::string_view backtrace = {};
  bool retryable = true;
  std::optional<int64_t> delay_ms = {};
};
Result<FailResult> FailAttempt(Ledger& ledger, Job& job, const AttemptError& error);

// Whether the request can be met at all; Fetch refuses what this refuses.
Result<void> CheckFetch(const FetchRequest& request);

}  // namespace cairn::jobs
