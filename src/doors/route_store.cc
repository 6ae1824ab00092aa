#include "doors/route_store.h"

#include <atomic>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <optional>
#include <utility>

#include "base/check.h"
#include "doors/dispatcher.h"
#include "doors/durable.h"
#include "doors/on_pool.h"
#include "net/loop.h"

namespace cairn::doors {
namespace {

namespace asio = boost::asio;
using asio::awaitable;

// A coroutine that waits for its commit; used on its loop only.
struct Waiter {
  explicit Waiter(asio::io_context& io) : wake(io, asio::steady_timer::time_point::max()) {}

  void Finish(Result<void> with) {
    result = std::move(with);
    wake.cancel();
  }

  asio::steady_timer wake;  // never due; cancelled when there is a result
  store::Commit commit;
  std::optional<Result<void>> result;
};

}  // namespace

// What one loop's handlers share. Used on the loop, but for OnDurable.
class RouteStore::LoopState : public std::enable_shared_from_this<LoopState> {
 public:
  LoopState(store::Store& store, net::Loop& loop)
      : store_(store), loop_(loop), group_(store.NewGroup()) {}

  void Start() {
    durable_ = store_.OnDurable([weak = weak_from_this()](const Result<store::Commit>& news) {
      if (const auto self = weak.lock()) self->OnDurable(news);
    });
  }

  net::Loop& loop() { return loop_; }

  void Join(Dispatcher& dispatcher) {
    if (turn_ends_) EndTurn();
    dispatcher_ = &dispatcher;
  }

  Result<store::Dependency> Run(const store::Scopes& scopes, store::Access access,
                                const Task& task) {
    if (!std::exchange(turn_ends_, true)) {
      loop_.RunAtTurnEnd([self = shared_from_this()] { self->EndTurn(); });
    }
    const auto body = [&](store::Transaction& transaction) { return task(transaction); };
    return dispatcher_ != nullptr ? dispatcher_->RunInTurn(scopes, access, body)
                                  : group_->Run(scopes, access, body);
  }

  // Waits for the turn's commit, and until it is durable.
  awaitable<Result<void>> AwaitGroup() {
    const auto waiter = std::make_shared<Waiter>(loop_.io());
    of_turn_.push_back(waiter);
    // A coroutine that is cancelled still has to know what became of its body.
    while (!waiter->result) co_await waiter->wake.async_wait(asio::as_tuple(asio::use_awaitable));
    co_return *waiter->result;
  }

 private:
  void EndTurn() {
    turn_ends_ = false;
    const Result<store::Commit> commit =
        dispatcher_ != nullptr ? dispatcher_->CommitTurn() : group_->Finish();
    for (std::shared_ptr<Waiter>& waiter : std::exchange(of_turn_, {})) {
      if (!commit.ok()) {
        waiter->Finish(commit.error());
      } else if (store_.IsDurable(*commit)) {
        waiter->Finish({});
      } else {
        waiter->commit = *commit;
        waiting_.push_back(std::move(waiter));
      }
    }
    // What became durable, or failed, before these were waiting is not announced again.
    if (!waiting_.empty()) Release();
  }

  // On the syncing thread.
  void OnDurable(const Result<store::Commit>& news) {
    if (!news.ok()) failed_ = true;
    if (release_posted_.exchange(true)) return;
    loop_.Post([self = shared_from_this()] {
      self->release_posted_ = false;
      self->Release();
    });
  }

  void Release() {
    const std::optional<Error> failure = failed_ ? store_.write_failure() : std::nullopt;
    std::erase_if(waiting_, [&](const std::shared_ptr<Waiter>& waiter) {
      if (store_.IsDurable(waiter->commit)) {
        waiter->Finish({});
      } else if (failure) {
        waiter->Finish(*failure);
      } else {
        return false;
      }
      return true;
    });
  }

