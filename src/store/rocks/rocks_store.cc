#include "store/rocks/rocks_store.h"

#include <fmt/format.h>
#include <rocksdb/cache.h>
#include <rocksdb/convenience.h>
#include <rocksdb/env.h>
#include <rocksdb/sst_file_reader.h>
#include <rocksdb/table_properties.h>
#include <rocksdb/utilities/checkpoint.h>
#include <rocksdb/write_buffer_manager.h>

#include <filesystem>

#include "store/rocks/log_check.h"
#include "store/rocks/log_pool.h"
#include "store/rocks/rocks_group.h"
#include "store/rocks/status.h"
#include "store/rocks/tuning.h"

namespace cairn::store::rocks {
namespace {

// A consistent view that lasts: a RocksDB snapshot.
class RocksSnapshot final : public Snapshot {
 public:
  explicit RocksSnapshot(Engine& engine)
      : engine_(engine),
        now_(engine.clock.Now()),
        snapshot_(engine.db->GetSnapshot()),
        // Read after the snapshot was taken: at least as new as everything in it.
        commit_{NewestCommit(engine, *snapshot_)} {}
  ~RocksSnapshot() override { engine_.db->ReleaseSnapshot(snapshot_); }

  Result<std::optional<Bytes>> Get(Key key) override {
    ::rocksdb::ReadOptions options;
    options.snapshot = snapshot_;
    std::string value;
    const auto status = engine_.db->Get(options, engine_.column(key.space),
                                        {key.bytes.data(), key.bytes.size()}, &value);
    if (status.ok()) return std::optional(std::move(value));
    if (status.IsNotFound()) return std::optional<Bytes>();
    return ToError(status, "read");
  }

  Result<void> Scan(const Range& range, const ScanOptions& options, RowVisitor visit) override {
    ::rocksdb::ReadOptions read;
    read.snapshot = snapshot_;
    const ::rocksdb::Slice lower(range.begin);
    const ::rocksdb::Slice upper = range.end ? ::rocksdb::Slice(*range.end) : ::rocksdb::Slice();
    read.iterate_lower_bound = &lower;
    if (range.end) read.iterate_upper_bound = &upper;
    const std::unique_ptr<::rocksdb::Iterator> iterator(
        engine_.db->NewIterator(read, engine_.column(range.space)));
    return ScanIterator(*iterator, nullptr, range, options, visit);
  }

  Timestamp now() const override { return now_; }
  Commit commit() const override { return commit_; }

 private:
  // Commit numbers are RocksDB's sequence numbers, so the snapshot knows its own.
  static Commit NewestCommit(Engine& engine, const ::rocksdb::Snapshot& snapshot) {
    return {std::max(engine.visible_commit.load(), uint64_t{snapshot.GetSequenceNumber()})};
  }

