#include "doors/turn/side_task.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <utility>

#include "net/loop.h"

namespace cairn::doors {

namespace asio = boost::asio;

struct SideTask::State {
  explicit State(net::Loop& on) : loop(on), sleep(on.io()) {}

  net::Loop& loop;
  asio::steady_timer sleep;
  asio::cancellation_signal cancel;
  bool ended = false;
};

namespace {

// After the end the coroutine still has something to do.
asio::awaitable<void> WithoutThrowing(asio::awaitable<void> coroutine) {
  co_await asio::this_coro::throw_if_cancelled(false);
  co_await std::move(coroutine);
}

}  // namespace

SideTask::SideTask(net::Loop& loop) : state_(std::make_unique<State>(loop)) {}
SideTask::~SideTask() = default;

void SideTask::Start(asio::awaitable<void> coroutine, std::shared_ptr<void> owner) {
  // The signal has to outlive the coroutine.
  auto done = [kept = std::move(owner)](const std::exception_ptr&) {};
  asio::co_spawn(state_->loop.io(), WithoutThrowing(std::move(coroutine)),
                 asio::bind_cancellation_slot(state_->cancel.slot(), std::move(done)));
}

void SideTask::End() {
  state_->ended = true;
  state_->sleep.cancel();
  state_->cancel.emit(asio::cancellation_type::terminal);
}

bool SideTask::ended() const { return state_->ended; }

asio::awaitable<void> SideTask::Sleep(Time until) {
  if (state_->ended) co_return;
  state_->sleep.expires_at(until);
  co_await state_->sleep.async_wait(asio::as_tuple(asio::use_awaitable));
}

void SideTask::Wake() { state_->sleep.cancel(); }

}  // namespace cairn::doors
