#include "functions/resp/command_support.h"

#include <fmt/format.h>

#include "doors/resp/acl.h"
#include "doors/resp/acl_rules.h"
#include "functions/model/errors.h"
#include "functions/model/limits.h"

namespace cairn::functions {

using doors::ArgParser;
using doors::Command;
using doors::CommandContext;

Context ContextOf(CommandContext& command, const CommandParts& parts) {
  const doors::AclUser* user = command.caller.user.get();
  const doors::Grants* const grants = user == nullptr ? nullptr : user->grants();
  return {.transaction = command.transaction,
          .names = doors::NamesOf(grants, kFunctionKind),
          .queues = doors::NamesOf(grants, kQueueKind),
          .reads_all_keys = user == nullptr || user->unrestricted() ||
                            user->rules()->MayReadAnyKey(command.command, command.args),
          .has_everything = grants == nullptr,
          .held = &command.held,
          .secrets = &parts.secrets,
          .random = &parts.random};
}

Error SyntaxError(std::string_view text) { return Refuse(Code::kValidation, text); }

Result<void> FinishArguments(ArgParser& parser) {
  if (parser.Finish()) return {};
  return SyntaxError(parser.error());
}

Result<size_t> TakeLimit(ArgParser& parser) {
  const int64_t limit = parser.Integer("LIMIT needs a number");
  if (!parser.ok()) return SyntaxError(parser.error());
  if (limit < 1 || limit > kMaxPage) {
    return SyntaxError(fmt::format("LIMIT must be from 1 to {}", kMaxPage));
  }
  return static_cast<size_t>(limit);
}

Result<void> ReplyWith(CommandContext& command, const Result<std::string>& answer) {
  if (answer.ok()) {
    command.reply.Bulk(*answer);
    return {};
  }
  const Error& error = answer.error();
  if (!error.message.starts_with(CodeRowOf(error).name)) return error;
  return command.Fail(error.message);
}

void CommandRows::AddContainer(Command command) {
  command.group = "functions";
  command.since = "1.0.0";
  command.complexity = "Depends on subcommand.";
  instance_.commands().Add(std::move(command));
}

void CommandRows::AddRead(Command command, Maker maker) {
  command.flags |= doors::kReadOnly;
  command.scopes = doors::ScopeRule::kEverything;
  Add(std::move(command), std::move(maker));
}

void CommandRows::AddWrite(Command command, doors::ScopeFunction add_scopes, Maker maker) {
  command.flags |= doors::kWrite;
  command.add_scopes = std::move(add_scopes);
  Add(std::move(command), std::move(maker));
}

void CommandRows::Add(Command command, Maker maker) {
  command.group = "functions";
  command.since = "1.0.0";
  command.run = [parts = parts_, maker = std::move(maker)](CommandContext& call) -> Result<void> {
    Context context = ContextOf(call, parts);
    return ReplyWith(call, maker(context, call.args));
  };
  instance_.commands().Add(std::move(command));
}

}  // namespace cairn::functions
