#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "jobs/operations/operations.h"

// The operations as the rows of both doors name them. A row parses its own kind of request, RESP
// arguments or HTTP, and writes its own kind of answer; what is locked and what is done in between
// is the same and stands here.
//
//   arguments ─┐            ┌─ scopes(request, held)             ┌─ RESP reply
//              ├─ request ──┤                          ─ answer ─┤
//   path, body ┘            └─ run(context, request)             └─ JSON
namespace cairn::jobs {

// `Answer` void: there is nothing to tell but that it is done.
template <typename Request, typename Answer>
struct Operation {
  void (*scopes)(const Request&, Held&);
  // May run more than once with the same request.
  Result<Answer> (*run)(Context&, const Request&);
};

// The requests that are not a type of their operation's header.
struct JobRequest {
  std::string id;  // of a job, or of a batch
  std::string reason = {};
};
struct MoveRequest {
  std::string id;
  std::string queue;
};
struct RetryRequest {
  std::string id;
  RetryOptions options = {};
};
using AckBatchRequest = std::vector<AckRequest>;
struct SnoozeRequest {
  LeaseRef lease;
  int64_t delay_ms = 0;
};
struct QueueRequest {
  std::string queue;
};
struct ConcurrencyRequest {
  std::string queue;
  int64_t max = 0;
};
struct ThrottleRequest {
  std::string queue;
  int64_t rate = 0;
  int64_t window_ms = 0;
};
struct ConfigRequest {
  std::string queue;
  std::string patch;  // JSON
};

// The scopes of whatever names one job, holds a lease, or names one queue.
inline void ScopesOfJob(const auto& request, Held& held) { AddJobScopes(request.id, held); }
inline void ScopesOfLease(const auto& request, Held& held) { AddLeaseScopes(request.lease, held); }
inline void ScopesOfQueue(const auto& request, Held& held) { held.AddQueue(request.queue); }

namespace operations {

// --- New jobs ------------------------------------------------------------------------------------

inline constexpr Operation<EnqueueRequest, EnqueueResult> kEnqueue{AddEnqueueScopes, Enqueue};
inline constexpr Operation<EnqueueBatchRequest, EnqueueBatchResult> kEnqueueBatch{AddEnqueueScopes,
                                                                                  EnqueueBatch};
inline constexpr Operation<BatchOptions, Batch> kOpenBatch{AddBatchScopes, OpenBatch};
inline constexpr Operation<JobRequest, Batch> kSealBatch{
    ScopesOfJob,
    [](Context& context, const JobRequest& request) { return SealBatch(context, request.id); }};
inline constexpr Operation<JobRequest, Batch> kGetBatch{
    ScopesOfJob, [](Context& context, const JobRequest& request) -> Result<Batch> {
      CAIRN_ASSIGN_OR_RETURN(Batch batch, GetBatch(context.transaction, request.id));
      CAIRN_RETURN_IF_ERROR(CheckBatch(context.queues, batch));
      return batch;
    }};

// --- What workers do -----------------------------------------------------------------------------

inline constexpr Operation<AckRequest, void> kAck{ScopesOfLease, Ack};
inline constexpr Operation<AckBatchRequest, std::vector<Result<void>>> kAckBatch{
    [](const AckBatchRequest& requests, Held& held) {
      for (const AckRequest& request : requests) ScopesOfLease(request, held);
    },
    [](Context& context, const AckBatchRequest& requests) { return AckBatch(context, requests); }};
inline constexpr Operation<FailRequest, FailResult> kFail{ScopesOfLease, Fail};
inline constexpr Operation<HeartbeatRequest, HeartbeatResult> kHeartbeat{ScopesOfLease, Heartbeat};
inline constexpr Operation<SnoozeRequest, uint64_t> kSnooze{
    ScopesOfLease, [](Context& context, const SnoozeRequest& request) {
      return Snooze(context, request.lease, request.delay_ms);
    }};

// --- One job -------------------------------------------------------------------------------------

inline constexpr Operation<JobRequest, CancelResult> kCancel{
    ScopesOfJob, [](Context& context, const JobRequest& request) {
      return Cancel(context, request.id, request.reason);
    }};
inline constexpr Operation<JobRequest, void> kHold{
    ScopesOfJob, [](Context& context, const JobRequest& request) {
      return Hold(context, request.id, request.reason);
    }};
inline constexpr Operation<JobRequest, void> kApprove{
    ScopesOfJob,
    [](Context& context, const JobRequest& request) { return Approve(context, request.id); }};
inline constexpr Operation<JobRequest, void> kReject{
    ScopesOfJob, [](Context& context, const JobRequest& request) {
      return Reject(context, request.id, request.reason);
    }};
inline constexpr Operation<MoveRequest, void> kMove{
    [](const MoveRequest& request, Held& held) { AddMoveScopes(request.id, request.queue, held); },
    [](Context& context, const MoveRequest& request) {
      return Move(context, request.id, request.queue);
    }};
inline constexpr Operation<RetryRequest, void> kRetry{
    ScopesOfJob, [](Context& context, const RetryRequest& request) {
      return Retry(context, request.id, request.options);
    }};
inline constexpr Operation<JobRequest, EnqueueResult> kReplay{
    ScopesOfJob,
    [](Context& context, const JobRequest& request) { return Replay(context, request.id); }};
inline constexpr Operation<JobRequest, void> kDelete{
    ScopesOfJob,
    [](Context& context, const JobRequest& request) { return Delete(context, request.id); }};

// --- Queues --------------------------------------------------------------------------------------

inline constexpr Operation<QueueRequest, QueueInfo> kGetQueue{
    ScopesOfQueue, [](Context& context, const QueueRequest& request) -> Result<QueueInfo> {
      CAIRN_RETURN_IF_ERROR(CheckQueue(context.queues, request.queue));
      return GetQueue(context.transaction, request.queue);
    }};
inline constexpr Operation<QueueRequest, void> kPauseQueue{
    ScopesOfQueue, [](Context& context, const QueueRequest& request) {
      return PauseQueue(context, request.queue);
    }};
inline constexpr Operation<QueueRequest, void> kResumeQueue{
    ScopesOfQueue, [](Context& context, const QueueRequest& request) {
      return ResumeQueue(context, request.queue);
    }};
inline constexpr Operation<QueueRequest, int64_t> kDrainQueue{
    ScopesOfQueue, [](Context& context, const QueueRequest& request) {
      return DrainQueue(context, request.queue);
    }};
inline constexpr Operation<ConcurrencyRequest, void> kSetConcurrency{
    ScopesOfQueue, [](Context& context, const ConcurrencyRequest& request) {
      return SetConcurrency(context, request.queue, request.max);
    }};
inline constexpr Operation<ThrottleRequest, void> kSetThrottle{
    ScopesOfQueue, [](Context& context, const ThrottleRequest& request) {
      return SetThrottle(context, request.queue, request.rate, request.window_ms);
    }};
inline constexpr Operation<QueueRequest, void> kRemoveThrottle{
    ScopesOfQueue, [](Context& context, const QueueRequest& request) {
      return RemoveThrottle(context, request.queue);
    }};
inline constexpr Operation<ConfigRequest, QueueConfig> kConfigureQueue{
    ScopesOfQueue, [](Context& context, const ConfigRequest& request) {
      return ConfigureQueue(context, request.queue, request.patch);
    }};

}  // namespace operations
}  // namespace cairn::jobs
