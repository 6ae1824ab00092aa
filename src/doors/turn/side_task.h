#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <memory>

namespace cairn::net {
class Loop;
}

namespace cairn::doors {

// A coroutine that goes on beside the requests of a connection, on its loop, until it is told to
// end.
//
//   struct Mine { SideTask task; … };
//   awaitable<void> Serve(std::shared_ptr<Mine> mine) {
//     while (!mine->task.ended()) { …; co_await mine->task.Sleep(until); }
//     …                                                 what is left to do after the end
//   }
//   mine->task.Start(Serve(mine), mine);
//
// Used on the loop, or while it does not run.
class SideTask {
 public:
  using Time = std::chrono::steady_clock::time_point;

  explicit SideTask(net::Loop& loop);
  ~SideTask();
  SideTask(const SideTask&) = delete;
  SideTask& operator=(const SideTask&) = delete;

  // Once. `owner` holds this object, and lives until the coroutine has ended.
  void Start(boost::asio::awaitable<void> coroutine, std::shared_ptr<void> owner);

  // Ends what the coroutine waits for, in Sleep and in LineWait::Served, now and from now on. What
  // it does in the store it does to the end.
  void End();
  bool ended() const;

  // Returns at `until`, or at a Wake or End before.
  boost::asio::awaitable<void> Sleep(Time until);
  void Wake();

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace cairn::doors
