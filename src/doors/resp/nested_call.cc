#include "doors/resp/nested_call.h"

#include <algorithm>
#include <utility>

#include "doors/resp/acl_checks.h"
#include "doors/resp/arg_parser.h"
#include "doors/resp/instance.h"
#include "doors/resp/monitor.h"

namespace cairn::doors {
namespace {

// Rows of the connection that also make sense without one.
bool IsAnsweredHere(const Command& command) {
  return command.name == "select" || command.name == "ping" || command.name == "echo";
}

}  // namespace

NestedCalls::NestedCalls(Instance& instance, CommandContext& outer, NestedOptions options)
    : instance_(instance),
      outer_(outer),
      options_(options),
      rules_(outer.caller.user == nullptr ? nullptr : outer.caller.user->rules()),
      db_(outer.db()) {
  AddScopes(outer.call, db_, scopes_, scratch_);
  declared_ = scopes_.hashes();
  std::ranges::sort(declared_);
}

Refusal NestedCalls::Check(const CommandTable::Lookup& found, Args args) {
  const Command* command = found.command;
  if (command == nullptr || found.unknown_subcommand) return Refusal::kUnknown;
  if (!command->AcceptsArity(args.size())) return Refusal::kArity;
  // A script inside a script is never meant.
  const bool denied = command->group == "scripting" || !instance_.hooks().scripts_call_denied;
  if (command->Has(kNoScript) && denied) return Refusal::kNotAllowed;
  if (!command->run && !IsAnsweredHere(*command)) return Refusal::kNotAllowed;
  if (const Refusal refusal = CheckAcl(*command, args); refusal != Refusal::kNone) return refusal;
  if (options_.read_only && ChangesOrTells(*command)) return Refusal::kReadOnly;
  return Refusal::kNone;
}

Refusal NestedCalls::CheckAcl(const Command& command, Args args) {
  if (rules_ == nullptr) return Refusal::kNone;
  const std::optional<AclRefusal> refusal = rules_->Check(command, args);
  if (!refusal) return Refusal::kNone;
  LogAclRefusal(instance_, *refusal, command, args, "lua", outer_.caller);
  switch (refusal->reason) {
    case AclReason::kCommand:
      return Refusal::kForbidden;
    case AclReason::kKey:
      return Refusal::kForbiddenKey;
    case AclReason::kChannel:
      return Refusal::kForbiddenChannel;
  }
  return Refusal::kForbidden;
}

bool NestedCalls::IsCovered(const Call& call) {
  if (outer_.held.exclusive) return true;
  scopes_.Clear();
  AddScopes(call, db_, scopes_, scratch_);
  if (scopes_.exclusive()) return false;
  return std::ranges::all_of(
      scopes_.hashes(), [&](uint64_t hash) { return std::ranges::binary_search(declared_, hash); });
}

Result<Refusal> NestedCalls::Run(Args args, int protocol, std::string& reply) {
  const CommandTable::Lookup found = instance_.commands().Find(args);
  const Refusal refusal = Check(found, args);
  if (refusal != Refusal::kNone) return refusal;
  const Command* command = found.command;
  net::ReplyMeter meter(instance_.reply_bounds().anywhere, reply.size());
  const net::RespWriter writer(reply, protocol, &meter);
  if (!command->run) {
    RunHere(*command, args, writer);
    return Refusal::kNone;
  }
  const uint64_t begin_ns = instance_.clock().MonotonicNs();
  // A script may touch another key each time it is run again.
  const Call call(*command, args);
  if (!IsCovered(call)) {
    CAIRN_RETURN_IF_ERROR(outer_.Require(store::Scopes::Exclusive()));
  }
  if (instance_.dispatchers().monitors().load(std::memory_order_relaxed) != 0) [[unlikely]] {
    instance_.dispatchers().FeedMonitors(
        MonitorLine(instance_.clock().Now(), db_, "lua", *command, args));
  }
  if (outer_.caller.reads_since && NamesReadKeys(*command)) [[unlikely]]
    RememberReads(*command, args);
  const Caller caller{.db = db_,
                      .protocol = protocol,
                      .connection_id = outer_.caller.connection_id,
                      .in_script = true,
                      .user = outer_.caller.user};
  CommandContext context(outer_.transaction, call, caller, writer, outer_.pubsub, outer_.held);
  CAIRN_RETURN_IF_ERROR(RunHandlerOf(context, meter));
  instance_.dispatchers().CountNested(*command, instance_.clock().MonotonicNs() - begin_ns,
                                      context.failed);
  outer_.lookups += context.lookups;
  if (command->Has(kWrite) && !context.failed) written_ = true;
  return Refusal::kNone;
}

// A script that reads anything is taken to have read all the keys it was given, as Redis does, and
// whatever else it reads.
void NestedCalls::RememberReads(const Command& command, Args args) {
  std::vector<std::string_view> keys;
  if (!std::exchange(has_read_, true)) keys = KeysIn(outer_.command, outer_.args);
  for (const std::string_view key : KeysIn(command, args)) {
    if (std::ranges::find(keys, key) == keys.end()) keys.push_back(key);
  }
  instance_.traffic().tracking.RememberLate(outer_.caller.connection_id, keys,
                                            *outer_.caller.reads_since);
}

void NestedCalls::RunHere(const Command& command, Args args, net::RespWriter reply) {
  if (command.name == "select") {
    ArgParser parser(args);
    const uint8_t db = parser.Database();
    if (!parser.Finish()) return reply.Error(parser.error());
    db_ = db;
    reply.Ok();
  } else if (args.size() == 2) {
    reply.Bulk(args[1]);
  } else if (args.size() == 1) {
    reply.Simple("PONG");
  } else {
    reply.Error(WrongArity(command.name));
  }
}

}  // namespace cairn::doors
