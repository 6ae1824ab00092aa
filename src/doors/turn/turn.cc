#include "doors/turn/turn.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "base/check.h"
#include "net/loop.h"

namespace cairn::doors {

namespace asio = boost::asio;

struct Turn::Awaiting {
  explicit Awaiting(asio::io_context& io) : wake(io, asio::steady_timer::time_point::max()) {}

  void Finish(Result<void> with) {
    CAIRN_CHECK(!result, "answered twice");
    result = std::move(with);
    wake.cancel();
  }

  asio::steady_timer wake;  // never due; cancelled when there is a result
  store::Commit commit;
  std::optional<Result<void>> result;
};

std::shared_ptr<Turn> Turn::Make(store::Store& store, Waiters& waiters, net::Loop& loop) {
  std::shared_ptr<Turn> turn(new Turn(store, waiters, loop));
  turn->Subscribe();
  return turn;
}

Turn::Turn(store::Store& store, Waiters& waiters, net::Loop& loop)
    : store_(store), waiters_(waiters), loop_(loop), group_(store.NewGroup()) {}

void Turn::Subscribe() {
  durable_ = store_.OnDurable([this](const Result<store::Commit>& news) { OnDurable(news); });
}

// --- Bodies -------------------------------------------------------------------------------------

Result<store::Dependency> Turn::Run(store::Scopes& scopes, store::Access access, HeldScopes& held,
                                    store::Body body) {
  used_ = true;
  Result<store::Dependency> needs = group_->Run(scopes, access, body);
  while (!needs.ok() && !held.wanted.exclusive() && held.Widen(scopes)) {
    needs = group_->Run(scopes, access, body);
  }
  return needs;
}

Result<store::Dependency> Turn::Run(Work& work) {
  Serving serving(waiters_);
  const auto topics = [this] { return group_->woken(); };
  const auto body = [&](store::Transaction& transaction) {
    return RunServing(work, serving, transaction, topics, group_->woken().size());
  };
  CAIRN_CHECK(!work.on_loop, "a body runs inside itself");
  work.on_loop = true;
  Result<store::Dependency> needs = Run(work.scopes, work.access, work.held, body);
  work.on_loop = false;
  if (needs.ok()) KeepServed(serving, work.found(), *needs);
  return needs;
}

void Turn::ServeWaiters(size_t from) {
  // Who is served may wake others in turn. When the group had to commit early, there are fewer
  // topics than before: the commit has announced them.
  for (size_t i = from; i < group_->woken().size() && waiters_.anyone(); ++i) {
    waiters_.ServeNow(group_->woken()[i], *this);
  }
}

void Turn::KeepServed(Serving& serving, bool own_found, const store::Dependency& needs) {
  for (Serving::Served& served : serving.Take(own_found)) {
    served_.push_back({std::move(served.tell), std::move(served.work), needs.commit});
  }
}

Waiters::Found Turn::Look(std::unique_ptr<Work> work, const Waiters::Tell& tell) {
  // The lines are held meanwhile: what this wakes is served by a pass.
  const auto body = [&](store::Transaction& transaction) { return work->Run(transaction); };
  const Result<store::Dependency> needs = Run(work->scopes, work->access, work->held, body);
  if (!needs.ok()) return Waiters::Found::kUnknown;
  if (!work->found()) return Waiters::Found::kNothing;
  served_.push_back({tell, std::move(work), needs->commit});
  return Waiters::Found::kSomething;
}

void Turn::LeaveAfterCommit(std::unique_ptr<Waiters::Place> place) {
  CAIRN_CHECK(place != nullptr);
  left_places_.push_back(std::move(place));
}

// --- The commit ---------------------------------------------------------------------------------

Result<store::Commit> Turn::Commit() {
  // If another door has committed the group already, answers of this turn depend on that commit.
  if (std::exchange(used_, false)) {
    newest_ = group_->Finish();
    if (!served_.empty()) TellServed();
  }
  CAIRN_CHECK(served_.empty(), "somebody was served in no transaction");
  left_places_.clear();
  return newest_;
}

void Turn::TellServed() {
  for (Served& served : std::exchange(served_, {})) {
    Result<store::Commit> commit = newest_;
    if (commit.ok()) commit = std::max(*commit, served.needs);
    served.tell(served.work, commit);
  }
}

void Turn::CommitAtEnd() {
  if (std::exchange(ends_, true)) return;
  loop_.RunAtTurnEnd([weak = weak_from_this()] {
    if (const std::shared_ptr<Turn> self = weak.lock()) self->EndTurn();
  });
}

void Turn::EndTurn() {
  CAIRN_CHECK(ends_, "a turn ends twice");
  ends_ = false;
  const Result<store::Commit> commit = Commit();
  for (const std::shared_ptr<Awaiting>& awaiting : std::exchange(of_turn_, {})) {
    Settle(awaiting, commit);
  }
}

// --- Durable release ----------------------------------------------------------------------------

asio::awaitable<Result<void>> Turn::Durable(store::Dependency needs) {
  if (!needs.on_group && store_.IsDurable(needs.commit)) co_return Result<void>();
  const auto awaiting = std::make_shared<Awaiting>(loop_.io());
  if (needs.on_group) {
    CommitAtEnd();
    awaiting->commit = needs.commit;
    of_turn_.push_back(awaiting);
  } else {
    Settle(awaiting, needs.commit);
  }
  while (!awaiting->result) {
    co_await awaiting->wake.async_wait(asio::as_tuple(asio::use_awaitable));
  }
  co_return *awaiting->result;
}

void Turn::Settle(const std::shared_ptr<Awaiting>& awaiting, const Result<store::Commit>& commit) {
  CAIRN_CHECK(!awaiting->result, "it has its answer");
  if (!commit.ok()) return awaiting->Finish(commit.error());
  awaiting->commit = std::max(awaiting->commit, *commit);
  // What becomes durable, or fails, from now on is announced to the loop after this.
  if (!FinishIfSettled(*awaiting)) committed_.push_back(awaiting);
}

bool Turn::FinishIfSettled(Awaiting& awaiting) {
  if (store_.IsDurable(awaiting.commit)) {
    awaiting.Finish({});
    return true;
  }
  const std::optional<Error> failed = failure() ? store_.write_failure() : std::nullopt;
  if (failed) awaiting.Finish(*failed);
  return failed.has_value();
}

// On the syncing thread.
void Turn::OnDurable(const Result<store::Commit>& news) {
  if (news.ok()) {
    newest_durable_.store(news->number, std::memory_order_release);
  } else {
    const std::lock_guard lock(failure_mutex_);
    failure_ = news.error();
  }
  if (release_posted_.exchange(true)) return;
  loop_.Post([weak = weak_from_this()] {
    const std::shared_ptr<Turn> self = weak.lock();
    if (self == nullptr) return;
    self->release_posted_ = false;
    self->ReleaseDurable();
  });
}

std::optional<Error> Turn::failure() {
  const std::lock_guard lock(failure_mutex_);
  return failure_;
}

void Turn::ReleaseDurable() {
  std::erase_if(committed_, [this](const auto& awaiting) { return FinishIfSettled(*awaiting); });
  if (!release_) return;
  release_(store::Commit{newest_durable_.load(std::memory_order_acquire)}, failure());
}

// --- All loops ----------------------------------------------------------------------------------

std::shared_ptr<Turn> Turns::Of(net::Loop& loop) {
  const std::lock_guard lock(mutex_);
  std::erase_if(turns_, [](const std::weak_ptr<Turn>& turn) { return turn.expired(); });
  for (const std::weak_ptr<Turn>& known : turns_) {
    std::shared_ptr<Turn> turn = known.lock();
    if (turn != nullptr && &turn->loop() == &loop) return turn;
  }
  std::shared_ptr<Turn> turn = Turn::Make(store_, waiters_, loop);
  turns_.push_back(turn);
  return turn;
}

}  // namespace cairn::doors
