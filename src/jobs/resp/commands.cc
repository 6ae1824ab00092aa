#include "jobs/resp/commands.h"

#include "doors/resp/acl.h"
#include "jobs/model/refusal.h"
#include "jobs/resp/command_support.h"

// A refusal is an error whose first word is its reason (refusal.h).
namespace cairn::jobs {

Error Syntax(std::string_view text) { return Refuse(Reason::kValidation, text); }

const doors::NamePatterns* QueuesOf(const doors::Caller& caller) {
  return caller.user == nullptr ? nullptr : QueuesOf(caller.user->grants());
}

Result<void> Settle(doors::CommandContext& command, const Held& held, const Result<void>& done) {
  if (done.ok()) return {};
  if (held.wants_everything) return command.Require(store::Scopes::Exclusive());
  if (FindReason(done.error()) == nullptr) return done.error();
  return command.Fail(done.error().message);
}

Result<JobRequest> ParseJob(doors::Args args) {
  JobRequest request{.id = std::string(args[1])};
  if (args.size() > 2) request.reason = args[2];
  return request;
}

void AddJobCommands(doors::Instance& instance) {
  AddEnqueueCommands(instance);
  AddWorkerCommands(instance);
  AddActionCommands(instance);
  AddQueueCommands(instance);
}

}  // namespace cairn::jobs
