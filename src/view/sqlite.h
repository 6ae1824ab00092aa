#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

// SQLite, as far as the view needs it. Values reach SQL as bound parameters and in no other way.
namespace cairn::view {

// A prepared statement with its parameters, numbered from 1 in the order of Bind calls.
//
//   statement.Bind(queue).Bind(limit);
//   while (CAIRN_ASSIGN… statement.Step()) Use(statement.Text(0));
//
// Belongs to its database's thread and must be gone before it.
class Statement {
 public:
  Statement() = default;
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}

  // The next parameter. Text is borrowed until Reset: it must live as long as the statement runs.
  Statement& Bind(std::string_view text);
  Statement& Bind(int64_t number);
  Statement& Bind(double number);
  Statement& BindNull();
  // Text, or null if it is empty: how a job says "none".
  Statement& BindOptional(std::string_view text) { return text.empty() ? BindNull() : Bind(text); }

  // Whether there is a row; once there is none the statement is at its start again.
  Result<bool> Step();
  // Runs to the end and forgets the parameters.
  Result<void> Run();
  void Reset();

  // Columns of the row, from 0. Text lives until the next Step.
  std::string_view Text(int column) const;
  int64_t Integer(int column) const;
  bool IsNull(int column) const;

  // The instructions of SQLite's machine that it has run so far: how much work it was, whatever the
  // machine it runs on.
  int64_t work() const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int bound_ = 0;
};

enum class OpenMode { kReadOnly, kReadWrite };

// One connection to a database file. Used by one thread at a time. Its SQL has these functions,
// too:
//
//   decoded_text(json)              what a JSON text says (text.h); what has no escapes stays as it
//                                   is, since its words are the same
//   contains_text(text, part)       whether it does, without regard to case
//   json_contains_text(json, part)  the same of JSON as it is given, or of what it says
class Database {
 public:
  static Result<Database> Open(const std::string& file, OpenMode mode);

  // One statement of our own text.
  Result<Statement> Prepare(std::string_view sql);
  // Statements of our own text, none of which gives a row that matters.
  Result<void> Execute(const std::string& sql);

  // How many rows the last statement changed.
  int64_t changes() const;

  // From now on, a statement that still runs after this time fails with kUnavailable.
  void SetDeadline(std::chrono::steady_clock::time_point deadline);

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  struct Deadline {
    std::chrono::steady_clock::time_point at;
  };
  explicit Database(sqlite3* database) : database_(database) {}

  std::unique_ptr<Deadline> deadline_;
  std::unique_ptr<sqlite3, Close> database_;
};

}  // namespace cairn::view
