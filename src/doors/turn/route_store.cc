#include "doors/turn/route_store.h"

#include <atomic>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <optional>
#include <utility>

#include "base/check.h"
#include "doors/turn/on_pool.h"
#include "doors/turn/serving.h"
#include "net/loop.h"

namespace cairn::doors {
namespace {

namespace asio = boost::asio;
using asio::awaitable;

// One body of a handler.
class TaskWork final : public Work {
 public:
  TaskWork(const store::Scopes& under, store::Access how, const RouteStore::Task& task)
      : task_(task) {
    scopes = under;
    access = how;
    held.exclusive = under.exclusive();
  }
  Result<void> Run(store::Transaction& transaction) override { return task_(transaction); }

 private:
  const RouteStore::Task& task_;
};

}  // namespace

RouteStore::RouteStore(Turns& turns, net::LoopGroup& loops, ThreadPool& pool)
    : turns_(turns), pool_(pool) {
  for (size_t i = 0; i < loops.size(); ++i) loops_.push_back(turns.Of(loops.at(i)));
}

RouteStore::~RouteStore() = default;

Turn& RouteStore::turn() {
  for (const std::shared_ptr<Turn>& turn : loops_) {
    if (turn->loop().InLoop()) return *turn;
  }
  CAIRN_CHECK(false, "a route handler outside of the loops");
}

Result<store::Dependency> RouteStore::RunInTurn(Turn& turn, Work& work,
                                                std::unique_ptr<Waiters::Place>* place) {
  const size_t woken = turn.group().woken().size();
  Result<store::Dependency> ran = turn.Run(work);
  turn.CommitAtEnd();
  if (!ran.ok()) return ran;
  if (place != nullptr && !work.gone && work.found()) turn.LeaveAfterCommit(std::move(*place));
  turn.ServeWaiters(woken);
  return ran;
}

awaitable<Result<store::Commit>> RouteStore::RunAndWait(Work& work) {
  // Each that waits takes a thread of the pool.
  const bool writes = work.access == store::Access::kWrite;
  if (const auto why = writes && refusal_ ? refusal_() : std::nullopt) {
    co_return Error{ErrorCode::kUnavailable, *why};
  }
  work.Widen();  // by what it asked for on the loop
  auto run = [this, &work] { return RunWaiting(turns_.store(), turns_.waiters(), work); };
  co_return co_await OnPool(pool_, std::move(run));
}

awaitable<Result<void>> RouteStore::Run(Work& work) {
  Turn& here = turn();
  const Result<store::Dependency> ran = RunInTurn(here, work, nullptr);
  if (ran.ok()) co_return co_await here.Durable(*ran);
  if (ran.error().code != ErrorCode::kWouldBlock) co_return ran.error();
  co_return co_await RunOnPool(work);
}

awaitable<Result<void>> RouteStore::RunOnPool(Work& work) {
  const Result<store::Commit> commit = co_await RunAndWait(work);
  if (!commit.ok()) co_return commit.error();
  co_return co_await turn().Durable({.commit = *commit});
}

awaitable<Result<void>> RouteStore::Look(Work& work, std::unique_ptr<Waiters::Place>& place) {
  Turn& here = turn();
  const Result<store::Dependency> ran = RunInTurn(here, work, &place);
  if (ran.ok()) {
    if (work.gone || !work.found()) co_return Result<void>();
    co_return co_await here.Durable(*ran);
  }
  if (ran.error().code != ErrorCode::kWouldBlock) co_return ran.error();
  const Result<store::Commit> commit = co_await RunAndWait(work);
  if (!commit.ok()) co_return commit.error();
  if (work.gone || !work.found()) co_return Result<void>();
  place.reset();
  co_return co_await here.Durable({.commit = *commit});
}

awaitable<Result<void>> RouteStore::Write(const store::Scopes& scopes, const Task& task) {
  TaskWork work(scopes, store::Access::kWrite, task);
  co_return co_await Run(work);
}

awaitable<Result<void>> RouteStore::WriteOnPool(const store::Scopes& scopes, const Task& task) {
  TaskWork work(scopes, store::Access::kWrite, task);
  co_return co_await RunOnPool(work);
}

awaitable<Result<void>> RouteStore::Read(const store::Scopes& scopes, const Task& task) {
  TaskWork work(scopes, store::Access::kRead, task);
  co_return co_await Run(work);
}

awaitable<Result<void>> RouteStore::ReadOnPool(const store::Scopes& scopes, const Task& task) {
  TaskWork work(scopes, store::Access::kRead, task);
  co_return co_await RunOnPool(work);
}

awaitable<Result<void>> RouteStore::Peek(const store::Scopes& scopes, const Task& task) {
  TaskWork work(scopes, store::Access::kRead, task);
  const Result<store::Dependency> ran = RunInTurn(turn(), work, nullptr);
  if (ran.ok()) co_return Result<void>();
  if (ran.error().code != ErrorCode::kWouldBlock) co_return ran.error();
  const Result<store::Commit> on_pool = co_await RunAndWait(work);
  if (!on_pool.ok()) co_return on_pool.error();
  co_return Result<void>();
}

// Shared by the coroutine and by what the committing thread posts; used on the loop only.
struct RouteStore::Signal::State {
  explicit State(net::Loop& on) : loop(on), wake(on.io()) {}

  net::Loop& loop;
  asio::steady_timer wake;
  bool woken = false;
  std::atomic<bool> posted{false};
};

RouteStore::Signal::Signal(RouteStore& routes)
    : state_(std::make_shared<State>(routes.turn().loop())) {}

RouteStore::Signal::Signal(RouteStore& routes, store::Topic topic) : Signal(routes) {
  subscription_ = routes.turns_.store().OnWake(topic, waker());
}

std::function<void()> RouteStore::Signal::waker() const {
  return [state = state_] {
    if (state->posted.exchange(true)) return;
    state->loop.Post([state] {
      state->posted = false;
      state->woken = true;
      state->wake.cancel();
    });
  };
}

awaitable<bool> RouteStore::Signal::Wait(std::chrono::steady_clock::time_point deadline) {
  const std::shared_ptr<State> state = state_;
  // A cancellation that came while something else was awaited is not told again.
  const auto before = co_await asio::this_coro::cancellation_state;
  if (before.cancelled() != asio::cancellation_type::none) co_return false;
  if (!state->woken) {
    state->wake.expires_at(deadline);
    co_await state->wake.async_wait(asio::as_tuple(asio::use_awaitable));
  }
  co_return std::exchange(state->woken, false);
}

}  // namespace cairn::doors
