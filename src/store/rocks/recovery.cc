#include "store/rocks/recovery.h"

#include <fmt/format.h>
#include <rocksdb/convenience.h>
#include <rocksdb/env.h>
#include <rocksdb/sst_file_reader.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "store/rocks/directory.h"
#include "store/rocks/durable_mark.h"
#include "store/rocks/log_check.h"
#include "store/rocks/rocks_transaction.h"
#include "store/rocks/status.h"
#include "store/rocks/tuning.h"

namespace cairn::store::rocks {
namespace {

class DroppedMessages final : public ::rocksdb::Logger {
 public:
  using Logger::Logv;
  void Logv(const char* /*format*/, va_list /*arguments*/) override {}
  size_t GetLogFileSize() const override { return 0; }
};

// RocksDB's messages about damage do not always say where it is. Looks for the file.
std::string FindDamage(const std::string& db_path, const ::rocksdb::Status& status) {
  std::string said = status.ToString();
  // RocksDB looks for a missing table under its old extension last, and names that.
  if (const size_t at = said.find(".ldb"); at != std::string::npos) said.replace(at, 4, ".sst");
  if (said.find(".sst") != std::string::npos || said.find(".log") != std::string::npos ||
      said.find("MANIFEST-") != std::string::npos || said.find("CURRENT") != std::string::npos) {
    return said;
  }
  std::error_code ignored;
  std::string manifest;
  for (const auto& entry : std::filesystem::directory_iterator(db_path, ignored)) {
    if (entry.path().filename().string().starts_with("MANIFEST-")) manifest = entry.path();
    if (entry.path().extension() != ".sst") continue;
    ::rocksdb::SstFileReader reader{::rocksdb::Options()};
    auto checked = reader.Open(entry.path());
    if (checked.ok()) checked = reader.VerifyChecksum();
    if (!checked.ok()) return fmt::format("{}: {}", entry.path().string(), checked.ToString());
  }
  return fmt::format("{} (damaged file: {})", said, manifest);
}

// Logs longer than this are not replayed for a look alone: one write that is as long would take
// some four times its size in memory. A start splits it first (log_split.h).
constexpr uint64_t kMostReplayedBytes = 512ULL << 20;

Result<uint64_t> LogBytes(::rocksdb::FileSystem& files, const std::string& db_path) {
  CAIRN_ASSIGN_OR_RETURN(const std::vector<std::string> names, LogNames(files, db_path));
  uint64_t sum = 0;
  for (const std::string& name : names) {
    uint64_t bytes = 0;
    const auto status = files.GetFileSize(db_path + "/" + name, {}, &bytes, nullptr);
    if (!status.ok()) return ToError(status, "read " + name);
    sum += bytes;
  }
  return sum;
}

// RocksDB takes a directory without CURRENT for a new one. It is new if it has neither logs nor
// tables: both come after CURRENT.
Result<void> CheckCurrent(::rocksdb::FileSystem& files, const std::string& db_path) {
  const std::string current = db_path + "/CURRENT";
  if (files.FileExists(current, {}, nullptr).ok()) return {};
  std::vector<std::string> names;
  if (!files.GetChildren(db_path, {}, &names, nullptr).ok()) return {};  // there is no directory
  const auto has_rows = [](std::string_view name) {
    return name.ends_with(".log") || name.ends_with(".sst");
  };
  const auto found = std::ranges::find_if(names, has_rows);
  if (found == names.end()) return {};
  return Error{ErrorCode::kCorruption,
               fmt::format("{} is missing, but there is {}. Put it back, or restore the newest "
                           "backup into a new directory",
                           current, *found)};
}

// A store that nobody serves, opened for reading alone.
class StillReader final : public Reader {
 public:
  StillReader(::rocksdb::DB& db, const std::vector<::rocksdb::ColumnFamilyHandle*>& columns)
      : db_(db) {
    for (::rocksdb::ColumnFamilyHandle* column : columns) by_name_[column->GetName()] = column;
  }

  Result<std::optional<Bytes>> Get(Key key) override {
    std::string value;
    const auto status = db_.Get(::rocksdb::ReadOptions(), ColumnOf(key.space),
                                {key.bytes.data(), key.bytes.size()}, &value);
    if (status.ok()) return std::optional(std::move(value));
    if (status.IsNotFound()) return std::optional<Bytes>();
    return ToError(status, "read");
  }
  Result<void> Scan(const Range& range, const ScanOptions& options, RowVisitor visit) override {
    ::rocksdb::ReadOptions read;
    const ::rocksdb::Slice lower(range.begin);
    const ::rocksdb::Slice upper = range.end ? ::rocksdb::Slice(*range.end) : ::rocksdb::Slice();
    read.iterate_lower_bound = &lower;
    if (range.end) read.iterate_upper_bound = &upper;
    const std::unique_ptr<::rocksdb::Iterator> iterator(
        db_.NewIterator(read, ColumnOf(range.space)));
    return ScanIterator(*iterator, nullptr, range, options, visit);
  }
  Timestamp now() const override { return now_; }

 private:
  ::rocksdb::ColumnFamilyHandle* ColumnOf(Space space) {
    return by_name_.at(std::string(SpaceName(space)));
  }

