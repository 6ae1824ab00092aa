#include "doors/resp/command_work.h"

#include <utility>

#include "base/check.h"
#include "doors/resp/dispatcher.h"

namespace cairn::doors {

CommandWork::CommandWork(const Call& call, Caller caller, Instance& instance)
    : owned_(call),
      call_(owned_.view()),
      caller_(std::move(caller)),
      instance_(instance),
      meter_(instance.reply_bounds().anywhere),
      args_charge_(instance.reply_bounds().anywhere.budget, owned_.bytes()) {
  CAIRN_CHECK(call_.command.run, "{} does not run in a transaction", call_.command.name);
  CAIRN_CHECK((call_.request != nullptr) == static_cast<bool>(call_.command.parse),
              "{}: the request does not belong to the row", call_.command.name);
  Bytes scratch;
  AddScopes(call_, caller_.db, scopes, scratch);
  access = call_.command.access();
  request_bytes = owned_.bytes();
  held.exclusive = scopes.exclusive();
  held.only_order = instance_.store().shared();
}

Result<void> CommandWork::Run(store::Transaction& transaction) {
  reply_.clear();
  meter_.Restart();
  held.wanted.Clear();
  transaction.set_origin(caller_.origin);
  const Clock& clock = instance_.clock();
  const uint64_t begin_ns = clock.MonotonicNs();
  CommandContext context(transaction, call_, caller_,
                         net::RespWriter(reply_, caller_.protocol, &meter_),
                         instance_.traffic().pubsub, held);
  Result<void> result = RunHandlerOf(context, meter_);
  if (meter_.overrun()) reply_ = {};
  failed_ = context.failed;
  lookups_ = context.lookups;
  blocking_ = std::move(context.blocking);
  ns_ = clock.MonotonicNs() - begin_ns;
  return result;
}

void CommandWork::Finish(Dispatcher& dispatcher, Session& session) {
  if (blocking_) {
    // Who had to go to the end of the line has not looked.
    return dispatcher.Park(session, call_, std::move(reply_), *blocking_,
                           still_held && !caller_.must_wait);
  }
  AppendReply(session.connection().out(), std::move(reply_));
  meter_.Release();
  if (session.blocked) dispatcher.Unpark(session);
  dispatcher.Count(session, call_.command, call_.args, ns_, failed_);
  dispatcher.counters().LookedUp(lookups_.hits, lookups_.misses);
}

// A reply that could not be made is past the limit on unsent output, too, if that is lower.
void CommandWork::GiveUp(Session& session) {
  if (!meter_.overrun()) return;
  const net::OutputLimits limits = instance_.server()->output_limits(net::OutputClass::kNormal);
  if (limits.hard_bytes == 0 || limits.hard_bytes >= instance_.reply_bounds().anywhere.limit)
    return;
  instance_.log().Warn("closing a client whose reply passes client-output-buffer-limit",
                       {{"client", session.connection().peer()}});
  session.connection().CloseNow();
}

}  // namespace cairn::doors
