#include "jobs/commands.h"

#include <algorithm>
#include <cctype>

#include "doors/acl.h"
#include "doors/audit_log.h"
#include "jobs/command_support.h"
#include "jobs/refusal.h"

// A refusal is an error whose first word is its reason (refusal.h).
namespace cairn::jobs {

using doors::ArgParser;
using doors::Args;
using doors::CommandContext;

namespace {

// The command as the audit log has it: with its first argument, which is what it is about.
doors::AuditEntry EntryOf(const CommandContext& context) {
  std::string path(context.command.name);
  std::ranges::transform(path, path.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  if (context.args.size() > 1) path.append(" ").append(context.args[1]);
  const doors::AclUser* const user = context.caller.user.get();
  return {.principal = std::string(user == nullptr ? doors::kDefaultUser : user->name()),
          .role = user == nullptr ? "admin" : user->role(),
          .method = "RESP",
          .path = std::move(path),
          .query = {}};
}

}  // namespace

Error Syntax(std::string_view text) { return Refuse(Reason::kValidation, text); }

void ScopeOfJob(Args args, Held& held) { held.AddJob(args[1]); }
void ScopeOfQueue(Args args, Held& held) { held.AddQueue(args[1]); }
void ScopeOfNothing(Args /*args*/, Held& /*held*/) {}

const doors::QueueScope* QueuesOf(const doors::Caller& caller) {
  return caller.user == nullptr ? nullptr : caller.user->queues();
}

void AddRow(doors::Instance& instance, doors::Command row, Scoping scoping, Handler handler,
            Audit kept) {
  row.group = "jobs";
  row.since = "0.1.0";
  row.add_scopes = [scoping](Args args, uint8_t /*db*/, store::Scopes& scopes) {
    Held held;
    scoping(args, held);
    held.AddTo(scopes);
  };
  const bool audited = kept == Audit::kYes;
  doors::AuditLog& audit = instance.audit();
  row.run = [scoping, handler, audited, &audit](CommandContext& context) -> Result<void> {
    Held held = context.held.exclusive ? Held::Everything() : Held();
    if (!held.everything()) scoping(context.args, held);
    Context here{context.transaction, held, QueuesOf(context.caller)};
    const Result<void> done = handler(context, here);
    if (done.ok()) {
      if (audited && !context.failed) audit.Append(context.transaction, EntryOf(context));
      return {};
    }
    if (held.wants_everything) return context.Require(store::Scopes::Exclusive());
    if (FindReason(done.error()) == nullptr) return done.error();
    return context.Fail(done.error().message);
  };
  instance.commands().Add(std::move(row));
}

bool TakeLease(ArgParser& parser, LeaseRef& lease) {
  if (parser.Keyword("TOKEN")) {
    lease.token = ParseToken(parser.Next());
    if (!lease.token) parser.Fail("a lease token is 16 hexadecimal digits");
    return true;
  }
  if (parser.Keyword("WORKER")) {
    lease.worker_id = parser.Next();
    return true;
  }
  if (parser.Keyword("ATTEMPT")) {
    lease.attempt = parser.Integer("ATTEMPT needs a whole number");
    return true;
  }
  return false;
}

void AddJobCommands(doors::Instance& instance) {
  AddEnqueueCommands(instance);
  AddWorkerCommands(instance);
  AddActionCommands(instance);
  AddQueueCommands(instance);
}

}  // namespace cairn::jobs
