#pragma once

#include <rocksdb/file_system.h>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/log.h"
#include "store/rocks/log_pool.h"

namespace cairn::store::rocks {

// The file system that RocksDB works on. It knows the write-ahead logs, and keeps a disk that is
// full or fails from ever showing in the middle of a write.
//
//   Reserve   before a write: room on disk for it, in the log and in the next one should RocksDB
//             begin it with this write. Refused, nothing has happened.
//   Sync      after it: makes the logs durable, without RocksDB knowing.
//
// Why not leave it to RocksDB: a log that an append failed on holds half a record, behind which
// nothing may be written; a log that cannot be created stops the database until it is opened again;
// and a file that has failed once must not be touched again by any thread, or the library's own
// assertions, which distributions leave on, end the process (decision 15).
//
// Logs begin as files that are ready: full of zeros (LogPool), else a spare one that only has its
// room on disk.
//
// RocksDB's messages for people (db/LOG) go to files that swallow errors.
//
// Safe to use from any thread; Reserve by the one that writes next.
class LogFiles final : public ::rocksdb::FileSystemWrapper {
 public:
  struct Options {
    std::string directory;         // of prepared files, on the same file system as the logs
    uint64_t zero_file_bytes = 0;  // of the files that LogPool prepares; 0: none
    // Called after each append to a log, on its thread: RocksDB has let the write through, and
    // nobody can see it yet.
    std::function<void()> appended;
    // A log could not be written or synced: what is in it is not known from now on.
    std::function<void(const ::rocksdb::IOStatus&)> failed;
  };
  LogFiles(const std::shared_ptr<::rocksdb::FileSystem>& base, Options options, const Log& log);
  ~LogFiles() override;

  static const char* kClassName() { return "CairnLogFiles"; }
  const char* Name() const override { return kClassName(); }

  // Room for a write of so many bytes.
  ::rocksdb::IOStatus Reserve(uint64_t bytes);
  // Whether there would be, for who does not write.
  ::rocksdb::IOStatus LookForRoom(uint64_t bytes);
  // Sets room aside that stays behind when the process ends and that the next start removes: what
  // it has to open the store with if the disk is full. Changes nothing if it is there.
  void KeepRoomForStart();
  // Everything appended before the call is durable when it returns OK.
  ::rocksdb::IOStatus Sync();

  // Waits until a file of zeros is ready, or there was no room for one; for tests.
  void WaitForZeros() { pool_->WaitUntilReady(); }

  // Removes what an earlier process has left in `directory`.
  static void RemoveLeftovers(::rocksdb::FileSystem& files, const std::string& directory);

  ::rocksdb::IOStatus NewWritableFile(const std::string& name,
                                      const ::rocksdb::FileOptions& options,
                                      std::unique_ptr<::rocksdb::FSWritableFile>* result,
                                      ::rocksdb::IODebugContext* debug) override;
  ::rocksdb::IOStatus NewLogger(const std::string& name, const ::rocksdb::IOOptions& options,
                                std::shared_ptr<::rocksdb::Logger>* result,
                                ::rocksdb::IODebugContext* debug) override;

 private:
  struct OpenLog;
  class LogFile;

  ::rocksdb::IOStatus OpenLogFile(const std::string& name, const ::rocksdb::FileOptions& options,
                                  OpenLog& log);
  ::rocksdb::IOStatus MakeRoom(uint64_t bytes);
  ::rocksdb::IOStatus EnsureSpare(uint64_t bytes);
  ::rocksdb::IOStatus SetAside(const std::string& path, uint64_t from, uint64_t to,
                               uint64_t* reserved);
  ::rocksdb::IOStatus MakeDurable(const std::string& path);
  ::rocksdb::IOStatus SyncDirectoryOf(const std::string& name);
  bool HasMuchRoom(const std::string& name);
  void Forget(const OpenLog& log);
  void Failed(const ::rocksdb::IOStatus& status);

  const Options options_;
  std::unique_ptr<LogPool> pool_;  // null: none

  std::mutex mutex_;
  std::vector<std::shared_ptr<OpenLog>> open_;  // the last is the one that is written
  std::string new_name_;                        // of a log whose name is not durable yet
  std::string spare_;                           // its path; empty: none
  uint64_t spare_bytes_ = 0;
  uint64_t spare_number_ = 0;
  uint64_t needed_ = 0;  // by the write that is next
  bool start_has_room_ = false;
};

}  // namespace cairn::store::rocks