  store::Store& store_;
  net::Loop& loop_;
  const std::unique_ptr<store::Group> group_;  // unless there is a dispatcher
  Dispatcher* dispatcher_ = nullptr;
  bool turn_ends_ = false;  // EndTurn will run
  std::vector<std::shared_ptr<Waiter>> of_turn_;
  std::vector<std::shared_ptr<Waiter>> waiting_;
  std::atomic<bool> release_posted_{false};
  std::atomic<bool> failed_{false};
  store::Subscription durable_;
};

RouteStore::RouteStore(store::Store& store, net::LoopGroup& loops, ThreadPool& pool)
    : store_(store), pool_(pool) {
  for (size_t i = 0; i < loops.size(); ++i) {
    loops_.push_back(std::make_shared<LoopState>(store, loops.at(i)));
    loops_.back()->Start();
  }
}

RouteStore::~RouteStore() = default;

void RouteStore::Join(Dispatcher& dispatcher) { Here().Join(dispatcher); }

net::Loop& RouteStore::loop() { return Here().loop(); }

RouteStore::LoopState& RouteStore::Here() {
  for (const std::shared_ptr<LoopState>& state : loops_) {
    if (state->loop().InLoop()) return *state;
  }
  CAIRN_CHECK(false, "a route handler outside of the loops");
}

awaitable<Result<store::Commit>> RouteStore::RunOnPool(const store::Scopes& scopes,
                                                       store::Access access, const Task& task) {
  auto work = [this, &scopes, access, &task]() -> Result<store::Commit> {
    const auto body = [&](store::Transaction& transaction) { return task(transaction); };
    return access == store::Access::kRead ? store_.RunRead(scopes, body) : store_.Run(scopes, body);
  };
  co_return co_await OnPool(pool_, std::move(work));
}

awaitable<Result<void>> RouteStore::Write(const store::Scopes& scopes, const Task& task) {
  LoopState& here = Here();
  const Result<store::Dependency> ran = here.Run(scopes, store::Access::kWrite, task);
  if (ran.ok() && ran->on_group) co_return co_await here.AwaitGroup();
  if (ran.ok()) co_return co_await DurableAwait(here.loop(), store_, ran->commit);
  if (ran.error().code != ErrorCode::kWouldBlock) co_return ran.error();
  co_return co_await WriteOnPool(scopes, task);
}

awaitable<Result<void>> RouteStore::WriteOnPool(const store::Scopes& scopes, const Task& task) {
  // Each that waits takes a thread of the pool.
  if (const auto why = refusal_ ? refusal_() : std::nullopt) {
    co_return Error{ErrorCode::kUnavailable, *why};
  }
  const Result<store::Commit> commit = co_await RunOnPool(scopes, store::Access::kWrite, task);
  if (!commit.ok()) co_return commit.error();
  co_return co_await DurableAwait(Here().loop(), store_, *commit);
}

awaitable<Result<void>> RouteStore::Read(const store::Scopes& scopes, const Task& task) {
  LoopState& here = Here();
  const Result<store::Dependency> ran = here.Run(scopes, store::Access::kRead, task);
  if (ran.ok() && ran->on_group) co_return co_await here.AwaitGroup();
  if (ran.ok()) co_return co_await DurableAwait(here.loop(), store_, ran->commit);
  if (ran.error().code != ErrorCode::kWouldBlock) co_return ran.error();
  co_return co_await ReadOnPool(scopes, task);
}

awaitable<Result<void>> RouteStore::Peek(const store::Scopes& scopes, const Task& task) {
  const Result<store::Dependency> ran = Here().Run(scopes, store::Access::kRead, task);
  if (ran.ok()) co_return Result<void>();
  if (ran.error().code != ErrorCode::kWouldBlock) co_return ran.error();
  const Result<store::Commit> on_pool = co_await RunOnPool(scopes, store::Access::kRead, task);
  if (!on_pool.ok()) co_return on_pool.error();
  co_return Result<void>();
}

awaitable<Result<void>> RouteStore::ReadOnPool(const store::Scopes& scopes, const Task& task) {
  const Result<store::Commit> commit = co_await RunOnPool(scopes, store::Access::kRead, task);
  if (!commit.ok()) co_return commit.error();
  co_return co_await DurableAwait(Here().loop(), store_, *commit);
}

// Shared by the coroutine and by what the committing thread posts; used on the loop only.
struct RouteStore::Signal::State {
  explicit State(net::Loop& on) : loop(on), wake(on.io()) {}

  net::Loop& loop;
  asio::steady_timer wake;
  bool woken = false;
  std::atomic<bool> posted{false};
};

RouteStore::Signal::Signal(RouteStore& routes, store::Topic topic)
    : state_(std::make_shared<State>(routes.Here().loop())),
      subscription_(routes.store_.OnWake(topic, [state = state_] {
        if (state->posted.exchange(true)) return;
        state->loop.Post([state] {
          state->posted = false;
          state->woken = true;
          state->wake.cancel();
        });
      })) {}

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
