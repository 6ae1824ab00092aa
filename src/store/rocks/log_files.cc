#include "store/rocks/log_files.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <ctime>
#include <limits>

namespace cairn::store::rocks {
namespace {

using ::rocksdb::IODebugContext;
using ::rocksdb::IOOptions;
using ::rocksdb::IOStatus;
using ::rocksdb::Slice;

constexpr uint64_t kMiB = 1024 * 1024;
// Room is asked for in steps, so that most writes need not ask.
constexpr uint64_t kStepBytes = kMiB;
constexpr uint64_t kSpareBytes = 2 * kMiB;
// A manifest, the options, a log; and what the first write to each takes beforehand.
constexpr uint64_t kStartBytes = 4 * kMiB;
constexpr uint64_t kMuchRoomBytes = 1024 * kMiB;
constexpr uint64_t kUnknownRoom = std::numeric_limits<uint64_t>::max();

// A log is cut into blocks of 32 KiB; each part of a record in a block has a header, and what is
// left of a block may be too short for another.
constexpr uint64_t kBlockBytes = 32 * 1024;
constexpr uint64_t kHeaderBytes = 16;
uint64_t BytesInLog(uint64_t bytes) {
  return bytes + (bytes / (kBlockBytes - kHeaderBytes) + 2) * kHeaderBytes;
}

// Some file systems cannot set room aside. There a full disk shows in the middle of a write, and
// stops writes until a restart.
bool CannotAllocate(const IOStatus& status) {
  return status.IsNotSupported() ||
         status.ToString().find("Operation not supported") != std::string::npos;
}

// Sets [from, to) of a file aside and says how far room is certain; `from` if there is none.
IOStatus Allocate(::rocksdb::FSWritableFile& file, uint64_t from, uint64_t to, uint64_t* reserved) {
  const uint64_t wanted = (to - from + kStepBytes - 1) / kStepBytes * kStepBytes;
  uint64_t end = from + wanted;
  IOStatus status = file.Allocate(from, wanted, {}, nullptr);
  if (!status.ok() && end > to) {
    end = to;
    status = file.Allocate(from, to - from, {}, nullptr);
  }
  if (!status.ok() && CannotAllocate(status)) {
    *reserved = kUnknownRoom;
    return IOStatus::OK();
  }
  if (status.ok()) *reserved = end;
  return status;
}

// RocksDB's own logger stops the process when a message could not be written and another follows.
class MessageFile final : public ::rocksdb::Logger {
 public:
  // Without a file, messages are dropped.
  explicit MessageFile(std::unique_ptr<::rocksdb::FSWritableFile> file) : file_(std::move(file)) {}
  ~MessageFile() override { CloseFile(); }

  using Logger::Logv;
  void Logv(const char* format, va_list arguments) override {
    std::array<char, 4096> text;
    const int length = std::vsnprintf(text.data(), text.size(), format, arguments);
    if (length < 0) return;
    std::string line = fmt::format("{:%Y/%m/%d-%H:%M:%S} ", Now());
    line.append(text.data(), std::min<size_t>(static_cast<size_t>(length), text.size() - 1));
    if (!line.ends_with('\n')) line.push_back('\n');
    const std::lock_guard lock(mutex_);
    if (file_ == nullptr) return;
    file_->Append(line, {}, nullptr);
    size_ += line.size();
  }
  size_t GetLogFileSize() const override { return size_; }

 protected:
  ::rocksdb::Status CloseImpl() override {
    CloseFile();
    return ::rocksdb::Status::OK();
  }

 private:
  static std::tm Now() {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    gmtime_r(&now, &parts);
    return parts;
  }
  void CloseFile() {
    const std::lock_guard lock(mutex_);
    if (file_ != nullptr) file_->Close({}, nullptr);
    file_.reset();
  }

  std::mutex mutex_;
  std::unique_ptr<::rocksdb::FSWritableFile> file_;
  std::atomic<size_t> size_{0};
};

std::string DirectoryOf(const std::string& name) { return name.substr(0, name.rfind('/')); }

}  // namespace

// A log that RocksDB has open. Appended to by one thread, synced by any, closed by any.
struct LogFiles::OpenLog {
  IOStatus Sync() {
    const std::lock_guard lock(mutex);
    const uint64_t target = written.load(std::memory_order_acquire);
    // A log is closed once its rows are safe elsewhere.
    if (file == nullptr || synced >= target) return IOStatus::OK();
    // Once it has failed, the kernel may have dropped what it could not write, and says so to
    // nobody else: a later success would prove nothing.
    if (failure.ok()) failure = file->Sync({}, nullptr);
    if (failure.ok()) synced = target;
    return failure;
  }

