#pragma once

#include <string_view>
#include <utility>

#include "actors/operations/operation.h"
#include "doors/resp/arg_parser.h"
#include "doors/resp/command.h"
#include "doors/resp/instance.h"
#include "doors/resp/typed_row.h"

// What the files of commands share: a row is the parser of its arguments, an operation, and the
// writer of its reply.
namespace cairn::actors {

// Why the audit log does not have what programs do all day.
inline constexpr std::string_view kWorkOfActors = "is what the programs of actors do all day";

// What all rows are made with.
struct CommandParts {
  doors::Instance& instance;
  const Policy& policy;
};

// The actors that the caller may use; null: all.
const doors::NamePatterns* ActorsOf(const doors::Caller& caller);
// A refusal is the reply; what the store could not do is handed on.
Result<void> Settle(doors::CommandContext& command, const Error& error);
Error Syntax(std::string_view text = "syntax error");

template <typename Request>
using Parser = Result<Request> (*)(doors::Args);

// Adds a row that answers by calling `reply` with the answer; without one, by OK.
template <typename Request, typename Answer, typename Replier>
void AddRow(const CommandParts& parts, doors::Command row, Parser<Request> parse,
            const Operation<Request, Answer>& operation, Replier reply) {
  row.group = "actors";
  row.since = "0.1.0";
  const auto scopes = [add = operation.scopes](const Request& request, uint8_t /*db*/,
                                               store::Scopes& into) { add(request, into); };
  const auto run = [&policy = parts.policy, run = operation.run, reply](
                       doors::CommandContext& command, const Request& request) -> Result<void> {
    Context here{command.transaction, command.held, policy, ActorsOf(command.caller)};
    const Result<Answer> answer = run(here, request);
    if (!answer.ok()) return Settle(command, answer.error());
    reply(command.reply, answer);
    return {};
  };
  parts.instance.commands().Add(
      doors::TypedRow<Request>(std::move(row), {.parse = parse, .scopes = scopes, .run = run}));
}

// ACTOR: an id, or id@generation.
Result<ActorRef> ParseActor(doors::Args args);

void AddIdentityCommands(const CommandParts& parts);
void AddEntryCommands(const CommandParts& parts);

}  // namespace cairn::actors
