// Requests that have to wait: for something to be stored, or for the end of a CLIENT PAUSE.

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "doors/resp/command_work.h"
#include "doors/resp/dispatcher.h"

namespace cairn::doors {
namespace {

// What a blocking command waits for, as far as its arguments tell: the keys it reads or takes from,
// which are its first. (BLMOVE's second only receives.)
std::vector<store::Topic> KeyTopics(const Command& command, Args args, uint8_t db) {
  std::vector<store::Topic> topics;
  const auto add = [&](size_t index) { topics.push_back(KeyTopic(db, args[index])); };
  if (command.keys.empty() || command.find_keys) {
    std::ranges::for_each(FindKeys(command, args), add);
  } else {
    Command first;
    first.keys = {command.keys.front()};
    std::ranges::for_each(FindKeys(first, args), add);
  }
  return topics;
}

// What it waits for and what it locks are its keys, so that who holds a key can serve it.
bool WaitsForKeys(const Command& command) {
  return command.scopes == ScopeRule::kKeys && !command.add_scopes && !command.parse &&
         (!command.keys.empty() || command.find_keys);
}

// Asks, where it may wait for the store, whether a request says of itself that it does not write.
// The request is executed afterwards, with the answer.
class WriteQuestion final : public ClientWork {
 public:
  WriteQuestion(const Session& session, const Command& command, Args args)
      : is_exec_(command.name == "exec"), args_(args) {
    const auto add = [this](const Command& asked, Args with) {
      if (asked.never_writes && ChangesOrTells(asked)) asked_.push_back({&asked, OwnedArgs(with)});
    };
    if (is_exec_) {
      for (const QueuedCommand& queued : session.multi.queue) {
        add(*queued.command, queued.args.view());
      }
    } else {
      add(command, args);
    }
  }

  Result<void> Run(store::Transaction& transaction) override {
    may_write_ = false;
    for (const QueuedCommand& call : asked_) {
      CAIRN_ASSIGN_OR_RETURN(const bool never,
                             call.command->never_writes(transaction, call.args.view()));
      if (!never) may_write_ = true;
    }
    return {};
  }

  bool found() const override { return false; }
  void Finish(Dispatcher& /*dispatcher*/, Session& session) override {
    session.behind_it.emplace(std::move(args_));
    session.behind_may_write = may_write_;
  }
  void GiveUp(Session& session) override {
    if (is_exec_) return session.EndMulti();
    session.multi.broken = session.multi.open;
  }