  std::unique_ptr<::rocksdb::FSWritableFile> file;
  std::atomic<uint64_t> written{0};
  uint64_t reserved = 0;  // how far there is room for certain; LogFiles::mutex_

  std::mutex mutex;     // for who syncs or closes
  uint64_t synced = 0;  // of `written`
  IOStatus failure;     // of a sync
};

// What RocksDB holds of it.
class LogFiles::LogFile final : public ::rocksdb::FSWritableFileWrapper {
 public:
  LogFile(LogFiles& owner, std::shared_ptr<OpenLog> log)
      : FSWritableFileWrapper(log->file.get()), owner_(owner), log_(std::move(log)) {}
  ~LogFile() override { Close({}, nullptr); }

  IOStatus Append(const Slice& data, const IOOptions& options, IODebugContext* debug) override {
    return Appended(target()->Append(data, options, debug), data.size());
  }
  IOStatus Append(const Slice& data, const IOOptions& options,
                  const ::rocksdb::DataVerificationInfo& checksum, IODebugContext* debug) override {
    return Appended(target()->Append(data, options, checksum, debug), data.size());
  }
  IOStatus Sync(const IOOptions& /*options*/, IODebugContext* /*debug*/) override {
    IOStatus status = log_->Sync();
    if (!status.ok()) owner_.Failed(status);
    return status;
  }
  IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override {
    return Sync(options, debug);
  }
  IOStatus Close(const IOOptions& options, IODebugContext* debug) override {
    owner_.Forget(*log_);
    const std::lock_guard lock(log_->mutex);
    if (log_->file == nullptr) return IOStatus::OK();
    IOStatus status = log_->file->Close(options, debug);
    log_->file.reset();
    return status;
  }

 private:
  IOStatus Appended(IOStatus status, size_t bytes) {
    if (status.ok()) {
      log_->written.fetch_add(bytes, std::memory_order_release);
      owner_.options_.appended();
    } else {
      owner_.Failed(status);
    }
    return status;
  }

