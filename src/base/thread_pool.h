#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace cairn {

// A fixed number of threads for work that may wait, such as reading from disk, with a bounded queue
// in front of them. Tasks start in the order in which they were submitted.
//
// Safe to use from any thread. Destroyed (or stopped) by a thread that is not one of its own.
class ThreadPool {
 public:
  struct Options {
    std::string name = "pool";  // of the threads, as the operating system shows it: "pool-0"
    size_t threads = 4;
    size_t queue_limit = 65'536;  // tasks waiting to start
  };

  explicit ThreadPool(Options options);
  ~ThreadPool();  // stops
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // False, and `task` will not run, if the queue is full or the pool has stopped. A task must not
  // throw.
  [[nodiscard]] bool Submit(std::function<void()> task);

  // Runs what was accepted, then ends the threads. Stopping twice is not an error.
  void Stop();

  size_t queued() const;

 private:
  void ThreadMain(size_t index);

  const Options options_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace cairn
