#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "store/key_hash.h"
#include "store/scopes.h"
#include "store/space.h"
#include "store/transaction.h"
#include "store/write_room.h"

namespace cairn::store {

// The writes of a group that are not committed yet: what its own bodies see on top of the store,
// and what the engine writes as one unit. For each key it keeps only the final state.
//
// A body's writes can be undone from a Mark taken before it. Used by one thread at a time. Views
// into it last until Clear.
//
// What one body may write is bounded: the log keeps it as one record, which every later start reads
// as one. Past the bound nothing is kept any more and over_limit() says so: the body fails,
// whatever it makes of it.
class WriteSet {
 public:
  enum class State : uint8_t {
    kUnknown,  // nothing said about this key: ask the store
    kPut,
    kDeleted,
  };
  struct Row {
    Space space;
    State state;
    uint32_t origin;  // of who wrote it; 0: nobody said, or several
    BytesView key;
    BytesView value;  // for kPut
    uint64_t hash;    // HashOf(key)
  };
  struct Event {
    Space space;
    BytesView prefix;
    BytesView value;
    uint32_t count;  // numbers it takes
  };
  struct Counter {
    Space space;
    Bytes key;
    int64_t delta;
  };

  static constexpr int64_t kNoTimer = std::numeric_limits<int64_t>::max();

  // What a write takes beside its key and its value, in memory and in the log.
  static constexpr size_t kWriteOverheadBytes = 64;

  // `limit` is what one body may take, in bytes(). With a room, writes wait for their share of it.
  explicit WriteSet(size_t limit = std::numeric_limits<size_t>::max(), WriteRoom* room = nullptr);
  WriteSet(const WriteSet&) = delete;
  WriteSet& operator=(const WriteSet&) = delete;

  // The writes from here on are those of the next body.
  void BeginBody();
  bool over_limit() const { return over_limit_; }
  // What the client of a body that is over it is told.
  Error limit_error() const;
  // Keys, values and overhead of all writes since Clear, also of those that were overwritten or
  // undone: they take memory until then.
  size_t bytes() const { return bytes_; }

  // Who makes the writes that follow: Transaction::set_origin.
  void set_origin(uint32_t origin) { origin_ = origin; }

  void Put(Key key, BytesView value) { Set(key, State::kPut, value); }
  void Delete(Key key) { Set(key, State::kDeleted, {}); }
  void DeleteRange(const Range& range);
  void Add(Key counter, int64_t delta);
  void AppendEvents(Key prefix, BytesView value, uint32_t count);
  void Wake(Topic topic) {
    if (Charge(sizeof(topic))) wakes_.push_back(topic);
  }
  void AfterCommit(std::function<void(Commit)> function) {
    if (Charge(kWriteOverheadBytes)) after_commit_.push_back(std::move(function));
  }
  // Remembers the earliest timer set, for the timer thread.
  void NoteTimer(int64_t due_us);

  // kUnknown leaves *value as it is. `hash` is HashOf(key).
  State Find(Key key, uint64_t hash, BytesView* value) const;
  State Find(Key key, BytesView* value) const { return Find(key, HashOf(key), value); }
  // This group's additions to a counter.
  int64_t CounterDelta(Key counter) const;
  bool RangeDeleted(Key key) const;
  bool has_deleted_ranges() const { return !ranges_.empty(); }

  // The first row of the range at or after `from`, the last one before `before` (null: of all of
  // it), skipping kUnknown; nullptr if there is none.
  const Row* Seek(const Range& range, BytesView from);
  const Row* SeekBackward(const Range& range, const BytesView* before);

  struct Mark {
    size_t undo;
    size_t ranges;
    size_t events;
    size_t wakes;
    size_t after_commit;
    size_t additions;
    int64_t earliest_timer_us;
  };
  Mark mark() const;
  void UndoTo(const Mark& mark);
  // Whether anything was written (and not undone) after the mark.
  bool ChangedSince(const Mark& mark) const {
    return undo_.size() != mark.undo || ranges_.size() != mark.ranges ||
           events_.size() != mark.events || additions_.size() != mark.additions;
  }