 private:
  const bool is_exec_;
  OwnedArgs args_;
  std::vector<QueuedCommand> asked_;
  bool may_write_ = false;
};

}  // namespace

// --- Waiting for something to be stored ---------------------------------------------------------

void Dispatcher::RunBlocking(Session& session, const Command& command, Args args) {
  Caller caller = session.caller();
  caller.may_block = true;
  caller.must_wait = instance_.traffic().waiters.AnyoneWaits(KeyTopics(command, args, caller.db));
  auto work = std::make_unique<CommandWork>(Call(command, args), caller, instance_);
  if (command.long_running) return Defer(session, std::move(work));
  RunWork(session, std::move(work));
}

void Dispatcher::Park(Session& session, const Call& call, std::string timeout_reply,
                      const Blocking& blocking, bool still_held) {
  const uint64_t connection_id = session.id();
  if (session.blocked) {
    BlockedRequest& blocked = *session.blocked;
    session.connection().Pause(net::PauseReason::kBlocked);
    blocked.looking = false;
    if (blocked.served) return FinishHandedOver(session);
    if (blocked.ended) return EndWait(session, *blocked.ended);
    const uint64_t place = blocked.place->id();
    for (const store::Topic topic : std::exchange(blocked.asked, {})) {
      instance_.traffic().waiters.FoundNothing(place, topic);
    }
    return;
  }
  session.connection().Pause(net::PauseReason::kBlocked);
  const Command& command = call.command;
  const std::vector<std::string_view> rewritten(blocking.args.begin(), blocking.args.end());
  const auto waiting =
      std::make_shared<const OwnedCall>(rewritten.empty() ? call : Call(command, rewritten));
  session.blocked.emplace(
      BlockedRequest{.call = waiting, .timeout_reply = std::move(timeout_reply)});
  session.is_blocked = true;
  const std::vector<store::Topic> topics =
      blocking.topics.empty() ? KeyTopics(command, call.args, session.db) : blocking.topics;
  const auto ask = [this, connection_id](uint64_t place, store::Topic topic) {
    Post([=](Dispatcher& self) { self.LookAgain(connection_id, place, topic); });
  };
  Caller caller = session.caller();
  caller.may_block = true;
  caller.woken = true;
  const auto make_work = [&instance = instance_, waiting, caller]() -> std::unique_ptr<Work> {
    return std::make_unique<CommandWork>(waiting->view(), caller, instance);
  };
  // Streams can be read by many at once.
  const Waiters::Kind kind{.name = command.group, .takes = command.group != "stream"};
  BlockedRequest& blocked = *session.blocked;
  Waiters::JoinOptions options{.missed_nothing = still_held && WaitsForKeys(command)};
  if (blocking.when_cleared) options.everyone = ClearedTopic(session.db);
  Waiters::Service service{make_work, TellOf(connection_id), WaitsForKeys(command)};
  blocked.place = instance_.traffic().waiters.Join(topics, kind, ask, std::move(service), options);
  if (blocking.timeout_ms) {
    blocked.timer = loop_.After(std::chrono::milliseconds(*blocking.timeout_ms),
                                [=, this] { Unblock(connection_id, UnblockWith::kTimeout); });
  }
}

void Dispatcher::Unpark(Session& session) {
  CAIRN_CHECK(session.blocked && session.blocked->place != nullptr,
              "a connection that does not wait stands in no line");
  turn_->LeaveAfterCommit(std::move(session.blocked->place));
  session.blocked.reset();
  session.is_blocked = false;
  session.connection().Resume();
}

void Dispatcher::LookAgain(uint64_t connection_id, uint64_t place, store::Topic topic) {
  net::RespConnection* connection = instance_.server()->Find(loop_, connection_id);
  if (connection == nullptr) return;
  Session& session = SessionOf(*connection);
  if (!session.blocked || session.blocked->place->id() != place) return;
  BlockedRequest& blocked = *session.blocked;
  blocked.asked.push_back(topic);
  if (std::exchange(blocked.looking, true)) return;
  Caller caller = session.caller();
  caller.may_block = true;
  caller.woken = true;
  auto work = std::make_unique<CommandWork>(blocked.call->view(), caller, instance_);
  work->place = place;
  if (blocked.call->view().command.long_running) {
    Defer(session, std::move(work));
  } else {
    RunWork(session, std::move(work));
  }
  TurnEnd({&connection, 1});
}

void Dispatcher::LookedTooLate(Session& session) {
  if (!session.blocked) return;
  session.connection().Pause(net::PauseReason::kBlocked);
  session.blocked->looking = false;
  session.blocked->asked.clear();
  if (session.blocked->served) FinishHandedOver(session);  // else it is on the way
}

void Dispatcher::FinishHandedOver(Session& session) {
  const BlockedRequest::Served served = *std::exchange(session.blocked->served, std::nullopt);
  FinishServed(session, *served.work, served.commit);
}

// May be called by a transaction of any loop or of the pool, after this object is gone.
Waiters::Tell Dispatcher::TellOf(uint64_t connection_id) {
  return [&loop = loop_, self = self_, connection_id](const std::shared_ptr<Work>& work,
                                                      const Result<store::Commit>& commit) {
    // Made by this dispatcher (Park).
    auto mine = std::static_pointer_cast<ClientWork>(work);
    loop.Post([self, connection_id, mine = std::move(mine), commit] {
      if (*self != nullptr) (*self)->FinishServed(connection_id, mine, commit);
    });
  };
}

void Dispatcher::FinishServed(uint64_t connection_id, const std::shared_ptr<ClientWork>& work,
                              const Result<store::Commit>& commit) {
  net::RespConnection* connection = instance_.server()->Find(loop_, connection_id);
  if (connection == nullptr) return;
  Session& session = SessionOf(*connection);
  if (!session.blocked) return;  // a look of its own has failed meanwhile
  if (session.blocked->looking) {
    // The pool still has a look of its own, which has found nothing or comes too late.
    session.blocked->served.emplace(BlockedRequest::Served{work, commit});
    return;
  }
  FinishServed(session, *work, commit);
  TurnEnd({&connection, 1});
}

void Dispatcher::FinishServed(Session& session, ClientWork& work,
                              const Result<store::Commit>& commit) {
  const size_t start = session.connection().out().size();
  if (commit.ok()) {
    work.Finish(*this, session);
    Replied(session, start, {.commit = *commit});
  } else {
    Unpark(session);
    FailWith(session, start, commit.error());
  }
}

void Dispatcher::Unblock(uint64_t connection_id, UnblockWith with) {
  net::RespConnection* connection = instance_.server()->Find(loop_, connection_id);
  if (connection == nullptr) return;
  Session& session = SessionOf(*connection);
  if (!session.blocked) return;
  if (session.blocked->looking) {
    session.blocked->ended = with;  // if it finds nothing
    return;
  }
  // Served already: its reply is on the way. Or just now; if that fails, it looks once more.
  if (!instance_.traffic().waiters.Withdraw(session.blocked->place->id())) {
    session.blocked->ended = with;
    return;
  }
  EndWait(session, with);
  TurnEnd({&connection, 1});
}

void Dispatcher::EndWait(Session& session, UnblockWith with) {
  std::string& out = session.connection().out();
  const size_t start = out.size();
  if (with == UnblockWith::kTimeout) {
    out += session.blocked->timeout_reply;
  } else {
    net::RespWriter(out, session.protocol).Error("UNBLOCKED client unblocked via CLIENT UNBLOCK");
  }
  Unpark(session);
  Replied(session, start, {});
}

// --- CLIENT PAUSE -------------------------------------------------------------------------------

std::optional<bool> Dispatcher::MayWrite(const Command& command, Args args) {
  if (!command.never_writes || !ChangesOrTells(command)) return ChangesOrTells(command);
  bool never = false;
  const auto ask = [&](store::Transaction& transaction) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(never, command.never_writes(transaction, args));
    return {};
  };
  store::Scopes none;
  HeldScopes held;
  if (!turn_->Run(none, store::Access::kRead, held, ask).ok()) return std::nullopt;
  return !never;
}

