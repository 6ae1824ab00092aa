#include "jobs/resp/commands.h"

#include "doors/resp/acl.h"
#include "jobs/model/refusal.h"
#include "jobs/resp/command_support.h"

// A refusal is an error whose first word is its reason (refusal.h).
namespace cairn::jobs {

using doors::ArgParser;
using doors::Args;
using doors::CommandContext;

Error Syntax(std::string_view text) { return Refuse(Reason::kValidation, text); }

void ScopeOfJob(Args args, Held& held) { held.AddJob(args[1]); }
void ScopeOfQueue(Args args, Held& held) { held.AddQueue(args[1]); }
void ScopeOfNothing(Args /*args*/, Held& /*held*/) {}

const doors::NamePatterns* QueuesOf(const doors::Caller& caller) {
  return caller.user == nullptr ? nullptr : QueuesOf(caller.user->grants());
}

void AddRow(doors::Instance& instance, doors::Command row, Scoping scoping, Handler handler) {
  row.group = "jobs";
  row.since = "0.1.0";
  row.add_scopes = [scoping](Args args, uint8_t /*db*/, store::Scopes& scopes) {
    Held held;
    scoping(args, held);
    held.AddTo(scopes);
  };
  row.run = [&instance, scoping, handler](CommandContext& context) -> Result<void> {
    Held held = context.held.exclusive ? Held::Everything() : Held();
    if (!held.everything()) scoping(context.args, held);
    Context here{context.transaction, held, QueuesOf(context.caller), &instance.busy()};
    const Result<void> done = handler(context, here);
    if (done.ok()) return {};
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
