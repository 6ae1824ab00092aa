#pragma once

#include <rocksdb/cache.h>
#include <rocksdb/db.h>

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/rocks/open.h"

namespace cairn::store::rocks {

// What a start looks at before RocksDB opens the store and changes it.

std::shared_ptr<::rocksdb::FileSystem> BaseFileSystem(const Options& options);

// Drops RocksDB's messages for people.
std::shared_ptr<::rocksdb::Logger> NoMessages();

// The column families: RocksDB's own, then one for each space.
std::vector<::rocksdb::ColumnFamilyDescriptor> MakeColumns(
    const Options& options, const std::shared_ptr<::rocksdb::Cache>& cache);

// Whether everything that was durable is there: the logs have no gap (log_check.h), and log and
// tables together reach as far as DurableMark says.
Result<void> CheckRecovery(const Options& options);

// Whether the disk has room for tables with all that is in the logs. A recovery that fails for lack
// of it leaves half a table behind, which takes the room that opening the store needs.
bool HasRoomForTables(::rocksdb::FileSystem& files, const std::string& db_path);

// Makes the logs in `db_path` durable as they are: a process that was killed has not synced its
// last writes, and who opens the store without writing them elsewhere shows them.
Result<void> SyncLogs(::rocksdb::FileSystem& files, const std::string& db_path);

// Says why RocksDB does not open the store, naming the damaged file, the disk that is full.
Error OpenError(const std::string& db_path, const ::rocksdb::Status& status);

}  // namespace cairn::store::rocks
