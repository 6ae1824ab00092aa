#include "net/http/event_stream.h"

#include <fmt/format.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <utility>

namespace cairn::net {

namespace asio = boost::asio;
using asio::awaitable;

awaitable<std::string> EventStreamRun::Run(HttpEventStream& stream) {
  using namespace asio::experimental::awaitable_operators;  // NOLINT(google-build-using-namespace)
  co_await (RunHandler(stream) || Beat(stream.heartbeat) || AwaitClientGone() || AwaitStop());
  if (chunked_ && !broken_) {
    const bool ended = co_await host_.Write("0\r\n\r\n", {});
    broken_ = !ended;
  }
  co_return problem_;
}

awaitable<void> EventStreamRun::RunHandler(HttpEventStream& stream) {
  // The handler is told by Send and by what it awaits, not by an exception at its next co_await.
  co_await asio::this_coro::throw_if_cancelled(false);
  try {
    co_await stream.run(*this);
  } catch (const std::exception& thrown) {
    // What it awaited was cancelled because the stream is at its end: not a failure.
    if (!ended_) problem_ = thrown.what();
  }
  ended_ = true;
}

awaitable<void> EventStreamRun::Beat(std::chrono::milliseconds period) {
  asio::steady_timer timer(executor_);
  while (!gone()) {
    timer.expires_after(period);
    const auto [failure] = co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
    if (failure) co_return;
    if (!std::exchange(wrote_, false)) {
      std::string comment = ":\n\n";
      const bool sent = co_await Write(std::move(comment));
      if (!sent) break;
      wrote_ = false;
    }
  }
  ended_ = true;
}

awaitable<void> EventStreamRun::AwaitClientGone() {
  co_await host_.AwaitClientGone();
  // Otherwise the wait was only cancelled because another part had ended.
  if (!std::exchange(ended_, true)) broken_ = true;
}

awaitable<void> EventStreamRun::AwaitStop() {
  co_await host_.AwaitStop();
  ended_ = true;
}

awaitable<bool> EventStreamRun::Send(const ServerEvent& event) {
  return Write(FormatServerEvent(event));
}

awaitable<bool> EventStreamRun::Write(std::string text) {
  if (gone()) co_return false;
  const bool acquired = co_await writing_.Acquire();
  if (!acquired) co_return false;
  wrote_ = true;
  if (chunked_) text = fmt::format("{:x}\r\n{}\r\n", text.size(), text);
  bool sent = false;
  if (!gone()) sent = co_await host_.Write(text, {});
  if (!sent) broken_ = true;
  writing_.Release();
  co_return sent;
}

}  // namespace cairn::net
