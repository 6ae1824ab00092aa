#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <span>

#include "base/result.h"
#include "doors/turn/route_store.h"
#include "doors/turn/waiters.h"
#include "doors/turn/work.h"

namespace cairn::doors {

// The place of a coroutine in the lines of Waiters, beside the blocked clients of the RESP door. It
// is served as they are: by whoever's commit has something for it, or by looking itself when it is
// its turn.
//
//   LineWait wait(routes, topics, kind, make_look);
//   const Result<std::shared_ptr<Work>> look = co_await wait.Served(deadline);
//   if (look.ok() && *look != nullptr) … what it has found, which is durable …
//
// Made, used and destroyed on the coroutine's loop.
class LineWait {
 public:
  // Makes what looks for the thing that is waited for, and takes it: found() says whether. Called
  // on any thread; what it captures lives as long as there are loops.
  using MakeWork = std::function<std::unique_ptr<Work>()>;

  LineWait(RouteStore& routes, std::span<const store::Topic> topics, Waiters::Kind kind,
           MakeWork make_work);
  ~LineWait();
  LineWait(const LineWait&) = delete;
  LineWait& operator=(const LineWait&) = delete;

  // Returns the work that has found something, once that is durable. Null at the deadline, and when
  // the coroutine is cancelled; what others have taken for it by then is not given up, but
  // returned. Called once.
  boost::asio::awaitable<Result<std::shared_ptr<Work>>> Served(
      std::chrono::steady_clock::time_point deadline);

 private:
  struct State;
  const std::shared_ptr<State> state_;
};

}  // namespace cairn::doors