  bool empty() const {
    return rows_.empty() && ranges_.empty() && events_.empty() && counters_.empty();
  }
  void Clear();

  // To be written in this order: ranges first, then rows, which describe the state after them.
  const std::vector<Range>& ranges() const { return ranges_; }
  const std::vector<Row>& rows() const { return rows_; }
  const std::vector<Event>& events() const { return events_; }
  const std::vector<Counter>& counters() const { return counters_; }
  const std::vector<Topic>& wakes() const { return wakes_; }
  const std::vector<std::function<void(Commit)>>& after_commit() const { return after_commit_; }
  int64_t earliest_timer_us() const { return earliest_timer_us_; }

 private:
  struct Undo {
    uint32_t row;
    State state;
    BytesView value;
  };
  struct Addition {
    size_t counter;
    int64_t delta;
  };
  // A slot is empty when its generation is not the current one, so that Clear need not touch it.
  struct Slot {
    uint32_t generation = 0;
    uint32_t row = 0;
    uint64_t hash = 0;
  };
  struct ByKey {
    const std::vector<Row>* rows;
    using is_transparent = void;
    bool operator()(uint32_t a, uint32_t b) const;
    bool operator()(uint32_t a, const Key& b) const;
    bool operator()(const Key& a, uint32_t b) const;
  };

  using OrderedRows = std::set<uint32_t, ByKey>;
  // Rows whose keys begin alike, in order once a scan has asked for them. A family that nobody
  // scans costs its rows no more than being listed: a transition of a job writes ten rows, of which
  // a scan can meet one.
  struct Family {
    std::vector<uint32_t> listed;  // not in `order` yet
    OrderedRows order;
  };
  using Families = std::map<uint32_t, Family>;

  // Whether the body may take so many bytes more; if so, it has.
  bool Charge(size_t bytes);
  void TakeRoom();
  void Set(Key key, State state, BytesView value);
  uint32_t FindRow(Key key, uint64_t hash) const;  // kNoRow if absent
  uint32_t AddRow(Key key, uint64_t hash);
  void Grow();
  // The family of the key. Grows with the key: families are in the order of their rows.
  static uint32_t FamilyOf(Space space, BytesView key);
  // Lists the rows that were added since.
  void ListRows();
  const OrderedRows& OrderOf(Family& family);
  // The families that a range from `from` on may have rows in.
  struct FamilySpan {
    Families::iterator begin;
    Families::iterator end;
  };
  FamilySpan FamiliesOf(const Range& range, BytesView from);
  BytesView Copy(BytesView bytes);

  static constexpr uint32_t kNoRow = std::numeric_limits<uint32_t>::max();

  const size_t limit_;
  size_t bytes_ = 0;
  size_t body_end_;  // what bytes_ may grow to
  bool over_limit_ = false;

  WriteRoom* const room_;                  // null: it need not wait
  std::optional<WriteRoom::Place> place_;  // once it is large
  size_t room_end_;                        // what bytes_ may grow to before more room is taken

  uint32_t origin_ = 0;
  std::vector<Row> rows_;
  std::vector<Slot> slots_;
  uint32_t generation_ = 1;
  Families families_;  // of the first `listed_rows_` rows; scans bring it up to date
  uint32_t listed_rows_ = 0;

  std::vector<Undo> undo_;
  std::vector<Range> ranges_;
  std::vector<Event> events_;
  std::vector<Counter> counters_;  // one per key: a handful
  std::vector<Addition> additions_;
  std::vector<Topic> wakes_;
  std::vector<std::function<void(Commit)>> after_commit_;
  int64_t earliest_timer_us_ = kNoTimer;

  // Keys and values, in chunks that are used again after Clear.
  struct Chunk {
    std::unique_ptr<char[]> bytes;
    size_t size;
  };
  std::vector<Chunk> chunks_;
  size_t chunk_ = 0;
  size_t chunk_used_ = 0;
};

}  // namespace cairn::store
