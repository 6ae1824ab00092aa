#include "store/write_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace cairn::store {
namespace {

constexpr size_t kInitialSlots = 256;  // a power of two, like every later size
// Chunks grow with the set. An allocator that keeps freed memory for later gives large pieces back
// at once; jemalloc does from 8 MiB on.
constexpr size_t kMinChunkBytes = 64 * 1024;
constexpr size_t kMaxChunkBytes = 8 * 1024 * 1024;
// What Clear keeps to be used again; more than this is freed.
constexpr size_t kKeptBytes = 4 * 1024 * 1024;
constexpr size_t kKeptRows = 64 * 1024;
// Room that every set may take without asking, and how much is asked for at a time.
constexpr size_t kFreeRoomBytes = 1024 * 1024;
constexpr size_t kRoomStepBytes = 1024 * 1024;

bool Less(Space a_space, BytesView a, Space b_space, BytesView b) {
  return a_space != b_space ? a_space < b_space : a < b;
}

template <typename T>
void ClearKept(std::vector<T>& elements) {
  elements.clear();
  if (elements.capacity() > kKeptRows) std::vector<T>().swap(elements);
}

}  // namespace

bool WriteSet::ByKey::operator()(uint32_t a, uint32_t b) const {
  return Less((*rows)[a].space, (*rows)[a].key, (*rows)[b].space, (*rows)[b].key);
}
bool WriteSet::ByKey::operator()(uint32_t a, const Key& b) const {
  return Less((*rows)[a].space, (*rows)[a].key, b.space, b.bytes);
}
bool WriteSet::ByKey::operator()(const Key& a, uint32_t b) const {
  return Less(a.space, a.bytes, (*rows)[b].space, (*rows)[b].key);
}

WriteSet::WriteSet(size_t limit, WriteRoom* room)
    : limit_(limit),
      body_end_(limit),
      room_(room),
      room_end_(room == nullptr ? std::numeric_limits<size_t>::max() : kFreeRoomBytes),
      slots_(kInitialSlots) {}

void WriteSet::BeginBody() {
  over_limit_ = false;
  const size_t left = std::numeric_limits<size_t>::max() - bytes_;
  body_end_ = bytes_ + std::min(limit_, left);
}

bool WriteSet::Charge(size_t bytes) {
  CAIRN_CHECK(bytes_ <= body_end_, "{} bytes of {}", bytes_, body_end_);
  if (over_limit_ || bytes > body_end_ - bytes_) {
    over_limit_ = true;
    return false;
  }
  bytes_ += bytes;
  if (bytes_ > room_end_) TakeRoom();
  return true;
}

void WriteSet::TakeRoom() {
  CAIRN_CHECK(room_ != nullptr && bytes_ > room_end_);
  if (!place_) place_.emplace(*room_);
  const size_t more = bytes_ - room_end_ + kRoomStepBytes;
  place_->Grow(more);
  room_end_ += more;
}

Error WriteSet::limit_error() const {
  return {ErrorCode::kTooLarge,
          fmt::format("the transaction would write more than {} bytes at once, so nothing of it "
                      "was done: split it, or raise limits.transaction",
                      limit_)};
}

BytesView WriteSet::Copy(BytesView bytes) {
  if (bytes.empty()) return {};
  while (chunk_ < chunks_.size() && chunks_[chunk_].size - chunk_used_ < bytes.size()) {
    ++chunk_;
    chunk_used_ = 0;
  }
  if (chunk_ == chunks_.size()) {
    const size_t size = std::max(bytes.size(), std::clamp(bytes_, kMinChunkBytes, kMaxChunkBytes));
    chunks_.push_back({std::make_unique_for_overwrite<char[]>(size), size});
    chunk_used_ = 0;
  }
  char* at = chunks_[chunk_].bytes.get() + chunk_used_;
  std::memcpy(at, bytes.data(), bytes.size());
  chunk_used_ += bytes.size();
  return {at, bytes.size()};
}

uint32_t WriteSet::FindRow(Key key, uint64_t hash) const {
  const size_t mask = slots_.size() - 1;
  for (size_t i = hash & mask;; i = (i + 1) & mask) {
    const Slot& slot = slots_[i];
    if (slot.generation != generation_) return kNoRow;
    if (slot.hash == hash && rows_[slot.row].key == key.bytes &&
        rows_[slot.row].space == key.space) {
      return slot.row;
    }
  }
}

void WriteSet::Grow() {
  std::vector<Slot> old(slots_.size() * 2);
  old.swap(slots_);
  const size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.generation != generation_) continue;
    size_t i = slot.hash & mask;
    while (slots_[i].generation == generation_) i = (i + 1) & mask;
    slots_[i] = slot;
  }
}

