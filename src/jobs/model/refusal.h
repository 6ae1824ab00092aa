#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/refusal.h"
#include "base/result.h"

// Why an operation on jobs was refused (base/refusal.h).
//
//   LEASE_LOST you no longer hold the lease of job_…   →  -LEASE_LOST you no longer hold the lease
//   of job_…
//                                                 →  409 {"error":"the lease…","code":"LEASE_LOST"}
namespace cairn::jobs {

enum class Reason : uint8_t {
  kNotFound,
  kForbidden,
  kValidation,
  kPayloadTooLarge,
  kLeaseLost,
  kAck,
  kFail,
  kHeartbeat,
  kSnooze,
  kRetry,
  kCancel,
  kHold,
  kApprove,
  kReject,
  kMove,
  kReplay,
  kDelete,
  kPriority,
  kBatch,
  kChain,
  kDependency,
  kQueue,
  kSchedule,
  kIdempotency,
};

using ReasonRow = cairn::ReasonRow<Reason>;

const ReasonRow& ReasonRowOf(Reason reason);
// The row of a refusal; null if the error is not a refusal.
const ReasonRow* FindReason(const Error& error);
// What a door tells of a refusal; nullopt if it is not a refusal.
std::optional<Refusal> ReadRefusal(const Error& error);

Error Refuse(Reason reason, std::string_view text);
// The message without the reason's name.
std::string_view RefusalText(const Error& error);

}  // namespace cairn::jobs
