#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "doors/access/audit_log.h"
#include "doors/resp/acl.h"
#include "doors/resp/client_work.h"
#include "doors/resp/command.h"

// Which commands are put into the audit log is a property of their rows:
//
// - Operators' commands, dangerous ones, and those that write without naming a key (they change
//   what is not the caller's own data: jobs, functions, whole databases) are, unless the row says
//   in `unaudited` why not.
// - Others are not, because what happens to single keys is data, unless the row says `audited`.
namespace cairn::doors {

// Reasons that many rows share.
inline constexpr std::string_view kOnlyReads = "only reads";
inline constexpr std::string_view kChangesNothing = "changes nothing that is kept";
inline constexpr std::string_view kIsData = "is about single keys: data";

// Whether the rule above asks the row for `unaudited` if it is not to be audited.
bool IsOperators(const Command& command);
bool IsAudited(const Command& command);
// Whether the entry is part of the command's own transaction.
bool AuditsInTransaction(const Command& command);

// A call that did what it should. No user: the user "default", without bounds.
AuditEntry EntryOf(const Command& command, Args args, const AclUser* user, uint8_t db);
// One that was refused, or failed: without its arguments, which have led to nothing.
AuditEntry RefusedEntry(const Command& command, const AclUser* user, int status);

// A call of an audited command has ended; if it has written, its entry is part of that already.
void NoteCall(const AclUser& user, uint8_t db, const Command& command, Args args, bool failed,
              AuditLog& log);
// Somebody at `peer` has presented a secret that lets nobody in.
void CountFailedLogin(std::string_view method, std::string_view path, std::string_view peer,
                      AuditLog& log);

// The same, with the entry as part of their transaction.
RunHandler WithAudit(RunHandler run, AuditLog& log);
std::unique_ptr<ClientWork> WithAudit(std::unique_ptr<ClientWork> work, AuditEntry entry,
                                      AuditLog& log);

// For rows' audit_text.
std::string AuditAllArguments(Args args);
std::string AuditNoArguments(Args args);

}  // namespace cairn::doors
