#include "store/postgres/connection.h"

#include <fmt/format.h>
#include <libpq-fe.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace cairn::store::postgres {
namespace {

constexpr int kBinary = 1;
constexpr uint32_t kOidBytea = 17;
constexpr uint32_t kOidBigint = 20;

constexpr std::string_view kDiskFull = "the server's disk is full";

struct StateRow {
  std::string_view prefix;  // of the SQLSTATE
  ErrorCode code;
  std::string_view hint;
};

// The first match counts.
constexpr std::array kStates = {
    StateRow{"28P01", ErrorCode::kUnauthorized, "the password is wrong"},
    StateRow{"28", ErrorCode::kUnauthorized, "the role may not log in"},
    StateRow{"3D000", ErrorCode::kNotFound, "the database does not exist"},
    StateRow{"42501", ErrorCode::kForbidden, "the role lacks a right"},
    StateRow{"25006", ErrorCode::kUnavailable, "the server is read-only (a standby?)"},
    StateRow{"53100", ErrorCode::kUnavailable, kDiskFull},
    StateRow{"53", ErrorCode::kUnavailable, "the server is out of resources"},
    StateRow{"57014", ErrorCode::kUnavailable, "the statement timed out"},
    StateRow{"55P03", ErrorCode::kUnavailable, "a lock timed out"},
    StateRow{"25P03", ErrorCode::kUnavailable, "the transaction stood idle for too long"},
    StateRow{"57P", ErrorCode::kUnavailable, "the server is stopping or starting"},
    StateRow{"08", ErrorCode::kUnavailable, "the connection failed"},
    StateRow{"40001", ErrorCode::kConflict, "another transaction came first"},
    StateRow{"40P01", ErrorCode::kConflict, "another transaction came first"},
    StateRow{"XX001", ErrorCode::kCorruption, "the server found damaged data"},
    StateRow{"XX002", ErrorCode::kCorruption, "the server found a damaged index"},
    StateRow{"58", ErrorCode::kIo, "the server's disk failed"},
};

std::string Trimmed(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  return std::string(text);
}

Error ToError(std::string_view sqlstate, std::string_view said) {
  for (const StateRow& row : kStates) {
    if (sqlstate.starts_with(row.prefix)) {
      return {row.code, fmt::format("PostgreSQL: {}: {}", row.hint, Trimmed(said))};
    }
  }
  return {ErrorCode::kInternal, fmt::format("PostgreSQL: {} ({})", Trimmed(said), sqlstate)};
}

Error ConnectError(pg_conn* connection) {
  const std::string said = Trimmed(connection != nullptr ? PQerrorMessage(connection) : "");
  // libpq keeps no SQLSTATE of a refused login.
  if (said.find("authentication failed") != std::string::npos ||
      said.find("no password supplied") != std::string::npos) {
    return {ErrorCode::kUnauthorized, "cannot log in to PostgreSQL: " + said};
  }
  if (said.find("does not exist") != std::string::npos && said.find("FATAL") != std::string::npos) {
    return {ErrorCode::kNotFound, "cannot connect to PostgreSQL: " + said};
  }
  return {ErrorCode::kUnavailable, "cannot connect to PostgreSQL: " + said};
}

void AppendArrayHeader(Bytes& out, uint32_t type, size_t count) {
  AppendBig32(out, count == 0 ? 0 : 1);  // dimensions
  AppendBig32(out, 0);                   // holds no null
  AppendBig32(out, type);
  if (count == 0) return;
  AppendBig32(out, static_cast<uint32_t>(count));
  AppendBig32(out, 1);  // the first index
}

}  // namespace

bool IsDiskFull(const Error& error) { return error.message.find(kDiskFull) != std::string::npos; }

Bytes EncodeNumber(int64_t value) {
  Bytes bytes;
  AppendBig64(bytes, static_cast<uint64_t>(value));
  return bytes;
}

Bytes EncodeNumbers(std::span<const int64_t> values) {
  Bytes out;
  AppendArrayHeader(out, kOidBigint, values.size());
  for (const int64_t value : values) {
    AppendBig32(out, 8);
    AppendBig64(out, static_cast<uint64_t>(value));
  }
  return out;
}

Bytes EncodeKeys(std::span<const BytesView> keys) {
  Bytes out;
  AppendArrayHeader(out, kOidBytea, keys.size());
  for (const BytesView key : keys) {
    AppendBig32(out, static_cast<uint32_t>(key.size()));
    out += key;
  }
  return out;
}

Bytes EncodeKeys(std::span<const Bytes> keys) {
  return EncodeKeys(std::vector<BytesView>(keys.begin(), keys.end()));
}

// --- Rows ---------------------------------------------------------------------------------------

void Rows::Free::operator()(pg_result* result) const { PQclear(result); }

size_t Rows::size() const { return static_cast<size_t>(PQntuples(result_.get())); }

