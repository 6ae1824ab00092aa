#pragma once

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "doors/turn/held_scopes.h"
#include "doors/turn/serving.h"
#include "doors/turn/waiters.h"
#include "doors/turn/work.h"
#include "store/scopes.h"
#include "store/store.h"

namespace cairn::net {
class Loop;
}

namespace cairn::doors {

// What the requests of one event loop do in the store between two visits to the kernel, whichever
// door they came through.
//
// Bodies run one after the other in the loop's store::Group, which is committed once, at the end of
// the turn. Nothing here waits: a body that would have to fails with kWouldBlock, and its caller
// runs it on the pool instead (RunWaiting).
//
// Waiting and being woken. Those who wait for what a body has woken are served by it, or behind it
// in the same group (waiters.h). They hear of it when the group has committed.
//
// Durable release. What a body has read or written may be told once it is durable. The RESP door
// seals its replies with the number of a commit and is told how far commits are durable
// (set_release); coroutines await Durable.
//
// All functions are called on the loop's thread. Held by its users, by shared_ptr; the last of them
// lets it go while the loop still exists, on its thread or while it does not run.
class Turn : public std::enable_shared_from_this<Turn> {
 public:
  static std::shared_ptr<Turn> Make(store::Store& store, Waiters& waiters, net::Loop& loop);
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  net::Loop& loop() { return loop_; }
  store::Group& group() { return *group_; }

  // Runs `body` in the group; again, with more scopes, as long as `held` asks for some that can be
  // had at once. (Everything cannot: that is for the pool.) Serves nobody: see ServeWaiters.
  Result<store::Dependency> Run(store::Scopes& scopes, store::Access access, HeldScopes& held,
                                store::Body body);
  // The same for work, which serves those who can be served inside it.
  Result<store::Dependency> Run(Work& work);

  // Serves those who wait for what bodies of the group have woken, but for the first `from` topics.
  void ServeWaiters(size_t from);
  // Keeps whom `serving` has served in a body of the group until that has committed.
  void KeepServed(Serving& serving, bool own_found, const store::Dependency& needs);
  // Runs the work of a waiter in the group, on behalf of the body before. If it finds something,
  // the waiter is told when the group has committed.
  Waiters::Found Look(std::unique_ptr<Work> work, const Waiters::Tell& tell);
  // The waiter has taken something in this turn: the next in line is asked when it has committed.
  void LeaveAfterCommit(std::unique_ptr<Waiters::Place> place);
  // Lets go of those places now: what was taken has been committed elsewhere.
  void ReleasePlaces() { left_places_.clear(); }

  // Commits what has run since the last call, and returns the newest commit of the group.
  Result<store::Commit> Commit();
  // Commits at the end of this turn, if nobody does so before.
  void CommitAtEnd();

  // Called on the loop when more has become durable, and again and again once the store has failed.
  using Release = std::function<void(store::Commit durable, const std::optional<Error>& failure)>;
  void set_release(Release release) { release_ = std::move(release); }
  // Returns when an answer that depends on `needs` may leave; an error if it never may. A coroutine
  // that is cancelled waits too: it has to know what became of what it did.
  boost::asio::awaitable<Result<void>> Durable(store::Dependency needs);

 private:
  // Who was served in the group, and is told when that has committed.
  struct Served {
    Waiters::Tell tell;
    std::shared_ptr<Work> work;
    store::Commit needs;  // and the group's
  };
  struct Awaiting;  // a coroutine

  Turn(store::Store& store, Waiters& waiters, net::Loop& loop);
  void Subscribe();
  void TellServed();
  void EndTurn();
  void Settle(const std::shared_ptr<Awaiting>& awaiting, const Result<store::Commit>& commit);
  void OnDurable(const Result<store::Commit>& news);
  bool FinishIfSettled(Awaiting& awaiting);
  std::optional<Error> failure();
  void ReleaseDurable();

  store::Store& store_;
  Waiters& waiters_;
  net::Loop& loop_;
  const std::unique_ptr<store::Group> group_;
  bool used_ = false;                               // since the last commit
  Result<store::Commit> newest_ = store::Commit{};  // the group's last commit
  std::vector<Served> served_;
  std::vector<std::unique_ptr<Waiters::Place>> left_places_;

  bool ends_ = false;                                 // EndTurn will run
  std::vector<std::shared_ptr<Awaiting>> of_turn_;    // that wait for its commit
  std::vector<std::shared_ptr<Awaiting>> committed_;  // that wait until theirs is durable
  Release release_;

  // From the syncing thread to the loop.
  std::atomic<uint64_t> newest_durable_{0};
  std::atomic<bool> release_posted_{false};
  std::mutex failure_mutex_;
  std::optional<Error> failure_;
  store::Subscription durable_;  // last: ends first
};

// The turns of all loops of a server. Safe to use from any thread.
class Turns {
 public:
  // What it is given outlives the turns.
  Turns(store::Store& store, Waiters& waiters) : store_(store), waiters_(waiters) {}

  store::Store& store() { return store_; }
  Waiters& waiters() { return waiters_; }
  // The loop's turn, made for the first who asks.
  std::shared_ptr<Turn> Of(net::Loop& loop);

 private:
  store::Store& store_;
  Waiters& waiters_;
  std::mutex mutex_;
  std::vector<std::weak_ptr<Turn>> turns_;
};

}  // namespace cairn::doors
