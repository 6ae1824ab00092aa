#include "store/rocks/log_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

namespace cairn::store::rocks {
namespace {

constexpr size_t kZeroBytes = 1024 * 1024;
// Files are prepared while there is room for so many of them.
constexpr uint64_t kFreeFiles = 4;

}  // namespace

LogPool::LogPool(std::shared_ptr<::rocksdb::FileSystem> files, std::string directory,
                 uint64_t file_bytes, Log log)
    : files_(std::move(files)),
      directory_(std::move(directory)),
      file_bytes_(file_bytes),
      log_(std::move(log)) {
  thread_ = std::thread([this] { ThreadMain(); });
}

LogPool::~LogPool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
  if (!ready_.empty()) files_->DeleteFile(ready_, {}, nullptr);
}

std::string LogPool::Take() {
  std::string path;
  {
    const std::lock_guard lock(mutex_);
    path.swap(ready_);
    failed_ = false;
  }
  changed_.notify_all();
  return path;
}

void LogPool::WaitUntilReady() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !ready_.empty() || failed_; });
}

void LogPool::ThreadMain() {
  uint64_t number = 0;
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    lock.unlock();
    std::string path = fmt::format("{}/{}.zero", directory_, ++number);
    const ::rocksdb::IOStatus status = Prepare(path);
    lock.lock();
    if (!status.ok()) {
      // Only speed is lost. The disk may be full, so it is tried again when the next log begins.
      files_->DeleteFile(path, {}, nullptr);
      if (!stopping_) log_.Warn("no zero-filled log file", {{"reason", status.ToString()}});
      failed_ = true;
    } else {
      ready_ = std::move(path);
    }
    changed_.notify_all();
    changed_.wait(lock, [this] { return stopping_ || (ready_.empty() && !failed_); });
  }
}

::rocksdb::IOStatus LogPool::Prepare(const std::string& path) {
  // The last room on a disk is for what is needed.
  uint64_t free_bytes = 0;
  ::rocksdb::IOStatus status = files_->GetFreeSpace(directory_, {}, &free_bytes, nullptr);
  if (status.ok() && free_bytes / kFreeFiles < file_bytes_) {
    return ::rocksdb::IOStatus::NoSpace("little room is left on the disk");
  }
  std::unique_ptr<::rocksdb::FSWritableFile> file;
  status = files_->NewWritableFile(path, ::rocksdb::FileOptions(), &file, nullptr);
  const std::string zeros(kZeroBytes, '\0');
  for (uint64_t written = 0; status.ok() && written < file_bytes_; written += zeros.size()) {
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return ::rocksdb::IOStatus::Aborted("stopping");
    }
    const uint64_t left = std::min<uint64_t>(zeros.size(), file_bytes_ - written);
    status = file->Append({zeros.data(), left}, {}, nullptr);
  }
  if (status.ok()) status = file->Fsync({}, nullptr);
  if (status.ok()) status = file->Close({}, nullptr);
  return status;
}

}  // namespace cairn::store::rocks
