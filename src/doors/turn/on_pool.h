#pragma once

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <memory>
#include <utility>

#include "base/result.h"
#include "base/thread_pool.h"

namespace cairn::doors {

// Runs `work`, which returns a Result<T> and may wait, on the pool, and gives its result on the
// loop that awaits it. kTooMany if the pool is full. Work that has begun is not given up when the
// request is, so the pool must be stopped before the loops are destroyed.
//
// Give `work` a name before the co_await: GCC 12 destroys the captures of a lambda that is written
// inside a co_await expression twice.
template <typename Work>
boost::asio::awaitable<std::invoke_result_t<Work>> OnPool(ThreadPool& pool, Work work) {
  namespace asio = boost::asio;
  using Outcome = std::invoke_result_t<Work>;
  auto start = [&pool, &work](auto handler) {
    auto shared = std::make_shared<decltype(handler)>(std::move(handler));
    auto executor = asio::get_associated_executor(*shared);
    // The handler is called and destroyed on the loop, never on the pool's thread.
    auto finish = [executor, shared](Outcome outcome) mutable {
      asio::post(executor, [shared = std::move(shared), outcome = std::move(outcome)]() mutable {
        (*shared)(std::move(outcome));
      });
    };
    auto run = [work = std::move(work), finish]() mutable { finish(work()); };
    if (!pool.Submit(std::move(run))) {
      finish(Error{ErrorCode::kTooMany, "too much work is waiting already"});
    }
  };
  co_return co_await asio::async_initiate<decltype(asio::use_awaitable), void(Outcome)>(
      std::move(start), asio::use_awaitable);
}

}  // namespace cairn::doors
