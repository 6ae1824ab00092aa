#include "tests/support/power_loss_fs.h"

#include <optional>

#include "tests/support/power_loss_disk.h"

namespace cairn::testing {
namespace {

using ::rocksdb::IODebugContext;
using ::rocksdb::IOOptions;

using DiskPtr = std::shared_ptr<PowerLossFs::Disk>;
using NodePtr = std::shared_ptr<PowerLossFs::Node>;

// What all open files have.
struct Handle {
  DiskPtr disk;
  NodePtr node;
  std::string path;
};

class SequentialFile final : public ::rocksdb::FSSequentialFile {
 public:
  explicit SequentialFile(Handle handle) : handle_(std::move(handle)) {}

  IOStatus Read(size_t length, const IOOptions& options, Slice* result, char* scratch,
                IODebugContext* debug) override {
    IOStatus status = PositionedRead(position_, length, options, result, scratch, debug);
    position_ += result->size();
    return status;
  }
  IOStatus PositionedRead(uint64_t offset, size_t length, const IOOptions& /*options*/,
                          Slice* result, char* scratch, IODebugContext* /*debug*/) override {
    return handle_.disk->Read(*handle_.node, offset, length, result, scratch);
  }
  IOStatus Skip(uint64_t length) override {
    position_ += length;
    return IOStatus::OK();
  }
  IOStatus InvalidateCache(size_t /*offset*/, size_t /*length*/) override { return IOStatus::OK(); }

 private:
  Handle handle_;
  uint64_t position_ = 0;
};

class RandomAccessFile final : public ::rocksdb::FSRandomAccessFile {
 public:
  explicit RandomAccessFile(Handle handle) : handle_(std::move(handle)) {}

  IOStatus Read(uint64_t offset, size_t length, const IOOptions& /*options*/, Slice* result,
                char* scratch, IODebugContext* /*debug*/) const override {
    return handle_.disk->Read(*handle_.node, offset, length, result, scratch);
  }
  IOStatus Prefetch(uint64_t /*offset*/, size_t /*length*/, const IOOptions& /*options*/,
                    IODebugContext* /*debug*/) override {
    return IOStatus::OK();
  }
  IOStatus InvalidateCache(size_t /*offset*/, size_t /*length*/) override { return IOStatus::OK(); }

 private:
  Handle handle_;
};

class WritableFile final : public ::rocksdb::FSWritableFile {
 public:
  WritableFile(Handle handle, uint64_t position, const ::rocksdb::FileOptions& options)
      : FSWritableFile(options), handle_(std::move(handle)), position_(position) {}

  using FSWritableFile::Append;
  IOStatus Append(const Slice& data, const IOOptions& /*options*/,
                  IODebugContext* /*debug*/) override {
    return handle_.disk->Write(*handle_.node, handle_.path, position_, data, &position_);
  }
  using FSWritableFile::PositionedAppend;
  IOStatus PositionedAppend(const Slice& data, uint64_t offset, const IOOptions& options,
                            IODebugContext* debug) override {
    position_ = offset;
    return Append(data, options, debug);
  }
  IOStatus Truncate(uint64_t size, const IOOptions& /*options*/,
                    IODebugContext* /*debug*/) override {
    position_ = size;
    return handle_.disk->Truncate(*handle_.node, handle_.path, size);
  }
  IOStatus Allocate(uint64_t offset, uint64_t length, const IOOptions& /*options*/,
                    IODebugContext* /*debug*/) override {
    return handle_.disk->Allocate(*handle_.node, handle_.path, offset + length);
  }
  IOStatus Close(const IOOptions& /*options*/, IODebugContext* /*debug*/) override {
    size_t block_size = 0;
    size_t preallocated_blocks = 0;
    GetPreallocationStatus(&block_size, &preallocated_blocks);
    std::optional<uint64_t> cut_to;
    if (preallocated_blocks > 0) cut_to = position_;
    return handle_.disk->Close(*handle_.node, handle_.path, cut_to);
  }
  IOStatus Flush(const IOOptions& /*options*/, IODebugContext* /*debug*/) override {
    return IOStatus::OK();
  }
  IOStatus Sync(const IOOptions& /*options*/, IODebugContext* /*debug*/) override {
    return handle_.disk->Sync(*handle_.node, handle_.path);
  }
  IOStatus RangeSync(uint64_t /*offset*/, uint64_t /*length*/, const IOOptions& /*options*/,
                     IODebugContext* /*debug*/) override {
    return IOStatus::OK();
  }
  bool IsSyncThreadSafe() const override { return true; }
  uint64_t GetFileSize(const IOOptions& /*options*/, IODebugContext* /*debug*/) override {
    return position_;
  }
  IOStatus InvalidateCache(size_t /*offset*/, size_t /*length*/) override { return IOStatus::OK(); }

