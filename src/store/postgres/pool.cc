#include "store/postgres/pool.h"

namespace cairn::store::postgres {

Result<Pool::Lease> Pool::Take(bool counted) {
  {
    std::unique_lock lock(mutex_);
    if (counted) {
      freed_.wait(lock, [this] { return in_use_ < limit_; });
      ++in_use_;
    }
    while (!idle_.empty()) {
      std::unique_ptr<Connection> connection = std::move(idle_.back());
      idle_.pop_back();
      connection->CheckStillThere();
      if (!connection->lost()) return Lease(*this, std::move(connection), counted);
    }
  }
  Result<std::unique_ptr<Connection>> opened = Connection::Open(options_, &statements_);
  if (opened.ok()) return Lease(*this, *std::move(opened), counted);
  Return(nullptr, counted);
  return opened.error();
}

void Pool::Return(std::unique_ptr<Connection> connection, bool counted) {
  const bool usable = connection != nullptr && !connection->lost() && connection->idle();
  const std::lock_guard lock(mutex_);
  if (counted) {
    --in_use_;
    freed_.notify_one();
  }
  if (usable && idle_.size() < limit_) idle_.push_back(std::move(connection));
}

void Pool::CloseIdle() {
  std::vector<std::unique_ptr<Connection>> closing;
  const std::lock_guard lock(mutex_);
  closing.swap(idle_);
}

}  // namespace cairn::store::postgres