std::optional<bool> Dispatcher::MayWrite(const Session& session, const Command& command,
                                         Args args) {
  if (command.name != "exec") return MayWrite(command, args);
  std::optional<bool> any = false;
  for (const QueuedCommand& queued : session.multi.queue) {
    const std::optional<bool> may_write = MayWrite(*queued.command, queued.args.view());
    if (may_write == true) return true;
    if (!may_write) any = std::nullopt;
  }
  return any;
}

bool Dispatcher::HoldIfPaused(Session& session, const Command& command, Args args,
                              std::optional<bool> may_write) {
  // Who paused everything must be able to end it.
  if (command.name == "client|unpause") return false;
  const Timestamp now = clock_.Now();
  const ClientPause& pause = instance_.traffic().pause;
  if (!pause.Holds(true, now)) return false;
  if (!pause.Holds(false, now)) {
    if (!may_write) may_write = MayWrite(session, command, args);
    if (!may_write) {
      Defer(session, std::make_unique<WriteQuestion>(session, command, args));
      return true;
    }
    if (!*may_write) return false;
  }
  session.connection().Pause(net::PauseReason::kBlocked);
  held_.push_back({session.id(), OwnedArgs(args)});
  ++instance_.traffic().held;
  if (held_.size() == 1) ArmHeldTimer();
  return true;
}

void Dispatcher::ArmHeldTimer() {
  const int64_t left_us =
      std::max<int64_t>(instance_.traffic().pause.until().us - clock_.Now().us, 0);
  held_timer_ = loop_.After(std::chrono::microseconds(left_us), [this] { RunHeld(); });
}

void Dispatcher::RunHeld() {
  held_timer_.Cancel();
  std::vector<net::RespConnection*> served;
  for (const Held& held : std::exchange(held_, {})) {
    --instance_.traffic().held;
    net::RespConnection* connection = instance_.server()->Find(loop_, held.connection_id);
    if (connection == nullptr) continue;
    // Resumed first, so that the request may pause its connection again.
    connection->Resume();
    Execute(*connection, held.args.view());
    served.push_back(connection);
  }
  if (!held_.empty()) ArmHeldTimer();
  TurnEnd(served);
}

}  // namespace cairn::doors
