#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "doors/resp/acl_rules.h"
#include "doors/resp/command.h"

// The rules of users, as they are kept to by requests and connections.
namespace cairn::doors {

class Dispatcher;
class Instance;
class Session;

// Why the session's user may not call the command; it is in the log then, with `context`.
std::optional<AclRefusal> CheckAcl(Instance& instance, const Session& session,
                                   const Command& command, Args args, std::string_view context);

// Puts into the log that a user was refused. `context` is where: "toplevel", "multi", "lua".
void LogAclRefusal(Instance& instance, const AclRefusal& refusal, const Command& command, Args args,
                   std::string_view context, const Caller& caller);

// Users have changed: closes connections of those that are gone, and those that listen to what
// they may not any more. `caller` still gets its reply. On the dispatcher's loop.
void EnforceAcl(Dispatcher& dispatcher, uint64_t caller);

}  // namespace cairn::doors
