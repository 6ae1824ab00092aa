#include "store/postgres/postgres_transaction.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <tuple>

#include "base/hash.h"
#include "store/postgres/long_key.h"
#include "store/scan_merge.h"
#include "store/timers.h"

namespace cairn::store::postgres {
namespace {

// Rows of a scan that are fetched at a time: few at first, for visitors that stop early.
constexpr size_t kFirstBatch = 64;
constexpr size_t kLargestBatch = 1024;
// Sessions add to a counter in different slots, so that they do not wait for each other.
constexpr int kCounterSlots = 256;
// A server has room for a few thousand locks: who wants more than this has everything instead.
constexpr size_t kMostLocks = 256;
// Answered markers are deleted this many at a time.
constexpr size_t kMarkersAtOnce = 64;
// A notification's payload is at most 8000 bytes; a topic takes 17.
constexpr size_t kTopicsAtOnce = 400;
// Timers due later than this are found in time by the other nodes' look at the first one.
constexpr int64_t kAnnouncedTimerUs = 2'000'000;

// Rows written by one statement, in bytes.
constexpr size_t kMostBytesTogether = 1 << 20;

// Locks that stand for no scope.
constexpr BytesView kEverything = "everything";
constexpr BytesView kEventOrder = "event order";

bool LessKey(const WriteSet::Row* a, const WriteSet::Row* b) {
  return a->space != b->space ? a->space < b->space : a->key < b->key;
}

// How many of the first rows one statement can write: those of one space that are all put or all
// deleted, as far as a message may hold them; a long key is alone.
size_t CountAlike(std::span<const WriteSet::Row* const> rows) {
  size_t count = 0;
  size_t bytes = 0;
  for (const WriteSet::Row* row : rows) {
    bytes += row->key.size() + row->value.size();
    const bool alike = row->space == rows[0]->space && row->state == rows[0]->state &&
                       !IsLong(row->key) && !IsLong(rows[0]->key);
    if (count > 0 && (!alike || bytes > kMostBytesTogether)) break;
    ++count;
  }
  return count;
}

}  // namespace

// The rows of one range, fetched in batches: each continues behind the last key of the one before.
class BatchSource {
 public:
  BatchSource(PostgresTransaction& transaction, const Range& range, const ScanOptions& options)
      : transaction_(transaction),
        wanted_(range),
        left_(StoredRange(range)),
        reverse_(options.reverse) {
    const bool bounded = options.limit <= kLargestBatch;
    batch_ = bounded ? std::max<size_t>(options.limit, 1) : kFirstBatch;
  }

  void Start() { Fetch(); }
  void Step() {
    if (++at_ < rows_.size() || !more_) return;
    batch_ = std::min(batch_ * 4, kLargestBatch);
    Fetch();
  }
  bool Valid() const { return at_ < rows_.size(); }
  BytesView key() const { return rows_[at_].first; }
  BytesView value() const { return rows_[at_].second; }
  Result<void> status() const { return status_; }

 private:
  using Row = std::pair<Bytes, Bytes>;

  void Fetch() {
    do {
      rows_.clear();
      at_ = 0;
      more_ = false;
      status_ = TryFetch();
      if (!status_.ok()) rows_.clear();
    } while (status_.ok() && rows_.empty() && more_);
  }

  Result<void> TryFetch() {
    CAIRN_ASSIGN_OR_RETURN(const Rows rows, Ask(left_, batch_));
    if (rows.size() == 0) return {};
    more_ = rows.size() == batch_;
    const Bytes last(*rows.at(rows.size() - 1, 0));
    for (size_t row = 0; row < rows.size(); ++row) {
      const BytesView stored_key = *rows.at(row, 0);
      if (IsInGroup(stored_key)) {
        CAIRN_RETURN_IF_ERROR(AddGroup(stored_key.substr(0, kStoredPrefixBytes)));
      } else {
        CAIRN_ASSIGN_OR_RETURN(Row decoded, Decode(rows, row));
        rows_.push_back(std::move(decoded));
      }
    }
    ContinueBehind(last);
    return {};
  }

