#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "doors/resp/batch.h"
#include "doors/resp/client_work.h"
#include "doors/resp/command.h"
#include "doors/resp/instance.h"
#include "doors/resp/monitor.h"
#include "doors/resp/pubsub.h"
#include "doors/resp/session.h"
#include "doors/resp/statistics.h"
#include "doors/resp/tracking.h"
#include "doors/turn/serving.h"
#include "doors/turn/turn.h"
#include "net/loop.h"
#include "net/resp/server.h"
#include "store/scopes.h"
#include "store/store.h"

namespace cairn::doors {

// Where a loop's requests become commands: finds the row, checks what can be checked, runs it, and
// lets the reply go when it may.
//
// A turn. Commands run one after the other in the loop's Turn; their replies are appended to their
// connections. At the end of the turn, when it has committed, each served connection is sealed with
// the newest commit that one of its replies shows. It leaves when that commit is durable.
//
// What would wait. A body that needs the disk, or scopes that another thread holds, fails with
// kWouldBlock. Its connection is then paused and the request is run again on the instance's pool,
// after the turn's commit, so that it sees what the connection itself has just written. Other
// connections go on meanwhile.
//
// Where every transaction has its price (Store::shares_transactions) nothing runs in a group. What
// a connection sends in one turn is gathered and goes to the pool together, and while enough
// batches are there, what gathers meanwhile becomes the next one. A request that is not plain store
// work waits, with its connection, until what was gathered before it has been answered.
//
// Used, and destroyed, on the loop's thread or while the loop does not run. The destructor waits
// for what the pool is doing for it.
class Dispatcher final : public net::RespHandler {
 public:
  Dispatcher(Instance& instance, net::Loop& loop);
  ~Dispatcher() override;

  std::unique_ptr<net::RespSession> Open(net::RespConnection& connection) override;
  void Execute(net::RespConnection& connection, Args args) override;
  void Expect(net::RespConnection& connection, std::span<const Args> requests) override;
  void TurnEnd(std::span<net::RespConnection* const> served) override;

  Instance& instance() { return instance_; }
  net::Loop& loop() { return loop_; }
  CallCounters& counters() { return counters_; }

  // Calls `function` on the loop's thread if the dispatcher is still there then. From any thread.
  void Post(std::function<void(Dispatcher&)> function);

  // Lets the session's replies of this turn wait, and with them everything it sends meanwhile.
  void DelayReplies(Session& session, std::chrono::milliseconds delay);

  // Runs a connection command, its reply appended. Used directly by EXEC for what it has queued.
  void RunOnConnection(Session& session, const Command& command, Args args);
  // Counts a call that took `ns`, and logs it if it was slow.
  void Count(const Session& session, const Command& command, Args args, uint64_t ns, bool failed);
  // The request of `session` has found nothing and waits; called again when it has looked again in
  // vain. `still_held` says that the transaction in which it looked has not ended yet, and holds
  // the scopes of what it looked at.
  void Park(Session& session, const Call& call, std::string timeout_reply, const Blocking& blocking,
            bool still_held);
  // It has its reply, appended by the caller, and need not wait any more.
  void Unpark(Session& session);
  void Unblock(uint64_t connection_id, UnblockWith with);
  // For TrackedClient: brings messages to this loop.
  const Tracking::Post& tracking_post() const { return tracking_post_; }
  // Writes `text`, whole messages that nobody asked for, to a connection of this loop if it is
  // still there: between its replies. Posted, as Deliver is; all that it shows is durable.
  void Push(uint64_t connection_id, std::string text);
  MonitorFeed& monitors() { return monitors_; }
  // Executes the requests that CLIENT PAUSE has held back and that may run now.
  void RunHeld();

 private:
  // A request that waits for the end of a CLIENT PAUSE.
  struct Held {
    uint64_t connection_id;
    OwnedArgs args;
  };

  // The checks, in Redis's order. Returns the command, or null when it has replied.
  const Command* Admit(Session& session, Args args);
  void Reject(Session& session, const Command* command, std::string_view error);
  // Execute, when it is known already whether CLIENT PAUSE WRITE concerns it.
  void ExecuteKnowing(net::RespConnection& connection, Args args, std::optional<bool> may_write);
  // Whether CLIENT PAUSE WRITE holds it back; nullopt if only a thread that may wait can tell.
  std::optional<bool> MayWrite(const Command& command, Args args);
  std::optional<bool> MayWrite(const Session& session, const Command& command, Args args);
  // Whether it does not run now.
  bool HoldIfPaused(Session& session, const Command& command, Args args,
                    std::optional<bool> may_write);
  void Queue(Session& session, const Command& command, Args args);

