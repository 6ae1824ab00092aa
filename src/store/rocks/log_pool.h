#pragma once

#include <rocksdb/file_system.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/log.h"

namespace cairn::store::rocks {

// Keeps a file ready that is already full of zeros on disk, for the next write-ahead log.
//
// An fsync of a growing file also writes its new length and block list; an fsync of a file that is
// overwritten in place writes only the data, in about half the time. A background thread keeps the
// next file ready; when none is, the log begins as an ordinary file, so nothing ever waits for it.
//
// RocksDB cuts a log to its real length when it closes it. After a crash the rest of the last log
// is zeros, which RocksDB's reader takes for the end of the log. A prepared file is renamed into
// place before its first use, and the directory is synced with the first sync of a log, so a power
// loss leaves either no log or a valid one.
class LogPool {
 public:
  // `directory` exists, on the same file system as the logs.
  LogPool(std::shared_ptr<::rocksdb::FileSystem> files, std::string directory, uint64_t file_bytes,
          Log log);
  ~LogPool();
  LogPool(const LogPool&) = delete;
  LogPool& operator=(const LogPool&) = delete;

  uint64_t file_bytes() const { return file_bytes_; }
  // The path of a file of zeros, which is the caller's from now on; empty if none is ready. Starts
  // on the next one.
  std::string Take();

  // Waits until a file is ready or there was no room for one; for tests.
  void WaitUntilReady();

 private:
  void ThreadMain();
  ::rocksdb::IOStatus Prepare(const std::string& path);

  const std::shared_ptr<::rocksdb::FileSystem> files_;
  const std::string directory_;
  const uint64_t file_bytes_;
  Log log_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::string ready_;  // empty: none
  bool stopping_ = false;
  bool failed_ = false;  // the last try; tried again with the next Take
  std::thread thread_;
};

}  // namespace cairn::store::rocks