  Result<Rows> Ask(const Range& range, size_t most) {
    CAIRN_RETURN_IF_ERROR(transaction_.CheckMayAsk());
    transaction_.QueueBegin();
    const size_t skipped = transaction_.queued_;
    const Bytes limit = EncodeNumber(static_cast<int64_t>(most));
    if (range.end) {
      transaction_.Queue(
          {range.space, reverse_ ? SpaceStatement::kBackwardFrom : SpaceStatement::kForwardTo},
          {range.begin, *range.end, limit});
    } else {
      transaction_.Queue(
          {range.space, reverse_ ? SpaceStatement::kBackward : SpaceStatement::kForward},
          {range.begin, limit});
    }
    CAIRN_ASSIGN_OR_RETURN(std::vector<Rows> answers, transaction_.Ask(skipped));
    return std::move(answers[0]);
  }

  Result<Row> Decode(const Rows& rows, size_t row) {
    const BytesView key = *rows.at(row, 0);
    const auto value = rows.at(row, 1);
    if (!value) {
      CAIRN_ASSIGN_OR_RETURN(Bytes sum, transaction_.SumCounter(left_.space, key));
      return Row(key, std::move(sum));
    }
    if (!IsLong(key)) return Row(key, *value);
    const auto decoded = DecodeLongRow(*value);
    if (!decoded) return Error{ErrorCode::kCorruption, "the row of a long key is damaged"};
    return Row(decoded->first, decoded->second);
  }

  // All rows that begin with `prefix`, in the order of their keys; once.
  Result<void> AddGroup(BytesView prefix) {
    if (group_ == prefix) return {};
    group_ = Bytes(prefix);
    CAIRN_ASSIGN_OR_RETURN(const Rows rows, Ask(Range::Prefix(left_.space, prefix),
                                                std::numeric_limits<int32_t>::max()));
    std::vector<Row> group;
    for (size_t row = 0; row < rows.size(); ++row) {
      CAIRN_ASSIGN_OR_RETURN(Row decoded, Decode(rows, row));
      if (wanted_.Contains(decoded.first)) group.push_back(std::move(decoded));
    }
    std::sort(group.begin(), group.end());
    if (reverse_) std::reverse(group.begin(), group.end());
    rows_.insert(rows_.end(), std::move_iterator(group.begin()), std::move_iterator(group.end()));
    return {};
  }

  void ContinueBehind(const Bytes& last) {
    const BytesView prefix = BytesView(last).substr(0, kStoredPrefixBytes);
    if (reverse_) {
      left_.end = IsInGroup(last) ? Bytes(prefix) : last;
    } else if (!IsInGroup(last)) {
      left_.begin = last + '\0';
    } else if (auto next = PrefixSuccessor(prefix)) {
      left_.begin = *std::move(next);
    } else {
      more_ = false;
    }
  }

