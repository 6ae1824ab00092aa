#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "doors/resp/arg_parser.h"
#include "doors/resp/command.h"
#include "doors/resp/instance.h"
#include "doors/resp/typed_row.h"
#include "jobs/operations/operation.h"
#include "jobs/operations/operations.h"

// What the files of commands share: a row is the parser of its arguments, an operation, and the
// writer of its reply.
//
//   AddRow(instance, {.name = "job.fail", …}, ParseFail, operations::kFail, ReplyFail);
namespace cairn::jobs {

// Why the audit log does not have what producers and workers do.
inline constexpr std::string_view kWorkOfJobs = "is done all day: the jobs tell it";

// The queues that the caller may touch; null: all.
const doors::NamePatterns* QueuesOf(const doors::Caller& caller);

Error Syntax(std::string_view text = "syntax error");

// --- Rows ----------------------------------------------------------------------------------------

template <typename Request>
using Parser = Result<Request> (*)(doors::Args);
template <typename Answer>
using Replier = void (*)(net::RespWriter&, const Answer&);

// For a row that is more than an operation and its reply.
template <typename Request>
struct RowFunctions {
  Parser<Request> parse;
  void (*scopes)(const Request&, Held&);
  // Writes the reply. A refusal it returns is the reply.
  std::function<Result<void>(doors::CommandContext&, Context&, const Request&)> run;
};

// A request with what it locks, which is worked out as often as it is parsed: once.
template <typename Request>
struct ScopedRequest {
  Request request;
  Held held;
};

// How a handler has ended, for the dispatcher: a refusal is the reply, and a body that wants all
// scopes is run again with them.
Result<void> Settle(doors::CommandContext& command, const Held& held, const Result<void>& done);

// Adds a row. Group, version and the way from refusal to reply are the same for all.
template <typename Request>
void AddRow(doors::Instance& instance, doors::Command row, RowFunctions<Request> functions) {
  using Scoped = ScopedRequest<Request>;
  row.group = "jobs";
  row.since = "0.1.0";
  const auto parse = [parse = functions.parse,
                      scopes = functions.scopes](doors::Args args) -> Result<Scoped> {
    CAIRN_ASSIGN_OR_RETURN(Request request, parse(args));
    Held held;
    scopes(request, held);
    return Scoped{std::move(request), std::move(held)};
  };
  const auto add_scopes = [](const Scoped& scoped, uint8_t /*db*/, store::Scopes& scopes) {
    scoped.held.AddTo(scopes);
  };
  const auto run = [&instance, run = std::move(functions.run)](doors::CommandContext& command,
                                                               const Scoped& scoped) {
    Held held = command.held.exclusive ? Held::Everything() : scoped.held;
    Context here{command.transaction, held, QueuesOf(command.caller), &instance.traffic().busy};
    const Result<void> done = run(command, here, scoped.request);
    return Settle(command, held, done);
  };
  instance.commands().Add(
      doors::TypedRow<Scoped>(std::move(row), {.parse = parse, .scopes = add_scopes, .run = run}));
}

template <typename Request, typename Answer>
void AddRow(doors::Instance& instance, doors::Command row, Parser<Request> parse,
            const Operation<Request, Answer>& operation, Replier<Answer> reply) {
  const auto run = [run = operation.run, reply](doors::CommandContext& command, Context& here,
                                                const Request& request) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(const Answer answer, run(here, request));
    reply(command.reply, answer);
    return {};
  };
  AddRow<Request>(instance, std::move(row),
                  {.parse = parse, .scopes = operation.scopes, .run = run});
}

// The reply is OK.
template <typename Request>
void AddRow(doors::Instance& instance, doors::Command row, Parser<Request> parse,
            const Operation<Request, void>& operation) {
  const auto run = [run = operation.run](doors::CommandContext& command, Context& here,
                                         const Request& request) -> Result<void> {
    CAIRN_RETURN_IF_ERROR(run(here, request));
    command.reply.Ok();
    return {};
  };
  AddRow<Request>(instance, std::move(row),
                  {.parse = parse, .scopes = operation.scopes, .run = run});
}

// --- Arguments and replies -----------------------------------------------------------------------

// job [reason]
Result<JobRequest> ParseJob(doors::Args args);
// What JOB.FETCH and JOB.SUBSCRIBE are asked for.
struct FetchCommand {
  FetchRequest request;
  std::optional<int64_t> block_ms;
};
Result<FetchCommand> ParseFetch(doors::Args args);
// A job as workers get it: a map.
void ReplyJob(net::RespWriter& reply, const Job& job);

void AddEnqueueCommands(doors::Instance& instance);
void AddWorkerCommands(doors::Instance& instance);
void AddActionCommands(doors::Instance& instance);
void AddQueueCommands(doors::Instance& instance);

}  // namespace cairn::jobs
