#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/thread_pool.h"
#include "doors/turn/turn.h"
#include "doors/turn/waiters.h"
#include "doors/turn/work.h"
#include "store/scopes.h"
#include "store/store.h"
#include "store/transaction.h"

namespace cairn::net {
class Loop;
class LoopGroup;
}  // namespace cairn::net

namespace cairn::doors {

// The store as coroutines use it, HTTP handlers and pushes: bodies run in the turn of the
// coroutine's own loop, and the coroutine goes on when what its body has read or written is
// durable. A body that would have to wait runs on the pool instead.
//
//   auto body = [&](store::Transaction& transaction) { … };
//   const Result<void> done = co_await routes.Write(scopes, body);
//
// All functions are called on a loop of the group, from a coroutine that runs there. Made before
// the loops run or while they do; destroyed after they have stopped, before they are.
//
// Give a body a name before the co_await: GCC 12 destroys the captures of a lambda that is written
// inside a co_await expression twice.
class RouteStore {
 public:
  RouteStore(Turns& turns, net::LoopGroup& loops, ThreadPool& pool);
  ~RouteStore();
  RouteStore(const RouteStore&) = delete;
  RouteStore& operator=(const RouteStore&) = delete;

  // Says why writes that would have to wait for others are refused now, if they are. Called on any
  // loop; set before the first request.
  using Refusal = std::function<std::optional<std::string>()>;
  void set_refusal(Refusal refusal) { refusal_ = std::move(refusal); }

  // The turn of the caller's loop.
  Turn& turn();
  Waiters& waiters() { return turns_.waiters(); }

  // May run more than once, on any thread (store::Body).
  using Task = std::function<Result<void>(store::Transaction&)>;

  boost::asio::awaitable<Result<void>> Write(const store::Scopes& scopes, const Task& task);
  boost::asio::awaitable<Result<void>> Read(const store::Scopes& scopes, const Task& task);
  // Reads without waiting until that is durable. What it finds out must not leave the server.
  boost::asio::awaitable<Result<void>> Peek(const store::Scopes& scopes, const Task& task);
  // Bodies that take long: always on the pool.
  boost::asio::awaitable<Result<void>> WriteOnPool(const store::Scopes& scopes, const Task& task);
  boost::asio::awaitable<Result<void>> ReadOnPool(const store::Scopes& scopes, const Task& task);

  // Work that asks for more scopes where it needs them (HeldScopes).
  boost::asio::awaitable<Result<void>> Run(Work& work);
  boost::asio::awaitable<Result<void>> RunOnPool(Work& work);
  // Work that looks for the waiter with this place, which leaves its lines by finding something.
  // Returns at once if it has found nothing.
  boost::asio::awaitable<Result<void>> Look(Work& work, std::unique_ptr<Waiters::Place>& place);

  // Tells a coroutine of a loop that something has happened elsewhere: a topic was woken, or
  // somebody has called the waker.
  class Signal {
   public:
    explicit Signal(RouteStore& routes);
    Signal(RouteStore& routes, store::Topic topic);
    // Wakes it, from any thread while the loops exist; does nothing once the Signal is gone.
    std::function<void()> waker() const;
    // Returns once it was woken since this was last called, or the Signal made; false if the
    // coroutine is cancelled, or at the deadline.
    boost::asio::awaitable<bool> Wait(std::chrono::steady_clock::time_point deadline =
                                          std::chrono::steady_clock::time_point::max());

   private:
    struct State;
    std::shared_ptr<State> state_;
    store::Subscription subscription_;
  };

 private:
  Result<store::Dependency> RunInTurn(Turn& turn, Work& work,
                                      std::unique_ptr<Waiters::Place>* place);
  boost::asio::awaitable<Result<store::Commit>> RunAndWait(Work& work);

  Turns& turns_;
  ThreadPool& pool_;
  Refusal refusal_;
  std::vector<std::shared_ptr<Turn>> loops_;
};

}  // namespace cairn::doors