uint32_t WriteSet::AddRow(Key key, uint64_t hash) {
  if ((rows_.size() + 1) * 2 > slots_.size()) Grow();
  const auto row = static_cast<uint32_t>(rows_.size());
  rows_.push_back({key.space, State::kUnknown, origin_, Copy(key.bytes), {}, hash});
  const size_t mask = slots_.size() - 1;
  size_t i = hash & mask;
  while (slots_[i].generation == generation_) i = (i + 1) & mask;
  slots_[i] = {generation_, row, hash};
  return row;
}

void WriteSet::Set(Key key, State state, BytesView value) {
  if (!Charge(kWriteOverheadBytes + key.bytes.size() + value.size())) return;
  const uint64_t hash = HashOf(key);
  uint32_t row = FindRow(key, hash);
  if (row == kNoRow) row = AddRow(key, hash);
  undo_.push_back({row, rows_[row].state, rows_[row].value});
  // What is undone later does not bring an origin back: then nobody is known to be the only one.
  const bool first = rows_[row].state == State::kUnknown;
  if (rows_[row].origin != origin_) rows_[row].origin = first ? origin_ : 0;
  rows_[row].state = state;
  rows_[row].value = Copy(value);
}

WriteSet::State WriteSet::Find(Key key, uint64_t hash, BytesView* value) const {
  if (rows_.empty() && ranges_.empty()) return State::kUnknown;
  const uint32_t row = FindRow(key, hash);
  if (row != kNoRow && rows_[row].state != State::kUnknown) {
    *value = rows_[row].value;
    return rows_[row].state;
  }
  return RangeDeleted(key) ? State::kDeleted : State::kUnknown;
}

bool WriteSet::RangeDeleted(Key key) const {
  return std::any_of(ranges_.begin(), ranges_.end(), [&](const Range& range) {
    return range.space == key.space && range.Contains(key.bytes);
  });
}

void WriteSet::DeleteRange(const Range& range) {
  if (range.empty()) return;
  const size_t end_bytes = range.end ? range.end->size() : 0;
  if (!Charge(kWriteOverheadBytes + range.begin.size() + end_bytes)) return;
  // Rows written earlier in the group must not survive the range; those written later will.
  const FamilySpan families = FamiliesOf(range, range.begin);
  for (auto family = families.begin; family != families.end; ++family) {
    const OrderedRows& order = OrderOf(family->second);
    for (auto at = order.lower_bound(Key{range.space, range.begin});
         at != order.end() && range.Contains(rows_[*at].key); ++at) {
      Row& row = rows_[*at];
      if (row.state != State::kPut) continue;
      undo_.push_back({*at, row.state, row.value});
      row.state = State::kDeleted;
      row.value = {};
    }
  }
  ranges_.push_back(range);
}

void WriteSet::Add(Key counter, int64_t delta) {
  if (!Charge(kWriteOverheadBytes + counter.bytes.size())) return;
  auto found = std::find_if(counters_.begin(), counters_.end(), [&](const Counter& known) {
    return known.space == counter.space && known.key == counter.bytes;
  });
  if (found == counters_.end()) {
    found = counters_.insert(found, {counter.space, Bytes(counter.bytes), 0});
  }
  found->delta += delta;
  additions_.push_back({static_cast<size_t>(found - counters_.begin()), delta});
}

int64_t WriteSet::CounterDelta(Key counter) const {
  for (const Counter& known : counters_) {
    if (known.space == counter.space && known.key == counter.bytes) return known.delta;
  }
  return 0;
}

void WriteSet::AppendEvents(Key prefix, BytesView value, uint32_t count) {
  if (!Charge(kWriteOverheadBytes + prefix.bytes.size() + value.size())) return;
  events_.push_back({prefix.space, Copy(prefix.bytes), Copy(value), count});
}

void WriteSet::NoteTimer(int64_t due_us) {
  earliest_timer_us_ = std::min(earliest_timer_us_, due_us);
}

// The space and the first two bytes, each one more than it is so that a key that ends before has
// the smallest.
uint32_t WriteSet::FamilyOf(Space space, BytesView key) {
  const auto byte = [&](size_t i) -> uint32_t {
    return i < key.size() ? static_cast<uint8_t>(key[i]) + 1U : 0U;
  };
  return static_cast<uint32_t>(space) << 18U | byte(0) << 9U | byte(1);
}