  PostgresTransaction& transaction_;
  const Range wanted_;
  Range left_;  // what is left of it, in stored keys
  const bool reverse_;
  size_t batch_;
  std::vector<Row> rows_;
  size_t at_ = 0;
  bool more_ = false;
  std::optional<Bytes> group_;  // the last one added
  Result<void> status_;
};

PostgresTransaction::PostgresTransaction(Node& node, Connection& connection, View view,
                                         const Scopes& scopes, KeySet expected)
    : node_(node),
      connection_(connection),
      view_(view),
      scopes_(scopes),
      expected_(std::move(expected)),
      now_(node.clock.Now()),
      writes_(node.options.transaction_bytes) {}

PostgresTransaction::~PostgresTransaction() { Abandon(); }

// --- Asking -------------------------------------------------------------------------------------

void PostgresTransaction::Queue(StatementId statement,
                                std::initializer_list<BytesView> parameters) {
  connection_.Send(statement, parameters);
  ++queued_;
}

void PostgresTransaction::QueueLocks() {
  const Bytes everything = EncodeNumber(node_.LockKey(Hash64(kEverything)));
  if (scopes_.exclusive() || scopes_.hashes().size() > kMostLocks) {
    Queue(Statement::kLockAlone, {everything});
  } else {
    Queue(Statement::kLockShared, {everything});
    std::vector<int64_t> keys;
    for (const uint64_t hash : scopes_.hashes()) keys.push_back(node_.LockKey(hash));
    // In one order for all, so that nobody waits in a circle.
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    if (!keys.empty()) Queue(Statement::kLockScopes, {EncodeNumbers(keys)});
  }
  connection_.Sync();
}

void PostgresTransaction::QueueBegin() {
  if (begun_) return;
  begun_ = true;
  switch (view_) {
    case View::kWrite:
      if (node_.advisory) QueueLocks();
      Queue(Statement::kBeginWrite);
      break;
    case View::kRead:
    case View::kReadOnce:
      Queue(Statement::kBeginRead);
      break;
    case View::kSnapshot:
      Queue(Statement::kBeginSnapshot);
      Queue(Statement::kHoldSnapshot);
      break;
  }
}

Replies PostgresTransaction::Exchange() {
  queued_ = 0;
  return connection_.Exchange();
}

Error PostgresTransaction::Gathering() {
  lacked_ = true;
  return {ErrorCode::kWouldBlock, "asked together with what others want to know"};
}

Result<void> PostgresTransaction::CheckMayAsk() {
  if (error_) return *error_;
  if (gathering_) return Gathering();
  if (!over_) return {};
  CAIRN_CHECK(view_ == View::kReadOnce);
  needs_restart_ = true;
  return Error{ErrorCode::kWouldBlock, "the body asks more than once"};
}

void PostgresTransaction::CheckLimit() {
  if (writes_.over_limit() && !error_) error_ = writes_.limit_error();
}

Error PostgresTransaction::Fail(const Replies& replies) {
  error_ = *replies.error;
  conflict_ = replies.conflict;
  return *error_;
}

Result<std::vector<Rows>> PostgresTransaction::Ask(size_t skipped) {
  const size_t questions = queued_ - skipped;
  if (view_ == View::kReadOnce) {
    Queue(Statement::kCommit);
    over_ = true;
  }
  Replies replies = Exchange();
  if (!replies.ok()) {
    over_ = false;  // a transaction that failed stays open until it is abandoned
    return Fail(replies);
  }
  std::vector<Rows> answers;
  for (size_t i = 0; i < questions; ++i) answers.push_back(std::move(replies.rows[skipped + i]));
  return answers;
}

Result<void> PostgresTransaction::Start() {
  QueueBegin();
  // The view is that of the first question.
  const size_t skipped = queued_;
  Queue({Space::kSystem, SpaceStatement::kGet}, {BytesView()});
  CAIRN_RETURN_IF_ERROR(Ask(skipped));
  return {};
}

// --- Parts --------------------------------------------------------------------------------------

void PostgresTransaction::RunPart(Part& part) {
  const WriteSet::Mark mark = writes_.mark();
  stamp_.reset();  // others may look between two parts, and must see that there are two
  const Result<void> ran = part.body(*this);
  if (!ran.ok()) writes_.UndoTo(mark);
  part.result = ran.ok() ? Result<Commit>(Commit{}) : Result<Commit>(ran.error());
}

Result<void> PostgresTransaction::RunParts(std::span<Part> parts) {
  // Bodies that go from row to row would never stop to want another: these ask by themselves.
  constexpr int kMostGatherings = 4;
  for (int pass = 0;; ++pass) {
    gathering_ = parts.size() > 1 && pass < kMostGatherings;
    lacked_ = false;
    lacked_keys_.clear();
    for (Part& part : parts) RunPart(part);
    const bool gathered = std::exchange(gathering_, false);
    if (error_) return *error_;
    if (needs_restart_) return Error{ErrorCode::kWouldBlock, "the parts ask more than once"};
    if (!gathered || !lacked_) return {};
    writes_.Clear();
    if (lacked_keys_.empty()) pass = kMostGatherings;  // a scan, which cannot be asked ahead
    CAIRN_RETURN_IF_ERROR(Load({lacked_keys_.begin(), lacked_keys_.end()}));
  }
}

// --- Reading ------------------------------------------------------------------------------------

Result<void> PostgresTransaction::Load(const std::vector<OwnedKey>& keys) {
  if (gathering_) {
    bool known = true;
    for (const OwnedKey& key : keys) {
      if (values_.contains(key)) continue;
      lacked_keys_.insert(key);
      known = false;
    }
    if (known) return {};
    return Gathering();
  }
  std::array<std::vector<Bytes>, kAllSpaces.size()> wanted;
  const auto want = [&](const OwnedKey& key) {
    if (values_.contains(key)) return;
    values_[key] = std::nullopt;
    wanted[static_cast<size_t>(key.first)].push_back(StoredKey(key.second));
  };
  for (const OwnedKey& key : keys) want(key);
  if (std::ranges::all_of(wanted, &std::vector<Bytes>::empty)) return {};
  CAIRN_RETURN_IF_ERROR(CheckMayAsk());

  const bool first = !begun_;
  QueueBegin();
  const size_t skipped = queued_;
  if (first) {
    for (const OwnedKey& key : expected_) want(key);
  }
  for (const Space space : kAllSpaces) {
    const auto& list = wanted[static_cast<size_t>(space)];
    if (!list.empty()) Queue({space, SpaceStatement::kGetMany}, {EncodeKeys(list)});
  }
  // A body that writes most likely wants a stamp: it comes in the same round trip.
  const bool stamps = first && view_ == View::kWrite;
  if (stamps) Queue(Statement::kNextStamps);
  CAIRN_ASSIGN_OR_RETURN(const std::vector<Rows> answers, Ask(skipped));

  std::vector<OwnedKey> counters;
  size_t answer = 0;
  for (const Space space : kAllSpaces) {
    if (wanted[static_cast<size_t>(space)].empty()) continue;
    const Rows& rows = answers[answer++];
    for (size_t row = 0; row < rows.size(); ++row) {
      OwnedKey key{space, Bytes(*rows.at(row, 0))};
      const auto value = rows.at(row, 1);
      if (value && IsLong(key.second)) {
        const auto decoded = DecodeLongRow(*value);
        if (!decoded) return Error{ErrorCode::kCorruption, "the row of a long key is damaged"};
        values_[{space, Bytes(decoded->first)}] = Bytes(decoded->second);
      } else if (value) {
        values_[key] = Bytes(*value);
      } else {
        counters.push_back(std::move(key));
      }
    }
  }
  if (stamps) {
    next_stamp_ = static_cast<uint64_t>(answers.back().number(0, 0));
    stamps_left_ = kStampsAtOnce;
  }
  for (const OwnedKey& key : counters) {
    CAIRN_ASSIGN_OR_RETURN(values_[key], SumCounter(key.first, key.second));
  }
  return {};
}

Result<Bytes> PostgresTransaction::SumCounter(Space space, BytesView key) {
  CAIRN_RETURN_IF_ERROR(CheckMayAsk());
  Queue({space, SpaceStatement::kSumCounter}, {key});
  CAIRN_ASSIGN_OR_RETURN(const std::vector<Rows> answers, Ask(0));
  return EncodeNumber(answers[0].number(0, 0));
}

Result<void> PostgresTransaction::Expect(std::span<const Key> keys) {
  if (writes_.over_limit()) return writes_.limit_error();
  std::vector<OwnedKey> unknown;
  for (const Key& key : keys) {
    BytesView written;
    if (writes_.Find(key, &written) == WriteSet::State::kUnknown) {
      unknown.emplace_back(key.space, key.bytes);
    }
  }
  keys_read_.insert(unknown.begin(), unknown.end());
  return Load(unknown);
}

Result<std::vector<std::optional<Bytes>>> PostgresTransaction::GetMany(std::span<const Key> keys) {
  CAIRN_RETURN_IF_ERROR(Expect(keys));
  std::vector<std::optional<Bytes>> values;
  values.reserve(keys.size());
  for (const Key& key : keys) {
    BytesView written;
    const WriteSet::State state = writes_.Find(key, &written);
    if (state == WriteSet::State::kPut) {
      values.emplace_back(written);
    } else if (state == WriteSet::State::kDeleted) {
      values.emplace_back();
    } else {
      values.push_back(values_[{key.space, Bytes(key.bytes)}]);
      if (const int64_t delta = writes_.CounterDelta(key); delta != 0) {
        const auto stored =
            values.back() ? static_cast<int64_t>(BytesReader(*values.back()).Big64()) : 0;
        values.back() = EncodeNumber(stored + delta);
      }
    }
  }
  return values;
}

Result<std::optional<Bytes>> PostgresTransaction::Get(Key key) {
  CAIRN_ASSIGN_OR_RETURN(auto values, GetMany(std::span(&key, 1)));
  return std::move(values[0]);
}

Result<void> PostgresTransaction::Scan(const Range& range, const ScanOptions& options,
                                       RowVisitor visit) {
  if (range.empty() || options.limit == 0) return {};
  if (writes_.over_limit()) return writes_.limit_error();
  BatchSource source(*this, range, options);
  return ScanMerged(source, &writes_, range, options, visit);
}

// --- Writing ------------------------------------------------------------------------------------

void PostgresTransaction::Put(Key key, BytesView value) {
  CheckWritable();
  writes_.Put(key, value);
  CheckLimit();
}

void PostgresTransaction::Delete(Key key) {
  CheckWritable();
  writes_.Delete(key);
  CheckLimit();
}

void PostgresTransaction::DeleteRange(const Range& range) {
  CheckWritable();
  if (!HasLongBound(range)) {
    writes_.DeleteRange(range);
    return CheckLimit();
  }
  // The database cannot tell where it ends. A failure is remembered.
  std::vector<Bytes> keys;
  const Result<void> found = Scan(range, {}, [&](BytesView key, BytesView) {
    keys.emplace_back(key);
    return true;
  });
  if (!found.ok()) return;
  for (const Bytes& key : keys) writes_.Delete({range.space, key});
  CheckLimit();
}

void PostgresTransaction::Add(Key counter, int64_t delta) {
  CheckWritable();
  writes_.Add(counter, delta);
  CheckLimit();
}

void PostgresTransaction::AppendEvents(Key prefix, BytesView value, uint32_t count) {
  CheckWritable();
  writes_.AppendEvents(prefix, value, count);
  CheckLimit();
}

void PostgresTransaction::Wake(Topic topic) {
  CheckWritable();
  writes_.Wake(topic);
  CheckLimit();
}

void PostgresTransaction::AfterCommit(std::function<void(Commit)> function) {
  writes_.AfterCommit(std::move(function));
  CheckLimit();
}

void PostgresTransaction::SetTimer(Timestamp due, uint8_t kind, BytesView owner,
                                   BytesView payload) {
  Put({Space::kTimers, EncodeTimerKey(due, kind, owner)}, payload);
  writes_.NoteTimer(due.us);
}

void PostgresTransaction::CancelTimer(Timestamp due, uint8_t kind, BytesView owner) {
  Delete({Space::kTimers, EncodeTimerKey(due, kind, owner)});
}

uint64_t PostgresTransaction::stamp() {
  if (!stamp_) stamp_ = NewStamp();
  return *stamp_;
}

uint64_t PostgresTransaction::NewStamp() {
  // A failure is remembered, so the body's work comes to nothing whatever it makes of the 0.
  if (stamps_left_ == 0 && !FetchStamps().ok()) return 0;
  --stamps_left_;
  return next_stamp_++;
}

Result<void> PostgresTransaction::FetchStamps() {
  CAIRN_RETURN_IF_ERROR(CheckMayAsk());
  QueueBegin();
  const size_t skipped = queued_;
  Queue(Statement::kNextStamps);
  CAIRN_ASSIGN_OR_RETURN(const std::vector<Rows> answers, Ask(skipped));
  next_stamp_ = static_cast<uint64_t>(answers[0].number(0, 0));
  stamps_left_ = kStampsAtOnce;
  return {};
}

// --- Ending -------------------------------------------------------------------------------------

PostgresTransaction::Ending PostgresTransaction::Finish(bool body_succeeded) {
  if (error_) {
    if (connection_.lost()) return Ending::kLost;
    Abandon();
    return conflict_ ? Ending::kConflict : Ending::kFailed;
  }
  const bool tells = !writes_.wakes().empty() && !node_.channel.empty();
  if (!body_succeeded || (writes_.empty() && !tells)) return EndWithoutWrites();
  return EndWithWrites();
}

void PostgresTransaction::QueueRelease() {
  connection_.Sync();
  if (view_ == View::kWrite && node_.advisory) Queue(Statement::kUnlockAll);
}

PostgresTransaction::Ending PostgresTransaction::EndWithoutWrites() {
  if (!begun_ || over_) return Ending::kNothingToCommit;
  over_ = true;
  Queue(Statement::kCommit);
  QueueRelease();
  const Replies replies = Exchange();
  if (!replies.rows.empty() && replies.rows[0].tag() == "COMMIT") return Ending::kNothingToCommit;
  error_ = replies.error.value_or(Error{ErrorCode::kInternal, "PostgreSQL did not commit"});
  if (connection_.lost()) return Ending::kLost;
  return replies.conflict ? Ending::kConflict : Ending::kFailed;
}

PostgresTransaction::Ending PostgresTransaction::EndWithWrites() {
  QueueBegin();
  QueueWrites();
  QueueCounters();
  QueueNotifications();
  marker_.clear();
  AppendBig64(marker_, node_.id);
  AppendBig64(marker_, node_.next_marker.fetch_add(1));
  Queue(Statement::kAddMarker, {marker_});
  // Last, since others wait from here on: nothing after it waits for anyone.
  QueueEvents();
  const size_t commit_at = queued_;
  Queue(Statement::kCommit);
  QueueRelease();
  const bool forgets = connection_.answered_markers.size() >= kMarkersAtOnce;
  if (forgets) Queue(Statement::kForgetMarkers, {EncodeKeys(connection_.answered_markers)});

  const Replies replies = Exchange();
  if (replies.rows.size() > commit_at && replies.rows[commit_at].tag() == "COMMIT") {
    over_ = true;
    if (forgets) connection_.answered_markers.clear();
    connection_.answered_markers.push_back(marker_);
    return Ending::kCommitted;
  }
  error_ = replies.error.value_or(Error{ErrorCode::kInternal, "PostgreSQL did not commit"});
  if (connection_.lost()) return Ending::kUnknown;
  Abandon();
  return replies.conflict ? Ending::kConflict : Ending::kFailed;
}

void PostgresTransaction::QueueWrites() {
  for (const Range& range : writes_.ranges()) {
    if (range.end) {
      Queue({range.space, SpaceStatement::kDeleteRange}, {range.begin, *range.end});
    } else {
      Queue({range.space, SpaceStatement::kDeleteFrom}, {range.begin});
    }
  }
  // In one order for all: transactions that change the same rows then wait, and do not deadlock.
  std::vector<const WriteSet::Row*> rows;
  rows.reserve(writes_.rows().size());
  for (const WriteSet::Row& row : writes_.rows()) {
    if (row.state != WriteSet::State::kUnknown) rows.push_back(&row);
  }
  std::sort(rows.begin(), rows.end(), LessKey);
  for (std::span<const WriteSet::Row* const> left = rows; !left.empty();) {
    const size_t count = CountAlike(left);
    QueueAlike(left.first(count));
    left = left.subspan(count);
  }
}

void PostgresTransaction::QueueAlike(std::span<const WriteSet::Row* const> rows) {
  const WriteSet::Row& first = *rows[0];
  const bool put = first.state == WriteSet::State::kPut;
  if (IsLong(first.key) && put) {
    Queue({first.space, SpaceStatement::kPut},
          {StoredKey(first.key), StoredValue(first.key, first.value)});
  } else if (IsLong(first.key)) {
    Queue({first.space, SpaceStatement::kDelete}, {StoredKey(first.key)});
  } else if (rows.size() == 1 && put) {
    Queue({first.space, SpaceStatement::kPut}, {first.key, first.value});
  } else if (rows.size() == 1) {
    Queue({first.space, SpaceStatement::kDelete}, {first.key});
  } else {
    std::vector<BytesView> keys;
    std::vector<BytesView> values;
    for (const WriteSet::Row* row : rows) {
      keys.push_back(row->key);
      values.push_back(row->value);
    }
    if (put) {
      Queue({first.space, SpaceStatement::kPutMany}, {EncodeKeys(keys), EncodeKeys(values)});
    } else {
      Queue({first.space, SpaceStatement::kDeleteMany}, {EncodeKeys(keys)});
    }
  }
}

void PostgresTransaction::QueueCounters() {
  std::vector<const WriteSet::Counter*> counters;
  for (const WriteSet::Counter& counter : writes_.counters()) {
    if (counter.delta != 0) counters.push_back(&counter);
  }
  std::sort(counters.begin(), counters.end(), [](const auto* a, const auto* b) {
    return std::tie(a->space, a->key) < std::tie(b->space, b->key);
  });
  const Bytes slot = EncodeNumber(connection_.server_process() % kCounterSlots);
  for (const WriteSet::Counter* counter : counters) {
    bool marked = false;
    {
      const std::lock_guard lock(node_.counter_mutex);
      marked = node_.marked_counters.contains({counter->space, counter->key});
    }
    if (!marked) Queue({counter->space, SpaceStatement::kMarkCounter}, {counter->key});
    Queue({counter->space, SpaceStatement::kAddToCounter},
          {counter->key, slot, EncodeNumber(counter->delta)});
  }
}

void PostgresTransaction::QueueEvents() {
  if (writes_.events().empty()) return;
  if (node_.advisory) {
    Queue(Statement::kLockEvents, {EncodeNumber(node_.LockKey(Hash64(kEventOrder)))});
  } else {
    Queue(Statement::kTakeEventTurn);
  }
  for (const WriteSet::Event& event : writes_.events()) {
    Queue({event.space, SpaceStatement::kAppendEvents},
          {event.prefix, event.value, EncodeNumber(event.count)});
  }
}

void PostgresTransaction::QueueNotifications() {
  if (node_.channel.empty()) return;
  const auto notify = [this](const std::string& news) {
    Queue(Statement::kNotify, {node_.channel, fmt::format("{:016x}:{}", node_.id, news)});
  };
  std::string topics;
  size_t count = 0;
  for (const Topic& topic : writes_.wakes()) {
    topics += fmt::format("{:016x},", topic.id);
    if (++count % kTopicsAtOnce == 0) notify(std::exchange(topics, {}));
  }
  if (!topics.empty()) notify(topics);
  const int64_t due_us = writes_.earliest_timer_us();
  if (due_us < now_.us + kAnnouncedTimerUs) notify(fmt::format("t{}", due_us));
}

void PostgresTransaction::Abandon() {
  if (!begun_ || over_ || connection_.lost()) return;
  over_ = true;
  Queue(Statement::kRollback);
  QueueRelease();
  // A session on which this fails is not idle, or lost, and is closed.
  Exchange();
}

}  // namespace cairn::store::postgres