std::optional<BytesView> Rows::at(size_t row, int column) const {
  const int index = static_cast<int>(row);
  if (PQgetisnull(result_.get(), index, column) != 0) return std::nullopt;
  return BytesView(PQgetvalue(result_.get(), index, column),
                   static_cast<size_t>(PQgetlength(result_.get(), index, column)));
}

int64_t Rows::number(size_t row, int column) const {
  return static_cast<int64_t>(BytesReader(at(row, column).value_or("")).Big64());
}

bool Rows::boolean(size_t row, int column) const {
  return BytesReader(at(row, column).value_or("")).Byte() != 0;
}

std::string_view Rows::tag() const { return PQcmdStatus(result_.get()); }

// --- Connection ---------------------------------------------------------------------------------

Connection::Connection(pg_conn* connection, const ConnectionOptions& options,
                       const Statements* statements)
    : connection_(connection),
      statement_timeout_(options.statement_timeout),
      idle_in_transaction_(options.idle_in_transaction),
      longest_silence_(options.silence),
      statements_(statements) {}

Connection::~Connection() { PQfinish(connection_); }

Result<std::unique_ptr<Connection>> Connection::Open(const ConnectionOptions& options,
                                                     const Statements* statements) {
  // What stands before the URL are defaults: the URL's own parameters replace them.
  const std::array<const char*, 8> names = {
      "connect_timeout",  "application_name", "keepalives_idle", "keepalives_interval",
      "keepalives_count", "tcp_user_timeout", "dbname",          nullptr};
  const std::array<const char*, 8> values = {
      "5", "cairn", "10", "5", "3", "30000", options.url.c_str(), nullptr};
  pg_conn* raw = PQconnectdbParams(names.data(), values.data(), /*expand_dbname=*/1);
  std::unique_ptr<Connection> connection(new Connection(raw, options, statements));
  if (PQstatus(raw) != CONNECTION_OK) return ConnectError(raw);
  PQsetNoticeProcessor(
      raw, [](void*, const char*) {}, nullptr);
  CAIRN_RETURN_IF_ERROR(connection->Configure());
  return connection;
}

Result<void> Connection::Configure() {
  if (PQsetnonblocking(connection_, 1) != 0 || PQenterPipelineMode(connection_) != 1) {
    return ConnectError(connection_);
  }
  for (const std::string& sql :
       {fmt::format("SET statement_timeout = {}", statement_timeout_.count()),
        fmt::format("SET idle_in_transaction_session_timeout = {}",
                    idle_in_transaction_.count())}) {
    if (const Replies replies = Execute(sql); !replies.ok()) return *replies.error;
  }
  // Serializable transactions that read a whole small table instead of one row of its index would
  // all conflict. An engine that does not know these settings does not need them.
  for (const char* sql : {"SET enable_seqscan = off", "SET enable_bitmapscan = off",
                          "SET plan_cache_mode = force_generic_plan"}) {
    if (const Replies replies = Execute(sql); lost_) return *replies.error;
  }
  if (statements_ == nullptr) return {};
  for (const PreparedStatement& statement : statements_->all()) {
    if (PQsendPrepare(connection_, statement.name.c_str(), statement.sql.c_str(), 0, nullptr) !=
        1) {
      return ConnectError(connection_);
    }
    sent_.push_back(false);
    // Each on its own: what an engine lacks, such as advisory locks, is missed only when used.
    Sync();
  }
  const Replies replies = Exchange();
  if (lost_) return *replies.error;
  // Tables that cannot be used are no such lack.
  if (!replies.ok() && replies.error->code == ErrorCode::kForbidden) return *replies.error;
  return {};
}

void Connection::Send(StatementId statement, std::initializer_list<BytesView> parameters) {
  constexpr size_t kMost = 4;
  CAIRN_CHECK(parameters.size() <= kMost && statements_ != nullptr);
  std::array<const char*, kMost> values{};
  std::array<int, kMost> lengths{};
  static constexpr std::array<int, kMost> kFormats = {kBinary, kBinary, kBinary, kBinary};
  size_t count = 0;
  for (const BytesView parameter : parameters) {
    // An empty view may have no address, which would mean null.
    values[count] = parameter.empty() ? "" : parameter.data();
    lengths[count] = static_cast<int>(parameter.size());
    ++count;
  }
  const std::string& name = statements_->all()[statement.index].name;
  if (PQsendQueryPrepared(connection_, name.c_str(), static_cast<int>(count), values.data(),
                          lengths.data(), kFormats.data(), kBinary) != 1) {
    send_failed_ = true;
    return;
  }
  sent_.push_back(false);
}

void Connection::Sync() {
  if (PQpipelineSync(connection_) != 1) {
    send_failed_ = true;
    return;
  }
  sent_.push_back(true);
}

