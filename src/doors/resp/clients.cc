#include "doors/resp/clients.h"

#include <algorithm>

#include "doors/resp/session.h"

namespace cairn::doors {

void Clients::Add(Session& session) {
  const std::lock_guard lock(mutex_);
  sessions_.emplace(session.id(), &session);
}

void Clients::Remove(Session& session) {
  const std::lock_guard lock(mutex_);
  sessions_.erase(session.id());
}

void Clients::ForEach(const std::function<void(Session&)>& visit) {
  const std::lock_guard lock(mutex_);
  for (const auto& [id, session] : sessions_) visit(*session);
}

size_t Clients::count() const {
  const std::lock_guard lock(mutex_);
  return sessions_.size();
}

bool Clients::IsOpen(uint64_t connection_id) const {
  const std::lock_guard lock(mutex_);
  const auto found = sessions_.find(connection_id);
  return found != sessions_.end() && !found->second->closing;
}

void ClientPause::Begin(Timestamp until, Mode mode, Timestamp now) {
  const Timestamp running = this->until();
  if (running > now) {
    until = std::max(until, running);
    if (mode_.load(std::memory_order_relaxed) == Mode::kAll) mode = Mode::kAll;
  }
  mode_.store(mode, std::memory_order_relaxed);
  until_us_.store(until.us, std::memory_order_relaxed);
}

bool ClientPause::Holds(bool may_write, Timestamp now) const {
  return now < until() && (may_write || mode_.load(std::memory_order_relaxed) == Mode::kAll);
}

}  // namespace cairn::doors
