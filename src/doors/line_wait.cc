#include "doors/line_wait.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>
#include <vector>

#include "net/loop.h"

namespace cairn::doors {

namespace asio = boost::asio;

// Shared with what is posted to the loop; used there only.
struct LineWait::State {
  State(net::Loop& on, Waiters& of) : loop(on), waiters(of), wake(on.io()) {}

  net::Loop& loop;
  Waiters& waiters;
  asio::steady_timer wake;
  std::vector<store::Topic> asked;
  std::unique_ptr<Waiters::Place> place;
};

LineWait::LineWait(RouteStore& routes, Waiters& waiters, std::span<const store::Topic> topics,
                   Waiters::Kind kind)
    : state_(std::make_shared<State>(routes.loop(), waiters)) {
  const auto ask = [weak = std::weak_ptr(state_), &loop = state_->loop](uint64_t /*place*/,
                                                                        store::Topic topic) {
    loop.Post([weak, topic] {
      const std::shared_ptr<State> state = weak.lock();
      if (state == nullptr || state->place == nullptr) return;
      state->asked.push_back(topic);
      state->wake.cancel();
    });
  };
  // A handler looks in a transaction of its own, when it is asked.
  const auto look = [](Dispatcher&) { return Waiters::Found::kUnknown; };
  state_->place = waiters.Join(topics, kind, ask, look);
}

LineWait::~LineWait() { state_->place.reset(); }

asio::awaitable<bool> LineWait::Turn(std::chrono::steady_clock::time_point deadline) {
  const std::shared_ptr<State> state = state_;
  // A cancellation that came while something else was awaited is not told again.
  const auto before = co_await asio::this_coro::cancellation_state;
  if (before.cancelled() != asio::cancellation_type::none) co_return false;
  if (state->asked.empty()) {
    state->wake.expires_at(deadline);
    co_await state->wake.async_wait(asio::as_tuple(asio::use_awaitable));
  }
  const auto after = co_await asio::this_coro::cancellation_state;
  if (after.cancelled() != asio::cancellation_type::none) co_return false;
  co_return !state->asked.empty();
}

void LineWait::FoundNothing() {
  if (state_->place == nullptr) return;
  const uint64_t place = state_->place->id();
  for (const store::Topic topic : std::exchange(state_->asked, {})) {
    state_->waiters.FoundNothing(place, topic);
  }
}

void LineWait::LeaveAfterCommit(store::Transaction& transaction) {
  transaction.AfterCommit(
      [state = state_](store::Commit) { state->loop.Post([state] { state->place.reset(); }); });
}

}  // namespace cairn::doors
