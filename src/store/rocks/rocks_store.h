#pragma once

#include <memory>
#include <string>

#include "store/rocks/directory.h"
#include "store/rocks/disk_watch.h"
#include "store/rocks/engine.h"
#include "store/rocks/open.h"
#include "store/rocks/range_deletions.h"
#include "store/rocks/sequencer.h"
#include "store/rocks/syncer.h"
#include "store/store.h"

namespace cairn::store::rocks {

// store::Store on one RocksDB database.
class RocksStore final : public Store {
 public:
  static Result<std::unique_ptr<RocksStore>> Open(const Options& options, const Clock& clock,
                                                  const Log& log);
  ~RocksStore() override;

  Result<Commit> Run(const Scopes& scopes, Body body) override;
  Result<Commit> RunRead(const Scopes& scopes, Body body) override;
  std::unique_ptr<Group> NewGroup() override;
  Result<std::unique_ptr<Snapshot>> Read() override;

  bool IsDurable(Commit commit) const override { return syncer_.IsDurable(commit); }
  Result<void> Durable(Commit commit) override { return syncer_.Wait(commit); }
  Subscription OnDurable(std::function<void(Result<Commit>)> listener) override;
  Subscription OnWake(Topic topic, std::function<void()> waiter) override;
  Subscription OnChange(Space space, ChangeListener listener) override;
  Subscription OnEarlierTimer(std::function<void(Timestamp due)> listener) override;

  std::optional<Error> write_failure() const override { return engine_.failure.get(); }
  Result<void> Backup(const std::string& directory) override;
  Result<void> Verify() override;
  Durability durability() const override { return syncer_.durability(); }
  StoreStats stats() const override;

 private:
  RocksStore(const Options& options, const Clock& clock, const Log& log);

  Result<void> OpenDatabase(const Options& options);
  // How RocksDB recovers what is in the log: by writing it to tables, which is quick to forget, or
  // by keeping log and memtables, which needs no room on disk.
  enum class Recovery { kToTables, kInMemory };
  ::rocksdb::Status TryOpenDatabase(const Options& options, ::rocksdb::DBOptions db_options,
                                    Recovery recovery);
  Result<void> LoadNumbers();

  const std::string version_;
  std::unique_ptr<DataDirectory> directory_;
  std::unique_ptr<::rocksdb::Env> env_;
  std::shared_ptr<::rocksdb::Cache> block_cache_;
  std::shared_ptr<::rocksdb::WriteBufferManager> write_buffers_;
  Engine engine_;
  Syncer syncer_;
  Sequencer sequencer_;
  DiskWatch disk_watch_;
  RangeDeletions range_deletions_;
};

}  // namespace cairn::store::rocks