void WriteSet::ListRows() {
  for (; listed_rows_ < rows_.size(); ++listed_rows_) {
    const Row& row = rows_[listed_rows_];
    const auto family =
        families_.try_emplace(FamilyOf(row.space, row.key), Family{{}, OrderedRows(ByKey{&rows_})});
    family.first->second.listed.push_back(listed_rows_);
  }
}

const WriteSet::OrderedRows& WriteSet::OrderOf(Family& family) {
  // Most layers write their keys in ascending order.
  for (const uint32_t row : family.listed) family.order.insert(family.order.end(), row);
  family.listed.clear();
  return family.order;
}

WriteSet::FamilySpan WriteSet::FamiliesOf(const Range& range, BytesView from) {
  ListRows();
  const auto begin = families_.lower_bound(FamilyOf(range.space, from));
  const auto next_space = static_cast<Space>(static_cast<uint8_t>(range.space) + 1);
  return {begin, range.end ? families_.upper_bound(FamilyOf(range.space, *range.end))
                           : families_.lower_bound(FamilyOf(next_space, {}))};
}

const WriteSet::Row* WriteSet::Seek(const Range& range, BytesView from) {
  const FamilySpan families = FamiliesOf(range, from);
  for (auto family = families.begin; family != families.end; ++family) {
    const OrderedRows& order = OrderOf(family->second);
    for (auto at = order.lower_bound(Key{range.space, from}); at != order.end(); ++at) {
      const Row& row = rows_[*at];
      if (!range.Contains(row.key)) return nullptr;
      if (row.state != State::kUnknown) return &row;
    }
  }
  return nullptr;
}

const WriteSet::Row* WriteSet::SeekBackward(const Range& range, const BytesView* before) {
  const FamilySpan families = FamiliesOf(range, range.begin);
  const BytesView end = before != nullptr ? *before
                        : range.end       ? BytesView(*range.end)
                                          : BytesView();
  const bool bounded = before != nullptr || range.end.has_value();
  for (auto family = families.end; family != families.begin;) {
    --family;
    if (bounded && family->first > FamilyOf(range.space, end)) continue;
    const OrderedRows& order = OrderOf(family->second);
    auto at = bounded ? order.lower_bound(Key{range.space, end}) : order.end();
    while (at != order.begin()) {
      const Row& row = rows_[*--at];
      if (!range.Contains(row.key)) return nullptr;
      if (row.state != State::kUnknown) return &row;
    }
  }
  return nullptr;
}

WriteSet::Mark WriteSet::mark() const {
  return {undo_.size(),         ranges_.size(),    events_.size(),    wakes_.size(),
          after_commit_.size(), additions_.size(), earliest_timer_us_};
}

void WriteSet::UndoTo(const Mark& mark) {
  CAIRN_CHECK(mark.undo <= undo_.size() && mark.ranges <= ranges_.size() &&
                  mark.events <= events_.size() && mark.additions <= additions_.size(),
              "what the mark stands for has been committed");
  while (undo_.size() > mark.undo) {
    const Undo& last = undo_.back();
    rows_[last.row].state = last.state;
    rows_[last.row].value = last.value;
    undo_.pop_back();
  }
  ranges_.resize(mark.ranges);
  events_.resize(mark.events);
  wakes_.resize(mark.wakes);
  after_commit_.resize(mark.after_commit);
  while (additions_.size() > mark.additions) {
    counters_[additions_.back().counter].delta -= additions_.back().delta;
    additions_.pop_back();
  }
  earliest_timer_us_ = mark.earliest_timer_us;
}

void WriteSet::Clear() {
  bytes_ = 0;
  BeginBody();
  families_.clear();
  listed_rows_ = 0;
  ClearKept(rows_);
  ClearKept(undo_);
  ClearKept(ranges_);
  ClearKept(events_);
  ClearKept(wakes_);
  ClearKept(after_commit_);
  ClearKept(counters_);
  ClearKept(additions_);
  earliest_timer_us_ = kNoTimer;
  if (slots_.size() > 2 * kKeptRows) std::vector<Slot>(kInitialSlots).swap(slots_);
  if (++generation_ == 0) {  // wrapped: stamps of old generations could match again
    std::fill(slots_.begin(), slots_.end(), Slot{});
    generation_ = 1;
  }
  size_t kept = 0;
  std::erase_if(chunks_, [&kept](const Chunk& chunk) {
    kept += chunk.size;
    return kept > kKeptBytes;
  });
  chunk_ = 0;
  chunk_used_ = 0;
  if (place_) {
    place_.reset();
    room_end_ = kFreeRoomBytes;
  }
}

}  // namespace cairn::store
