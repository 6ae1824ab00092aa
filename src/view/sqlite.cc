#include "view/sqlite.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <array>

#include "base/check.h"
#include "view/text.h"

namespace cairn::view {
namespace {

// Other connections hold the file only for moments: a writer at its commit, a checkpoint.
constexpr int kBusyMs = 10'000;
// How many steps of SQLite's machine go by between looks at the clock: a fraction of a millisecond.
constexpr int kStepsPerLook = 10'000;

Error ToError(sqlite3* database, int code) {
  switch (code & 0xFF) {
    case SQLITE_INTERRUPT:
      return {ErrorCode::kUnavailable, "the query takes too long: narrow it down"};
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return {ErrorCode::kCorruption, fmt::format("view: {}", sqlite3_errmsg(database))};
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
      return {ErrorCode::kIo, fmt::format("view: {}", sqlite3_errmsg(database))};
    default:
      return {ErrorCode::kInternal, fmt::format("view: {}", sqlite3_errmsg(database))};
  }
}

std::string_view TextOf(sqlite3_value* value) {
  const auto* const text = reinterpret_cast<const char*>(sqlite3_value_text(value));
  if (text == nullptr) return {};
  return {text, static_cast<size_t>(sqlite3_value_bytes(value))};
}

// decoded_text(json)
void DecodedTextSql(sqlite3_context* context, int /*count*/, sqlite3_value** arguments) {
  const std::string_view json = TextOf(arguments[0]);
  // Null, too, stays as it is.
  if (json.find('\\') == std::string_view::npos) {
    sqlite3_result_value(context, arguments[0]);
    return;
  }
  const std::string text = DecodedText(json);
  sqlite3_result_text64(context, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
}

// contains_text(text, part), json_contains_text(json, part)
template <bool (*kContains)(std::string_view text, std::string_view folded)>
void ContainsSql(sqlite3_context* context, int /*count*/, sqlite3_value** arguments) {
  // SQLite keeps the folded part from row to row, as long as the part itself is the same. It may
  // also drop it at once.
  constexpr int kPart = 1;
  const auto* folded = static_cast<const std::string*>(sqlite3_get_auxdata(context, kPart));
  if (folded == nullptr) {
    const auto drop = [](void* text) { delete static_cast<std::string*>(text); };
    sqlite3_set_auxdata(context, kPart, new std::string(FoldCase(TextOf(arguments[kPart]))), drop);
    folded = static_cast<const std::string*>(sqlite3_get_auxdata(context, kPart));
  }
  if (folded == nullptr) {
    sqlite3_result_error_nomem(context);
    return;
  }
  sqlite3_result_int(context, kContains(TextOf(arguments[0]), *folded) ? 1 : 0);
}

Result<void> AddFunctions(sqlite3* database) {
  struct Function {
    const char* name;
    int arguments;
    void (*call)(sqlite3_context*, int, sqlite3_value**);
  };
  constexpr std::array<Function, 3> kFunctions = {{
      {"decoded_text", 1, DecodedTextSql},
      {"contains_text", 2, ContainsSql<ContainsFolded>},
      {"json_contains_text", 2, ContainsSql<JsonContainsFolded>},
  }};
  constexpr int kFlags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
  for (const Function& function : kFunctions) {
    const int code = sqlite3_create_function_v2(database, function.name, function.arguments, kFlags,
                                                nullptr, function.call, nullptr, nullptr, nullptr);
    if (code != SQLITE_OK) return ToError(database, code);
  }
  return {};
}

}  // namespace

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

Statement& Statement::Bind(std::string_view text) {
  // A null pointer would bind null.
  const char* const data = text.data() == nullptr ? "" : text.data();
  const int code = sqlite3_bind_text64(statement_.get(), ++bound_, data, text.size(), SQLITE_STATIC,
                                       SQLITE_UTF8);
  CAIRN_CHECK(code == SQLITE_OK, "parameter {}: {}", bound_, code);
  return *this;
}

Statement& Statement::Bind(int64_t number) {
  const int code = sqlite3_bind_int64(statement_.get(), ++bound_, number);
  CAIRN_CHECK(code == SQLITE_OK, "parameter {}: {}", bound_, code);
  return *this;
}

Statement& Statement::Bind(double number) {
  const int code = sqlite3_bind_double(statement_.get(), ++bound_, number);
  CAIRN_CHECK(code == SQLITE_OK, "parameter {}: {}", bound_, code);
  return *this;
}

Statement& Statement::BindNull() {
  const int code = sqlite3_bind_null(statement_.get(), ++bound_);
  CAIRN_CHECK(code == SQLITE_OK, "parameter {}: {}", bound_, code);
  return *this;
}

Result<bool> Statement::Step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  const Error error = ToError(sqlite3_db_handle(statement_.get()), code);
  Reset();
  if (code == SQLITE_DONE) return false;
  return error;
}

Result<void> Statement::Run() {
  while (true) {
    CAIRN_ASSIGN_OR_RETURN(const bool row, Step());
    if (!row) return {};
  }
}

void Statement::Reset() {
  sqlite3_reset(statement_.get());
  bound_ = 0;
}

std::string_view Statement::Text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  if (text == nullptr) return {};
  return {text, static_cast<size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

int64_t Statement::Integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

bool Statement::IsNull(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

int64_t Statement::work() const {
  constexpr int kGoOnCounting = 0;
  return sqlite3_stmt_status(statement_.get(), SQLITE_STMTSTATUS_VM_STEP, kGoOnCounting);
}

void Database::Close::operator()(sqlite3* database) const { sqlite3_close_v2(database); }

Result<Database> Database::Open(const std::string& file, OpenMode mode) {
  // A reader, too, has to share the index of the log beside the file; query_only keeps it to that.
  const int flags = SQLITE_OPEN_READWRITE | (mode == OpenMode::kReadWrite ? SQLITE_OPEN_CREATE : 0);
  sqlite3* handle = nullptr;
  // With this one only one process uses the file, as is so, and the index of the log is memory of
  // its own. Otherwise it is a mapped file, and a disk that is full ends who writes to it (SIGBUS).
  constexpr const char* kOneProcess = "unix-excl";
  const int code = sqlite3_open_v2(file.c_str(), &handle, flags | SQLITE_OPEN_NOMUTEX, kOneProcess);
  Database database(handle);
  if (code != SQLITE_OK) {
    return Error{ErrorCode::kIo,
                 fmt::format("view: cannot open {}: {}", file,
                             handle == nullptr ? "no memory" : sqlite3_errmsg(handle))};
  }
  sqlite3_busy_timeout(handle, kBusyMs);
  CAIRN_RETURN_IF_ERROR(AddFunctions(handle));
  if (mode == OpenMode::kReadOnly) {
    CAIRN_RETURN_IF_ERROR(database.Execute("PRAGMA query_only = ON"));
  }
  return database;
}

Result<Statement> Database::Prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v3(database_.get(), sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (code != SQLITE_OK) return ToError(database_.get(), code);
  return Statement(statement);
}

Result<void> Database::Execute(const std::string& sql) {
  const int code = sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return ToError(database_.get(), code);
  return {};
}

int64_t Database::changes() const { return sqlite3_changes64(database_.get()); }

void Database::SetDeadline(std::chrono::steady_clock::time_point deadline) {
  if (deadline_ == nullptr) {
    deadline_ = std::make_unique<Deadline>();
    const auto late = [](void* given) -> int {
      return std::chrono::steady_clock::now() > static_cast<Deadline*>(given)->at ? 1 : 0;
    };
    sqlite3_progress_handler(database_.get(), kStepsPerLook, late, deadline_.get());
  }
  deadline_->at = deadline;
}

}  // namespace cairn::view
