#pragma once

#include <rocksdb/file_system.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/log.h"

namespace cairn::store::rocks {

// A file system that gives RocksDB write-ahead log files which are already full of zeros on disk.
//
// An fsync of a growing file also writes its new length and block list; an fsync of a file that is
// overwritten in place writes only the data, in about half the time. A background thread keeps the
// next file ready; when none is, RocksDB gets an ordinary new file, so nothing ever waits for it.
//
// Logs only: everything else goes to the file system beneath. RocksDB cuts a log to its real length
// when it closes it. After a crash the rest of the last log is zeros, which RocksDB's reader takes
// for the end of the log. A prepared file is renamed into place before its first use, and RocksDB
// syncs the directory with the first sync of a log, so a power loss leaves either no log or a valid
// one.
class LogPool final : public ::rocksdb::FileSystemWrapper {
 public:
  // `directory` is the pool's own, on the same file system as the logs; leftovers in it are
  // removed.
  LogPool(const std::shared_ptr<::rocksdb::FileSystem>& base, std::string directory,
          uint64_t file_bytes, Log log);
  ~LogPool() override;

  static const char* kClassName() { return "CairnLogPool"; }
  const char* Name() const override { return kClassName(); }

  ::rocksdb::IOStatus NewWritableFile(const std::string& name,
                                      const ::rocksdb::FileOptions& options,
                                      std::unique_ptr<::rocksdb::FSWritableFile>* result,
                                      ::rocksdb::IODebugContext* debug) override;

  // Waits until a file is ready or the pool has given up; for tests.
  void WaitUntilReady();

 private:
  void ThreadMain();
  ::rocksdb::IOStatus Prepare(const std::string& path);
  void RemoveLeftovers();

  const std::string directory_;
  const uint64_t file_bytes_;
  Log log_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::string ready_;  // empty: none
  bool stopping_ = false;
  bool gave_up_ = false;
  std::thread thread_;
};

}  // namespace cairn::store::rocks
