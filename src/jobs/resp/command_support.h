#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "doors/resp/arg_parser.h"
#include "doors/resp/command.h"
#include "doors/resp/instance.h"
#include "jobs/operations/operations.h"

// What the files of commands share.
namespace cairn::jobs {

// What the arguments let the command touch. Arguments that make no sense add nothing.
using Scoping = void (*)(doors::Args, Held&);
// Writes the reply. A refusal it returns is the reply.
using Handler = Result<void> (*)(doors::CommandContext&, Context&);

// Why the audit log does not have what producers and workers do.
inline constexpr std::string_view kWorkOfJobs = "is done all day: the jobs tell it";

// Adds a row: group, version, scopes and the way from refusal to reply are the same for all.
void AddRow(doors::Instance& instance, doors::Command row, Scoping scoping, Handler handler);

// The queues that the caller may touch; null: all.
const doors::NamePatterns* QueuesOf(const doors::Caller& caller);

Error Syntax(std::string_view text = "syntax error");

// Scopes of the job, or the queue, that is the first argument.
void ScopeOfJob(doors::Args args, Held& held);
void ScopeOfQueue(doors::Args args, Held& held);
void ScopeOfNothing(doors::Args args, Held& held);

// The options of JOB.ENQUEUE, behind its queue.
Result<EnqueueRequest> TakeEnqueueOptions(doors::ArgParser& parser, std::string_view queue);
// What JOB.FETCH and JOB.SUBSCRIBE are asked for.
struct FetchCommand {
  FetchRequest request;
  std::optional<int64_t> block_ms;
};
Result<FetchCommand> TakeFetch(doors::Args args);
// A job as workers get it: a map.
void ReplyJob(net::RespWriter& reply, const Job& job);
// TOKEN token | WORKER worker [ATTEMPT attempt]; whether it was one of these.
bool TakeLease(doors::ArgParser& parser, LeaseRef& lease);

void AddEnqueueCommands(doors::Instance& instance);
void AddWorkerCommands(doors::Instance& instance);
void AddActionCommands(doors::Instance& instance);
void AddQueueCommands(doors::Instance& instance);

}  // namespace cairn::jobs