Replies Connection::Execute(const std::string& sql) {
  if (PQsendQueryParams(connection_, sql.c_str(), 0, nullptr, nullptr, nullptr, nullptr, kBinary) ==
      1) {
    sent_.push_back(false);
  } else {
    send_failed_ = true;
  }
  return Exchange();
}

Replies Connection::Exchange() {
  if (sent_.empty() || !sent_.back()) Sync();
  Replies replies;
  if (send_failed_ || !Flush()) Lose(replies, "send");
  for (const bool is_sync : std::exchange(sent_, {})) {
    if (lost_) break;
    if (is_sync) {
      ReceiveSync();
      if (lost_) Lose(replies, "receive");
    } else {
      ReceiveStatement(replies);
    }
  }
  if (PQstatus(connection_) == CONNECTION_BAD && !lost_) Lose(replies, "receive");
  return replies;
}

bool Connection::WaitFor(short events) {
  pollfd waited{PQsocket(connection_), events, 0};
  const auto limit = statement_timeout_ + longest_silence_;
  const int ready = poll(&waited, 1, static_cast<int>(limit.count()));
  if (ready == 0) {
    silence_ = fmt::format("the server was silent for {} ms", limit.count());
    return false;
  }
  if ((waited.revents & (POLLIN | POLLHUP | POLLERR)) != 0) {
    return PQconsumeInput(connection_) == 1;
  }
  return ready > 0 || errno == EINTR;
}

bool Connection::Flush() {
  for (;;) {
    const int left = PQflush(connection_);
    if (left == 0) return true;
    // What arrives meanwhile is taken in, so that a server that waits for us to read goes on.
    if (left < 0 || !WaitFor(POLLIN | POLLOUT)) return false;
  }
}

pg_result* Connection::NextResult() {
  while (PQisBusy(connection_) != 0) {
    if (!WaitFor(POLLIN)) {
      lost_ = true;
      return nullptr;
    }
  }
  return PQgetResult(connection_);
}

void Connection::ReceiveSync() {
  pg_result* result = NextResult();
  if (result == nullptr || PQresultStatus(result) != PGRES_PIPELINE_SYNC) lost_ = true;
  PQclear(result);
}

void Connection::ReceiveStatement(Replies& replies) {
  pg_result* result = NextResult();
  if (result == nullptr) return Lose(replies, "receive");
  const ExecStatusType status = PQresultStatus(result);
  replies.rows.emplace_back(result);
  if (status == PGRES_FATAL_ERROR && !replies.error) {
    const char* state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char* message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    replies.sqlstate = state != nullptr ? state : "";
    if (PQstatus(connection_) == CONNECTION_BAD && replies.sqlstate.empty()) {
      replies.rows.pop_back();
      return Lose(replies, "receive");
    }
    replies.error =
        ToError(replies.sqlstate, message != nullptr ? message : PQresultErrorMessage(result));
    replies.conflict = replies.error->code == ErrorCode::kConflict;
  }
  pg_result* end = NextResult();
  if (end != nullptr) lost_ = true;  // more than one result: not a statement of ours
  PQclear(end);
  if (lost_) Lose(replies, "receive");
}

void Connection::Lose(Replies& replies, std::string_view why) {
  lost_ = true;
  if (replies.error) return;
  const std::string said = silence_.empty() ? Trimmed(PQerrorMessage(connection_)) : silence_;
  replies.error = Error{ErrorCode::kUnavailable,
                        fmt::format("PostgreSQL: the connection was lost ({}): {}", why, said)};
}

void Connection::CheckStillThere() {
  // A server that ends a session first says why, so the end may take more than one look.
  constexpr int kLooks = 8;
  for (int look = 0; look < kLooks && !lost_; ++look) {
    pollfd waited{PQsocket(connection_), POLLIN, 0};
    if (poll(&waited, 1, 0) <= 0) return;
    if (PQconsumeInput(connection_) != 1 || PQstatus(connection_) == CONNECTION_BAD) lost_ = true;
  }
}

bool Connection::idle() const { return PQtransactionStatus(connection_) == PQTRANS_IDLE; }

int Connection::server_process() const { return PQbackendPID(connection_); }

void Connection::WaitForNews(int wake_fd, std::chrono::milliseconds limit) {
  std::array<pollfd, 2> waited = {pollfd{PQsocket(connection_), POLLIN, 0},
                                  pollfd{wake_fd, POLLIN, 0}};
  poll(waited.data(), waited.size(), static_cast<int>(limit.count()));
  if (waited[0].revents != 0 && PQconsumeInput(connection_) != 1) lost_ = true;
}

std::vector<std::string> Connection::TakeNotifications() {
  std::vector<std::string> payloads;
  while (PGnotify* notification = PQnotifies(connection_)) {
    payloads.emplace_back(notification->extra);
    PQfreemem(notification);
  }
  return payloads;
}

}  // namespace cairn::store::postgres
