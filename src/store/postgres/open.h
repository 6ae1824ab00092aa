#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "store/copy.h"
#include "store/store.h"

namespace cairn::store::postgres {

// A schema of an older version is served, and is of this one from then on; servers of the older one
// must have been stopped, and are refused. 2: what format versions 2 and 3 of the embedded engine
// changed in the records (rocks/open.h). 3: what its version 4 did.
inline constexpr int kSchemaVersion = 3;

// What makes bodies with a shared scope take turns.
enum class Mode {
  kAuto,      // kAdvisory where the server has advisory locks that lock
  kAdvisory,  // advisory locks: who wants a hot key waits in line
  kPortable,  // serializability alone: who comes second runs again
};

struct Options {
  // postgres://[user[:password]@]host[:port]/database[?sslmode=verify-full&…], as libpq reads it.
  // What it leaves out comes from PGPASSWORD, PGPASSFILE and the others that libpq knows.
  std::string url;
  std::string schema = "cairn";     // lower-case letters, digits and _
  std::string version = "unknown";  // of the program, noted in a new schema
  Mode mode = Mode::kAuto;
  size_t connections = 16;  // for transactions; snapshots and the listener have their own
  std::chrono::milliseconds statement_timeout{10'000};
  // How long a commit whose answer was lost is asked after before its outcome stays unknown.
  std::chrono::milliseconds resolve_timeout{30'000};
  // What one transaction may write: it is held here until its commit.
  uint64_t transaction_bytes = 256ULL << 20;
};

// Whether `text` is meant for this engine: postgres:// or postgresql://.
bool IsUrl(std::string_view text);
// The URL as it may be shown: without its password.
std::string PublicUrl(std::string_view url);

// Opens the store in options.schema, made if missing. Any number of processes may do so at the same
// time. `clock` outlives the store.
//
// Refuses, naming what is wrong: a server that cannot be reached, a wrong password, missing rights,
// a schema of an older or newer version, a schema that holds something else.
Result<std::unique_ptr<Store>> Open(const Options& options, const Clock& clock, const Log& log);

// The numbers that the store of options.schema has given out, and a way to go on from higher ones;
// lower ones change nothing.
Result<Numbers> ReadNumbers(const Options& options);
Result<void> RaiseNumbers(const Options& options, const Numbers& numbers);

// What `cairn doctor` tells about a database without changing it.
struct DatabaseReport {
  std::string server;      // its version
  int schema_version = 0;  // 0: there is no schema yet
  std::string made_by;
  bool advisory_locks = false;
  bool read_only = false;
  bool synchronous_commit = true;  // false: an acknowledged write may be lost in a crash
};
Result<DatabaseReport> Inspect(const Options& options);

}  // namespace cairn::store::postgres
