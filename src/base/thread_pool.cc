#include "base/thread_pool.h"

#include <fmt/format.h>
#include <pthread.h>

#include <utility>

#include "base/check.h"

namespace cairn {

ThreadPool::ThreadPool(Options options) : options_(std::move(options)) {
  CAIRN_CHECK(options_.threads > 0);
  threads_.reserve(options_.threads);
  for (size_t i = 0; i < options_.threads; ++i) {
    threads_.emplace_back([this, i] { ThreadMain(i); });
  }
}

ThreadPool::~ThreadPool() { Stop(); }

bool ThreadPool::Submit(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_ || queue_.size() >= options_.queue_limit) return false;
    queue_.push_back(std::move(task));
  }
  changed_.notify_one();
  return true;
}

void ThreadPool::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

size_t ThreadPool::queued() const {
  const std::lock_guard lock(mutex_);
  return queue_.size();
}

void ThreadPool::ThreadMain(size_t index) {
  // The kernel keeps 15 characters of a thread's name.
  pthread_setname_np(pthread_self(), fmt::format("{:.10}-{}", options_.name, index % 1000).c_str());
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) return;
    {
      const std::function<void()> task = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      task();
    }  // what the task captured is destroyed before the lock is taken again
    lock.lock();
  }
}

}  // namespace cairn
