#include "store/rocks/sequencer.h"

#include <algorithm>

#include "store/key_hash.h"
#include "store/rocks/log_check.h"
#include "store/rocks/status.h"

namespace cairn::store::rocks {
namespace {

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

Sequencer::Sequencer(Engine& engine, std::function<void(Commit, size_t bytes)> committed)
    : engine_(engine), committed_(std::move(committed)) {}

Result<Commit> Sequencer::Submit(const WriteSet& writes, std::span<const Stripes::Index> stripes,
                                 Stripes::Owner owner) {
  Entry entry{&writes, stripes, owner, std::nullopt};
  std::unique_lock lock(mutex_);
  waiting_.push_back(&entry);
  done_.wait(lock, [&] { return entry.result.has_value() || !writing_; });
  if (!entry.result) {
    writing_ = true;
    std::vector<Entry*> entries;
    entries.swap(waiting_);
    lock.unlock();
    const Result<Commit> result = WriteAll(entries);
    lock.lock();
    for (Entry* written : entries) written->result = result;
    writing_ = false;
    done_.notify_all();
  }
  return *entry.result;
}

Result<Commit> Sequencer::WriteAll(std::span<Entry* const> entries) {
  if (const auto failure = engine_.failure.get()) {
    Release(entries);
    return *failure;
  }
  if (Result<void> built = BuildBatch(entries); !built.ok()) {
    engine_.failure.Set(built.error());
    Release(entries);
    return *engine_.failure.get();
  }

  // Each entry of a batch takes one RocksDB sequence number, so commit numbers equal the engine's
  // and go on growing after a restart.
  const Commit commit{engine_.visible_commit.load(std::memory_order_relaxed) +
                      static_cast<uint64_t>(batch_.Count())};
  for (const Entry* entry : entries) {
    for (const Stripes::Index stripe : entry->stripes) {
      engine_.stripes.set_newest_commit(stripe, commit.number);
    }
  }

  AnnounceRows();
  engine_.writes_begun.fetch_add(1);
  for (const Entry* entry : entries) {
    for (const Range& range : entry->writes->ranges()) engine_.NoteRangeDeletion(range.space);
  }
  const ::rocksdb::Status status = engine_.db->Write(::rocksdb::WriteOptions(), &batch_);
  if (status.ok()) {
    UpdateCache(entries);
    for (auto& [key, value] : new_counters_) counters_[key] = value;
    engine_.visible_commit.store(commit.number, std::memory_order_release);
    engine_.commits.fetch_add(entries.size(), std::memory_order_relaxed);
    engine_.engine_writes.fetch_add(1, std::memory_order_relaxed);
  } else {
    engine_.failure.Set(ToError(status, "write"));
  }
  engine_.writes_ended.fetch_add(1);
  if (status.ok()) {
    for (const Entry* entry : entries) {
      for (const auto& function : entry->writes->after_commit()) function(commit);
    }
  }
  Release(entries);
  committed_(commit, batch_.GetDataSize());
  if (!status.ok()) return *engine_.failure.get();
  return commit;
}

Result<void> Sequencer::BuildBatch(std::span<Entry* const> entries) {
  batch_.Clear();
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
  AddBound(engine_.stamps);
  AddBound(engine_.events);
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

void Sequencer::AddBound(NumberSource& source) {
  if (const auto bound = source.RaiseBound()) {
    AddRow(Space::kSystem, source.row_key(), Big64(*bound));
  }
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

void Sequencer::Release(std::span<Entry* const> entries) {
  for (const Entry* entry : entries) {
    for (const Stripes::Index stripe : entry->stripes) {
      engine_.stripes.Release(stripe, entry->owner);
    }
  }
}

}  // namespace cairn::store::rocks
