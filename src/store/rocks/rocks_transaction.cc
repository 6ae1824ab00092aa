#include "store/rocks/rocks_transaction.h"

#include "store/rocks/status.h"
#include "store/scan_merge.h"
#include "store/timers.h"

namespace cairn::store::rocks {
namespace {

// How often the first read of a body is tried again when commits keep arriving, before a snapshot.
constexpr int kFirstReadTries = 3;

::rocksdb::Slice ToSlice(BytesView bytes) { return {bytes.data(), bytes.size()}; }
BytesView ToView(const ::rocksdb::Slice& slice) { return {slice.data(), slice.size()}; }

// About what a handler spends on a value it reads, on a row of a scan, on a write, and per byte.
constexpr size_t kReadNs = 1'000;
constexpr size_t kRowNs = 800;
constexpr size_t kWriteNs = 300;
constexpr size_t kBytesPerNs = 1;

// How many rows more a scan reads that had to leave its loop.
constexpr int kRowsReadOn = 10'000;

// Whoever takes rows from the front of a range comes back for those behind them: they are brought
// into memory too, or every other scan would have to leave its loop.
void ReadOn(::rocksdb::Iterator& iterator, const ScanOptions& options) {
  if (options.reverse || options.limit == ScanOptions().limit) return;
  for (int rows = 0; rows < kRowsReadOn && iterator.Valid(); ++rows) iterator.Next();
}

// A RocksDB iterator with the range's bounds as its own, as ScanMerged reads it.
struct IteratorSource {
  ::rocksdb::Iterator& iterator;
  const Range& range;
  bool reverse;

