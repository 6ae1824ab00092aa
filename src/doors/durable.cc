#include "doors/durable.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <memory>
#include <optional>

#include "net/loop.h"

namespace cairn::doors {
namespace {

namespace asio = boost::asio;

// Shared by the coroutine and by what the syncing thread posts; used on the loop only.
struct Waiter {
  explicit Waiter(asio::io_context& io) : wake(io, asio::steady_timer::time_point::max()) {}

  asio::steady_timer wake;  // never due; cancelled when there is a result
  std::optional<Result<void>> result;
};

}  // namespace

asio::awaitable<Result<void>> DurableAwait(net::Loop& loop, store::Store& store,
                                           store::Commit commit) {
  if (store.IsDurable(commit)) co_return Result<void>();
  const auto waiter = std::make_shared<Waiter>(loop.io());
  const store::Subscription subscription =
      store.OnDurable([&loop, waiter, commit](const Result<store::Commit>& news) {
        if (news.ok() && *news < commit) return;
        loop.Post([waiter, news] {
          waiter->result = news.ok() ? Result<void>() : Result<void>(news.error());
          waiter->wake.cancel();
        });
      });
  // What became durable before the subscription is not announced again.
  if (store.IsDurable(commit)) co_return Result<void>();
  while (!waiter->result) co_await waiter->wake.async_wait(asio::as_tuple(asio::use_awaitable));
  co_return *waiter->result;
}

}  // namespace cairn::doors