  void Run(Session& session, const Command& command, Args args);
  void RunInGroup(Session& session, const Command& command, Args args);
  // How a blocked connection of this loop is told that it was served.
  Waiters::Tell TellOf(uint64_t connection_id);
  void FinishServed(uint64_t connection_id, const std::shared_ptr<ClientWork>& work,
                    const Result<store::Commit>& commit);
  void FinishServed(Session& session, ClientWork& work, const Result<store::Commit>& commit);
  // Another transaction has served the session's client before its own look could.
  void LookedTooLate(Session& session);
  // Replies with what came while a look of its own was with the pool.
  void FinishHandedOver(Session& session);
  void RunBlocking(Session& session, const Command& command, Args args);
  void LookAgain(uint64_t connection_id, uint64_t place, store::Topic topic);
  void EndWait(Session& session, UnblockWith with);
  void RunWork(Session& session, std::unique_ptr<ClientWork> work);
  void Defer(Session& session, std::unique_ptr<ClientWork> work);
  // Whether the request may join those that its connection has gathered in this turn.
  bool Joins(const Session& session, Args args) const;
  void Gather(Session& session, const Command& command, Args args);
  void QueueGathered();
  void SubmitDeferred();
  void Submit(const std::shared_ptr<Batch>& batch);
  void Complete(Batch& batch);
  void Complete(Deferred& deferred);

  // The reply that begins at out()[start] is complete and shows what `needs` names.
  void Replied(Session& session, size_t start, const store::Dependency& needs);
  void FailWith(Session& session, size_t start, const Error& error);
  std::string StoreErrorText(const Error& error) const;

  void Seal(Session& session, const Result<store::Commit>& group);
  // Its commit is known.
  void SealAll(Session& session);
  void Release(store::Commit durable, const std::optional<Error>& failure);
  void FeedMonitors(const Session& session, const Command& command, Args args);
  void CountError(std::string_view reply);
  void Deliver(const PubSub::Message& message, store::Commit commit);
  // Writes the messages about changed keys that have come. Called before each request, so that
  // whoever knows of a change and then asks anything is told of it first.
  void TakeInvalidations();
  void Invalidate(const Tracking::Invalidations& messages, store::Commit commit);
  // The same for a connection of this loop that another client has them redirected to.
  void InvalidateFor(uint64_t connection_id, const Tracking::Invalidation& message,
                     uint64_t ticket);
  uint64_t TicketOf(store::Commit commit) const {
    return store_.IsDurable(commit) ? 0 : commit.number;
  }
  // Writes a message between the replies of its connection: behind the reply to a request that has
  // been run, or is being run, before.
  void WriteOrHold(Session& session, LateMessage message);
  bool HoldsMessages(const Session& session) const;
  // Those that were held, unless there still is a reason to.
  void WriteHeld(Session& session) const;
  static void WriteLateMessages(Session& session);
  void ArmHeldTimer();

  Instance& instance_;
  net::Loop& loop_;
  const std::shared_ptr<Dispatcher*> self_;  // holds null once this object is gone
  store::Store& store_;
  const Clock& clock_;
  const std::shared_ptr<Turn> turn_;
  CallCounters counters_;

  // Kept between commands for their memory.
  store::Scopes scopes_;
  Bytes scratch_;
  std::vector<Bytes> expected_bytes_;
  std::vector<store::Key> expected_;

  PubSub::Audience& audience_;
  const Tracking::Post tracking_post_;
  struct ComingInvalidations {
    Tracking::Invalidations messages;
    store::Commit commit;
  };
  std::atomic<bool> invalidations_came_{false};
  std::mutex invalidations_mutex_;
  std::vector<ComingInvalidations> invalidations_;  // in order, not yet written
  MonitorFeed monitors_{*this};

  std::vector<std::unique_ptr<Deferred>> deferred_;  // of this turn, each to run alone
  std::vector<std::unique_ptr<Deferred>> gathered_;  // of this turn, to run with others
  std::deque<std::unique_ptr<Deferred>> queued_;     // gathered earlier
  size_t batches_on_pool_ = 0;                       // of those that were gathered
  // How many are with the pool. Shared with them, so that the last one can say so.
  const std::shared_ptr<std::atomic<uint64_t>> on_pool_;
  std::vector<Held> held_;
  net::Timer held_timer_;
};

}  // namespace cairn::doors
