#include "store/rocks/directory.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <vector>

#include "store/rocks/status.h"

namespace cairn::store::rocks {
namespace {

constexpr std::string_view kMagic = "cairn store";

Error Refused(const std::string& path, std::string_view why) {
  return {ErrorCode::kConflict, fmt::format("data directory {}: {}", path, why)};
}

// Names that an interrupted first start may leave behind.
bool IsOwnName(const std::string& name) {
  return name == "." || name == ".." || name == "lock" || name == "FORMAT.new" ||
         name == "logpool" || name == "lost+found";
}

// Makes the directory and its missing parents, so that a fresh machine needs no mkdir. Each new
// name is made durable in the directory above it: a store whose directory is lost is lost.
Result<void> MakeDirectories(::rocksdb::FileSystem& files, const std::string& path) {
  if (path.empty() || files.FileExists(path, {}, nullptr).ok()) return {};
  const std::string parent = std::filesystem::path(path).parent_path().string();
  CAIRN_RETURN_IF_ERROR(MakeDirectories(files, parent));
  if (const auto status = files.CreateDirIfMissing(path, {}, nullptr); !status.ok()) {
    return ToError(status, "make directory " + path);
  }
  return SyncDirectory(files, parent.empty() ? "." : parent);
}

}  // namespace

std::string EncodeFormat(const Format& format) {
  return fmt::format("{}\nformat {}\nengine rocksdb\nwritten_by {}\n", kMagic, format.version,
                     format.written_by);
}

Result<Format> DecodeFormat(const std::string& text, const std::string& path) {
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  if (line != kMagic) {
    return Error{ErrorCode::kCorruption,
                 fmt::format("{} is damaged: it does not begin with \"{}\"", path, kMagic)};
  }
  Format format{.version = 0, .written_by = {}};
  while (std::getline(lines, line)) {
    const size_t space = line.find(' ');
    const std::string name = line.substr(0, space);
    const std::string value = space == std::string::npos ? "" : line.substr(space + 1);
    if (name == "format") format.version = std::atoi(value.c_str());
    if (name == "written_by") format.written_by = value;
  }
  if (format.version <= 0) {
    return Error{ErrorCode::kCorruption, path + " is damaged: it names no format version"};
  }
  if (format.version > kFormatVersion) {
    return Error{
        ErrorCode::kConflict,
        fmt::format("{} says format version {}, written by {}; this program knows versions "
                    "up to {}: use a newer one",
                    path, format.version, format.written_by, kFormatVersion)};
  }
  return format;
}

Result<void> SyncDirectory(::rocksdb::FileSystem& file_system, const std::string& path) {
  std::unique_ptr<::rocksdb::FSDirectory> directory;
  ::rocksdb::IOStatus status = file_system.NewDirectory(path, {}, &directory, nullptr);
  if (status.ok()) status = directory->Fsync({}, nullptr);
  if (!status.ok()) return ToError(status, "sync directory " + path);
  return {};
}

Result<std::unique_ptr<DataDirectory>> DataDirectory::Open(
    const std::string& path, const std::string& version,
    std::shared_ptr<::rocksdb::FileSystem> file_system) {
  std::unique_ptr<DataDirectory> directory(new DataDirectory(path, std::move(file_system)));
  ::rocksdb::FileSystem& files = *directory->file_system_;
  CAIRN_RETURN_IF_ERROR(MakeDirectories(files, path));
  CAIRN_RETURN_IF_ERROR(directory->Lock());
  CAIRN_RETURN_IF_ERROR(directory->CheckOrWriteFormat(version));
  for (const std::string& part : {directory->db_path(), directory->log_pool_path()}) {
    if (const auto status = files.CreateDirIfMissing(part, {}, nullptr); !status.ok()) {
      return ToError(status, "make directory " + part);
    }
  }
  CAIRN_RETURN_IF_ERROR(SyncDirectory(files, path));
  return directory;
}

DataDirectory::~DataDirectory() {
  if (lock_ != nullptr) file_system_->UnlockFile(lock_, {}, nullptr);
}

Result<void> DataDirectory::Lock() {
  const auto status = file_system_->LockFile(path_ + "/lock", {}, &lock_, nullptr);
  if (status.ok()) return {};
  // RocksDB tells who holds a lock of this process, and what fcntl answers for one of another.
  const std::string why = status.ToString();
  const bool held = why.find("lock hold by current process") != std::string::npos ||
                    why.find("Resource temporarily unavailable") != std::string::npos;
  return Refused(path_, held ? "another process serves it (its lock is held): " + why : why);
}

Result<void> DataDirectory::CheckOrWriteFormat(const std::string& version) {
  const std::string path = path_ + "/FORMAT";
  if (file_system_->FileExists(path, {}, nullptr).ok()) {
    std::string text;
    const auto status = ::rocksdb::ReadFileToString(file_system_.get(), path, &text);
    if (!status.ok()) return ToError(status, "read " + path);
    CAIRN_ASSIGN_OR_RETURN(const Format format, DecodeFormat(text, path));
    return format.version < kFormatVersion ? WriteFormat(version) : Result<void>();
  }
  std::vector<std::string> names;
  if (const auto status = file_system_->GetChildren(path_, {}, &names, nullptr); !status.ok()) {
    return ToError(status, "list " + path_);
  }
  const auto foreign = std::find_if_not(names.begin(), names.end(), IsOwnName);
  if (foreign != names.end()) {
    return Refused(path_, fmt::format("it is not a Cairn store: it holds \"{}\" and no FORMAT file",
                                      *foreign));
  }
  return WriteFormat(version);
}

// Whole before it gets its name, so that a crash leaves no half FORMAT.
Result<void> DataDirectory::WriteFormat(const std::string& version) {
  const std::string path = path_ + "/FORMAT";
  const std::string fresh = path + ".new";
  auto status = ::rocksdb::WriteStringToFile(
      file_system_.get(), EncodeFormat({kFormatVersion, version}), fresh, /*should_sync=*/true);
  if (status.ok()) status = file_system_->RenameFile(fresh, path, {}, nullptr);
  if (!status.ok()) return ToError(status, "write " + path);
  return SyncDirectory(*file_system_, path_);
}

}  // namespace cairn::store::rocks
