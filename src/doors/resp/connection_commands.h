#pragma once

#include <optional>
#include <string_view>

#include "doors/resp/acl.h"
#include "doors/resp/command.h"

namespace cairn::doors {

class Instance;

// The commands that concern the connection, not the data: AUTH, CLIENT, COMMAND, HELLO, MULTI and
// their like. `instance` outlives its table's use.
void AddConnectionCommands(Instance& instance);

// Parts of the above, one per file.
void AddClientCommands(Instance& instance);         // CLIENT …
void AddTrackingCommands(Instance& instance);       // CLIENT TRACKING CACHING …
void AddIntrospectionCommands(Instance& instance);  // COMMAND …
void AddTransactionCommands(Instance& instance);    // MULTI EXEC DISCARD WATCH UNWATCH
void AddPubSubCommands(Instance& instance);         // SUBSCRIBE PUBLISH PUBSUB …
void AddAclCommands(Instance& instance);            // ACL …
void AddMonitorCommand(Instance& instance);
void AddBufferSettings(Instance& instance);  // client-output-buffer-limit …

// The HELP subcommand of a container, whose text comes from the rows of its subcommands. `name` is
// "container|help".
Command HelpRow(std::string_view name, uint32_t categories, std::string_view group,
                std::string_view since);

// The version of the protocol that HELLO with these arguments changes to; nullopt: it leaves it, or
// fails.
std::optional<int> ProtocolAfterHello(Args args, const Acl& acl);

// What CLIENT SETNAME and HELLO accept: printable ASCII without spaces.
bool IsValidClientName(std::string_view name);
inline constexpr std::string_view kBadClientName =
    "ERR Client names cannot contain spaces, newlines or special characters.";

}  // namespace cairn::doors
