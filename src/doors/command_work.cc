#include "doors/command_work.h"

#include <utility>

#include "doors/dispatcher.h"

namespace cairn::doors {

CommandWork::CommandWork(const Command& command, Args args, Caller caller, Instance& instance)
    : command_(command), args_(args), caller_(std::move(caller)), instance_(instance) {
  Bytes scratch;
  AddScopes(command_, args_.view(), caller_.db, scopes, scratch);
  access = command_.access();
  held.exclusive = scopes.exclusive();
  held.only_order = instance_.store().shared();
}

Result<void> CommandWork::Run(store::Transaction& transaction) {
  reply_.clear();
  held.wanted.Clear();
  const Clock& clock = instance_.clock();
  const uint64_t begin_ns = clock.MonotonicNs();
  CommandContext context{transaction,
                         command_,
                         args_.view(),
                         caller_,
                         net::RespWriter(reply_, caller_.protocol),
                         instance_.pubsub(),
                         held};
  Result<void> result = command_.run(context);
  failed_ = context.failed;
  lookups_ = context.lookups;
  blocking_ = std::move(context.blocking);
  ns_ = clock.MonotonicNs() - begin_ns;
  return result;
}

void CommandWork::Finish(Dispatcher& dispatcher, Session& session) {
  if (blocking_) {
    return dispatcher.Park(session, command_, args_.view(), std::move(reply_), *blocking_);
  }
  session.connection().out().append(reply_);
  if (session.blocked) dispatcher.Unpark(session);
  dispatcher.Count(session, command_, args_.view(), ns_, failed_);
  dispatcher.counters().LookedUp(lookups_.hits, lookups_.misses);
}

}  // namespace cairn::doors
