#include "store/rocks/log_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

namespace cairn::store::rocks {
namespace {

constexpr size_t kZeroBytes = 1024 * 1024;

}  // namespace

LogPool::LogPool(const std::shared_ptr<::rocksdb::FileSystem>& base, std::string directory,
                 uint64_t file_bytes, Log log)
    : FileSystemWrapper(base),
      directory_(std::move(directory)),
      file_bytes_(file_bytes),
      log_(std::move(log)) {
  RemoveLeftovers();
  thread_ = std::thread([this] { ThreadMain(); });
}

LogPool::~LogPool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
  RemoveLeftovers();
}

void LogPool::RemoveLeftovers() {
  std::vector<std::string> names;
  if (!target()->GetChildren(directory_, {}, &names, nullptr).ok()) return;
  for (const std::string& name : names) {
    if (name.ends_with(".zero")) target()->DeleteFile(directory_ + "/" + name, {}, nullptr);
  }
}

::rocksdb::IOStatus LogPool::NewWritableFile(const std::string& name,
                                             const ::rocksdb::FileOptions& options,
                                             std::unique_ptr<::rocksdb::FSWritableFile>* result,
                                             ::rocksdb::IODebugContext* debug) {
  if (name.ends_with(".log")) {
    std::string prepared;
    {
      const std::lock_guard lock(mutex_);
      prepared.swap(ready_);
    }
    changed_.notify_all();
    if (!prepared.empty() &&
        target()->ReuseWritableFile(name, prepared, options, result, debug).ok()) {
      return ::rocksdb::IOStatus::OK();
    }
  }
  return target()->NewWritableFile(name, options, result, debug);
}

void LogPool::WaitUntilReady() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !ready_.empty() || gave_up_; });
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
      // Only speed is lost; the disk may be full, so it is not tried again.
      target()->DeleteFile(path, {}, nullptr);
      log_.Warn("no zero-filled log files", {{"reason", status.ToString()}});
      gave_up_ = true;
      changed_.notify_all();
      return;
    }
    ready_ = std::move(path);
    changed_.notify_all();
    changed_.wait(lock, [this] { return stopping_ || ready_.empty(); });
  }
}

::rocksdb::IOStatus LogPool::Prepare(const std::string& path) {
  std::unique_ptr<::rocksdb::FSWritableFile> file;
  ::rocksdb::IOStatus status =
      target()->NewWritableFile(path, ::rocksdb::FileOptions(), &file, nullptr);
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
