#include "jobs/model/refusal.h"

#include <array>

namespace cairn::jobs {
namespace {

using enum ErrorCode;

constexpr std::array kRows = {
    ReasonRow{Reason::kNotFound, "NOT_FOUND", kNotFound, 404,
              "there is no job, queue, batch or schedule of this name"},
    ReasonRow{Reason::kForbidden, "FORBIDDEN", kForbidden, 403, "the key may not use this queue"},
    ReasonRow{Reason::kValidation, "VALIDATION_ERROR", kInvalid, 400,
              "an argument is missing, unknown or out of its bounds"},
    ReasonRow{Reason::kPayloadTooLarge, "PAYLOAD_TOO_LARGE", kTooLarge, 413,
              "a payload or another document is above its limit"},
    ReasonRow{Reason::kLeaseLost, "LEASE_LOST", kConflict, 409,
              "the lease has expired or is another worker's"},
    ReasonRow{Reason::kAck, "ACK_ERROR", kInvalid, 400, "only an active job can be acknowledged"},
    ReasonRow{Reason::kFail, "FAIL_ERROR", kInvalid, 400, "only an active job can fail"},
    ReasonRow{Reason::kHeartbeat, "HEARTBEAT_ERROR", kInvalid, 400,
              "the heartbeat of a job is malformed"},
    ReasonRow{Reason::kSnooze, "SNOOZE_ERROR", kInvalid, 400, "only an active job can be put off"},
    ReasonRow{Reason::kRetry, "RETRY_ERROR", kInvalid, 400,
              "a job that is pending, active or held cannot be retried"},
    ReasonRow{Reason::kCancel, "CANCEL_ERROR", kInvalid, 400, "a finished job cannot be cancelled"},
    ReasonRow{Reason::kHold, "HOLD_ERROR", kInvalid, 400, "a finished or held job cannot be held"},
    ReasonRow{Reason::kApprove, "APPROVE_ERROR", kInvalid, 400, "only a held job can be approved"},
    ReasonRow{Reason::kReject, "REJECT_ERROR", kInvalid, 400, "only a held job can be rejected"},
    ReasonRow{Reason::kMove, "MOVE_ERROR", kInvalid, 400, "an active job cannot be moved"},
    ReasonRow{Reason::kReplay, "REPLAY_ERROR", kInvalid, 400, "the job cannot be run again"},
    ReasonRow{Reason::kDelete, "DELETE_ERROR", kInvalid, 400, "the job cannot be deleted"},
    ReasonRow{Reason::kPriority, "PRIORITY_ERROR", kInvalid, 400,
              "the priority of an active or finished job cannot be changed"},
    ReasonRow{Reason::kBatch, "BATCH_ERROR", kConflict, 409,
              "the batch is sealed, or its state does not allow the request"},
    ReasonRow{Reason::kChain, "CHAIN_ERROR", kInvalid, 400, "the chain is malformed"},
    ReasonRow{Reason::kDependency, "DEPENDENCY_ERROR", kInvalid, 400,
              "a dependency does not exist, or the job waits for itself"},
    ReasonRow{Reason::kQueue, "QUEUE_ERROR", kInvalid, 400,
              "a queue's setting is missing or out of its bounds"},
    ReasonRow{Reason::kSchedule, "SCHEDULE_ERROR", kInvalid, 400, "a schedule is malformed"},
    ReasonRow{Reason::kIdempotency, "IDEMPOTENCY_ERROR", kConflict, 409,
              "the name is taken by something else"},
};

constexpr RefusalTable<Reason> kTable{kRows};

}  // namespace

const ReasonRow& ReasonRowOf(Reason reason) { return kTable.RowOf(reason); }
const ReasonRow* FindReason(const Error& error) { return kTable.Find(error); }
std::optional<Refusal> ReadRefusal(const Error& error) { return kTable.Read(error); }
Error Refuse(Reason reason, std::string_view text) { return kTable.Refuse(reason, text); }
std::string_view RefusalText(const Error& error) { return kTable.TextOf(error); }

}  // namespace cairn::jobs
