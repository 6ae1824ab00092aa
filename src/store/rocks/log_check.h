#pragma once

#include <rocksdb/file_system.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "store/transaction.h"

namespace cairn::store::rocks {

// Tells a torn end of the write-ahead log from damage to what was acknowledged.
//
// RocksDB replays the log up to the first record that does not check out and takes that for the
// end. For the end that a power loss leaves this is right: nothing behind it was ever synced, even
// if some of it reached the disk. For a byte that went bad in the middle it would silently drop
// everything acknowledged since. To tell the two apart, every engine write carries a note of which
// commit was durable when it was written:
//
//   log data   'd'  durable:8BE
//
// A gap in the log is damage if a record behind the gap notes that a commit inside the gap had been
// durable. Damage within the very last sync's records cannot be told from a torn end.
Bytes EncodeDurableNote(uint64_t durable_commit);

// The names of the log files in `db_path`, the oldest first.
Result<std::vector<std::string>> LogNames(::rocksdb::FileSystem& files, const std::string& db_path);

// Reads the log files in `db_path`; an error names the damaged one and the place. Returns the
// newest commit up to which they have no gap; tables may hold newer ones.
Result<Commit> CheckLogs(::rocksdb::FileSystem& files, const std::string& db_path);

}  // namespace cairn::store::rocks
