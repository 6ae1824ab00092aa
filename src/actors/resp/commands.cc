#include "actors/resp/commands.h"

#include "actors/model/refusal.h"
#include "actors/resp/command_support.h"
#include "doors/resp/acl.h"

namespace cairn::actors {

const doors::NamePatterns* ActorsOf(const doors::Caller& caller) {
  return caller.user == nullptr ? nullptr : doors::NamesOf(caller.user->grants(), kActorKind);
}

Result<void> Settle(doors::CommandContext& command, const Error& error) {
  if (FindReason(error) == nullptr) return error;
  return command.Fail(error.message);
}

Error Syntax(std::string_view text) {
  // The parser's own texts begin with a code, which the reason replaces.
  constexpr std::string_view kCode = "ERR ";
  if (text.starts_with(kCode)) text.remove_prefix(kCode.size());
  return Refuse(Reason::kBadRequest, text);
}

Result<ActorRef> ParseActor(doors::Args args) { return ParseActorRef(args[1]); }

void AddActorCommands(doors::Instance& instance, const Policy& policy) {
  const CommandParts parts{instance, policy};
  AddIdentityCommands(parts);
  AddEntryCommands(parts);
}

}  // namespace cairn::actors
