#include "store/rocks/sequencer.h"

#include <algorithm>

#include "store/key_hash.h"
#include "store/rocks/log_check.h"
#include "store/rocks/status.h"

namespace cairn::store::rocks {
namespace {

// Write sets are merged into an engine write up to this size, which one alone may exceed: a write
// is one record in the log, which every start reads as one.
constexpr size_t kMergedBytes = 16 * 1024 * 1024;

// What is kept after a write to be used again, in bytes or in elements; more than this is freed.
constexpr size_t kKeptBytes = 4 * 1024 * 1024;
constexpr size_t kKeptRows = 64 * 1024;

::rocksdb::Slice ToSlice(BytesView bytes) { return {bytes.data(), bytes.size()}; }

Bytes Big64(uint64_t value) {
  Bytes bytes;
  AppendBig64(bytes, value);
  return bytes;
}

}  // namespace

size_t Sequencer::CounterKeyHash::operator()(const CounterKey& key) const {
  return HashOf({key.space, key.key});
}

Sequencer::Sequencer(Engine& engine, std::function<void(Commit, size_t bytes)> committed,
                     std::function<void()> stopped)
    : engine_(engine), committed_(std::move(committed)), stopped_(std::move(stopped)) {}

Result<Commit> Sequencer::Submit(const WriteSet& writes, std::span<const Stripes::Index> stripes,
                                 Stripes::Owner owner) {
  Entry entry{&writes, stripes, owner, std::nullopt};
  std::unique_lock lock(mutex_);
  waiting_.push_back(&entry);
  for (;;) {
    done_.wait(lock, [&] { return entry.result.has_value() || !writing_; });
    if (entry.result) return *entry.result;
    writing_ = true;
    const std::vector<Entry*> entries = TakeWaiting();
    lock.unlock();
    const Result<Commit> result = WriteAll(entries);
    lock.lock();
    for (Entry* written : entries) written->result = result;
    writing_ = false;
    done_.notify_all();
  }
}

std::vector<Sequencer::Entry*> Sequencer::TakeWaiting() {
  size_t count = 1;
  size_t bytes = waiting_[0]->writes->bytes();
  for (; count < waiting_.size(); ++count) {
    bytes += waiting_[count]->writes->bytes();
    if (bytes > kMergedBytes) break;
  }
  const auto end = waiting_.begin() + static_cast<ptrdiff_t>(count);
  std::vector<Entry*> taken(waiting_.begin(), end);
  waiting_.erase(waiting_.begin(), end);
  return taken;
}

Result<Commit> Sequencer::WriteAll(std::span<Entry* const> entries) {
  if (const auto failure = engine_.failure.get()) {
    Release(entries);
    return *failure;
  }
  Result<void> written = BuildBatch(entries);
  if (!written.ok()) written = engine_.failure.Stop(written.error());
  if (written.ok()) written = MakeRoom();
  if (written.ok()) {
    // Each entry of a batch takes one RocksDB sequence number, so commit numbers equal the
    // engine's and go on growing after a restart.
    commit_ = {engine_.visible_commit.load(std::memory_order_relaxed) +
               static_cast<uint64_t>(batch_.Count())};
    written = Write(entries);
  }
  Release(entries);
  const size_t bytes = batch_.GetDataSize();
  FreeSpareMemory();
  if (!written.ok()) {
    if (engine_.failure.stopped()) stopped_();
    return written.error();
  }
  committed_(commit_, bytes);
  return commit_;
}

Result<void> Sequencer::MakeRoom() {
  const ::rocksdb::IOStatus status = engine_.log_files->Reserve(batch_.GetDataSize());
  if (status.ok()) return {};
  const Error error = ToError(status, "write");
  return IsLackOfRoom(status) ? engine_.failure.Fill(error) : engine_.failure.Stop(error);
}

Result<void> Sequencer::Write(std::span<Entry* const> entries) {
  AnnounceRows();
  engine_.writes_begun.fetch_add(1);
  for (const Entry* entry : entries) {
    for (const Range& range : entry->writes->ranges()) engine_.NoteRangeDeletion(range.space);
  }
  current_ = entries;
  const ::rocksdb::Status status = engine_.db->Write(::rocksdb::WriteOptions(), &batch_);
  current_ = {};
  if (status.ok()) Written(entries);
  engine_.writes_ended.fetch_add(1);
  if (!status.ok()) {
    const Error error = ToError(status, "write");
    // RocksDB refuses writes while it has no room for its other files, before it begins them.
    return IsLackOfRoom(status) ? engine_.failure.Fill(error) : engine_.failure.Stop(error);
  }
  for (const Entry* entry : entries) {
    for (const auto& function : entry->writes->after_commit()) function(commit_);
  }
  if (engine_.change_wanted.load()) TellChanges(entries, commit_);
  return {};
}

void Sequencer::Logged() {
  for (const Entry* entry : current_) {
    for (const Stripes::Index stripe : entry->stripes) {
      engine_.stripes.set_newest_commit(stripe, commit_.number);
    }
  }
}

void Sequencer::Written(std::span<Entry* const> entries) {
  UpdateCache(entries);
  for (auto& [key, value] : new_counters_) counters_[key] = value;
  if (stamp_bound_) engine_.stamps.BoundWritten(*stamp_bound_);
  if (event_bound_) engine_.events.BoundWritten(*event_bound_);
  engine_.visible_commit.store(commit_.number, std::memory_order_release);
  engine_.commits.fetch_add(entries.size(), std::memory_order_relaxed);
  engine_.engine_writes.fetch_add(1, std::memory_order_relaxed);
}

void Sequencer::TellChanges(std::span<Entry* const> entries, Commit commit) {
  const std::lock_guard lock(engine_.change_mutex);
  if (!engine_.change_listener) return;
  changes_.clear();
  for (const Entry* entry : entries) {
    for (const Range& range : entry->writes->ranges()) {
      if (range.space != engine_.change_space) continue;
      changes_.push_back({.key = range.begin, .is_range = true});
    }
    for (const WriteSet::Row& row : entry->writes->rows()) {
      if (row.space != engine_.change_space || row.state == WriteSet::State::kUnknown) continue;
      changes_.push_back({.key = row.key, .origin = row.origin});
    }
  }
  if (!changes_.empty()) engine_.change_listener(commit, changes_);
}

// A batch that grows is there twice while it moves: a large one is made as large as it will be.
void Sequencer::BeginBatch(std::span<Entry* const> entries) {
  size_t bytes = 0;
  for (const Entry* entry : entries) bytes += entry->writes->bytes();
  if (bytes > kKeptBytes) {
    batch_ = ::rocksdb::WriteBatch(bytes);
  } else {
    batch_.Clear();
  }
}

Result<void> Sequencer::BuildBatch(std::span<Entry* const> entries) {
  BeginBatch(entries);
  new_counters_.clear();
  own_rows_.clear();
  for (auto& keys : row_keys_) keys.clear();
  events_ = 0;
  batch_.PutLogData(EncodeDurableNote(engine_.durable_commit.load(std::memory_order_relaxed)));
  for (const Entry* entry : entries) {
    const WriteSet& writes = *entry->writes;
    for (const Range& range : writes.ranges()) {
      // RocksDB wants an end; a key that no layer can reach stands for "none".
      static const Bytes kPastAll(64, '\xff');
      batch_.DeleteRange(engine_.column(range.space), ToSlice(range.begin),
                         ToSlice(range.end ? *range.end : kPastAll));
    }
    for (const WriteSet::Row& row : writes.rows()) {
      if (row.state == WriteSet::State::kUnknown) continue;
      if (row.state == WriteSet::State::kPut) {
        batch_.Put(engine_.column(row.space), ToSlice(row.key), ToSlice(row.value));
      } else {
        batch_.Delete(engine_.column(row.space), ToSlice(row.key));
      }
      row_keys_[static_cast<size_t>(row.space)].push_back(row.key);
    }
    CAIRN_RETURN_IF_ERROR(SumCounters(writes));
    for (const WriteSet::Event& event : writes.events()) AddEvent(event);
  }
  for (const auto& [key, value] : new_counters_) {
    AddRow(key.space, key.key, Big64(static_cast<uint64_t>(value)));
  }
  AddBound(engine_.stamps, stamp_bound_);
  AddBound(engine_.events, event_bound_);
  return {};
}

Result<void> Sequencer::SumCounters(const WriteSet& writes) {
  for (const WriteSet::Counter& counter : writes.counters()) {
    if (counter.delta == 0) continue;
    CounterKey key{counter.space, counter.key};
    auto value = std::find_if(new_counters_.begin(), new_counters_.end(),
                              [&](const auto& known) { return known.first == key; });
    if (value == new_counters_.end()) {
      int64_t current = 0;
      if (const auto known = counters_.find(key); known != counters_.end()) {
        current = known->second;
      } else {
        std::string stored;
        const auto status =
            engine_.db->Get(::rocksdb::ReadOptions(), engine_.column(key.space), key.key, &stored);
        if (!status.ok() && !status.IsNotFound()) return ToError(status, "read a counter");
        if (status.ok()) current = static_cast<int64_t>(BytesReader(stored).Big64());
      }
      value = new_counters_.insert(new_counters_.end(), {std::move(key), current});
    }
    value->second += counter.delta;
  }
  return {};
}

void Sequencer::AddRow(Space space, BytesView key, BytesView value) {
  batch_.Put(engine_.column(space), ToSlice(key), ToSlice(value));
  own_rows_.push_back({space, Bytes(key), Bytes(value)});
}

void Sequencer::AddEvent(const WriteSet::Event& event) {
  if (event_keys_.size() == events_) event_keys_.emplace_back();
  Bytes& key = event_keys_[events_++];
  key.assign(event.prefix);
  AppendBig64(key, engine_.events.Next(event.count));
  batch_.Put(engine_.column(event.space), ToSlice(key), ToSlice(event.value));
  row_keys_[static_cast<size_t>(event.space)].push_back(key);
}

void Sequencer::AddBound(NumberSource& source, std::optional<uint64_t>& bound) {
  bound = source.WantedBound();
  if (bound) AddRow(Space::kSystem, source.row_key(), Big64(*bound));
}

// Few rows are inserted as quickly without.
void Sequencer::AnnounceRows() {
  constexpr size_t kWorthwhile = 8;
  for (size_t space = 0; space < row_keys_.size(); ++space) {
    if (row_keys_[space].size() >= kWorthwhile) engine_.memtables[space]->Expect(row_keys_[space]);
  }
}

// The cache answers lookups of single keys. Rows of indexes, which have no value, rows that are
// deleted and events are met by scans, if at all: they take no room in it unless somebody has
// looked for them there.
void Sequencer::UpdateCache(std::span<Entry* const> entries) {
  using Unknown = ValueCache::Unknown;
  size_t event_number = 0;
  for (const Entry* entry : entries) {
    for (const Range& range : entry->writes->ranges()) {
      engine_.cache.EraseRange(static_cast<uint8_t>(range.space), range.begin,
                               range.end ? BytesView(*range.end) : BytesView());
    }
    written_.clear();
    for (const WriteSet::Row& row : entry->writes->rows()) {
      if (row.state == WriteSet::State::kUnknown) continue;
      const bool put = row.state == WriteSet::State::kPut;
      written_.push_back(
          {static_cast<uint8_t>(row.space), row.key, put ? std::optional(row.value) : std::nullopt,
           put && !row.value.empty() ? Unknown::kAdded : Unknown::kIgnored, row.hash});
    }
    for (const WriteSet::Event& event : entry->writes->events()) {
      written_.push_back({static_cast<uint8_t>(event.space), event_keys_[event_number++],
                          BytesView(event.value), Unknown::kIgnored});
    }
    engine_.cache.Commit(written_);
  }
  for (const OwnRow& row : own_rows_) {
    engine_.cache.Commit(static_cast<uint8_t>(row.space), row.key, BytesView(row.value));
  }
}

void Sequencer::FreeSpareMemory() {
  if (batch_.GetDataSize() > kKeptBytes) batch_ = ::rocksdb::WriteBatch();
  for (auto& keys : row_keys_) {
    if (keys.capacity() > kKeptRows) std::vector<BytesView>().swap(keys);
  }
  if (written_.capacity() > kKeptRows) std::vector<ValueCache::Written>().swap(written_);
  if (event_keys_.size() > kKeptRows) event_keys_.clear();
}

void Sequencer::Release(std::span<Entry* const> entries) {
  for (const Entry* entry : entries) {
    for (const Stripes::Index stripe : entry->stripes) {
      engine_.stripes.Release(stripe, entry->owner);
    }
  }
}

}  // namespace cairn::store::rocks
