#include "store/rocks/rocks_store.h"

#include <rocksdb/cache.h>
#include <rocksdb/env.h>
#include <rocksdb/write_buffer_manager.h>

#include "store/rocks/log_files.h"
#include "store/rocks/log_split.h"
#include "store/rocks/recovery.h"
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

}  // namespace

RocksStore::RocksStore(const Options& options, const Clock& clock, const Log& log)
    : version_(options.version),
      engine_(clock, log, options.memory),
      syncer_(engine_, options.durability, options.sync_interval),
      sequencer_(
          engine_, [this](Commit commit, size_t bytes) { syncer_.Written(commit, bytes); },
          [this] { syncer_.Stopped(); }),
      disk_watch_(engine_, [this] { syncer_.Stopped(); }),
      range_deletions_(engine_, options.range_deletion_rest) {}

Result<std::unique_ptr<RocksStore>> RocksStore::Open(const Options& options, const Clock& clock,
                                                     const Log& log) {
  std::unique_ptr<RocksStore> store(new RocksStore(options, clock, log));
  CAIRN_ASSIGN_OR_RETURN(store->directory_, DataDirectory::Open(options.directory, options.version,
                                                                BaseFileSystem(options)));
  CAIRN_RETURN_IF_ERROR(CheckRecovery(options));
  SplitLargeWrites(*BaseFileSystem(options), store->directory_->db_path(), log);
  CAIRN_RETURN_IF_ERROR(store->OpenDatabase(options));
  CAIRN_RETURN_IF_ERROR(store->LoadNumbers());
  store->disk_watch_.LookForRoom();
  store->syncer_.Start();
  store->disk_watch_.Start();
  store->range_deletions_.Start();
  return store;
}

Result<void> RocksStore::OpenDatabase(const Options& options) {
  const std::shared_ptr<::rocksdb::FileSystem> files = BaseFileSystem(options);
  LogFiles::RemoveLeftovers(*files, directory_->log_pool_path());
  const auto failed = [this](const ::rocksdb::IOStatus& status) {
    engine_.failure.Stop(ToError(status, "write the log"));
    syncer_.Stopped();
  };
  const bool zeros = options.log_pool && options.durability == Durability::kSync;
  engine_.log_files = std::make_shared<LogFiles>(
      files,
      LogFiles::Options{.directory = directory_->log_pool_path(),
                        .zero_file_bytes = zeros ? MemtableBytes(options) : 0,
                        .appended = [this] { sequencer_.Logged(); },
                        .failed = failed},
      engine_.log);
  env_ = ::rocksdb::NewCompositeEnv(engine_.log_files);
  block_cache_ = MakeBlockCache(options);

  ::rocksdb::DBOptions db_options = MakeDbOptions(options);
  db_options.env = env_.get();
  db_options.listeners.push_back(disk_watch_.MakeListener());
  // Tests that look at each step of a disk would look at little else.
  if (options.file_system) db_options.info_log = NoMessages();
  write_buffers_ = db_options.write_buffer_manager;
  ::rocksdb::Status status = ::rocksdb::Status::NoSpace("the log's rows do not fit in tables");
  if (HasRoomForTables(*files, directory_->db_path())) {
    status = TryOpenDatabase(options, db_options, Recovery::kToTables);
  }
  if (status.IsNoSpace()) {
    engine_.log.Warn("the disk is full: the log is kept in memory as well until there is room",
                     {{"reason", status.ToString()}});
    CAIRN_RETURN_IF_ERROR(SyncLogs(*files, directory_->db_path()));
    status = TryOpenDatabase(options, db_options, Recovery::kInMemory);
  }
  if (!status.ok()) return OpenError(directory_->db_path(), status);
  engine_.visible_commit = engine_.db->GetLatestSequenceNumber();
  if (const auto marked = engine_.durable_mark.Open(*files, directory_->durable_mark_path());
      !marked.ok()) {
    engine_.log.Warn("a log that gets lost will not be missed",
                     {{"reason", marked.error().message}});
  }
  return range_deletions_.Find();
}

::rocksdb::Status RocksStore::TryOpenDatabase(const Options& options,
                                              ::rocksdb::DBOptions db_options, Recovery recovery) {
  const bool in_memory = recovery == Recovery::kInMemory;
  db_options.avoid_flush_during_recovery = in_memory;
  std::vector<::rocksdb::ColumnFamilyDescriptor> columns = MakeColumns(options, block_cache_);
  for (const Space space : kAllSpaces) {
    const auto memtables = std::make_shared<BTreeMemTableFactory>();
    engine_.memtables[static_cast<size_t>(space)] = memtables;
    ::rocksdb::ColumnFamilyOptions& column = columns[static_cast<size_t>(space) + 1].options;
    column.memtable_factory = memtables;
    // One that is full would be written to a table all the same.
    if (in_memory) column.write_buffer_size = 4 * db_options.max_total_wal_size;
  }
  std::vector<::rocksdb::ColumnFamilyHandle*> handles;
  ::rocksdb::DB* db = nullptr;
  ::rocksdb::Status status =
      ::rocksdb::DB::Open(db_options, directory_->db_path(), columns, &handles, &db);
  if (!status.ok()) return status;
  engine_.db.reset(db);
  db->DestroyColumnFamilyHandle(handles[0]);
  for (const Space space : kAllSpaces) {
    ::rocksdb::ColumnFamilyHandle* column = handles[static_cast<size_t>(space) + 1];
    engine_.columns[static_cast<size_t>(space)] = column;
    if (in_memory) {
      db->SetOptions(column, {{"write_buffer_size", std::to_string(MemtableBytes(options))}});
    }
  }
  return status;
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
  disk_watch_.Stop();
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

Subscription RocksStore::OnChange(Space space, ChangeListener listener) {
  const std::lock_guard lock(engine_.change_mutex);
  CAIRN_CHECK(!engine_.change_listener, "a store has one listener to changes");
  engine_.change_space = space;
  engine_.change_listener = std::move(listener);
  engine_.change_wanted.store(true);
  return Subscription([this] {
    const std::lock_guard lock(engine_.change_mutex);
    engine_.change_wanted.store(false);
    engine_.change_listener = nullptr;
  });
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
  // Files of older versions have no checksum as a whole.
  auto status = engine_.db->VerifyFileChecksums(options);
  if (status.ok()) status = engine_.db->VerifyChecksum(options);
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
