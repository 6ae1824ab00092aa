#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "jobs/ledger/context.h"
#include "jobs/model/ids.h"
#include "jobs/model/job.h"

// What a worker does with a job while its lease lasts (operations.h has the rules for all
// operations).
namespace cairn::jobs {

// How a worker shows that a job is its own: by the token of the lease, or, in clients that do not
// know tokens, by worker and attempt (each compared if given).
struct LeaseRef {
  std::string id;
  std::optional<uint64_t> token = {};
  std::string worker_id = {};
  std::optional<int64_t> attempt = {};
};
// The scopes of every operation here.
void AddLeaseScopes(const LeaseRef& lease, Held& held);

struct AckRequest {
  LeaseRef lease;
  std::string result = {};      // JSON
  std::string checkpoint = {};  // JSON
  bool exit_chain = false;      // the chain ends here
  std::string exit_reason = {};
};
Result<void> Ack(Context& context, const AckRequest& request);
// Refuses a batch of no requests, or of too many.
Result<void> CheckAckBatchSize(size_t requests);
// One result for each request; those that are refused change nothing. If the call as a whole fails,
// the store has failed or there are too many requests.
Result<std::vector<Result<void>>> AckBatch(Context& context, std::span<const AckRequest> requests);

struct FailRequest {
  LeaseRef lease;
  std::string error = {};
  std::string backtrace = {};
  bool retryable = true;
  std::optional<int64_t> delay_ms = {};  // instead of the policy's
};
struct FailResult {
  State state = State::kRetrying;  // or dead
  uint64_t next_attempt_ns = 0;
  int64_t attempts_remaining = 0;
};
Result<FailResult> Fail(Context& context, const FailRequest& request);

struct HeartbeatRequest {
  LeaseRef lease;
  std::string progress = {};    // JSON
  std::string checkpoint = {};  // JSON
  // The lease's length from now on; nullopt: as it was.
  std::optional<int64_t> lease_ms = {};
};
struct HeartbeatResult {
  bool cancelled = false;  // the job is not this worker's any more: stop
  uint64_t lease_expires_ns = 0;
};
// Renews the lease by its length. A job that is not active is not an error but `cancelled`; one
// that is leased to somebody else is refused (LEASE_LOST).
Result<HeartbeatResult> Heartbeat(Context& context, const HeartbeatRequest& request);

// Puts an active job back for a while without using up an attempt. Gives the time at which it can
// run again.
Result<uint64_t> Snooze(Context& context, const LeaseRef& lease, int64_t delay_ms);

// --- What fetching, and the end of a lease, share with these -------------------------------------

// When a lease that is given now ends: after its length, or when the attempt has to end.
uint64_t LeaseEnd(const Job& job, uint64_t now_ns);

class Ledger;
// The error goes into the record of the attempt.
struct AttemptError {
  std::string_view error;
  std::string_view backtrace = {};
  bool retryable = true;
  std::optional<int64_t> delay_ms = {};  // instead of the policy's
};
// Ends the attempt of an active job, which is not in the books any more: it will be retried or is
// dead.
Result<FailResult> FailAttempt(Ledger& ledger, Job& job, const AttemptError& error);

}  // namespace cairn::jobs
