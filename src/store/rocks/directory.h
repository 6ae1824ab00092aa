#pragma once

#include <rocksdb/file_system.h>

#include <memory>
#include <string>

#include "base/result.h"
#include "store/rocks/open.h"

namespace cairn::store::rocks {

// What the FORMAT file says.
struct Format {
  int version = kFormatVersion;
  std::string written_by;
};

std::string EncodeFormat(const Format& format);
Result<Format> DecodeFormat(const std::string& text, const std::string& path);

// A data directory that this process holds: made if missing, checked, locked until destroyed.
class DataDirectory {
 public:
  static Result<std::unique_ptr<DataDirectory>> Open(
      const std::string& path, const std::string& version,
      std::shared_ptr<::rocksdb::FileSystem> file_system);
  ~DataDirectory();
  DataDirectory(const DataDirectory&) = delete;
  DataDirectory& operator=(const DataDirectory&) = delete;

  std::string db_path() const { return path_ + "/db"; }
  std::string log_pool_path() const { return path_ + "/logpool"; }
  std::string durable_mark_path() const { return path_ + "/DURABLE"; }

 private:
  DataDirectory(std::string path, std::shared_ptr<::rocksdb::FileSystem> file_system)
      : path_(std::move(path)), file_system_(std::move(file_system)) {}

  Result<void> Lock();
  Result<void> CheckOrWriteFormat(const std::string& version);
  Result<void> WriteFormat(const std::string& version);

  const std::string path_;
  std::shared_ptr<::rocksdb::FileSystem> file_system_;
  ::rocksdb::FileLock* lock_ = nullptr;
};

// Makes the entries of a directory durable: files created, renamed or removed in it.
Result<void> SyncDirectory(::rocksdb::FileSystem& file_system, const std::string& path);

}  // namespace cairn::store::rocks
