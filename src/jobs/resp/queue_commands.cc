#include <fmt/format.h>

#include "jobs/ledger/verify.h"
#include "jobs/model/refusal.h"
#include "jobs/operations/job_json.h"
#include "jobs/resp/command_support.h"

namespace cairn::jobs {
namespace {

using doors::Args;
using doors::CommandContext;

void EverythingScopes(Args /*args*/, Held& held) { held = Held::Everything(); }

Result<void> RunList(CommandContext& command, Context& here) {
  CAIRN_ASSIGN_OR_RETURN(auto queues, ListQueues(here.transaction));
  KeepAllowed(here.queues, queues);
  command.reply.ArrayHeader(queues.size());
  std::string json;
  for (const QueueInfo& queue : queues) {
    json.clear();
    AppendQueue(queue, json);
    command.reply.Bulk(json);
  }
  return {};
}

Result<void> RunGet(CommandContext& command, Context& here) {
  CAIRN_RETURN_IF_ERROR(CheckQueue(here.queues, command.args[1]));
  CAIRN_ASSIGN_OR_RETURN(const QueueInfo queue, GetQueue(here.transaction, command.args[1]));
  std::string json;
  AppendQueue(queue, json);
  command.reply.Bulk(json);
  return {};
}

template <Result<void> (*operation)(Context&, std::string_view)>
Result<void> RunPlain(CommandContext& command, Context& here) {
  CAIRN_RETURN_IF_ERROR(operation(here, command.args[1]));
  command.reply.Ok();
  return {};
}

Result<void> RunDrain(CommandContext& command, Context& here) {
  CAIRN_ASSIGN_OR_RETURN(const int64_t active, DrainQueue(here, command.args[1]));
  command.reply.Integer(active);
  return {};
}

// All pieces in this one transaction: a client that was told so sees none of it left.
template <Result<Sweep> (*operation)(Context&, std::string_view)>
Result<void> RunSweep(CommandContext& command, Context& here) {
  int64_t removed = 0;
  for (bool more = true; more;) {
    if (here.busy->ending()) return Error{ErrorCode::kUnavailable, "the server stops"};
    CAIRN_ASSIGN_OR_RETURN(const Sweep sweep, operation(here, command.args[1]));
    removed += sweep.removed;
    more = sweep.more;
  }
  command.reply.Integer(removed);
  return {};
}

Result<void> RunConcurrency(CommandContext& command, Context& here) {
  const auto max = doors::ParseInteger(command.args[2]);
  if (!max) return Syntax("the limit is a whole number, 0 for none");
  CAIRN_RETURN_IF_ERROR(SetConcurrency(here, command.args[1], *max));
  command.reply.Ok();
  return {};
}

Result<void> RunThrottle(CommandContext& command, Context& here) {
  const auto rate = doors::ParseInteger(command.args[2]);
  const auto window_ms = doors::ParseInteger(command.args[3]);
  if (!rate || !window_ms) return Syntax("rate and window are whole numbers");
  CAIRN_RETURN_IF_ERROR(SetThrottle(here, command.args[1], *rate, *window_ms));
  command.reply.Ok();
  return {};
}

Result<void> RunConfig(CommandContext& command, Context& here) {
  CAIRN_ASSIGN_OR_RETURN(const QueueConfig config,
                         ConfigureQueue(here, command.args[1], command.args[2]));
  command.reply.Bulk(QueueConfigJson(config));
  return {};
}

Result<void> RunWorkers(CommandContext& command, Context& here) {
  CAIRN_ASSIGN_OR_RETURN(auto workers, ListWorkers(here.transaction));
  KeepAllowed(here.queues, workers);
  command.reply.ArrayHeader(workers.size());
  std::string json;
  for (const Worker& worker : workers) {
    json.clear();
    AppendWorker(worker, json);
    command.reply.Bulk(json);
  }
  return {};
}

Result<void> RunVerify(CommandContext& command, Context& here) {
  CAIRN_ASSIGN_OR_RETURN(const VerifyReport report, Verify(here.transaction));
  command.reply.Bulk(report.ToJson());
  return {};
}

struct Row {
  std::string_view name;
  int arity;
  uint32_t flags;
  bool long_running;
  std::string_view complexity;
  std::string_view summary;
  std::string_view syntax;
  Scoping scoping;
  Handler handler;
};
constexpr Row kRows[] = {
    {"queue.list", 1, doors::kReadOnly, false, "O(N) for N queues", "Lists queues and counts.", "",
     EverythingScopes, RunList},
    {"queue.get", 2, doors::kReadOnly | doors::kFast, false, "O(1)", "Tells about a queue.",
     "queue", ScopeOfQueue, RunGet},
    {"queue.pause", 2, doors::kWrite | doors::kFast, false, "O(1)",
     "Gives out no more jobs of a queue.", "queue", ScopeOfQueue, RunPlain<PauseQueue>},
    {"queue.resume", 2, doors::kWrite | doors::kFast, false, "O(1)",
     "Gives out jobs of a queue again.", "queue", ScopeOfQueue, RunPlain<ResumeQueue>},
    {"queue.drain", 2, doors::kWrite | doors::kFast, false, "O(1)",
     "Pauses a queue, and tells how many of its jobs are active still.", "queue", ScopeOfQueue,
     RunDrain},
    {"queue.clear", 2, doors::kWrite, true, "O(N) for N jobs",
     "Removes all jobs of a queue that have not begun.", "queue", ScopeOfQueue,
     RunSweep<ClearQueue>},
    {"queue.delete", 2, doors::kWrite, true, "O(N) for N jobs",
     "Removes a queue with all its jobs.", "queue", ScopeOfQueue, RunSweep<DeleteQueue>},
    {"queue.concurrency", 3, doors::kWrite | doors::kFast, false, "O(1)",
     "Limits how many jobs of a queue are active at once.", "queue max:integer", ScopeOfQueue,
     RunConcurrency},
    {"queue.throttle", 4, doors::kWrite | doors::kFast, false, "O(1)",
     "Limits how many jobs of a queue begin in a span of time.",
     "queue rate:integer milliseconds:integer", ScopeOfQueue, RunThrottle},
    {"queue.unthrottle", 2, doors::kWrite | doors::kFast, false, "O(1)", "Removes that limit.",
     "queue", ScopeOfQueue, RunPlain<RemoveThrottle>},
    {"queue.config", 3, doors::kWrite, false, "O(N) for N keys with limits",
     "Changes settings of a queue by a JSON object.", "queue json", ScopeOfQueue, RunConfig},
    {"queue.workers", 1, doors::kReadOnly, false, "O(N) for N workers", "Lists workers.", "",
     EverythingScopes, RunWorkers},
    {"job.verify", 1, doors::kReadOnly, true, "O(N) for N jobs",
     "Checks that jobs, indexes, counts and locks agree.", "", EverythingScopes, RunVerify},
};

}  // namespace

void AddQueueCommands(doors::Instance& instance) {
  for (const Row& row : kRows) {
    AddRow(instance,
           {.name = row.name,
            .arity = row.arity,
            .flags = row.flags,
            .long_running = row.long_running,
            .complexity = row.complexity,
            .summary = row.summary,
            .syntax = row.syntax},
           row.scoping, row.handler);
  }
}

}  // namespace cairn::jobs
