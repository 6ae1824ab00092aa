#pragma once

#include <rocksdb/file_system.h>

#include <cstddef>
#include <string>

#include "base/log.h"
#include "base/result.h"

namespace cairn::store::rocks {

struct LogSplitOptions {
  size_t largest_write_bytes = 32UL * 1024 * 1024;  // larger ones are split
  size_t piece_bytes = 8UL * 1024 * 1024;
};

// Makes every log in `db_path` replayable in little memory, before RocksDB opens it.
//
// RocksDB replays a write of the log as a whole: it holds its record, a copy of that, and all its
// rows in memtables, some four times its size, before the first memtable can go to disk. What a
// transaction may write is bounded, but the bound may have been higher, or missing, when the log
// was written; and a start must not need more memory than the server that it replaces.
//
// So a log with a larger write is written anew, with that write as several, one behind the other,
// and takes the place of the old one: whole, synced, and then renamed. That the write is atomic
// loses nothing: it is split only if all of it is there, and RocksDB serves nothing before all logs
// are replayed; a crash on the way finds the same log again. What RocksDB would not replay, because
// the log is damaged there, it does not replay afterwards either.
//
// A single row is never split. A log that cannot be split (no room on the disk, an operation that
// is not Cairn's) stays as it was and is logged: memory permitting, RocksDB still opens it.
void SplitLargeWrites(::rocksdb::FileSystem& files, const std::string& db_path, const Log& log,
                      const LogSplitOptions& options = {});

}  // namespace cairn::store::rocks
