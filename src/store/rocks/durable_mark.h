#pragma once

#include <rocksdb/file_system.h>

#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "store/transaction.h"

namespace cairn::store::rocks {

// How far commits were durable, kept outside of the log: a log that is missing, or that ends too
// early, cannot say so itself. One file, written in place:
//
//   DURABLE    "cairndur"  commit:8BE  crc32c:4BE of what stands before
//
// It is written after each sync of the log and never synced itself. Whatever version of it a crash
// leaves, its commit was durable before it was written; a process that is killed leaves the newest.
// 20 bytes lie within one sector, so that a power loss leaves one version or another.
class DurableMark {
 public:
  // The mark in the file at `path`; nullopt if there is none. An error if it is damaged.
  static Result<std::optional<Commit>> Read(::rocksdb::FileSystem& files, const std::string& path);

  // Opens the file for Set, made if missing. Without (a disk that is full) Set does nothing.
  Result<void> Open(::rocksdb::FileSystem& files, const std::string& path);
  // Not a promise: an error is ignored. By one thread at a time.
  void Set(Commit commit);

 private:
  std::unique_ptr<::rocksdb::FSRandomRWFile> file_;
};

}  // namespace cairn::store::rocks
