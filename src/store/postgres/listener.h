#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string_view>
#include <thread>

#include "store/postgres/node.h"

namespace cairn::store::postgres {

// Brings the news of other nodes: topics that their commits woke, timers that they set. A thread
// with a session of its own that listens and, in case a notification got lost or the server has
// none, looks by itself now and then: at the first timer, and by waking everyone who waits.
class Listener {
 public:
  explicit Listener(Node& node) : node_(node) {}
  ~Listener() { Stop(); }

  // Listens when it returns, so nothing that is waited for from then on is missed.
  Result<void> Start();
  void Stop();

 private:
  Result<std::unique_ptr<Connection>> Connect() const;
  void ThreadMain(std::shared_ptr<Connection> connection);
  // Until the session is lost or the listener is stopped.
  void Serve(Connection& connection);
  void Hear(std::string_view payload);
  void LookAtFirstTimer(Connection& connection);
  void TellTimer(Timestamp due);
  void Sleep(std::chrono::milliseconds limit) const;

  Node& node_;
  std::atomic<bool> stopping_{false};
  int wake_fd_ = -1;
  std::thread thread_;
};

}  // namespace cairn::store::postgres
