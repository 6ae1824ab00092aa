// Backup and restore. A backup is a directory:
//
//   db/…       a RocksDB checkpoint: table files linked or copied, the rest written out
//   FORMAT     as in a data directory
//   BACKUP     one line per file: sha256, size, path; written last
//
// A backup without BACKUP is one that was interrupted, and is refused.

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <rocksdb/utilities/checkpoint.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "store/rocks/directory.h"
#include "store/rocks/rocks_store.h"
#include "store/rocks/status.h"

namespace cairn::store::rocks {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kBackupMagic = "cairn backup 1";
constexpr size_t kCopyBytes = 1024 * 1024;

Error IoError(std::string_view doing, const fs::path& path) {
  return {ErrorCode::kIo,
          fmt::format("cannot {} {}: {}", doing, path.string(), std::strerror(errno))};
}

class Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
    CAIRN_CHECK(EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
  }
  void Update(BytesView bytes) {
    CAIRN_CHECK(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1);
  }
  std::string Hex() {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int size = 0;
    CAIRN_CHECK(EVP_DigestFinal_ex(context_.get(), digest, &size) == 1);
    return HexEncode({reinterpret_cast<const char*>(digest), size});
  }

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

class File {
 public:
  File(const fs::path& path, int flags) : fd_(open(path.c_str(), flags | O_CLOEXEC, 0644)) {}
  ~File() {
    if (fd_ >= 0) close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  bool ok() const { return fd_ >= 0; }
  ssize_t Read(char* to, size_t count) const { return read(fd_, to, count); }
  bool Write(BytesView bytes) const {
    while (!bytes.empty()) {
      const ssize_t wrote = write(fd_, bytes.data(), bytes.size());
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(wrote));
    }
    return true;
  }
  bool Sync() const { return fsync(fd_) == 0; }

 private:
  int fd_;
};

// The SHA-256 of a file in hex, copying it to `copy` on the way if that is not empty.
Result<std::string> HashFile(const fs::path& path, const fs::path& copy = {}) {
  const File from(path, O_RDONLY);
  if (!from.ok()) return IoError("read", path);
  std::unique_ptr<File> to;
  if (!copy.empty()) {
    to = std::make_unique<File>(copy, O_WRONLY | O_CREAT | O_EXCL);
    if (!to->ok()) return IoError("create", copy);
  }
  Sha256 hash;
  std::string buffer(kCopyBytes, '\0');
  for (;;) {
    const ssize_t got = from.Read(buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return IoError("read", path);
    if (got == 0) break;
    const BytesView bytes(buffer.data(), static_cast<size_t>(got));
    hash.Update(bytes);
    if (to && !to->Write(bytes)) return IoError("write", copy);
  }
  if (to && !to->Sync()) return IoError("sync", copy);
  return hash.Hex();
}

Result<void> WriteFileDurably(const fs::path& path, BytesView text) {
  const File file(path, O_WRONLY | O_CREAT | O_EXCL);
  if (!file.ok()) return IoError("create", path);
  if (!file.Write(text) || !file.Sync()) return IoError("write", path);
  return {};
}

Result<void> SyncRealDirectory(const fs::path& path) {
  return SyncDirectory(*::rocksdb::FileSystem::Default(), path.string());
}

struct BackupFile {
  std::string sha256;
  uint64_t size = 0;
  std::string path;  // relative to the backup
};

Result<std::vector<BackupFile>> ReadManifest(const fs::path& backup) {
  const fs::path path = backup / "BACKUP";
  std::ifstream file(path);
  std::string line;
  if (!file || !std::getline(file, line) || line != kBackupMagic) {
    return Error{ErrorCode::kInvalid,
                 fmt::format("{} is not a complete Cairn backup: {} is missing or damaged",
                             backup.string(), path.string())};
  }
  std::vector<BackupFile> files;
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    BackupFile entry;
    if (!(fields >> entry.sha256 >> entry.size) || !std::getline(fields >> std::ws, entry.path) ||
        entry.path.find("..") != std::string::npos || entry.path.starts_with('/')) {
      return Error{ErrorCode::kCorruption,
                   fmt::format("{} is damaged: \"{}\"", path.string(), line)};
    }
    files.push_back(std::move(entry));
  }
  if (files.empty()) {
    return Error{ErrorCode::kCorruption, path.string() + " is damaged: it names no file"};
  }
  return files;
}

Result<void> WriteManifest(const fs::path& directory) {
  std::string text = fmt::format("{}\n", kBackupMagic);
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    if (!entry.is_regular_file()) continue;
    CAIRN_ASSIGN_OR_RETURN(const std::string sha256, HashFile(entry.path()));
    text += fmt::format("{} {} {}\n", sha256, entry.file_size(),
                        fs::relative(entry.path(), directory).string());
  }
  return WriteFileDurably(directory / "BACKUP", text);
}

Result<void> RestoreFile(const BackupFile& file, const fs::path& backup, const fs::path& target) {
  const fs::path from = backup / file.path;
  const fs::path to = target / file.path;
  fs::create_directories(to.parent_path());
  CAIRN_ASSIGN_OR_RETURN(const std::string sha256, HashFile(from, to));
  if (sha256 != file.sha256) {
    return Error{ErrorCode::kCorruption,
                 fmt::format("{} is damaged: its checksum is not the one the backup recorded",
                             from.string())};
  }
  return {};
}

