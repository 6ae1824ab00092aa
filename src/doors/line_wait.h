#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <memory>
#include <span>

#include "doors/route_store.h"
#include "doors/waiters.h"
#include "store/transaction.h"

namespace cairn::doors {

// The place of an HTTP handler's coroutine in the lines of Waiters, beside the blocked clients of
// the other door.
//
//   LineWait wait(routes, waiters, topics, kind);
//   while (co_await wait.Turn(deadline)) {
//     … look; whoever finds something calls wait.LeaveAfterCommit in the body that takes it …
//     wait.FoundNothing();
//   }
//
// Made, used and destroyed on the coroutine's loop.
class LineWait {
 public:
  LineWait(RouteStore& routes, Waiters& waiters, std::span<const store::Topic> topics,
           Waiters::Kind kind);
  ~LineWait();
  LineWait(const LineWait&) = delete;
  LineWait& operator=(const LineWait&) = delete;

  // True when it is this one's turn to look. False at the deadline, and when the coroutine is
  // cancelled.
  boost::asio::awaitable<bool> Turn(std::chrono::steady_clock::time_point deadline);
  // Lets the next in line look.
  void FoundNothing();
  // Lets the next in line look when `transaction` is committed, which is before it is durable. May
  // be called by a body that runs several times.
  void LeaveAfterCommit(store::Transaction& transaction);

 private:
  struct State;
  const std::shared_ptr<State> state_;
};

}  // namespace cairn::doors
