#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "store/postgres/node.h"

namespace cairn::store::postgres {

// Knows whether the database takes writes now: a thread with a session of its own that tries, again
// and again, what every write needs. However many ask, the database is asked by one, and nobody
// waits for the answer.
//
//   the server is away, or silent        told within about 4 seconds
//   a table is locked for longer          the same
//   the server is read-only (a standby)   the same
//   its disk is full                      when a write has met that; until there is room for more
class Readiness {
 public:
  explicit Readiness(Node& node) : node_(node) {}
  ~Readiness() { Stop(); }

  void Start();
  void Stop();

  // nullopt while the database takes writes; else why it does not.
  std::optional<Error> failure() const;
  // A write has failed with this error. One that tells of a full disk counts at once.
  void WriteFailed(const Error& error);

 private:
  void ThreadMain();
  Result<void> Try();
  Result<void> TryIn(Connection& connection, bool full) const;
  void Tell(const Result<void>& tried);

  Node& node_;
  std::unique_ptr<Connection> connection_;  // of the thread

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  bool full_ = false;  // a write has said so
  std::optional<Error> failure_;
  std::thread thread_;
};

}  // namespace cairn::store::postgres