  Engine& engine_;
  const Timestamp now_;
  const ::rocksdb::Snapshot* snapshot_;
  const Commit commit_;
};

std::shared_ptr<::rocksdb::FileSystem> BaseFileSystem(const Options& options) {
  return options.file_system ? options.file_system : ::rocksdb::FileSystem::Default();
}

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

}  // namespace

RocksStore::RocksStore(const Options& options, const Clock& clock, const Log& log)
    : version_(options.version),
      engine_(clock, log, options.memory.value_cache_bytes),
      syncer_(engine_, options.durability, options.sync_interval),
      sequencer_(engine_, [this](Commit commit, size_t bytes) { syncer_.Written(commit, bytes); }),
      range_deletions_(engine_, options.range_deletion_rest) {}

Result<std::unique_ptr<RocksStore>> RocksStore::Open(const Options& options, const Clock& clock,
                                                     const Log& log) {
  std::unique_ptr<RocksStore> store(new RocksStore(options, clock, log));
  CAIRN_ASSIGN_OR_RETURN(store->directory_, DataDirectory::Open(options.directory, options.version,
                                                                BaseFileSystem(options)));
  CAIRN_RETURN_IF_ERROR(CheckLogs(*BaseFileSystem(options), store->directory_->db_path()));
  CAIRN_RETURN_IF_ERROR(store->OpenDatabase(options));
  CAIRN_RETURN_IF_ERROR(store->LoadNumbers());
  store->syncer_.Start();
  store->range_deletions_.Start();
  return store;
}

Result<void> RocksStore::OpenDatabase(const Options& options) {
  std::shared_ptr<::rocksdb::FileSystem> files = BaseFileSystem(options);
  if (options.log_pool && options.durability == Durability::kSync) {
    files = std::make_shared<LogPool>(files, directory_->log_pool_path(), MemtableBytes(options),
                                      engine_.log);
  }
  env_ = ::rocksdb::NewCompositeEnv(files);
  block_cache_ = ::rocksdb::NewLRUCache(options.memory.block_cache_bytes);

  ::rocksdb::DBOptions db_options = MakeDbOptions(options);
  db_options.env = env_.get();
  write_buffers_ = db_options.write_buffer_manager;
  std::vector<::rocksdb::ColumnFamilyDescriptor> columns;
  columns.emplace_back(::rocksdb::kDefaultColumnFamilyName,
                       MakeColumnOptions(Space::kSystem, options, block_cache_));
  for (const Space space : kAllSpaces) {
    const auto memtables = std::make_shared<BTreeMemTableFactory>();
    engine_.memtables[static_cast<size_t>(space)] = memtables;
    ::rocksdb::ColumnFamilyOptions column_options = MakeColumnOptions(space, options, block_cache_);
    column_options.memtable_factory = memtables;
    columns.emplace_back(std::string(SpaceName(space)), column_options);
  }
  std::vector<::rocksdb::ColumnFamilyHandle*> handles;
  ::rocksdb::DB* db = nullptr;
  const std::string path = directory_->db_path();
  const ::rocksdb::Status status = ::rocksdb::DB::Open(db_options, path, columns, &handles, &db);
  if (!status.ok()) {
    Error error = ToError(status, "open the store");
    error.message =
        fmt::format("cannot open the store in {}: {}", path,
                    status.IsCorruption() ? FindDamage(path, status) : status.ToString());
    return error;
  }
  engine_.db.reset(db);
  db->DestroyColumnFamilyHandle(handles[0]);
  for (const Space space : kAllSpaces) {
    engine_.columns[static_cast<size_t>(space)] = handles[static_cast<size_t>(space) + 1];
  }
  engine_.visible_commit = db->GetLatestSequenceNumber();
  return range_deletions_.Find();
}

Result<void> RocksStore::LoadNumbers() {
  for (NumberSource* source : {&engine_.stamps, &engine_.events}) {
    std::string stored;
    const auto status = engine_.db->Get(::rocksdb::ReadOptions(), engine_.column(Space::kSystem),
                                        std::string(source->row_key()), &stored);
    if (!status.ok() && !status.IsNotFound()) return ToError(status, "read a number's bound");
    source->Start(status.ok() ? BytesReader(stored).Big64() : 0);
  }
  return {};
}

RocksStore::~RocksStore() {
  range_deletions_.Stop();
  syncer_.Stop();
  if (engine_.db == nullptr) return;
  for (::rocksdb::ColumnFamilyHandle* column : engine_.columns) {
    engine_.db->DestroyColumnFamilyHandle(column);
  }
  if (const auto status = engine_.db->Close(); !status.ok()) {
    engine_.log.Error("the store did not close cleanly", {{"reason", status.ToString()}});
  }
  engine_.db.reset();
}

Result<Commit> RocksStore::Run(const Scopes& scopes, Body body) {
  RocksGroup group(engine_, sequencer_, syncer_, Waiting::kAllowed);
  CAIRN_ASSIGN_OR_RETURN(const Dependency dependency, group.Run(scopes, Access::kWrite, body));
  CAIRN_ASSIGN_OR_RETURN(const Commit commit, group.Finish());
  return dependency.on_group ? commit : dependency.commit;
}

Result<Commit> RocksStore::RunRead(const Scopes& scopes, Body body) {
  RocksGroup group(engine_, sequencer_, syncer_, Waiting::kAllowed);
  CAIRN_ASSIGN_OR_RETURN(const Dependency dependency, group.Run(scopes, Access::kRead, body));
  CAIRN_RETURN_IF_ERROR(group.Finish());  // writes nothing, but calls what is to follow the body
  return dependency.commit;
}

std::unique_ptr<Group> RocksStore::NewGroup() {
  return std::make_unique<RocksGroup>(engine_, sequencer_, syncer_, Waiting::kNotAllowed);
}

Result<std::unique_ptr<Snapshot>> RocksStore::Read() {
  return std::unique_ptr<Snapshot>(std::make_unique<RocksSnapshot>(engine_));
}

Subscription RocksStore::OnDurable(std::function<void(Result<Commit>)> listener) {
  return syncer_.OnDurable(std::move(listener));
}

Subscription RocksStore::OnWake(Topic topic, std::function<void()> waiter) {
  return engine_.wakeups.Subscribe(topic, std::move(waiter));
}

Subscription RocksStore::OnEarlierTimer(std::function<void(Timestamp due)> listener) {
  const std::lock_guard lock(engine_.timer_mutex);
  CAIRN_CHECK(!engine_.earlier_timer, "a store has one timer service");
  engine_.earlier_timer = std::move(listener);
  return Subscription([this] {
    const std::lock_guard lock(engine_.timer_mutex);
    engine_.earlier_timer = nullptr;
  });
}

Result<void> RocksStore::Verify() {
  ::rocksdb::ReadOptions options;
  options.verify_checksums = true;
  const auto status = engine_.db->VerifyChecksum(options);
  if (!status.ok()) return ToError(status, "verify the store");
  return {};
}

StoreStats RocksStore::stats() const {
  StoreStats stats;
  stats.commits = engine_.commits.load();
  stats.engine_writes = engine_.engine_writes.load();
  stats.syncs = syncer_.syncs();
  stats.last_commit = engine_.visible_commit.load();
  stats.durable_commit = syncer_.durable().number;
  stats.cache_hits = engine_.cache.hits();
  stats.cache_misses = engine_.cache.misses();
  stats.cache_bytes = engine_.cache.bytes();
  stats.block_cache_bytes = block_cache_->GetUsage();
  stats.write_buffer_bytes = write_buffers_->memory_usage();
  for (::rocksdb::ColumnFamilyHandle* column : engine_.columns) {
    uint64_t bytes = 0;
    engine_.db->GetIntProperty(column, ::rocksdb::DB::Properties::kTotalSstFilesSize, &bytes);
    stats.disk_bytes += bytes;
  }
  return stats;
}

Result<std::unique_ptr<Store>> Open(const Options& options, const Clock& clock, const Log& log) {
  CAIRN_ASSIGN_OR_RETURN(auto store, RocksStore::Open(options, clock, log));
  return std::unique_ptr<Store>(std::move(store));
}

}  // namespace cairn::store::rocks
