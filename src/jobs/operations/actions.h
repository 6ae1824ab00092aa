#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "jobs/ledger/context.h"
#include "jobs/model/ids.h"
#include "jobs/model/job.h"
#include "jobs/operations/enqueue.h"
#include "store/transaction.h"

// What can be done to one job from outside (operations.h has the rules for all operations). A job
// that does not exist is refused (NOT_FOUND), and so is one in a state that does not fit.
namespace cairn::jobs {

// Refuses a job that does not exist.
Result<Job> Get(store::Reader& reader, std::string_view id);
struct JobError {
  int64_t attempt = 0;
  std::string error;
  std::string backtrace;
  uint64_t created_ns = 0;
};
Result<std::vector<JobError>> GetErrors(store::Reader& reader, const Job& job);
// The scopes of every operation here but Move.
void AddJobScopes(std::string_view id, Held& held);

struct CancelResult {
  bool was_active = false;  // its worker learns of it by its next heartbeat
};
Result<CancelResult> Cancel(Context& context, std::string_view id, std::string_view reason);
Result<void> Hold(Context& context, std::string_view id, std::string_view reason);
Result<void> Approve(Context& context, std::string_view id);
Result<void> Reject(Context& context, std::string_view id, std::string_view reason);
void AddMoveScopes(std::string_view id, std::string_view queue, Held& held);
Result<void> Move(Context& context, std::string_view id, std::string_view queue);
struct RetryOptions {
  bool keep_attempts = false;  // leaves the counts of failures and reclaims
};
// Makes a finished, scheduled or retrying job pending again.
Result<void> Retry(Context& context, std::string_view id, const RetryOptions& options);
Result<void> SetPriority(Context& context, std::string_view id, Priority priority);
// A new job like this one, with its checkpoint.
Result<EnqueueResult> Replay(Context& context, std::string_view id);
Result<void> Delete(Context& context, std::string_view id);

}  // namespace cairn::jobs