  ::rocksdb::DB& db_;
  const Timestamp now_ = SystemClock().Now();
  std::map<std::string, ::rocksdb::ColumnFamilyHandle*> by_name_;
};

// Recovers the store in memory alone and says how far it reaches. `look` may be empty.
Result<Commit> NewestRecovered(const Options& options, const std::string& db_path,
                               const LookInside& look) {
  const std::shared_ptr<::rocksdb::FileSystem> files = BaseFileSystem(options);
  if (!files->FileExists(db_path + "/CURRENT", {}, nullptr).ok()) return Commit{0};
  const std::unique_ptr<::rocksdb::Env> env = ::rocksdb::NewCompositeEnv(files);
  ::rocksdb::DBOptions db_options = MakeDbOptions(options);
  db_options.env = env.get();
  db_options.info_log = NoMessages();
  std::vector<::rocksdb::ColumnFamilyHandle*> handles;
  ::rocksdb::DB* opened = nullptr;
  const std::shared_ptr<::rocksdb::Cache> cache = MakeBlockCache(options);
  const ::rocksdb::Status status = ::rocksdb::DB::OpenForReadOnly(
      db_options, db_path, MakeColumns(options, cache), &handles, &opened);
  if (!status.ok()) return OpenError(db_path, status);
  const std::unique_ptr<::rocksdb::DB> db(opened);
  const Commit newest{db->GetLatestSequenceNumber()};
  if (look) {
    StillReader reader(*db, handles);
    look(reader);
  }
  for (::rocksdb::ColumnFamilyHandle* handle : handles) db->DestroyColumnFamilyHandle(handle);
  return newest;
}

}  // namespace

std::shared_ptr<::rocksdb::FileSystem> BaseFileSystem(const Options& options) {
  return options.file_system ? options.file_system : ::rocksdb::FileSystem::Default();
}

std::shared_ptr<::rocksdb::Logger> NoMessages() { return std::make_shared<DroppedMessages>(); }

std::vector<::rocksdb::ColumnFamilyDescriptor> MakeColumns(
    const Options& options, const std::shared_ptr<::rocksdb::Cache>& cache) {
  std::vector<::rocksdb::ColumnFamilyDescriptor> columns;
  columns.emplace_back(::rocksdb::kDefaultColumnFamilyName,
                       MakeColumnOptions(Space::kSystem, options, cache));
  for (const Space space : kAllSpaces) {
    columns.emplace_back(std::string(SpaceName(space)), MakeColumnOptions(space, options, cache));
  }
  return columns;
}

Result<void> CheckRecovery(const Options& options) {
  const std::string db_path = options.directory + "/db";
  const std::string mark_path = options.directory + "/DURABLE";
  const std::shared_ptr<::rocksdb::FileSystem> files = BaseFileSystem(options);
  CAIRN_RETURN_IF_ERROR(CheckCurrent(*files, db_path));
  CAIRN_ASSIGN_OR_RETURN(const Commit logged, CheckLogs(*files, db_path));
  CAIRN_ASSIGN_OR_RETURN(const auto durable, DurableMark::Read(*files, mark_path));
  if (!durable || logged >= *durable) return {};
  // Tables may hold what the logs no longer do.
  CAIRN_ASSIGN_OR_RETURN(const Commit newest, NewestRecovered(options, db_path, {}));
  if (newest >= *durable) return {};
  return Error{
      ErrorCode::kCorruption,
      fmt::format("{} ends at commit {}, but commit {} was durable: a log (the newest NNNNNN.log) "
                  "is missing or damaged. Put it back, or restore the newest backup into a new "
                  "directory; to go on without the writes that are lost, remove {}",
                  db_path, newest.number, durable->number, mark_path)};
}

Result<void> CheckStart(const Options& options, const LookInside& look) {
  CAIRN_RETURN_IF_ERROR(CheckRecovery(options));
  const std::string db_path = options.directory + "/db";
  CAIRN_ASSIGN_OR_RETURN(const uint64_t log_bytes, LogBytes(*BaseFileSystem(options), db_path));
  if (log_bytes > kMostReplayedBytes) return {};
  CAIRN_RETURN_IF_ERROR(NewestRecovered(options, db_path, look));
  return {};
}

bool HasRoomForTables(::rocksdb::FileSystem& files, const std::string& db_path) {
  const auto names = LogNames(files, db_path);
  uint64_t free_bytes = 0;
  if (!names.ok() || !files.GetFreeSpace(db_path, {}, &free_bytes, nullptr).ok()) return true;
  uint64_t log_bytes = 0;
  for (const std::string& name : *names) {
    uint64_t bytes = 0;
    if (files.GetFileSize(db_path + "/" + name, {}, &bytes, nullptr).ok()) log_bytes += bytes;
  }
  return log_bytes <= free_bytes;
}

Result<void> SyncLogs(::rocksdb::FileSystem& files, const std::string& db_path) {
  CAIRN_ASSIGN_OR_RETURN(const std::vector<std::string> names, LogNames(files, db_path));
  for (const std::string& name : names) {
    const std::string path = db_path + "/" + name;
    std::unique_ptr<::rocksdb::FSWritableFile> file;
    ::rocksdb::IOStatus status =
        files.ReopenWritableFile(path, ::rocksdb::FileOptions(), &file, nullptr);
    if (status.ok()) status = file->Fsync({}, nullptr);
    if (status.ok()) status = file->Close({}, nullptr);
    if (!status.ok()) return ToError(status, "sync " + path);
  }
  return SyncDirectory(files, db_path);
}

Error OpenError(const std::string& db_path, const ::rocksdb::Status& status) {
  Error error = ToError(status, "open the store");
  if (status.IsNoSpace()) {
    error.message = fmt::format(
        "cannot open the store in {}: the disk is full: {}. Free some space on it, then start "
        "again; nothing is lost",
        db_path, status.ToString());
    return error;
  }
  error.message =
      fmt::format("cannot open the store in {}: {}", db_path,
                  status.IsCorruption() ? FindDamage(db_path, status) : status.ToString());
  return error;
}

}  // namespace cairn::store::rocks
