#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/postgres/statements.h"

struct pg_conn;
struct pg_result;

namespace cairn::store::postgres {

// What one statement answered. Values are in PostgreSQL's binary format: bytea as it is, bigint as
// 8 bytes big-endian.
class Rows {
 public:
  explicit Rows(pg_result* result) : result_(result) {}

  size_t size() const;
  // The views last as long as the object. nullopt: null.
  std::optional<BytesView> at(size_t row, int column) const;
  int64_t number(size_t row, int column) const;
  bool boolean(size_t row, int column) const;
  // What the server says it has done: "COMMIT", "INSERT 0 1"…
  std::string_view tag() const;

 private:
  struct Free {
    void operator()(pg_result* result) const;
  };
  std::unique_ptr<pg_result, Free> result_;
};

// The answers to everything sent before one Exchange.
struct Replies {
  std::vector<Rows> rows;      // one for each statement, as far as answers arrived
  std::optional<Error> error;  // the first failure
  std::string sqlstate;        // of that failure; empty if the server said none
  bool conflict = false;       // the transaction lost against another: run it again

  bool ok() const { return !error.has_value(); }
};

struct ConnectionOptions {
  std::string url;
  std::chrono::milliseconds statement_timeout{10'000};
  // How long a transaction may stand idle before the server gives up its locks and ends it.
  std::chrono::milliseconds idle_in_transaction{60'000};
  // A server that is silent for this much longer than a statement may take is gone.
  std::chrono::milliseconds silence{5'000};
};

// Whether the server's answer was that its disk is full.
bool IsDiskFull(const Error& error);

// PostgreSQL's binary form of parameters.
Bytes EncodeNumber(int64_t value);
Bytes EncodeNumbers(std::span<const int64_t> values);
Bytes EncodeKeys(std::span<const BytesView> keys);
Bytes EncodeKeys(std::span<const Bytes> keys);

// One session with the server, in pipeline mode: statements are queued with Send and answered by
// one Exchange, in one round trip however many there are. Used by one thread at a time.
//
// A statement that fails makes the server skip the others up to the next Sync. A session whose
// connection broke, or whose server was silent for too long, is `lost` for good.
class Connection {
 public:
  // Connects and, unless `statements` is null, prepares them all. `statements` outlives it.
  static Result<std::unique_ptr<Connection>> Open(const ConnectionOptions& options,
                                                  const Statements* statements);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void Send(StatementId statement, std::initializer_list<BytesView> parameters = {});
  void Sync();
  Replies Exchange();
  // One statement that is not prepared, on its own.
  Replies Execute(const std::string& sql);

  bool lost() const { return lost_; }
  // Looks whether the server has closed an idle session; `lost` if so. Waits for nothing.
  void CheckStillThere();
  // Whether it stands outside any transaction.
  bool idle() const;
  int server_process() const;

  // Waits until something arrives, `wake_fd` is readable or the time has passed.
  void WaitForNews(int wake_fd, std::chrono::milliseconds limit);
  // The payloads of notifications that have arrived.
  std::vector<std::string> TakeNotifications();

  // Markers of commits whose answers have arrived; kept here because a commit forgets, behind
  // itself, those of earlier ones on the same session.
  std::vector<Bytes> answered_markers;

 private:
  Connection(pg_conn* connection, const ConnectionOptions& options, const Statements* statements);

  Result<void> Configure();
  bool Flush();
  bool WaitFor(short events);
  // The next result, null at the end of a statement's results.
  pg_result* NextResult();
  void ReceiveStatement(Replies& replies);
  void ReceiveSync();
  void Lose(Replies& replies, std::string_view why);

  pg_conn* connection_;
  const std::chrono::milliseconds statement_timeout_;
  const std::chrono::milliseconds idle_in_transaction_;
  const std::chrono::milliseconds longest_silence_;
  const Statements* statements_;
  std::vector<bool> sent_;  // in order: whether it was a Sync
  bool send_failed_ = false;
  bool lost_ = false;
  std::string silence_;  // why it was given up although the connection stands
};

}  // namespace cairn::store::postgres
