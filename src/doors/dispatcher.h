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
#include "doors/batch.h"
#include "doors/command.h"
#include "doors/instance.h"
#include "doors/pubsub.h"
#include "doors/serving.h"
#include "doors/session.h"
#include "doors/statistics.h"
#include "doors/tracking.h"
#include "doors/work.h"
#include "net/loop.h"
#include "net/resp/server.h"
#include "store/scopes.h"
#include "store/store.h"

namespace cairn::doors {

// Where a loop's requests become commands: finds the row, checks what can be checked, runs it, and
// lets the reply go when it may.
//
// A turn. Commands run one after the other inside the loop's store::Group; their replies are
// appended to their connections. At the end of the turn the group commits once, and each served
// connection is sealed with the newest commit that one of its replies shows. It leaves when the
// store says that the commit is durable.
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
  const CallCounters& counters() const { return counters_; }

  // Runs a body of somebody else on this loop in the group of the turn: what the loop's HTTP
  // handlers do, so that the two doors need not wait for each other's scopes.
  Result<store::Dependency> RunInTurn(const store::Scopes& scopes, store::Access access,
                                      store::Body body) {
    const size_t woken = group_->woken().size();
    Result<store::Dependency> needs = RunBody(scopes, access, body);
    ServeWaiters(woken);
    return needs;
  }
  // Commits what has run in the turn so far, unless that is done already, and returns the commit.
  Result<store::Commit> CommitTurn() { return FinishGroup(); }

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
  void Park(Session& session, const Command& command, Args args, std::string timeout_reply,
            const Blocking& blocking, bool still_held);
  // It has its reply, appended by the caller, and need not wait any more.
  void Unpark(Session& session);
  void Unblock(uint64_t connection_id, UnblockWith with);
  // Runs the work of a blocked connection of `owner` in this loop's group. If there is something
  // for it, `owner` hears of it when the group has committed.
  Waiters::Found LookNow(Dispatcher& owner, uint64_t connection_id, std::unique_ptr<Work> work);

  // For TrackedClient: brings messages to this loop.
  const Tracking::Post& tracking_post() const { return tracking_post_; }
  // The session reads what the command names: remembered if it tracks its reads.
  void RememberReads(Session& session, const Command& command, Args args);
  // It has read it already, without anybody remembering: told that it may have changed.
  void DisownReads(Session& session, const Command& command, Args args);

  // Writes `text`, whole messages that nobody asked for, to a connection of this loop if it is
  // still there: between its replies. Posted, as Deliver is; all that it shows is durable.
  void Push(uint64_t connection_id, std::string text);
  // What the connection listens to; made when it is first asked for.
  Subscriptions& SubscriptionsOf(Session& session);
  // From now on the session sees every command that is not an operator's, of all loops.
  void StartMonitor(Session& session);
  // Shows a line to those of this loop; from any thread, in the order of the calls.
  void ShowToMonitors(std::shared_ptr<const std::string> line);
  // Users have changed: closes connections of those that are gone, and those that listen to what
  // they may not any more. `caller` still gets its reply.
  void EnforceAcl(uint64_t caller);
  // Whether the session's user may not call the command; then it is in the log, with `context`.
  std::optional<AclRefusal> CheckAcl(const Session& session, const Command& command, Args args,
                                     std::string_view context);
  // Executes the requests that CLIENT PAUSE has held back and that may run now.
  void RunHeld();

 private:
  // A request that waits for the end of a CLIENT PAUSE.
  struct Held {
    uint64_t connection_id;
    OwnedArgs args;
  };

  // A blocked request that has found something in this group.
  struct Served {
    Waiters::Tell tell;
    std::shared_ptr<Work> work;
    store::Commit needs;  // and the group's
  };

  static Session& SessionOf(net::RespConnection& connection) {
    return static_cast<Session&>(connection.session());
  }

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
  Result<store::Dependency> RunBody(const store::Scopes& scopes, store::Access access,
                                    store::Body body) {
    group_used_ = true;
    return group_->Run(scopes, access, body);
  }
  // Serves who waits for what bodies of the group have woken, but for the first `from` topics.
  void ServeWaiters(size_t from);
  // Keeps whom `serving` has served until the group has committed.
  void KeepServed(Serving& serving, const Work* own, const store::Dependency& needs);
  void TellServed();
  // How a blocked connection of this loop is told that it was served.
  Waiters::Tell TellOf(uint64_t connection_id);
  void FinishServed(uint64_t connection_id, const std::shared_ptr<Work>& work,
                    const Result<store::Commit>& commit);
  void FinishServed(Session& session, Work& work, const Result<store::Commit>& commit);
  // Another transaction has served the session's client before its own look could.
  void LookedTooLate(Session& session);
  // Replies with what came while a look of its own was with the pool.
  void FinishHandedOver(Session& session);
  void RunBlocking(Session& session, const Command& command, Args args);
  void LookAgain(uint64_t connection_id, uint64_t place, store::Topic topic);
  void EndWait(Session& session, UnblockWith with);
  // Runs it in the group, again as long as it asks for more scopes that can be had at once.
  Result<store::Dependency> RunOnLoop(Work& work);
  void RunWork(Session& session, std::unique_ptr<Work> work);
  void Defer(Session& session, std::unique_ptr<Work> work);
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

  Result<store::Commit> FinishGroup();
  void Seal(Session& session, const Result<store::Commit>& group);
  // Its commit is known.
  void SealAll(Session& session);
  void OnDurable(const Result<store::Commit>& news);
  void ReleaseDurable();
  void FeedMonitors(const Session& session, const Command& command, Args args);
  void WriteToMonitors(const std::string& line);
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
  const std::unique_ptr<store::Group> group_;
  bool group_used_ = false;
  Result<store::Commit> newest_group_ = store::Commit{};  // the group's last commit
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
  std::vector<uint64_t> monitors_;                  // connections; some may be gone
  std::mutex monitor_lines_mutex_;
  std::vector<std::shared_ptr<const std::string>> monitor_lines_;  // not yet written

  std::vector<std::unique_ptr<Deferred>> deferred_;  // of this turn, each to run alone
  std::vector<std::unique_ptr<Deferred>> gathered_;  // of this turn, to run with others
  std::deque<std::unique_ptr<Deferred>> queued_;     // gathered earlier
  size_t batches_on_pool_ = 0;                       // of those that were gathered
  // How many are with the pool. Shared with them, so that the last one can say so.
  const std::shared_ptr<std::atomic<uint64_t>> on_pool_;
  // Of clients that were served in this turn: the next in line is asked when it has committed.
  std::vector<std::unique_ptr<Waiters::Place>> left_places_;
  std::vector<Served> served_;  // in the group
  std::vector<Held> held_;
  net::Timer held_timer_;

  // From the syncing thread to the loop.
  std::atomic<uint64_t> newest_durable_{0};
  std::atomic<bool> release_posted_{false};
  std::mutex failure_mutex_;
  std::optional<Error> failure_;
  store::Subscription durable_;  // last: ends first
};

}  // namespace cairn::doors
