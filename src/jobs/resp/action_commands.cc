#include <optional>
#include <string>
#include <string_view>

#include "jobs/model/refusal.h"
#include "jobs/operations/job_json.h"
#include "jobs/resp/command_support.h"

namespace cairn::jobs {
namespace {

using doors::Args;

// --- JOB.GET -------------------------------------------------------------------------------------

// Nothing if there is no such job.
Result<std::optional<std::string>> DescribeJob(Context& here, const JobRequest& request) {
  const Result<Job> job = Get(here.transaction, request.id);
  const Result<void> allowed = job.ok() ? CheckJob(here.queues, *job) : job.error();
  if (!allowed.ok() && allowed.error().code == ErrorCode::kNotFound) {
    return std::optional<std::string>();
  }
  if (!allowed.ok()) return allowed.error();
  CAIRN_ASSIGN_OR_RETURN(const auto errors, GetErrors(here.transaction, *job));
  std::string json;
  AppendJob(*job, errors, json);
  return std::optional(std::move(json));
}

constexpr Operation<JobRequest, std::optional<std::string>> kDescribeJob{ScopesOfJob, DescribeJob};

void ReplyDescription(net::RespWriter& reply, const std::optional<std::string>& json) {
  if (!json) return reply.Null();
  reply.Bulk(*json);
}

// --- Changes -------------------------------------------------------------------------------------

void ReplyCancel(net::RespWriter& reply, const CancelResult& result) {
  reply.Simple(result.was_active ? "cancelling" : "cancelled");
}

Result<MoveRequest> ParseMove(Args args) {
  return MoveRequest{.id = std::string(args[1]), .queue = std::string(args[2])};
}

Result<RetryRequest> ParseRetry(Args args) {
  const bool keeps = args.size() == 3 && doors::EqualsIgnoreCase(args[2], "KEEP");
  if (args.size() > 2 && !keeps) return Syntax();
  return RetryRequest{.id = std::string(args[1]), .options = {.keep_attempts = keeps}};
}

void ReplyReplay(net::RespWriter& reply, const EnqueueResult& result) { reply.Bulk(result.id); }

struct PriorityRequest {
  std::string id;
  Priority priority;
};

Result<PriorityRequest> ParseSetPriority(Args args) {
  const auto priority = ParsePriority(args[2]);
  if (!priority) return Syntax("a priority is critical, high or normal");
  return PriorityRequest{.id = std::string(args[1]), .priority = *priority};
}

constexpr Operation<PriorityRequest, void> kSetPriority{
    ScopesOfJob, [](Context& here, const PriorityRequest& request) {
      return SetPriority(here, request.id, request.priority);
    }};

}  // namespace

void AddActionCommands(doors::Instance& instance) {
  constexpr uint32_t kChanges = doors::kWrite | doors::kFast;
  const auto add = [&](std::string_view name, int arity, uint32_t flags, std::string_view summary,
                       std::string_view syntax, auto... functions) {
    AddRow(instance,
           {.name = name,
            .arity = arity,
            .flags = flags,
            .complexity = "O(1)",
            .summary = summary,
            .syntax = syntax},
           functions...);
  };
  add("job.get", 2, doors::kReadOnly | doors::kFast, "Tells all about a job.", "job", ParseJob,
      kDescribeJob, ReplyDescription);
  add("job.cancel", -2, kChanges, "Cancels a job that has not ended.", "job [reason]", ParseJob,
      operations::kCancel, ReplyCancel);
  add("job.hold", -2, kChanges, "Keeps a job back until somebody approves it.", "job [reason]",
      ParseJob, operations::kHold);
  add("job.approve", 2, kChanges, "Lets a held job go on.", "job", ParseJob, operations::kApprove);
  add("job.reject", -2, kChanges, "Ends a held job.", "job [reason]", ParseJob,
      operations::kReject);
  add("job.move", 3, kChanges, "Puts a job into another queue.", "job queue", ParseMove,
      operations::kMove);
  add("job.retry", -2, kChanges, "Runs a job that has ended, or waits for its time, once more.",
      "job [KEEP]", ParseRetry, operations::kRetry);
  add("job.replay", 2, kChanges | doors::kDenyOom,
      "Makes a new job like this one, with its checkpoint.", "job", ParseJob, operations::kReplay,
      ReplyReplay);
  add("job.delete", 2, kChanges, "Removes a job.", "job", ParseJob, operations::kDelete);
  add("job.priority", 3, kChanges, "Gives a job another priority.", "job priority",
      ParseSetPriority, kSetPriority);
}

}  // namespace cairn::jobs
