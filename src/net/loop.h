#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

namespace boost::asio {
class io_context;
}

namespace cairn::net {

// A pending call of Loop::After. Cancel, or destroying the timer, guarantees that the function is
// not called any more. Used on the loop's thread only; must not outlive the loop.
class Timer {
 public:
  Timer() = default;
  Timer(Timer&&) noexcept = default;
  Timer& operator=(Timer&& other) noexcept;
  ~Timer();

  void Cancel();

 private:
  friend class Loop;
  struct State;
  explicit Timer(std::shared_ptr<State> state) : state_(std::move(state)) {}

  std::shared_ptr<State> state_;
};

// One event loop: an io_context run by exactly one thread, so whatever runs on the loop needs no
// locks against other work of the same loop. Nothing that runs here may block.
//
// A *turn* is what the loop does between two visits to the kernel: it runs the handlers of all
// sockets that were found ready. RunAtTurnEnd collects work that is cheaper once per turn than once
// per request, such as committing.
//
// Post may be called from any thread, as long as the loop exists; everything else on the loop's
// thread (or while the loop is not running).
class Loop {
 public:
  Loop();
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  boost::asio::io_context& io() { return *io_; }

  // Runs `function` on the loop's thread, after returning to the loop. Functions posted by one
  // thread run in the order in which it posted them. What is still queued when the loop stops is
  // dropped.
  void Post(std::function<void()> function);

  // Runs `function` once all handlers that are ready in this turn have run. Functions run in the
  // order of their registration; one that registers another defers it to the next turn.
  void RunAtTurnEnd(std::function<void()> function);

  // Calls `function` on the loop's thread once `delay` has passed, unless the timer is cancelled or
  // destroyed first.
  [[nodiscard]] Timer After(std::chrono::nanoseconds delay, std::function<void()> function);

  // Whether the caller is running on this loop's thread.
  bool InLoop() const;

 private:
  friend class LoopGroup;
  void Run();  // until Stop; on the calling thread
  void Stop();
  void EndTurn();

  std::unique_ptr<boost::asio::io_context> io_;
  std::vector<std::function<void()>> turn_end_;
  std::vector<std::function<void()>> turn_end_running_;
};

// A fixed number of loops, each on a thread of its own from Start to Stop. Servers that are given a
// group spread their connections over its loops. Start and Stop are called by one thread that is
// not a loop's.
class LoopGroup {
 public:
  explicit LoopGroup(size_t count = 1);
  ~LoopGroup();  // stops
  LoopGroup(const LoopGroup&) = delete;
  LoopGroup& operator=(const LoopGroup&) = delete;

  void Start();
  // Returns when all threads have ended. Handlers that have not run by then never run; what they
  // capture is destroyed with the group. Stopping twice is not an error; a stopped group stays
  // stopped.
  void Stop();

  size_t size() const { return loops_.size(); }
  Loop& at(size_t index) { return *loops_[index]; }
  bool running() const;

  // Runs `function` on every loop and returns when all have run it. Without running threads it is
  // called on the caller's thread.
  void RunOnEach(const std::function<void(Loop&)>& function);

 private:
  struct Threads;

  std::vector<std::unique_ptr<Loop>> loops_;
  std::unique_ptr<Threads> threads_;
};

}  // namespace cairn::net
