#pragma once

#include <rocksdb/options.h>

#include "store/rocks/open.h"

namespace cairn::store::rocks {

// How RocksDB is set up: one place for every option, with its reason.
::rocksdb::DBOptions MakeDbOptions(const Options& options);
::rocksdb::ColumnFamilyOptions MakeColumnOptions(Space space, const Options& options,
                                                 const std::shared_ptr<::rocksdb::Cache>& cache);

// The cache that all column families share.
std::shared_ptr<::rocksdb::Cache> MakeBlockCache(const Options& options);
// It is cut into 2 to the power of this many shards, each with a lock of its own.
int BlockCacheShardBits(uint64_t cache_bytes);

// What a memtable may grow to; a log file grows about as much before the next one starts.
uint64_t MemtableBytes(const Options& options);

}  // namespace cairn::store::rocks
