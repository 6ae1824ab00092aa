#pragma once

#include <rocksdb/file_system.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cairn::testing {

// A file system in memory that knows what a power loss would leave of it. For RocksDB, and for
// whoever uses rocksdb::FileSystem. Thread-safe. Paths are absolute; "/" and "/test" exist.
//
// What counts as safe is what POSIX promises, not what a friendly file system does beyond it:
//
//   a file's bytes and length   after Sync or Fsync of the file. RangeSync, Flush and Close promise
//                               nothing. Bytes overwritten or cut off come back.
//   a name in a directory       after Fsync of that directory: a file or directory that was made,
//                               renamed, linked or deleted. Syncing the file does not save its
//                               name.
//
// Rename is atomic: it happened or it did not. Between two directories, each side becomes safe with
// its own directory. Files opened for reading, locks and the hook do not survive.
//
// The info log that RocksDB asks for is thrown away: it would drown the steps that matter.
class PowerLossFs final : public ::rocksdb::FileSystem {
 public:
  // What the disk holds after a power loss. Cheap to take and to copy: it shares the bytes.
  class Image;

  enum class Step {
    kCreateFile,  // also opening a file for writing, which may cut it to nothing
    kWrite,
    kAllocate,  // room set aside
    kSync,
    kTruncate,
    kClose,
    kRename,
    kLink,
    kDeleteFile,
    kCreateDirectory,
    kDeleteDirectory,
    kSyncDirectory,
  };
  struct Operation {
    Step step;
    std::string path;  // the new path of a rename or link
  };
  using Hook = std::function<void(const Operation&)>;

  static constexpr int kForEver = std::numeric_limits<int>::max();

  PowerLossFs();
  explicit PowerLossFs(const Image& image);
  ~PowerLossFs() override;

  // The disk if power were lost now and nothing had survived but what is safe.
  Image StrictImage() const;
  // The same, but by chance some of the rest survived too. Of unsynced bytes that is any of the
  // sectors of 512 bytes, with the length anywhere between the safe and the present one. Of
  // unsynced changes of names it is the first few: journals keep their order, and RocksDB counts on
  // that when it renames CURRENT to name a manifest whose directory is not synced yet. The same
  // seed makes the same choice.
  Image TornImage(uint64_t seed) const;

  // Called before each operation that changes anything, by the thread that does it, without locks:
  // it may take images. Set it before the file system is in use; nullptr for none.
  void SetHook(Hook hook);

  // Makes the next operations of this kind on a path that contains path_part fail with status. They
  // change nothing then.
  void FailNext(Step step, std::string path_part, ::rocksdb::IOStatus status, int times = 1);

  // A write that would make all files together longer than this many bytes stops there, with part
  // of its data written, and fails with IOStatus::NoSpace. Room that Allocate has set aside counts.
  void SetCapacity(uint64_t bytes);
  uint64_t used_bytes() const;

  static const char* kClassName() { return "cairn.PowerLossFs"; }
  const char* Name() const override { return kClassName(); }

  using IOStatus = ::rocksdb::IOStatus;
  using IOOptions = ::rocksdb::IOOptions;
  using FileOptions = ::rocksdb::FileOptions;
  using Debug = ::rocksdb::IODebugContext;

  IOStatus NewSequentialFile(const std::string& path, const FileOptions& options,
                             std::unique_ptr<::rocksdb::FSSequentialFile>* result,
                             Debug* debug) override;
  IOStatus NewRandomAccessFile(const std::string& path, const FileOptions& options,
                               std::unique_ptr<::rocksdb::FSRandomAccessFile>* result,
                               Debug* debug) override;
  IOStatus NewWritableFile(const std::string& path, const FileOptions& options,
                           std::unique_ptr<::rocksdb::FSWritableFile>* result,
                           Debug* debug) override;
  IOStatus ReopenWritableFile(const std::string& path, const FileOptions& options,
                              std::unique_ptr<::rocksdb::FSWritableFile>* result,
                              Debug* debug) override;
  IOStatus ReuseWritableFile(const std::string& path, const std::string& old_path,
                             const FileOptions& options,
                             std::unique_ptr<::rocksdb::FSWritableFile>* result,
                             Debug* debug) override;
  IOStatus NewRandomRWFile(const std::string& path, const FileOptions& options,
                           std::unique_ptr<::rocksdb::FSRandomRWFile>* result,
                           Debug* debug) override;
  IOStatus NewDirectory(const std::string& path, const IOOptions& options,
                        std::unique_ptr<::rocksdb::FSDirectory>* result, Debug* debug) override;
  IOStatus NewLogger(const std::string& path, const IOOptions& options,
                     std::shared_ptr<::rocksdb::Logger>* result, Debug* debug) override;

  IOStatus FileExists(const std::string& path, const IOOptions& options, Debug* debug) override;
  IOStatus IsDirectory(const std::string& path, const IOOptions& options, bool* is_directory,
                       Debug* debug) override;
  IOStatus GetChildren(const std::string& path, const IOOptions& options,
                       std::vector<std::string>* result, Debug* debug) override;
  IOStatus GetFileSize(const std::string& path, const IOOptions& options, uint64_t* size,
                       Debug* debug) override;
  IOStatus GetFileModificationTime(const std::string& path, const IOOptions& options,
                                   uint64_t* time, Debug* debug) override;
  IOStatus NumFileLinks(const std::string& path, const IOOptions& options, uint64_t* count,
                        Debug* debug) override;
  IOStatus AreFilesSame(const std::string& first, const std::string& second,
                        const IOOptions& options, bool* same, Debug* debug) override;
  IOStatus GetFreeSpace(const std::string& path, const IOOptions& options, uint64_t* bytes,
                        Debug* debug) override;
  IOStatus GetAbsolutePath(const std::string& path, const IOOptions& options, std::string* result,
                           Debug* debug) override;
  IOStatus GetTestDirectory(const IOOptions& options, std::string* result, Debug* debug) override;

  IOStatus DeleteFile(const std::string& path, const IOOptions& options, Debug* debug) override;
  IOStatus Truncate(const std::string& path, size_t size, const IOOptions& options,
                    Debug* debug) override;
  IOStatus CreateDir(const std::string& path, const IOOptions& options, Debug* debug) override;
  IOStatus CreateDirIfMissing(const std::string& path, const IOOptions& options,
                              Debug* debug) override;
  IOStatus DeleteDir(const std::string& path, const IOOptions& options, Debug* debug) override;
  IOStatus RenameFile(const std::string& from, const std::string& to, const IOOptions& options,
                      Debug* debug) override;
  IOStatus LinkFile(const std::string& from, const std::string& to, const IOOptions& options,
                    Debug* debug) override;
  IOStatus LockFile(const std::string& path, const IOOptions& options, ::rocksdb::FileLock** lock,
                    Debug* debug) override;
  IOStatus UnlockFile(::rocksdb::FileLock* lock, const IOOptions& options, Debug* debug) override;

  struct Node;  // a file or directory
  class Disk;

 private:
  std::shared_ptr<Disk> disk_;  // shared with the open files
};

class PowerLossFs::Image {
 private:
  friend class PowerLossFs;
  explicit Image(std::shared_ptr<const Node> root) : root_(std::move(root)) {}

  std::shared_ptr<const Node> root_;
};

}  // namespace cairn::testing