 private:
  Handle handle_;
  uint64_t position_;
};

class RandomRWFile final : public ::rocksdb::FSRandomRWFile {
 public:
  explicit RandomRWFile(Handle handle) : handle_(std::move(handle)) {}

  IOStatus Write(uint64_t offset, const Slice& data, const IOOptions& /*options*/,
                 IODebugContext* /*debug*/) override {
    uint64_t written = 0;
    return handle_.disk->Write(*handle_.node, handle_.path, offset, data, &written);
  }
  IOStatus Read(uint64_t offset, size_t length, const IOOptions& /*options*/, Slice* result,
                char* scratch, IODebugContext* /*debug*/) const override {
    return handle_.disk->Read(*handle_.node, offset, length, result, scratch);
  }
  IOStatus Flush(const IOOptions& /*options*/, IODebugContext* /*debug*/) override {
    return IOStatus::OK();
  }
  IOStatus Sync(const IOOptions& /*options*/, IODebugContext* /*debug*/) override {
    return handle_.disk->Sync(*handle_.node, handle_.path);
  }
  IOStatus Close(const IOOptions& /*options*/, IODebugContext* /*debug*/) override {
    return handle_.disk->Close(*handle_.node, handle_.path, std::nullopt);
  }

 private:
  Handle handle_;
};

class Directory final : public ::rocksdb::FSDirectory {
 public:
  explicit Directory(Handle handle) : handle_(std::move(handle)) {}

  IOStatus Fsync(const IOOptions& /*options*/, IODebugContext* /*debug*/) override {
    return handle_.disk->SyncDirectory(handle_.node, handle_.path);
  }
  IOStatus Close(const IOOptions& /*options*/, IODebugContext* /*debug*/) override {
    return IOStatus::OK();
  }

 private:
  Handle handle_;
};

class HeldLock final : public ::rocksdb::FileLock {
 public:
  explicit HeldLock(Handle held) : handle(std::move(held)) {}

