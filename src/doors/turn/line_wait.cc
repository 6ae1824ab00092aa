#include "doors/turn/line_wait.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "net/loop.h"

namespace cairn::doors {

namespace asio = boost::asio;

// Shared with what is posted to the loop; used there only.
struct LineWait::State {
  State(RouteStore& of, MakeWork make)
      : routes(of), make_work(std::move(make)), wake(of.turn().loop().io()) {}

  struct Served {
    std::shared_ptr<Work> work;
    Result<store::Commit> commit;
  };

  RouteStore& routes;
  const MakeWork make_work;
  asio::steady_timer wake;
  std::vector<store::Topic> asked;
  std::optional<Served> served;  // by somebody else
  std::unique_ptr<Waiters::Place> place;
};

LineWait::LineWait(RouteStore& routes, std::span<const store::Topic> topics, Waiters::Kind kind,
                   MakeWork make_work)
    : state_(std::make_shared<State>(routes, std::move(make_work))) {
  net::Loop& loop = routes.turn().loop();
  const auto ask = [weak = std::weak_ptr(state_), &loop](uint64_t /*place*/, store::Topic topic) {
    loop.Post([weak, topic] {
      const std::shared_ptr<State> state = weak.lock();
      if (state == nullptr || state->place == nullptr) return;
      state->asked.push_back(topic);
      state->wake.cancel();
    });
  };
  const auto tell = [weak = std::weak_ptr(state_), &loop](const std::shared_ptr<Work>& work,
                                                          const Result<store::Commit>& commit) {
    loop.Post([weak, work, commit] {
      const std::shared_ptr<State> state = weak.lock();
      if (state == nullptr) return;
      state->served.emplace(State::Served{work, commit});
      state->wake.cancel();
    });
  };
  state_->place = routes.waiters().Join(topics, kind, ask, {state_->make_work, tell});
}

LineWait::~LineWait() { state_->place.reset(); }

asio::awaitable<Result<std::shared_ptr<Work>>> LineWait::Served(
    std::chrono::steady_clock::time_point deadline) {
  const std::shared_ptr<State> state = state_;
  Waiters& waiters = state->routes.waiters();
  const uint64_t place = state->place->id();
  bool late = false;             // it does not want anything any more
  std::optional<Error> failure;  // of its own look
  for (;;) {
    if (state->served) {
      const State::Served served = *std::exchange(state->served, std::nullopt);
      if (!served.commit.ok()) co_return served.commit.error();
      const Result<void> durable =
          co_await state->routes.turn().Durable({.commit = *served.commit});
      if (!durable.ok()) co_return durable.error();
      co_return served.work;
    }
    const auto cancellation = co_await asio::this_coro::cancellation_state;
    if (late || cancellation.cancelled() != asio::cancellation_type::none) {
      late = true;
      if (waiters.Withdraw(place)) {
        if (failure) co_return *failure;
        co_return std::shared_ptr<Work>();
      }
      state->asked.clear();  // somebody serves it; if that fails, it is asked again
    } else if (!state->asked.empty()) {
      const std::vector<store::Topic> asked = std::exchange(state->asked, {});
      const std::shared_ptr<Work> work = state->make_work();
      work->place = place;
      const Result<void> looked = co_await state->routes.Look(*work, state->place);
      if (looked.ok() && !work->gone && work->found()) co_return work;
      if (!looked.ok()) {
        // What it found is committed, and may never be durable.
        if (state->place == nullptr) co_return looked.error();
        failure = looked.error();
        late = true;
      }
      // Who is gone was served meanwhile, and is about to be told.
      for (const store::Topic topic : asked) waiters.FoundNothing(place, topic);
      continue;
    }
    state->wake.expires_at(late ? std::chrono::steady_clock::time_point::max() : deadline);
    const auto [aborted] = co_await state->wake.async_wait(asio::as_tuple(asio::use_awaitable));
    if (!aborted) late = true;
  }
}

}  // namespace cairn::doors