// Copies everything to `partial` and checks it: what is damaged never gets the names of a store. It
// is left there, so that the directory is not taken for an empty one either.
Result<void> RestoreFiles(const std::vector<BackupFile>& files, const fs::path& backup,
                          const fs::path& partial) {
  for (const char* needed : {"FORMAT", "db/CURRENT"}) {
    if (std::ranges::find(files, needed, &BackupFile::path) != files.end()) continue;
    return Error{ErrorCode::kCorruption, fmt::format("{} is damaged: it does not name {}",
                                                     (backup / "BACKUP").string(), needed)};
  }
  for (const BackupFile& file : files) {
    CAIRN_RETURN_IF_ERROR(RestoreFile(file, backup, partial));
  }
  return SyncRealDirectory(partial / "db");
}

// FORMAT comes last: without it the directory is refused, so a restore that was interrupted is
// never mistaken for a store.
Result<void> MoveIntoPlace(const fs::path& partial, const fs::path& directory) {
  fs::rename(partial / "db", directory / "db");
  CAIRN_RETURN_IF_ERROR(SyncRealDirectory(directory));
  fs::rename(partial / "FORMAT", directory / "FORMAT");
  fs::remove_all(partial);
  return SyncRealDirectory(directory);
}

bool IsEmptyOrMissing(const fs::path& path) { return !fs::exists(path) || fs::is_empty(path); }

// Runs `work`, turning what the standard library's file functions throw into an error.
template <typename Work>
auto WithoutExceptions(Work work) -> decltype(work()) {
  try {
    return work();
  } catch (const fs::filesystem_error& error) {
    return Error{ErrorCode::kIo, error.what()};
  }
}

}  // namespace

Result<void> RocksStore::Backup(const std::string& directory) {
  return WithoutExceptions([&]() -> Result<void> {
    if (fs::exists(directory)) {
      return Error{ErrorCode::kConflict, directory + " exists: a backup goes into a new directory"};
    }
    const fs::path partial = directory + ".partial";
    fs::remove_all(partial);
    fs::create_directories(partial);

    ::rocksdb::Checkpoint* made = nullptr;
    auto status = ::rocksdb::Checkpoint::Create(engine_.db.get(), &made);
    const std::unique_ptr<::rocksdb::Checkpoint> checkpoint(made);
    // 0: flush first, so that the copy needs no log.
    if (status.ok()) status = checkpoint->CreateCheckpoint(partial / "db", 0);
    if (!status.ok()) return ToError(status, "back up to " + directory);

    CAIRN_RETURN_IF_ERROR(
        WriteFileDurably(partial / "FORMAT", EncodeFormat({kFormatVersion, version_})));
    CAIRN_RETURN_IF_ERROR(WriteManifest(partial));
    CAIRN_RETURN_IF_ERROR(SyncRealDirectory(partial / "db"));
    CAIRN_RETURN_IF_ERROR(SyncRealDirectory(partial));
    fs::rename(partial, directory);
    return SyncRealDirectory(fs::absolute(directory).parent_path());
  });
}

Result<void> Restore(const std::string& backup, const std::string& directory) {
  return WithoutExceptions([&]() -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(const std::vector<BackupFile> files, ReadManifest(backup));
    if (!IsEmptyOrMissing(directory)) {
      return Error{ErrorCode::kConflict, directory + " is not empty: restore into a new directory"};
    }
    const fs::path partial = fs::path(directory) / "restoring";
    CAIRN_RETURN_IF_ERROR(RestoreFiles(files, backup, partial));
    CAIRN_RETURN_IF_ERROR(MoveIntoPlace(partial, directory));

    const SystemClock clock;
    Options options;
    options.directory = directory;
    options.log_pool = false;
    options.memory = MemoryBudget::FromTotal(64 << 20);
    CAIRN_ASSIGN_OR_RETURN(const auto store, rocks::Open(options, clock, Log::Silent()));
    return store->Verify();
  });
}

Result<DirectoryReport> Inspect(const std::string& directory) {
  return WithoutExceptions([&]() -> Result<DirectoryReport> {
    DirectoryReport report;
    fs::path existing = fs::absolute(directory);
    report.exists = fs::exists(existing);
    while (!fs::exists(existing) && existing.has_relative_path()) existing = existing.parent_path();
    report.free_bytes = fs::space(existing).available;
    if (!report.exists) return report;

    for (const auto& entry : fs::recursive_directory_iterator(directory)) {
      if (entry.is_regular_file()) report.bytes += entry.file_size();
    }
    const std::string lock_path = directory + "/lock";
    if (fs::exists(lock_path)) {
      ::rocksdb::FileLock* lock = nullptr;
      auto files = ::rocksdb::FileSystem::Default();
      report.in_use = !files->LockFile(lock_path, {}, &lock, nullptr).ok();
      if (lock != nullptr) files->UnlockFile(lock, {}, nullptr);
    }
    const std::string format_path = directory + "/FORMAT";
    if (!fs::exists(format_path)) return report;
    std::ifstream file(format_path);
    std::stringstream text;
    text << file.rdbuf();
    CAIRN_ASSIGN_OR_RETURN(const Format format, DecodeFormat(text.str(), format_path));
    report.format_version = format.version;
    report.written_by = format.written_by;
    return report;
  });
}

}  // namespace cairn::store::rocks
