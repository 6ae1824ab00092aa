#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "store/postgres/connection.h"

namespace cairn::store::postgres {

// Sessions that are used again and again. Safe to use from any thread. Outlives its leases.
class Pool {
 public:
  Pool(ConnectionOptions options, const Statements& statements, size_t limit)
      : options_(std::move(options)), statements_(statements), limit_(limit) {}

  // A session for as long as the lease lives. One that was lost, or stands inside a transaction,
  // is closed instead of used again.
  class Lease {
   public:
    Lease(Pool& pool, std::unique_ptr<Connection> connection, bool counted)
        : pool_(&pool), connection_(std::move(connection)), counted_(counted) {}
    Lease(Lease&&) noexcept = default;
    Lease& operator=(Lease&&) = delete;
    ~Lease() {
      if (connection_ != nullptr) pool_->Return(std::move(connection_), counted_);
    }
    Connection& operator*() const { return *connection_; }
    Connection* operator->() const { return connection_.get(); }

   private:
    Pool* pool_;
    std::unique_ptr<Connection> connection_;
    bool counted_;
  };

  // Waits until one is free.
  Result<Lease> Acquire() { return Take(/*counted=*/true); }
  // For who may hold another at the same time, such as a snapshot: does not count and never waits.
  Result<Lease> AcquireExtra() { return Take(/*counted=*/false); }
  // Closes those that nobody uses: after one was lost, the others most likely are.
  void CloseIdle();

 private:
  Result<Lease> Take(bool counted);
  void Return(std::unique_ptr<Connection> connection, bool counted);

  const ConnectionOptions options_;
  const Statements& statements_;
  const size_t limit_;
  std::mutex mutex_;
  std::condition_variable freed_;
  size_t in_use_ = 0;  // of the counted ones
  std::vector<std::unique_ptr<Connection>> idle_;
};

}  // namespace cairn::store::postgres
