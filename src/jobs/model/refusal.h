#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

// Why an operation was refused, in words that a program can compare. A refusal is an Error whose
// message begins with the reason's name: that word is the first of a RESP error and the `code` of
// an HTTP answer.
//
//   LEASE_LOST the lease of job_… has passed on   →  -LEASE_LOST the lease of job_… has passed on
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

struct ReasonRow {
  Reason reason;
  std::string_view name;  // "LEASE_LOST"
  ErrorCode code;
  int http_status;
  std::string_view meaning;
};

const ReasonRow& ReasonRowOf(Reason reason);
// The row of a refusal; null for an error that is none.
const ReasonRow* FindReason(const Error& error);

Error Refuse(Reason reason, std::string_view text);
// The message without the reason's name.
std::string_view RefusalText(const Error& error);

}  // namespace cairn::jobs