  const Handle handle;
};

class NoLogger final : public ::rocksdb::Logger {
 public:
  using Logger::Logv;
  void Logv(const char* /*format*/, va_list /*arguments*/) override {}
  // Asked for when RocksDB rolls its log by size.
  size_t GetLogFileSize() const override { return 0; }
};

}  // namespace

PowerLossFs::PowerLossFs() : disk_(std::make_shared<Disk>(*Disk::NewRoot())) {}
PowerLossFs::PowerLossFs(const Image& image) : disk_(std::make_shared<Disk>(*image.root_)) {}
PowerLossFs::~PowerLossFs() = default;

PowerLossFs::Image PowerLossFs::StrictImage() const {
  return Image(disk_->AfterPowerLoss(std::nullopt));
}
PowerLossFs::Image PowerLossFs::TornImage(uint64_t seed) const {
  return Image(disk_->AfterPowerLoss(seed));
}

void PowerLossFs::SetHook(Hook hook) { disk_->SetHook(std::move(hook)); }
void PowerLossFs::FailNext(Step step, std::string path_part, IOStatus status, int times) {
  disk_->AddFault(step, std::move(path_part), std::move(status), times);
}
void PowerLossFs::SetCapacity(uint64_t bytes) { disk_->SetCapacity(bytes); }
uint64_t PowerLossFs::used_bytes() const { return disk_->UsedBytes(); }

IOStatus PowerLossFs::NewSequentialFile(const std::string& path, const FileOptions& /*options*/,
                                        std::unique_ptr<::rocksdb::FSSequentialFile>* result,
                                        Debug* /*debug*/) {
  NodePtr node;
  IOStatus status = disk_->Find(path, &node);
  if (status.ok()) *result = std::make_unique<SequentialFile>(Handle{disk_, node, path});
  return status;
}

IOStatus PowerLossFs::NewRandomAccessFile(const std::string& path, const FileOptions& /*options*/,
                                          std::unique_ptr<::rocksdb::FSRandomAccessFile>* result,
                                          Debug* /*debug*/) {
  NodePtr node;
  IOStatus status = disk_->Find(path, &node);
  if (status.ok()) *result = std::make_unique<RandomAccessFile>(Handle{disk_, node, path});
  return status;
}

IOStatus PowerLossFs::NewWritableFile(const std::string& path, const FileOptions& options,
                                      std::unique_ptr<::rocksdb::FSWritableFile>* result,
                                      Debug* /*debug*/) {
  NodePtr node;
  IOStatus status = disk_->Open(path, Disk::Existing::kCut, &node);
  if (status.ok()) *result = std::make_unique<WritableFile>(Handle{disk_, node, path}, 0, options);
  return status;
}

IOStatus PowerLossFs::ReopenWritableFile(const std::string& path, const FileOptions& options,
                                         std::unique_ptr<::rocksdb::FSWritableFile>* result,
                                         Debug* debug) {
  NodePtr node;
  uint64_t size = 0;
  IOStatus status = disk_->Open(path, Disk::Existing::kKeep, &node);
  if (status.ok()) status = GetFileSize(path, {}, &size, debug);
  if (status.ok()) {
    *result = std::make_unique<WritableFile>(Handle{disk_, node, path}, size, options);
  }
  return status;
}

IOStatus PowerLossFs::ReuseWritableFile(const std::string& path, const std::string& old_path,
                                        const FileOptions& options,
                                        std::unique_ptr<::rocksdb::FSWritableFile>* result,
                                        Debug* /*debug*/) {
  NodePtr node;
  IOStatus status = disk_->Rename(old_path, path);
  if (status.ok()) status = disk_->Open(path, Disk::Existing::kKeep, &node);
  if (status.ok()) *result = std::make_unique<WritableFile>(Handle{disk_, node, path}, 0, options);
  return status;
}

IOStatus PowerLossFs::NewRandomRWFile(const std::string& path, const FileOptions& /*options*/,
                                      std::unique_ptr<::rocksdb::FSRandomRWFile>* result,
                                      Debug* /*debug*/) {
  NodePtr node;
  IOStatus status = disk_->Open(path, Disk::Existing::kKeep, &node);
  if (status.ok()) *result = std::make_unique<RandomRWFile>(Handle{disk_, node, path});
  return status;
}

IOStatus PowerLossFs::NewDirectory(const std::string& path, const IOOptions& /*options*/,
                                   std::unique_ptr<::rocksdb::FSDirectory>* result,
                                   Debug* /*debug*/) {
  NodePtr node;
  IOStatus status = disk_->Find(path, &node);
  if (status.ok() && !node->is_directory) status = IOStatus::IOError(path, "not a directory");
  if (status.ok()) *result = std::make_unique<Directory>(Handle{disk_, node, path});
  return status;
}

IOStatus PowerLossFs::NewLogger(const std::string& /*path*/, const IOOptions& /*options*/,
                                std::shared_ptr<::rocksdb::Logger>* result, Debug* /*debug*/) {
  *result = std::make_shared<NoLogger>();
  return IOStatus::OK();
}

IOStatus PowerLossFs::FileExists(const std::string& path, const IOOptions& /*options*/,
                                 Debug* /*debug*/) {
  NodePtr node;
  return disk_->Find(path, &node).ok() ? IOStatus::OK() : IOStatus::NotFound(path);
}

IOStatus PowerLossFs::IsDirectory(const std::string& path, const IOOptions& /*options*/,
                                  bool* is_directory, Debug* /*debug*/) {
  Disk::Facts facts;
  IOStatus status = disk_->Describe(path, &facts);
  if (status.ok()) *is_directory = facts.is_directory;
  return status;
}

IOStatus PowerLossFs::GetChildren(const std::string& path, const IOOptions& /*options*/,
                                  std::vector<std::string>* result, Debug* /*debug*/) {
  Disk::Facts facts;
  const IOStatus status = disk_->Describe(path, &facts);
  if (!status.ok() || !facts.is_directory) return IOStatus::NotFound(path);
  *result = std::move(facts.children);
  return IOStatus::OK();
}

IOStatus PowerLossFs::GetFileSize(const std::string& path, const IOOptions& /*options*/,
                                  uint64_t* size, Debug* /*debug*/) {
  Disk::Facts facts;
  IOStatus status = disk_->Describe(path, &facts);
  if (status.ok()) *size = facts.size;
  return status;
}

IOStatus PowerLossFs::GetFileModificationTime(const std::string& path, const IOOptions& /*options*/,
                                              uint64_t* time, Debug* /*debug*/) {
  Disk::Facts facts;
  IOStatus status = disk_->Describe(path, &facts);
  if (status.ok()) *time = facts.modified;
  return status;
}

IOStatus PowerLossFs::NumFileLinks(const std::string& path, const IOOptions& /*options*/,
                                   uint64_t* count, Debug* /*debug*/) {
  Disk::Facts facts;
  IOStatus status = disk_->Describe(path, &facts);
  if (status.ok()) *count = facts.links;
  return status;
}

IOStatus PowerLossFs::AreFilesSame(const std::string& first, const std::string& second,
                                   const IOOptions& /*options*/, bool* same, Debug* /*debug*/) {
  NodePtr a;
  NodePtr b;
  IOStatus status = disk_->Find(first, &a);
  if (status.ok()) status = disk_->Find(second, &b);
  if (status.ok()) *same = a == b;
  return status;
}

IOStatus PowerLossFs::GetFreeSpace(const std::string& /*path*/, const IOOptions& /*options*/,
                                   uint64_t* bytes, Debug* /*debug*/) {
  *bytes = disk_->FreeBytes();
  return IOStatus::OK();
}

IOStatus PowerLossFs::GetAbsolutePath(const std::string& path, const IOOptions& /*options*/,
                                      std::string* result, Debug* /*debug*/) {
  *result = path.starts_with('/') ? path : "/" + path;
  return IOStatus::OK();
}

IOStatus PowerLossFs::GetTestDirectory(const IOOptions& /*options*/, std::string* result,
                                       Debug* /*debug*/) {
  *result = "/test";
  return IOStatus::OK();
}

IOStatus PowerLossFs::DeleteFile(const std::string& path, const IOOptions& /*options*/,
                                 Debug* /*debug*/) {
  return disk_->Remove(Step::kDeleteFile, path);
}

IOStatus PowerLossFs::Truncate(const std::string& path, size_t size, const IOOptions& /*options*/,
                               Debug* /*debug*/) {
  NodePtr node;
  const IOStatus status = disk_->Find(path, &node);
  return status.ok() ? disk_->Truncate(*node, path, size) : status;
}

IOStatus PowerLossFs::CreateDir(const std::string& path, const IOOptions& /*options*/,
                                Debug* /*debug*/) {
  return disk_->Make(Step::kCreateDirectory, path, Disk::NewDirectory());
}

IOStatus PowerLossFs::CreateDirIfMissing(const std::string& path, const IOOptions& options,
                                         Debug* debug) {
  bool is_directory = false;
  if (!IsDirectory(path, options, &is_directory, debug).ok())
    return CreateDir(path, options, debug);
  return is_directory ? IOStatus::OK() : IOStatus::IOError(path, "not a directory");
}

IOStatus PowerLossFs::DeleteDir(const std::string& path, const IOOptions& /*options*/,
                                Debug* /*debug*/) {
  return disk_->Remove(Step::kDeleteDirectory, path);
}

IOStatus PowerLossFs::RenameFile(const std::string& from, const std::string& to,
                                 const IOOptions& /*options*/, Debug* /*debug*/) {
  return disk_->Rename(from, to);
}

IOStatus PowerLossFs::LinkFile(const std::string& from, const std::string& to,
                               const IOOptions& /*options*/, Debug* /*debug*/) {
  NodePtr node;
  const IOStatus status = disk_->Find(from, &node);
  return status.ok() ? disk_->Make(Step::kLink, to, node) : status;
}

IOStatus PowerLossFs::LockFile(const std::string& path, const IOOptions& /*options*/,
                               ::rocksdb::FileLock** lock, Debug* /*debug*/) {
  *lock = nullptr;
  NodePtr node;
  IOStatus status = disk_->Open(path, Disk::Existing::kKeep, &node);
  if (!status.ok()) return status;
  if (!disk_->TryLock(*node)) return IOStatus::IOError(path, "lock is held");
  *lock = new HeldLock({disk_, node, path});
  return IOStatus::OK();
}

IOStatus PowerLossFs::UnlockFile(::rocksdb::FileLock* lock, const IOOptions& /*options*/,
                                 Debug* /*debug*/) {
  const std::unique_ptr<HeldLock> held(static_cast<HeldLock*>(lock));
  disk_->Unlock(*held->handle.node);
  return IOStatus::OK();
}

}  // namespace cairn::testing
