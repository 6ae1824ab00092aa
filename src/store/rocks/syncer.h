#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <limits>
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
//   sync      as soon as a commit asks, again and again while commits arrive: a thread does it, or,
//             where syncs are quick, the loop whose turn made the commit
//   interval  it syncs once per interval if anything was committed
//   os        it never syncs
//
// The first failed fsync stops all writing: the kernel may have dropped the pages, so a later
// success would prove nothing. After each good one the commit is noted outside of the log, so that
// a log that is lost is missed (DurableMark).
class Syncer {
 public:
  Syncer(Engine& engine, Durability durability, std::chrono::milliseconds interval);
  ~Syncer();  // stops

  void Start();
  // Syncs what is left and ends the thread.
  void Stop();

  // The sequencer wrote this commit, so many bytes of the log. Any thread.
  void Written(Commit commit, size_t bytes);
  // Writing has stopped for good: the thread tells who listens, then who waits. Any thread.
  void Stopped();
  // Somebody waits for it, or may. Any thread; returns at once.
  void Request(Commit commit);
  // The same for a loop at the end of its turn. On a disk that syncs within kQuickSyncNs and that
  // nobody is syncing, this thread does it: waking another one, and being woken by it, takes as
  // long, and meanwhile requests trickle in that would share the next sync, one small commit each.
  // More than kMuchUnsynced bytes are worth the other thread all the same.
  void SyncOrRequest(Commit commit);

  bool IsDurable(Commit commit) const;
  Result<void> Wait(Commit commit);
  // Told at once if writing has stopped for good.
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

  static constexpr uint64_t kQuickSyncNs = 500'000;
  static constexpr size_t kMuchUnsynced = 64 * 1024;

  void ThreadMain();
  void SyncOnce();  // with sync_mutex_ held
  void SyncLog();
  void Notify(const Result<Commit>& news);

  Engine& engine_;
  const Durability durability_;
  const std::chrono::milliseconds interval_;

  std::atomic<uint64_t> written_{0};
  std::atomic<size_t> unsynced_bytes_{0};
  std::atomic<uint64_t> syncs_{0};
  std::atomic<bool> idle_{false};  // the thread sleeps and has to be woken

  std::mutex sync_mutex_;  // held by whoever syncs; locked before mutex_
  bool told_failure_ = false;
  uint64_t usual_sync_ns_ = std::numeric_limits<uint64_t>::max();  // not known yet

  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable advanced_;
  bool stopping_ = false;
  std::shared_ptr<ListenerState> listeners_ = std::make_shared<ListenerState>();
  std::thread thread_;
};

}  // namespace cairn::store::rocks
