#include "store/postgres/readiness.h"

#include <fmt/format.h>

#include <chrono>

#include "store/postgres/schema.h"

namespace cairn::store::postgres {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kInterval{1'000};
// What takes longer than this is told; requests wait longer (postgres.statement_timeout).
constexpr milliseconds kAnswer{2'000};
constexpr milliseconds kSilence{500};

// A table of about 1 MiB where the others are; nobody sees it, and it is gone with its transaction.
// Its rows are too short to be compressed.
std::string TakeRoom(const Node& node) {
  return fmt::format(
      "CREATE UNLOGGED TABLE {} AS "
      "SELECT repeat(md5(n::text), 60) AS filler FROM generate_series(1, 512) AS n",
      Qualified(node.options.schema, fmt::format("room_{:016x}", node.id)));
}

std::string LockTables(const std::string& schema) {
  // Beside the rows, what a commit writes: every one a marker, some a counter or the events' turn.
  std::string tables = Qualified(schema, "marker");
  for (const std::string_view name : {"counter", "number"})
    tables += ", " + Qualified(schema, name);
  for (const Space space : kAllSpaces) tables += ", " + Qualified(schema, SpaceName(space));
  // What every INSERT, UPDATE and DELETE takes.
  return fmt::format("LOCK TABLE {} IN ROW EXCLUSIVE MODE", tables);
}

// Engines other than PostgreSQL may not have the statement.
bool IsUnknownStatement(const Replies& replies) {
  return replies.sqlstate == "42601" || replies.sqlstate == "0A000";
}

}  // namespace

void Readiness::Start() {
  thread_ = std::thread([this] { ThreadMain(); });
}

void Readiness::Stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

std::optional<Error> Readiness::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void Readiness::WriteFailed(const Error& error) {
  if (!IsDiskFull(error)) return;
  const std::lock_guard lock(mutex_);
  full_ = true;
  failure_ = error;
}

void Readiness::ThreadMain() {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, kInterval, [this] { return stopping_; })) {
    lock.unlock();
    const Result<void> tried = Try();
    Tell(tried);
    lock.lock();
  }
}

Result<void> Readiness::Try() {
  if (connection_ != nullptr) connection_->CheckStillThere();
  if (connection_ == nullptr || connection_->lost()) {
    connection_.reset();
    CAIRN_ASSIGN_OR_RETURN(connection_, Connection::Open({.url = node_.options.url,
                                                          .statement_timeout = kAnswer,
                                                          .silence = kSilence},
                                                         nullptr));
  }
  bool full = false;
  {
    const std::lock_guard lock(mutex_);
    full = full_;
  }
  Result<void> tried = TryIn(*connection_, full);
  if (!connection_->lost()) connection_->Execute("ROLLBACK");
  if (tried.ok() && full) {
    const std::lock_guard lock(mutex_);
    full_ = false;
  }
  return tried;
}

Result<void> Readiness::TryIn(Connection& connection, bool full) const {
  if (const Replies begun = connection.Execute("BEGIN"); !begun.ok()) return *begun.error;
  const Replies read_only =
      connection.Execute("SELECT current_setting('transaction_read_only') = 'on'");
  if (!read_only.ok()) return *read_only.error;
  if (read_only.rows[0].boolean(0, 0)) {
    return Error{ErrorCode::kUnavailable, "PostgreSQL: the server is read-only (a standby?)"};
  }
  if (const Replies locked = connection.Execute(LockTables(node_.options.schema));
      !locked.ok() && !IsUnknownStatement(locked)) {
    return *locked.error;
  }
  if (!full) return {};
  // Whether the role may make tables does not matter: the next write will tell.
  const Replies made = connection.Execute(TakeRoom(node_));
  if (!made.ok() && (IsDiskFull(*made.error) || connection.lost())) return *made.error;
  return {};
}

void Readiness::Tell(const Result<void>& tried) {
  bool was_ready = false;
  {
    const std::lock_guard lock(mutex_);
    was_ready = !failure_.has_value();
    if (!tried.ok()) {
      failure_ =
          Error{ErrorCode::kUnavailable, "the store takes no writes: " + tried.error().message};
    } else if (!full_) {  // else a write has met a full disk since
      failure_.reset();
    }
    if (was_ready != failure_.has_value()) return;
  }
  if (was_ready) {
    node_.log.Error("PostgreSQL takes no writes", {{"reason", tried.error().message}});
  } else {
    node_.log.Info("PostgreSQL takes writes again");
  }
}

}  // namespace cairn::store::postgres
