#pragma once

#include <rocksdb/db.h>

#include <optional>

#include "store/rocks/engine.h"
#include "store/transaction.h"
#include "store/write_set.h"

namespace cairn::store::rocks {

enum class Waiting {
  kAllowed,     // reads may go to the disk
  kNotAllowed,  // a read that memory cannot answer fails with kWouldBlock
};

// The view a body has: the group's writes over the store as of the body's start.
//
// Consistency costs nothing while nobody else commits: the transaction notes the engine's write
// epoch at its first read and checks it after every read. If the epoch has moved, the body is run
// again from the start on a RocksDB snapshot (needs_restart).
//
// Where waiting is not allowed an event loop stands still meanwhile, so what a body reads and
// writes is counted as time, roughly. Past kMaxLoopNs every read fails with kWouldBlock, writes are
// not kept, and a body that only writes on fails when it ends: whatever a request turns out to be,
// it leaves the loop.
class RocksTransaction final : public Transaction {
 public:
  RocksTransaction(Engine& engine, WriteSet& writes, Waiting waiting);
  ~RocksTransaction() override;

  enum class View {
    kOptimistic,
    kSnapshot,
  };
  // About what a body may take where waiting is not allowed.
  static constexpr int64_t kMaxLoopNs = 10'000'000;

  // Starts a body.
  void Begin(Access access, View view);
  // Ends it; gives up the snapshot.
  void End();
  // The body read across somebody's commit: undo it, Begin with kSnapshot, run it again.
  bool needs_restart() const { return needs_restart_; }
  // The first error a read gave the body, whether or not the body passed it on.
  const std::optional<Error>& read_error() const { return read_error_; }

  Result<std::optional<Bytes>> Get(Key key) override;
  Result<void> Expect(std::span<const Key> keys) override;
  Result<void> Scan(const Range& range, const ScanOptions& options, RowVisitor visit) override;
  Timestamp now() const override;

  void Put(Key key, BytesView value) override;
  void Delete(Key key) override;
  void DeleteRange(const Range& range) override;
  void Add(Key counter, int64_t delta) override;
  void AppendEvents(Key prefix, BytesView value, uint32_t count) override;
  void Wake(Topic topic) override;
  void AfterCommit(std::function<void(Commit)> function) override;
  void SetTimer(Timestamp due, uint8_t kind, BytesView owner, BytesView payload) override;
  void CancelTimer(Timestamp due, uint8_t kind, BytesView owner) override;
  void set_origin(uint32_t origin) override { writes_.set_origin(origin); }
  uint64_t stamp() override;
  uint64_t NewStamp() override;

 private:
  void TakeSnapshot();
  void CheckWritable() const { CAIRN_CHECK(access_ == Access::kWrite); }
  // Counts a write, with its bytes. False when the body has had enough time: it fails, so that the
  // write need not be kept.
  bool MayWrite(Key key, size_t bytes);
  // Counts time where it is short. False when the body has had enough of it.
  bool Spend(size_t ns) {
    if (waiting_ == Waiting::kAllowed) return true;
    left_ns_ -= static_cast<int64_t>(ns);
    return left_ns_ >= 0;
  }
  Error TookTooLong();
  Error Failed(Error error);
  Error Restart();
  bool EpochHeld() const;
  Result<std::optional<Bytes>> Load(Key key, uint64_t hash);
  Result<std::optional<Bytes>> LoadFromEngine(Key key);
  ::rocksdb::ReadOptions read_options() const;

  Engine& engine_;
  WriteSet& writes_;
  const Waiting waiting_;

  Access access_ = Access::kRead;
  mutable std::optional<Timestamp> now_;  // read when it is first asked for: most bodies never do
  const ::rocksdb::Snapshot* snapshot_ = nullptr;
  uint64_t epoch_ = 0;  // without a snapshot: the epoch all reads so far belong to
  bool has_read_ = false;
  int64_t left_ns_ = 0;
  bool needs_restart_ = false;
  std::optional<uint64_t> stamp_;
  std::optional<Error> read_error_;
};

// Visits the rows of `iterator` within `range` (its bounds already set as the iterator's own),
// merged with the uncommitted `writes` where given.
Result<void> ScanIterator(::rocksdb::Iterator& iterator, WriteSet* writes, const Range& range,
                          const ScanOptions& options, RowVisitor visit);

}  // namespace cairn::store::rocks
