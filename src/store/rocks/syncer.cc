#include "store/rocks/syncer.h"

namespace cairn::store::rocks {

Syncer::Syncer(Engine& engine, Durability durability, std::chrono::milliseconds interval)
    : engine_(engine), durability_(durability), interval_(interval) {}

Syncer::~Syncer() { Stop(); }

void Syncer::Start() {
  const uint64_t recovered = engine_.visible_commit.load();
  written_ = recovered;
  engine_.durable_commit = recovered;
  thread_ = std::thread([this] { ThreadMain(); });
}

void Syncer::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Syncer::Written(Commit commit, size_t bytes) {
  unsynced_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  uint64_t known = written_.load(std::memory_order_relaxed);
  while (known < commit.number && !written_.compare_exchange_weak(known, commit.number)) {
  }
}

void Syncer::Stopped() {
  const std::lock_guard lock(mutex_);
  wake_.notify_one();
}

void Syncer::Request(Commit commit) {
  if (IsDurable(commit)) return;
  // idle_ is set before the thread looks at written_ for the last time, so either it sees this
  // commit or we see it idle.
  if (idle_.load()) {
    const std::lock_guard lock(mutex_);
    wake_.notify_one();
  }
}

void Syncer::SyncOrRequest(Commit commit) {
  if (IsDurable(commit)) return;
  if (unsynced_bytes_.load(std::memory_order_relaxed) > kMuchUnsynced) return Request(commit);
  std::unique_lock syncing(sync_mutex_, std::try_to_lock);
  if (!syncing || usual_sync_ns_ > kQuickSyncNs) return Request(commit);
  SyncOnce();
  const std::lock_guard lock(mutex_);
  advanced_.notify_all();
}

bool Syncer::IsDurable(Commit commit) const {
  return durability_ != Durability::kSync || durable() >= commit;
}

Result<void> Syncer::Wait(Commit commit) {
  std::unique_lock lock(mutex_);
  advanced_.wait(lock, [&] { return IsDurable(commit) || engine_.failure.stopped() || stopping_; });
  if (IsDurable(commit)) return {};
  if (const auto failure = engine_.failure.get()) return *failure;
  return Error{ErrorCode::kUnavailable, "the store is closing"};
}

Subscription Syncer::OnDurable(std::function<void(Result<Commit>)> listener) {
  uint64_t id = 0;
  {
    const std::lock_guard lock(listeners_->mutex);
    id = listeners_->next_id++;
    listeners_->listeners.emplace(id, listener);
  }
  if (engine_.failure.stopped()) listener(*engine_.failure.get());
  return Subscription([weak = std::weak_ptr(listeners_), id] {
    if (const auto state = weak.lock()) {
      const std::lock_guard lock(state->mutex);
      state->listeners.erase(id);
    }
  });
}

void Syncer::ThreadMain() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const auto has_work = [this] {
      return stopping_ ||
             (durability_ == Durability::kSync && written_.load() > durable().number &&
              !engine_.failure.stopped()) ||
             (engine_.failure.stopped() && !told_failure_);
    };
    idle_ = true;
    if (durability_ == Durability::kInterval) {
      wake_.wait_for(lock, interval_, has_work);
    } else {
      wake_.wait(lock, has_work);
    }
    idle_ = false;
    lock.unlock();
    {
      const std::lock_guard syncing(sync_mutex_);
      SyncOnce();
    }
    lock.lock();
    advanced_.notify_all();
  }
  lock.unlock();
  {
    const std::lock_guard syncing(sync_mutex_);
    SyncOnce();  // what was committed while the last sync ran
  }
  lock.lock();
  advanced_.notify_all();
}

void Syncer::SyncLog() {
  const Commit target{engine_.visible_commit.load()};
  if (target <= durable()) return;
  unsynced_bytes_.store(0, std::memory_order_relaxed);
  const uint64_t begin_ns = engine_.clock.MonotonicNs();
  // LogFiles has stopped writing if it fails.
  if (!engine_.log_files->Sync().ok()) return;
  const uint64_t took_ns = engine_.clock.MonotonicNs() - begin_ns;
  const bool known = usual_sync_ns_ != std::numeric_limits<uint64_t>::max();
  usual_sync_ns_ = known ? (7 * usual_sync_ns_ + took_ns) / 8 : took_ns;
  syncs_.fetch_add(1, std::memory_order_relaxed);
  engine_.durable_mark.Set(target);
  {
    const std::lock_guard lock(mutex_);
    engine_.durable_commit.store(target.number, std::memory_order_release);
  }
  Notify(target);
}

void Syncer::SyncOnce() {
  if (!engine_.failure.stopped() && durability_ != Durability::kOs) SyncLog();
  if (engine_.failure.stopped() && !told_failure_) {
    told_failure_ = true;
    engine_.log.Error("writes are stopped", {{"reason", engine_.failure.get()->message}});
    Notify(*engine_.failure.get());
  }
}

void Syncer::Notify(const Result<Commit>& news) {
  const std::lock_guard lock(listeners_->mutex);
  for (const auto& [id, listener] : listeners_->listeners) listener(news);
}

}  // namespace cairn::store::rocks
