#include "functions/web/send.h"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace cairn::functions {
namespace {

namespace asio = boost::asio;
using boost::asio::awaitable;

// Between the service's thread and the coroutine, which may have ended.
struct Pending {
  explicit Pending(const asio::any_io_executor& on) : executor(on), wake(on) {
    wake.expires_at(asio::steady_timer::time_point::max());
  }

  const asio::any_io_executor executor;
  asio::steady_timer wake;  // on the executor only
  std::mutex mutex;
  std::optional<Result<outside::HttpAnswer>> answer;
};

Error GivenUp() { return {ErrorCode::kUnavailable, "the request was given up"}; }

}  // namespace

awaitable<Result<outside::HttpAnswer>> Send(outside::HttpService& http, outside::HttpCall call) {
  // A cancellation that came while something else was awaited is not told again.
  const auto before = co_await asio::this_coro::cancellation_state;
  if (before.cancelled() != asio::cancellation_type::none) co_return GivenUp();
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  auto pending = std::make_shared<Pending>(executor);
  auto done = [pending](Result<outside::HttpAnswer> answer) {
    {
      const std::scoped_lock lock(pending->mutex);
      pending->answer = std::move(answer);
    }
    asio::post(pending->executor, [pending] { pending->wake.cancel(); });
  };
  const Result<outside::HttpService::Id> id = http.Send(std::move(call), std::move(done));
  if (!id.ok()) co_return id.error();
  co_await pending->wake.async_wait(asio::as_tuple(asio::use_awaitable));
  const std::scoped_lock lock(pending->mutex);
  if (pending->answer) co_return std::move(*pending->answer);
  http.Cancel(*id);  // the coroutine was cancelled
  co_return GivenUp();
}

}  // namespace cairn::functions
