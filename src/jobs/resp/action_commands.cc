#include <fmt/format.h>

#include "jobs/model/refusal.h"
#include "jobs/operations/job_json.h"
#include "jobs/resp/command_support.h"

namespace cairn::jobs {
namespace {

using doors::Args;
using doors::CommandContext;

std::string_view ReasonIn(Args args) { return args.size() > 2 ? args[2] : std::string_view(); }

Result<void> RunGet(CommandContext& command, Context& here) {
  Result<Job> job = Get(here.transaction, command.args[1]);
  if (job.ok()) {
    if (const Result<void> allowed = CheckJob(here.queues, *job); !allowed.ok()) {
      job = allowed.error();
    }
  }
  if (!job.ok() && job.error().code == ErrorCode::kNotFound) {
    command.reply.Null();
    return {};
  }
  if (!job.ok()) return job.error();
  CAIRN_ASSIGN_OR_RETURN(const auto errors, GetErrors(here.transaction, *job));
  std::string json;
  AppendJob(*job, errors, json);
  command.reply.Bulk(json);
  return {};
}

Result<void> RunCancel(CommandContext& command, Context& here) {
  CAIRN_ASSIGN_OR_RETURN(const CancelResult result,
                         Cancel(here, command.args[1], ReasonIn(command.args)));
  command.reply.Simple(result.was_active ? "cancelling" : "cancelled");
  return {};
}

Result<void> RunHold(CommandContext& command, Context& here) {
  CAIRN_RETURN_IF_ERROR(Hold(here, command.args[1], ReasonIn(command.args)));
  command.reply.Ok();
  return {};
}

Result<void> RunApprove(CommandContext& command, Context& here) {
  CAIRN_RETURN_IF_ERROR(Approve(here, command.args[1]));
  command.reply.Ok();
  return {};
}

Result<void> RunReject(CommandContext& command, Context& here) {
  CAIRN_RETURN_IF_ERROR(Reject(here, command.args[1], ReasonIn(command.args)));
  command.reply.Ok();
  return {};
}

void MoveScopes(Args args, Held& held) { AddMoveScopes(args[1], args[2], held); }

Result<void> RunMove(CommandContext& command, Context& here) {
  CAIRN_RETURN_IF_ERROR(Move(here, command.args[1], command.args[2]));
  command.reply.Ok();
  return {};
}

Result<void> RunRetry(CommandContext& command, Context& here) {
  const bool keeps = command.args.size() == 3 && doors::EqualsIgnoreCase(command.args[2], "KEEP");
  if (command.args.size() > 2 && !keeps) return Syntax();
  CAIRN_RETURN_IF_ERROR(Retry(here, command.args[1], {.keep_attempts = keeps}));
  command.reply.Ok();
  return {};
}

Result<void> RunReplay(CommandContext& command, Context& here) {
  CAIRN_ASSIGN_OR_RETURN(const EnqueueResult result, Replay(here, command.args[1]));
  command.reply.Bulk(result.id);
  return {};
}

Result<void> RunDelete(CommandContext& command, Context& here) {
  CAIRN_RETURN_IF_ERROR(Delete(here, command.args[1]));
  command.reply.Ok();
  return {};
}

Result<void> RunPriority(CommandContext& command, Context& here) {
  const auto priority = ParsePriority(command.args[2]);
  if (!priority) return Syntax("a priority is critical, high or normal");
  CAIRN_RETURN_IF_ERROR(SetPriority(here, command.args[1], *priority));
  command.reply.Ok();
  return {};
}

struct Row {
  std::string_view name;
  int arity;
  uint32_t flags;
  std::string_view summary;
  std::string_view syntax;
  Scoping scoping;
  Handler handler;
};
constexpr Row kRows[] = {
    {"job.get", 2, doors::kReadOnly | doors::kFast, "Tells all about a job.", "job", ScopeOfJob,
     RunGet},
    {"job.cancel", -2, doors::kWrite | doors::kFast, "Cancels a job that has not ended.",
     "job [reason]", ScopeOfJob, RunCancel},
    {"job.hold", -2, doors::kWrite | doors::kFast, "Keeps a job back until somebody approves it.",
     "job [reason]", ScopeOfJob, RunHold},
    {"job.approve", 2, doors::kWrite | doors::kFast, "Lets a held job go on.", "job", ScopeOfJob,
     RunApprove},
    {"job.reject", -2, doors::kWrite | doors::kFast, "Ends a held job.", "job [reason]", ScopeOfJob,
     RunReject},
    {"job.move", 3, doors::kWrite | doors::kFast, "Puts a job into another queue.", "job queue",
     MoveScopes, RunMove},
    {"job.retry", -2, doors::kWrite | doors::kFast,
     "Runs a job that has ended, or waits for its time, once more.", "job [KEEP]", ScopeOfJob,
     RunRetry},
    {"job.replay", 2, doors::kWrite | doors::kFast | doors::kDenyOom,
     "Makes a new job like this one, with its checkpoint.", "job", ScopeOfJob, RunReplay},
    {"job.delete", 2, doors::kWrite | doors::kFast, "Removes a job.", "job", ScopeOfJob, RunDelete},
    {"job.priority", 3, doors::kWrite | doors::kFast, "Gives a job another priority.",
     "job priority", ScopeOfJob, RunPriority},
};

}  // namespace

void AddActionCommands(doors::Instance& instance) {
  for (const Row& row : kRows) {
    AddRow(instance,
           {.name = row.name,
            .arity = row.arity,
            .flags = row.flags,
            .complexity = "O(1)",
            .summary = row.summary,
            .syntax = row.syntax},
           row.scoping, row.handler);
  }
}

}  // namespace cairn::jobs
