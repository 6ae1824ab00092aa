#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "store/rocks/engine.h"
#include "store/store.h"

namespace cairn::store::rocks {

// The second stage of a commit: makes what the sequencer has written durable, one fsync of the log
// for everything that has gathered since the last one.
//
//   sync      a thread syncs as soon as a commit asks, again and again while commits arrive
//   interval  it syncs once per interval if anything was committed
//   os        it never syncs
//
// The first failed fsync stops all writing: the kernel may have dropped the pages, so a later
// success would prove nothing.
class Syncer {
 public:
  Syncer(Engine& engine, Durability durability, std::chrono::milliseconds interval);
  ~Syncer();  // stops

  void Start();
  // Syncs what is left and ends the thread.
  void Stop();

  // The sequencer wrote this commit. Any thread.
  void Committed(Commit commit);

  bool IsDurable(Commit commit) const;
  Result<void> Wait(Commit commit);
  Subscription OnDurable(std::function<void(Result<Commit>)> listener);

  Commit durable() const { return {engine_.durable_commit.load(std::memory_order_acquire)}; }
  uint64_t syncs() const { return syncs_.load(std::memory_order_relaxed); }
  Durability durability() const { return durability_; }

 private:
  using Listeners = std::map<uint64_t, std::function<void(Result<Commit>)>>;
  struct ListenerState {
    std::mutex mutex;
    uint64_t next_id = 1;
    Listeners listeners;
  };

  void ThreadMain();
  void SyncOnce();
  void Notify(const Result<Commit>& news);

  Engine& engine_;
  const Durability durability_;
  const std::chrono::milliseconds interval_;

  std::atomic<uint64_t> written_{0};
  std::atomic<uint64_t> syncs_{0};
  std::atomic<bool> idle_{false};  // the thread sleeps and has to be woken
  bool told_failure_ = false;      // thread only

  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable advanced_;
  bool stopping_ = false;
  std::shared_ptr<ListenerState> listeners_ = std::make_shared<ListenerState>();
  std::thread thread_;
};

}  // namespace cairn::store::rocks
