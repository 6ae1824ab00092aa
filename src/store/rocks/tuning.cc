#include "store/rocks/tuning.h"

#include <rocksdb/cache.h>
#include <rocksdb/file_checksum.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>
#include <rocksdb/write_buffer_manager.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <thread>

#include "store/rocks/btree_memtable.h"

namespace cairn::store::rocks {
namespace {

constexpr uint64_t kMiB = 1024 * 1024;
constexpr uint64_t kGiB = 1024 * kMiB;

// The memory this process may use: the container's limit where there is one, else the machine's.
uint64_t MachineMemory() {
  uint64_t bytes = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                   static_cast<uint64_t>(sysconf(_SC_PAGE_SIZE));
  for (const char* path :
       {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    std::ifstream file(path);
    uint64_t limit = 0;
    if (file >> limit && limit > 0) bytes = std::min(bytes, limit);  // "max" is no number
  }
  return bytes;
}

}  // namespace

uint64_t MemoryBudget::DefaultTotal() {
  return std::clamp<uint64_t>(MachineMemory() / 4, 192 * kMiB, 16 * kGiB);
}

MemoryBudget MemoryBudget::FromTotal(uint64_t bytes) {
  // Write buffers gain little past 512 MiB; what they leave goes to the two caches.
  const uint64_t write_buffers = std::clamp<uint64_t>(bytes / 4, 16 * kMiB, 512 * kMiB);
  const uint64_t rest = bytes > write_buffers ? bytes - write_buffers : 0;
  return {.value_cache_bytes = rest / 2,
          .block_cache_bytes = rest - rest / 2,
          .write_buffer_bytes = write_buffers,
          .transaction_bytes = std::clamp<uint64_t>(bytes / 4, 64 * kMiB, kGiB)};
}

uint64_t MemtableBytes(const Options& options) {
  // Up to four per column family may wait for their flush; most families are nearly empty.
  return std::clamp<uint64_t>(options.memory.write_buffer_bytes / 4, 4 * kMiB, 64 * kMiB);
}

int BlockCacheShardBits(uint64_t cache_bytes) {
  // A block that is larger than a shard is never kept: whoever wants it reads it again. A value of
  // some megabytes is such a block, and so were filters before they came in pieces. More than
  // 64 shards gain nothing.
  constexpr uint64_t kLeastShardBytes = 16 * kMiB;
  constexpr int kMostBits = 6;
  int bits = 0;
  while (bits < kMostBits && cache_bytes >> (bits + 1) >= kLeastShardBytes) ++bits;
  return bits;
}

std::shared_ptr<::rocksdb::Cache> MakeBlockCache(const Options& options) {
  const uint64_t bytes = options.memory.block_cache_bytes;
  return ::rocksdb::NewLRUCache(bytes, BlockCacheShardBits(bytes));
}

::rocksdb::DBOptions MakeDbOptions(const Options& options) {
  ::rocksdb::DBOptions db;
  db.create_if_missing = true;
  db.create_missing_column_families = true;
  db.paranoid_checks = true;
  // The manifest knows the checksum of each whole file: RocksDB 7.8 does not look at the pieces of
  // a filter when it verifies a table block by block.
  db.file_checksum_gen_factory = ::rocksdb::GetFileChecksumGenCrc32cFactory();
  // A log that the manifest says was synced must be there, whole.
  db.track_and_verify_wals_in_manifest = true;
  // An incomplete end of the log was never acknowledged; everything before it is kept.
  db.wal_recovery_mode = ::rocksdb::WALRecoveryMode::kPointInTimeRecovery;
  // One writer at a time is what the sequencer gives and what the B-tree memtable needs.
  db.allow_concurrent_memtable_write = false;
  db.enable_write_thread_adaptive_yield = false;
  const int jobs = std::max(2, static_cast<int>(std::thread::hardware_concurrency()) / 2);
  db.max_background_jobs = jobs;
  // One flush at a time: a second one would go on using a log that the first has failed to sync,
  // which RocksDB's assertions do not forgive.
  db.max_background_flushes = 1;
  db.max_background_compactions = jobs - 1;
  // Room for its records is taken beforehand, but not all that a start on a full disk has.
  db.manifest_preallocation_size = kMiB;
  // DiskWatch decides when to go on after an error.
  db.max_bgerror_resume_count = 0;
  db.max_open_files = -1;
  db.bytes_per_sync = kMiB;
  db.max_total_wal_size = 4 * MemtableBytes(options);
  db.write_buffer_manager =
      std::make_shared<::rocksdb::WriteBufferManager>(options.memory.write_buffer_bytes);
  db.keep_log_file_num = 4;
  db.max_log_file_size = 8 * kMiB;
  db.stats_dump_period_sec = 0;
  return db;
}

::rocksdb::ColumnFamilyOptions MakeColumnOptions(Space space, const Options& options,
                                                 const std::shared_ptr<::rocksdb::Cache>& cache) {
  ::rocksdb::BlockBasedTableOptions table;
  table.block_cache = cache;
  // Index and filter blocks count against the cache, so that memory stays within its bound however
  // large the data grows.
  table.cache_index_and_filter_blocks = true;
  table.cache_index_and_filter_blocks_with_high_priority = true;
  table.pin_l0_filter_and_index_blocks_in_cache = true;
  // In pieces, each of which is kept or dropped by itself. As one block a file's filter has several
  // megabytes and its index nearly one: what a small cache cannot keep is then read from the file
  // for every lookup. The pieces' own index, a few kilobytes, stays in memory.
  table.index_type = ::rocksdb::BlockBasedTableOptions::kTwoLevelIndexSearch;
  table.partition_filters = true;
  table.metadata_block_size = 8 * 1024;
  table.pin_top_level_index_and_filter = true;
  // A filter that is wrong sends a loop's read to the pool, which costs many times the read, to
  // look for what is not there; and a key that is not there is looked for in every young file. Of
  // ten bits a key one answer in a hundred is wrong, of sixteen one in two thousand.
  constexpr double kFilterBitsPerKey = 16;
  table.filter_policy.reset(::rocksdb::NewBloomFilterPolicy(kFilterBitsPerKey));
  table.format_version = 5;
  table.block_size = 8 * 1024;
  // Point lookups find their row in a block without a binary search.
  table.data_block_index_type = ::rocksdb::BlockBasedTableOptions::kDataBlockBinaryAndHash;
  // What was written last is often what is read next: a memtable that goes to disk stays in
  // memory too, so that workers do not have to wait for the disk.
  if (space == Space::kJobs) {
    table.prepopulate_block_cache =
        ::rocksdb::BlockBasedTableOptions::PrepopulateBlockCache::kFlushOnly;
  }

  ::rocksdb::ColumnFamilyOptions column;
  column.table_factory.reset(::rocksdb::NewBlockBasedTableFactory(table));
  column.memtable_factory = std::make_shared<BTreeMemTableFactory>();
  column.write_buffer_size = MemtableBytes(options);
  column.max_write_buffer_number = 4;
  column.level0_file_num_compaction_trigger = 8;
  column.level0_slowdown_writes_trigger = 20;
  column.level0_stop_writes_trigger = 36;
  column.level_compaction_dynamic_level_bytes = true;
  column.max_bytes_for_level_base = 8 * MemtableBytes(options);
  column.target_file_size_base = 64 * kMiB;
  // The young levels are rewritten soon; compressing them costs more than it saves.
  column.compression_per_level = {::rocksdb::kNoCompression,  ::rocksdb::kNoCompression,
                                  ::rocksdb::kLZ4Compression, ::rocksdb::kLZ4Compression,
                                  ::rocksdb::kLZ4Compression, ::rocksdb::kLZ4Compression,
                                  ::rocksdb::kLZ4Compression};
  return column;
}

}  // namespace cairn::store::rocks
