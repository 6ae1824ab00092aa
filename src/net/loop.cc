#include "net/loop.h"

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <csignal>
#include <latch>
#include <thread>
#include <utility>

#include "base/check.h"

namespace cairn::net {

struct Timer::State {
  boost::asio::steady_timer timer;
  std::function<void()> function;
};

Timer& Timer::operator=(Timer&& other) noexcept {
  if (this != &other) {
    Cancel();
    state_ = std::move(other.state_);
  }
  return *this;
}

Timer::~Timer() { Cancel(); }

void Timer::Cancel() {
  if (state_ == nullptr) return;
  // The wait may have completed already and be queued behind the running handler: what keeps the
  // function from being called then is that it is gone.
  state_->function = nullptr;
  state_->timer.cancel();
  state_.reset();
}

// The hint 1 lets Asio queue what a handler posts without waking anybody; it keeps its locks, so
// other threads may still post.
Loop::Loop() : io_(std::make_unique<boost::asio::io_context>(1)) {}

Loop::~Loop() = default;

void Loop::Post(std::function<void()> function) { boost::asio::post(*io_, std::move(function)); }

void Loop::RunAtTurnEnd(std::function<void()> function) {
  // Asio queues what a handler posts behind its next visit to the kernel, and that behind the
  // handlers of all sockets that were ready. So what is posted with the first registration of a
  // turn runs after all of them.
  if (turn_end_.empty()) {
    boost::asio::post(*io_, [this] { EndTurn(); });
  }
  turn_end_.push_back(std::move(function));
}

void Loop::EndTurn() {
  std::swap(turn_end_, turn_end_running_);
  for (auto& function : turn_end_running_) function();
  turn_end_running_.clear();
}

Timer Loop::After(std::chrono::nanoseconds delay, std::function<void()> function) {
  auto state = std::make_shared<Timer::State>(
      Timer::State{boost::asio::steady_timer(*io_), std::move(function)});
  state->timer.expires_after(delay);
  state->timer.async_wait([state](const boost::system::error_code& error) {
    if (error || state->function == nullptr) return;
    // Moved out first: the function may destroy its own timer.
    const auto function = std::exchange(state->function, nullptr);
    function();
  });
  return Timer(std::move(state));
}

bool Loop::InLoop() const { return io_->get_executor().running_in_this_thread(); }

void Loop::Run() {
  // A write to a socket whose peer is gone must give EPIPE, not end the process. OpenSSL writes
  // without MSG_NOSIGNAL, so the signal is blocked for the whole thread.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  const auto work = boost::asio::make_work_guard(*io_);
  io_->run();
}

void Loop::Stop() { io_->stop(); }

struct LoopGroup::Threads {
  std::vector<std::thread> threads;
  bool stopped = false;
  std::atomic<bool> running = false;
};

LoopGroup::LoopGroup(size_t count) : threads_(std::make_unique<Threads>()) {
  CAIRN_CHECK(count > 0);
  for (size_t i = 0; i < count; ++i) loops_.push_back(std::make_unique<Loop>());
}

LoopGroup::~LoopGroup() { Stop(); }

void LoopGroup::Start() {
  CAIRN_CHECK(threads_->threads.empty() && !threads_->stopped, "a group of loops starts once");
  threads_->running = true;
  for (auto& loop : loops_) {
    threads_->threads.emplace_back([&loop = *loop] { loop.Run(); });
  }
}

void LoopGroup::Stop() {
  threads_->stopped = true;
  for (auto& loop : loops_) loop->Stop();
  for (auto& thread : threads_->threads) thread.join();
  threads_->threads.clear();
  threads_->running = false;
}

bool LoopGroup::running() const { return threads_->running; }

void LoopGroup::RunOnEach(const std::function<void(Loop&)>& function) {
  if (!running()) {
    for (auto& loop : loops_) function(*loop);
    return;
  }
  std::latch pending(static_cast<ptrdiff_t>(loops_.size()));
  for (auto& loop : loops_) {
    loop->Post([&function, &pending, &loop = *loop] {
      function(loop);
      pending.count_down();
    });
  }
  pending.wait();
}

}  // namespace cairn::net
