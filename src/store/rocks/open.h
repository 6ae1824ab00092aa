#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "store/store.h"

namespace rocksdb {
class FileSystem;
}

namespace cairn::store::rocks {

// The data directory of the embedded engine:
//
//   FORMAT     what wrote this directory and in which format version, in text
//   lock       held by the process that serves the directory
//   db/        RocksDB: one column family per space
//   DURABLE    the newest commit that is known to be durable (durable_mark.h)
//   logpool/   prepared files that become write-ahead logs; nothing in it is needed
//
// A directory of an older version is served, and is of this one from then on. 2: sorted sets count
// ranks in nodes, small hashes and sets are one record. 3: records of larger ones know what they
// may have, elements of lists share rows. 4: events of one operation on jobs share rows, as do
// leases that were given out together. 5: small hashes and sets know in what order their members
// were added, streams how large their last node is.
inline constexpr int kFormatVersion = 5;

// How the engine's memory is split. Each part is a bound, not a reservation.
struct MemoryBudget {
  uint64_t value_cache_bytes = 0;
  uint64_t block_cache_bytes = 0;
  uint64_t write_buffer_bytes = 0;
  // What one transaction may write. It stands in memory several times while it is written, and
  // again when the next start reads the log.
  uint64_t transaction_bytes = 0;

  static MemoryBudget FromTotal(uint64_t bytes);
  // A quarter of the machine's (or container's) memory, at least 192 MiB, at most 16 GiB.
  static uint64_t DefaultTotal();
};

struct Options {
  std::string directory;
  std::string version = "unknown";  // of the program, noted in a new directory's FORMAT
  Durability durability = Durability::kSync;
  std::chrono::milliseconds sync_interval{1000};  // for Durability::kInterval
  MemoryBudget memory = MemoryBudget::FromTotal(MemoryBudget::DefaultTotal());
  // Zero-filled log files make an fsync cheaper; see log_pool.h. Used with Durability::kSync only.
  bool log_pool = true;
  // How long no range was deleted before what the last ones left behind is cleaned away.
  std::chrono::milliseconds range_deletion_rest{1000};
  // Replaces the operating system's files, in tests. Null: the real ones.
  std::shared_ptr<::rocksdb::FileSystem> file_system;
};

// Opens the store in options.directory, made if missing. `clock` outlives the store.
//
// Refuses, naming what is wrong: a directory that another process serves, one written by a newer
// format version, one that holds something else than a Cairn store, a damaged file.
Result<std::unique_ptr<Store>> Open(const Options& options, const Clock& clock, const Log& log);

// Whether Open would refuse the directory, which is a store that nobody uses: reads what a start
// reads, and changes nothing. If `look` is given, it is shown the store as it would be served,
// unless its logs are too long to be replayed for a look.
using LookInside = std::function<void(Reader& reader)>;
Result<void> CheckStart(const Options& options, const LookInside& look = {});

// Copies the backup made by Store::Backup into `directory`, which must be empty or missing,
// checking every file against the checksums the backup recorded, and opens it once to prove that it
// serves.
Result<void> Restore(const std::string& backup, const std::string& directory);

// What `cairn doctor` tells about a data directory without opening it for writing.
struct DirectoryReport {
  bool exists = false;
  bool in_use = false;
  int format_version = 0;
  std::string written_by;  // the version of Cairn that made the directory
  uint64_t bytes = 0;
  uint64_t free_bytes = 0;  // on its file system
};
Result<DirectoryReport> Inspect(const std::string& directory);

}  // namespace cairn::store::rocks
