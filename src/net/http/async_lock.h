#pragma once

#include <algorithm>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <deque>

namespace cairn::net {

// Lets coroutines of one loop do something one at a time, in the order in which they asked. Used on
// the loop's thread only; must outlive its waiters.
class AsyncLock {
 public:
  explicit AsyncLock(boost::asio::any_io_executor executor) : executor_(std::move(executor)) {}

  // False if the wait was cancelled: the lock is then not held.
  boost::asio::awaitable<bool> Acquire() {
    if (!held_) {
      held_ = true;
      co_return true;
    }
    Waiter waiter{
        boost::asio::steady_timer(executor_, boost::asio::steady_timer::time_point::max())};
    waiters_.push_back(&waiter);
    // Being granted the lock and being cancelled both end the wait; the flag tells them apart.
    co_await waiter.wake.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
    if (!waiter.granted) std::erase(waiters_, &waiter);
    co_return waiter.granted;
  }

  void Release() {
    held_ = !waiters_.empty();
    if (!held_) return;
    waiters_.front()->granted = true;
    waiters_.front()->wake.cancel();
    waiters_.pop_front();
  }

 private:
  struct Waiter {
    boost::asio::steady_timer wake;
    bool granted = false;
  };

  boost::asio::any_io_executor executor_;
  bool held_ = false;
  std::deque<Waiter*> waiters_;
};

}  // namespace cairn::net