  LogFiles& owner_;
  const std::shared_ptr<OpenLog> log_;
};

LogFiles::LogFiles(const std::shared_ptr<::rocksdb::FileSystem>& base, Options options,
                   const Log& log)
    : FileSystemWrapper(base), options_(std::move(options)) {
  if (options_.zero_file_bytes > 0) {
    pool_ = std::make_unique<LogPool>(base, options_.directory, options_.zero_file_bytes, log);
  }
}

LogFiles::~LogFiles() = default;

void LogFiles::RemoveLeftovers(::rocksdb::FileSystem& files, const std::string& directory) {
  std::vector<std::string> names;
  if (!files.GetChildren(directory, {}, &names, nullptr).ok()) return;
  for (const std::string& name : names) {
    if (!name.ends_with(".zero") && !name.ends_with(".spare")) continue;
    files.DeleteFile(directory + "/" + name, {}, nullptr);
  }
}

IOStatus LogFiles::Reserve(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  needed_ = BytesInLog(bytes);
  return MakeRoom(needed_);
}

IOStatus LogFiles::LookForRoom(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  return MakeRoom(BytesInLog(bytes));
}

IOStatus LogFiles::MakeRoom(uint64_t bytes) {
  if (!open_.empty()) {
    OpenLog& log = *open_.back();
    const uint64_t end = log.written.load(std::memory_order_relaxed) + bytes;
    if (end > log.reserved) {
      const uint64_t from = std::max(log.reserved, end - bytes);
      // It cannot be closed before Forget.
      IOStatus status = Allocate(*log.file, from, end, &log.reserved);
      if (!status.ok()) return status;
    }
  }
  return spare_bytes_ >= bytes ? IOStatus::OK() : EnsureSpare(bytes);
}

IOStatus LogFiles::EnsureSpare(uint64_t bytes) {
  const std::string path =
      spare_.empty() ? fmt::format("{}/{}.spare", options_.directory, ++spare_number_) : spare_;
  uint64_t reserved = spare_bytes_;
  IOStatus status = SetAside(path, spare_bytes_, std::max(bytes, kSpareBytes), &reserved);
  if (status.ok()) {
    spare_ = path;
    spare_bytes_ = reserved;
  } else if (spare_.empty()) {
    target()->DeleteFile(path, {}, nullptr);
  }
  return status;
}

IOStatus LogFiles::SetAside(const std::string& path, uint64_t from, uint64_t to,
                            uint64_t* reserved) {
  std::unique_ptr<::rocksdb::FSWritableFile> file;
  IOStatus status = target()->ReopenWritableFile(path, ::rocksdb::FileOptions(), &file, nullptr);
  if (!status.ok()) return status;
  status = Allocate(*file, from, to, reserved);
  const IOStatus closed = file->Close({}, nullptr);
  return status.ok() ? closed : status;
}

// The start that needs it may be the one after a power loss.
IOStatus LogFiles::MakeDurable(const std::string& path) {
  std::unique_ptr<::rocksdb::FSWritableFile> file;
  IOStatus status = target()->ReopenWritableFile(path, ::rocksdb::FileOptions(), &file, nullptr);
  if (status.ok()) status = file->Fsync({}, nullptr);
  if (status.ok()) status = file->Close({}, nullptr);
  return status.ok() ? SyncDirectoryOf(path) : status;
}

void LogFiles::KeepRoomForStart() {
  const std::lock_guard lock(mutex_);
  if (start_has_room_) return;
  const std::string path = options_.directory + "/start.spare";
  uint64_t reserved = 0;
  start_has_room_ = SetAside(path, 0, kStartBytes, &reserved).ok() && MakeDurable(path).ok();
  if (!start_has_room_) target()->DeleteFile(path, {}, nullptr);
}

IOStatus LogFiles::Sync() {
  std::vector<std::shared_ptr<OpenLog>> logs;
  std::string new_name;
  {
    const std::lock_guard lock(mutex_);
    logs = open_;
    new_name.swap(new_name_);
  }
  IOStatus status;
  for (const std::shared_ptr<OpenLog>& log : logs) {
    if (status.ok()) status = log->Sync();
  }
  if (status.ok() && !new_name.empty()) status = SyncDirectoryOf(new_name);
  if (!status.ok()) Failed(status);
  return status;
}

IOStatus LogFiles::SyncDirectoryOf(const std::string& name) {
  std::unique_ptr<::rocksdb::FSDirectory> directory;
  IOStatus status = target()->NewDirectory(DirectoryOf(name), {}, &directory, nullptr);
  if (status.ok()) status = directory->Fsync({}, nullptr);
  return status;
}

IOStatus LogFiles::NewWritableFile(const std::string& name, const ::rocksdb::FileOptions& options,
                                   std::unique_ptr<::rocksdb::FSWritableFile>* result,
                                   IODebugContext* debug) {
  if (!name.ends_with(".log")) {
    ::rocksdb::FileOptions own = options;
    if (name.ends_with(".sst")) own.allow_fallocate &= HasMuchRoom(name);
    return target()->NewWritableFile(name, own, result, debug);
  }
  const auto log = std::make_shared<OpenLog>();
  const std::lock_guard lock(mutex_);
  IOStatus status = OpenLogFile(name, options, *log);
  if (!status.ok()) return status;
  open_.push_back(log);
  new_name_ = name;
  *result = std::make_unique<LogFile>(*this, log);
  return status;
}

// RocksDB takes room for a table of the largest size while it writes one. On a disk that is nearly
// full, writes would be refused for the sake of a table that stays small.
bool LogFiles::HasMuchRoom(const std::string& name) {
  uint64_t free_bytes = 0;
  const IOStatus status = target()->GetFreeSpace(DirectoryOf(name), {}, &free_bytes, nullptr);
  return !status.ok() || free_bytes > kMuchRoomBytes;
}

IOStatus LogFiles::OpenLogFile(const std::string& name, const ::rocksdb::FileOptions& options,
                               OpenLog& log) {
  const std::string zeros =
      pool_ != nullptr && pool_->file_bytes() >= needed_ ? pool_->Take() : std::string();
  if (!zeros.empty() &&
      target()->ReuseWritableFile(name, zeros, options, &log.file, nullptr).ok()) {
    log.reserved = pool_->file_bytes();
    return IOStatus::OK();
  }
  if (!spare_.empty() &&
      target()->ReuseWritableFile(name, spare_, options, &log.file, nullptr).ok()) {
    log.reserved = spare_bytes_;
    spare_.clear();
    spare_bytes_ = 0;
    return IOStatus::OK();
  }
  return target()->NewWritableFile(name, options, &log.file, nullptr);
}

IOStatus LogFiles::NewLogger(const std::string& name, const IOOptions& /*options*/,
                             std::shared_ptr<::rocksdb::Logger>* result, IODebugContext* debug) {
  std::unique_ptr<::rocksdb::FSWritableFile> file;
  target()->NewWritableFile(name, ::rocksdb::FileOptions(), &file, debug);
  *result = std::make_shared<MessageFile>(std::move(file));
  return IOStatus::OK();
}

void LogFiles::Forget(const OpenLog& log) {
  const std::lock_guard lock(mutex_);
  std::erase_if(open_, [&](const std::shared_ptr<OpenLog>& open) { return open.get() == &log; });
}

void LogFiles::Failed(const IOStatus& status) { options_.failed(status); }

}  // namespace cairn::store::rocks
