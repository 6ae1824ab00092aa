#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>

#include "base/clock.h"

namespace cairn::doors {

class Session;

// All open sessions, in the order in which they were opened. Safe to use from any thread.
class Clients {
 public:
  void Add(Session& session);
  void Remove(Session& session);

  // No session ends while `visit` runs, which must be quick and must not open or close one. Of
  // sessions on other loops it may use what Session offers to any thread.
  void ForEach(const std::function<void(Session&)>& visit);
  size_t count() const;
  // Whether that session is open, and not about to be closed.
  bool IsOpen(uint64_t connection_id) const;

 private:
  mutable std::mutex mutex_;
  std::map<uint64_t, Session*> sessions_;  // by connection id
};

// CLIENT PAUSE: until when which requests wait. Safe to use from any thread.
class ClientPause {
 public:
  enum class Mode : uint8_t { kWrites, kAll };

  // Pauses never get shorter or weaker by another one: the later end and the wider mode hold, until
  // End.
  void Begin(Timestamp until, Mode mode, Timestamp now);
  void End() { until_us_.store(0, std::memory_order_relaxed); }

  // Cheap when there is no pause, which is asked for every request.
  bool any() const { return until_us_.load(std::memory_order_relaxed) != 0; }
  bool Holds(bool may_write, Timestamp now) const;
  Timestamp until() const { return {until_us_.load(std::memory_order_relaxed)}; }

 private:
  std::atomic<int64_t> until_us_{0};
  std::atomic<Mode> mode_{Mode::kWrites};
};

}  // namespace cairn::doors