  void Start() { reverse ? iterator.SeekToLast() : iterator.Seek(ToSlice(range.begin)); }
  void Step() { reverse ? iterator.Prev() : iterator.Next(); }
  bool Valid() const { return iterator.Valid(); }
  BytesView key() const { return ToView(iterator.key()); }
  BytesView value() const { return ToView(iterator.value()); }
  Result<void> status() const {
    if (!iterator.status().ok()) return ToError(iterator.status(), "scan");
    return {};
  }
};

}  // namespace

Result<void> ScanIterator(::rocksdb::Iterator& iterator, WriteSet* writes, const Range& range,
                          const ScanOptions& options, RowVisitor visit) {
  IteratorSource source{iterator, range, options.reverse};
  return ScanMerged(source, writes, range, options, visit);
}

RocksTransaction::RocksTransaction(Engine& engine, WriteSet& writes, Waiting waiting)
    : engine_(engine), writes_(writes), waiting_(waiting) {}

RocksTransaction::~RocksTransaction() { End(); }

void RocksTransaction::Begin(Access access, View view) {
  End();
  access_ = access;
  now_.reset();
  has_read_ = false;
  needs_restart_ = false;
  stamp_.reset();
  read_error_.reset();
  left_ns_ = kMaxLoopNs;
  writes_.set_origin(0);
  if (view == View::kSnapshot) TakeSnapshot();
}

void RocksTransaction::End() {
  if (snapshot_ == nullptr) return;
  engine_.db->ReleaseSnapshot(snapshot_);
  snapshot_ = nullptr;
}

Timestamp RocksTransaction::now() const {
  if (!now_) now_ = engine_.clock.Now();
  return *now_;
}

void RocksTransaction::TakeSnapshot() { snapshot_ = engine_.db->GetSnapshot(); }

Error RocksTransaction::Failed(Error error) {
  if (!read_error_) read_error_ = error;
  return error;
}

Error RocksTransaction::TookTooLong() {
  return Failed({ErrorCode::kWouldBlock, "a body reads or writes too much for an event loop"});
}

Error RocksTransaction::Restart() {
  needs_restart_ = true;
  return Failed({ErrorCode::kWouldBlock, "the store changed while the body was reading"});
}

bool RocksTransaction::EpochHeld() const { return engine_.writes_begun.load() == epoch_; }

::rocksdb::ReadOptions RocksTransaction::read_options() const {
  ::rocksdb::ReadOptions options;
  options.snapshot = snapshot_;
  if (waiting_ == Waiting::kNotAllowed) options.read_tier = ::rocksdb::kBlockCacheTier;
  return options;
}

Result<std::optional<Bytes>> RocksTransaction::Get(Key key) {
  if (writes_.over_limit()) return Failed(writes_.limit_error());
  if (!Spend(kReadNs)) return TookTooLong();
  const uint64_t hash = HashOf(key);
  BytesView written;
  const WriteSet::State state = writes_.Find(key, hash, &written);
  if (state == WriteSet::State::kPut) return std::optional(Bytes(written));
  if (state == WriteSet::State::kDeleted) return std::optional<Bytes>();
  Result<std::optional<Bytes>> value = Load(key, hash);
  if (!value.ok()) return Failed(value.error());
  if (*value && !Spend((*value)->size() / kBytesPerNs)) return TookTooLong();
  if (!writes_.counters().empty()) {
    if (const int64_t delta = writes_.CounterDelta(key); delta != 0) {
      const int64_t stored =
          *value ? static_cast<int64_t>(BytesReader(**value).Big64()) : int64_t{0};
      Bytes sum;
      AppendBig64(sum, static_cast<uint64_t>(stored + delta));
      return std::optional(std::move(sum));
    }
  }
  return value;
}

Result<std::optional<Bytes>> RocksTransaction::Load(Key key, uint64_t hash) {
  if (snapshot_ != nullptr) return LoadFromEngine(key);
  for (int tries = 0; tries < (has_read_ ? 1 : kFirstReadTries); ++tries) {
    if (!has_read_) {
      epoch_ = engine_.writes_ended.load();
      if (!EpochHeld()) continue;  // somebody is writing right now
    }
    std::optional<Bytes> value(std::in_place);
    const auto cached =
        engine_.cache.Get(static_cast<uint8_t>(key.space), key.bytes, hash, &*value);
    if (cached == ValueCache::Lookup::kAbsent) value.reset();
    if (cached == ValueCache::Lookup::kMiss) {
      CAIRN_ASSIGN_OR_RETURN(value, LoadFromEngine(key));
      engine_.cache.Fill(static_cast<uint8_t>(key.space), key.bytes,
                         value ? std::optional<BytesView>(*value) : std::nullopt,
                         [this] { return EpochHeld(); });
    }
    if (EpochHeld()) {
      has_read_ = true;
      return value;
    }
  }
  if (has_read_) return Restart();
  // Nothing was read yet, so the body's view may as well start here, on a snapshot.
  TakeSnapshot();
  return LoadFromEngine(key);
}

Result<std::optional<Bytes>> RocksTransaction::LoadFromEngine(Key key) {
  ::rocksdb::PinnableSlice value;
  const ::rocksdb::Status status =
      engine_.db->Get(read_options(), engine_.column(key.space), ToSlice(key.bytes), &value);
  if (status.ok()) return std::optional(Bytes(value.data(), value.size()));
  if (status.IsNotFound()) return std::optional<Bytes>();
  return ToError(status, "read");
}

Result<void> RocksTransaction::Expect(std::span<const Key> keys) {
  engine_.cache.Expect(keys);
  return {};
}

Result<void> RocksTransaction::Scan(const Range& range, const ScanOptions& options,
                                    RowVisitor visit) {
  if (range.empty() || options.limit == 0) return {};
  if (writes_.over_limit()) return Failed(writes_.limit_error());
  if (!Spend(0)) return TookTooLong();
  if (waiting_ == Waiting::kNotAllowed &&
      engine_.range_deletions[static_cast<size_t>(range.space)].load() != 0) {
    return Failed({ErrorCode::kWouldBlock, "a space with range deletions is scanned elsewhere"});
  }
  ::rocksdb::ReadOptions read = read_options();
  const ::rocksdb::Slice lower = ToSlice(range.begin);
  const ::rocksdb::Slice upper = range.end ? ToSlice(*range.end) : ::rocksdb::Slice();
  read.iterate_lower_bound = &lower;
  if (range.end) read.iterate_upper_bound = &upper;
  // An iterator is a consistent view by itself; what has to be checked is that it is the same view
  // as the body's other reads.
  if (snapshot_ == nullptr && !has_read_) epoch_ = engine_.writes_ended.load();
  const std::unique_ptr<::rocksdb::Iterator> iterator(
      engine_.db->NewIterator(read, engine_.column(range.space)));
  if (snapshot_ == nullptr) {
    if (!EpochHeld()) return Restart();
    has_read_ = true;
  }
  bool too_long = false;
  const auto counted = [&](BytesView key, BytesView value) {
    too_long = !Spend(kRowNs + (key.size() + value.size()) / kBytesPerNs);
    return !too_long && visit(key, value);
  };
  Result<void> scanned = ScanIterator(*iterator, &writes_, range, options,
                                      waiting_ == Waiting::kAllowed ? visit : RowVisitor(counted));
  if (too_long) return TookTooLong();
  if (waiting_ == Waiting::kNotAllowed) {
    if (!scanned.ok() && scanned.error().code == ErrorCode::kWouldBlock) {
      engine_.scan_went_cold.store(true, std::memory_order_relaxed);
    }
  } else if (engine_.scan_went_cold.exchange(false, std::memory_order_relaxed)) {
    ReadOn(*iterator, options);
  }
  if (!scanned.ok()) return Failed(scanned.error());
  return {};
}

bool RocksTransaction::MayWrite(Key key, size_t bytes) {
  CheckWritable();
  if (Spend(kWriteNs + (key.bytes.size() + bytes) / kBytesPerNs)) return true;
  (void)TookTooLong();
  return false;
}

void RocksTransaction::Put(Key key, BytesView value) {
  if (MayWrite(key, value.size())) writes_.Put(key, value);
}

void RocksTransaction::Delete(Key key) {
  if (MayWrite(key, 0)) writes_.Delete(key);
}

void RocksTransaction::DeleteRange(const Range& range) {
  CheckWritable();
  writes_.DeleteRange(range);
}

void RocksTransaction::Add(Key counter, int64_t delta) {
  CheckWritable();
  writes_.Add(counter, delta);
}

void RocksTransaction::AppendEvents(Key prefix, BytesView value, uint32_t count) {
  CheckWritable();
  writes_.AppendEvents(prefix, value, count);
}

void RocksTransaction::Wake(Topic topic) {
  CheckWritable();
  writes_.Wake(topic);
}

void RocksTransaction::AfterCommit(std::function<void(Commit)> function) {
  writes_.AfterCommit(std::move(function));
}

void RocksTransaction::SetTimer(Timestamp due, uint8_t kind, BytesView owner, BytesView payload) {
  Put({Space::kTimers, EncodeTimerKey(due, kind, owner)}, payload);
  writes_.NoteTimer(due.us);
}

void RocksTransaction::CancelTimer(Timestamp due, uint8_t kind, BytesView owner) {
  Delete({Space::kTimers, EncodeTimerKey(due, kind, owner)});
}

uint64_t RocksTransaction::stamp() {
  if (!stamp_) stamp_ = engine_.stamps.Next();
  return *stamp_;
}

uint64_t RocksTransaction::NewStamp() { return engine_.stamps.Next(); }

}  // namespace cairn::store::rocks
