#include "store/wakeups.h"

#include <algorithm>

namespace cairn::store {

Subscription Wakeups::Subscribe(Topic topic, std::function<void()> waiter) {
  uint64_t id = 0;
  {
    const std::lock_guard lock(state_->mutex);
    id = state_->next_id++;
    state_->waiters[topic.id].push_back({id, std::move(waiter)});
  }
  return Subscription([weak = std::weak_ptr(state_), topic, id] {
    const auto state = weak.lock();
    if (state == nullptr) return;
    const std::lock_guard lock(state->mutex);
    const auto found = state->waiters.find(topic.id);
    if (found == state->waiters.end()) return;
    std::erase_if(found->second, [id](const Waiter& waiter) { return waiter.id == id; });
    if (found->second.empty()) state->waiters.erase(found);
  });
}

void Wakeups::Wake(std::span<const Topic> topics) {
  if (topics.empty()) return;
  // Called under the lock, so that a waiter is never called after its subscription has ended.
  const std::lock_guard lock(state_->mutex);
  for (const Topic& topic : topics) {
    const auto found = state_->waiters.find(topic.id);
    if (found == state_->waiters.end()) continue;
    for (const Waiter& waiter : found->second) waiter.call();
  }
}

void Wakeups::WakeAll() {
  const std::lock_guard lock(state_->mutex);
  for (const auto& [topic, waiters] : state_->waiters) {
    for (const Waiter& waiter : waiters) waiter.call();
  }
}

}  // namespace cairn::store
