#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "store/postgres/node.h"
#include "store/store.h"
#include "store/write_set.h"

namespace cairn::store::postgres {

enum class View {
  kWrite,     // serializable
  kRead,      // serializable, only reads
  kReadOnce,  // one question to the database, in one round trip; a second one asks for a restart
  kSnapshot,  // the database as of Start, for as long as the transaction lives
};

using KeySet = std::set<std::pair<Space, Bytes>>;

// One run of a body: a transaction on one session. Reads go to the database when they are made, and
// are remembered; writes are kept here and sent in one round trip with the commit.
//
// The database's transaction begins with the first read, or with the commit if there was none: the
// locks of the scopes, BEGIN and the first question travel together. The locks are taken by the
// session, before BEGIN: a serializable transaction sees the database as of its first statement,
// so a lock waited for inside it would be followed by a view that is too old.
class PostgresTransaction final : public Transaction {
 public:
  // `scopes` are locked if the node uses advisory locks. `expected` are keys that the body will
  // most likely read: they are fetched with its first read.
  PostgresTransaction(Node& node, Connection& connection, View view, const Scopes& scopes,
                      KeySet expected);
  ~PostgresTransaction() override;

  // Fixes the view now. For kSnapshot.
  Result<void> Start();

  // Runs them in order, each undone alone if it fails. An error is not one of theirs: the
  // transaction cannot go on.
  //
  // What they read is gathered first: bodies are run until each has said what it wants to know, all
  // of that is asked in one round trip, and they are run again, now with answers.
  Result<void> RunParts(std::span<Part> parts);

  enum class Ending {
    kCommitted,
    kNothingToCommit,  // and what was read was consistent
    kConflict,         // run the body again
    kLost,             // the session broke before the commit was sent: run it again on another
    kUnknown,          // the session broke while the commit was on its way: ask for marker()
    kFailed,           // see error()
  };
  // Commits what the body wrote or, if it failed, only makes sure that what it read was consistent.
  Ending Finish(bool body_succeeded);

  bool needs_restart() const { return needs_restart_; }
  const std::optional<Error>& error() const { return error_; }
  const KeySet& keys_read() const { return keys_read_; }
  const Bytes& marker() const { return marker_; }
  const WriteSet& writes() const { return writes_; }

  Result<std::optional<Bytes>> Get(Key key) override;
  Result<std::vector<std::optional<Bytes>>> GetMany(std::span<const Key> keys) override;
  Result<void> Expect(std::span<const Key> keys) override;
  Result<void> Scan(const Range& range, const ScanOptions& options, RowVisitor visit) override;
  Timestamp now() const override { return now_; }

  void Put(Key key, BytesView value) override;
  void Delete(Key key) override;
  void DeleteRange(const Range& range) override;
  void Add(Key counter, int64_t delta) override;
  void AppendEvents(Key prefix, BytesView value, uint32_t count) override;
  void Wake(Topic topic) override;
  void AfterCommit(std::function<void(Commit)> function) override;
  void SetTimer(Timestamp due, uint8_t kind, BytesView owner, BytesView payload) override;
  void CancelTimer(Timestamp due, uint8_t kind, BytesView owner) override;
  uint64_t stamp() override;
  uint64_t NewStamp() override;

 private:
  friend class BatchSource;
  using OwnedKey = std::pair<Space, Bytes>;

  void CheckWritable() const { CAIRN_CHECK(view_ == View::kWrite); }
  void Queue(StatementId statement, std::initializer_list<BytesView> parameters = {});
  // Queues what has to come before the first question, once.
  void QueueBegin();
  void QueueLocks();
  // Asks what was queued behind the first `skipped` statements; the answers to those alone.
  Result<std::vector<Rows>> Ask(size_t skipped);
  Replies Exchange();
  Error Fail(const Replies& replies);
  Result<void> CheckMayAsk();
  // A body that has written too much is told with its next read; parts that did so together are run
  // one by one.
  void CheckLimit();

  void RunPart(Part& part);
  // The error of a body that has to be run again when more is known.
  Error Gathering();

  Result<void> Load(const std::vector<OwnedKey>& keys);
  Result<Bytes> SumCounter(Space space, BytesView key);
  Result<void> FetchStamps();

  Ending EndWithoutWrites();
  Ending EndWithWrites();
  void QueueWrites();
  // Rows of one space that are all put or all deleted.
  void QueueAlike(std::span<const WriteSet::Row* const> rows);
  void QueueCounters();
  void QueueEvents();
  void QueueNotifications();
  // Queues what follows the end of the database's transaction.
  void QueueRelease();
  void Abandon();

  Node& node_;
  Connection& connection_;
  const View view_;
  const Scopes& scopes_;
  const KeySet expected_;
  const Timestamp now_;
  WriteSet writes_;

  bool begun_ = false;
  bool over_ = false;  // the database's transaction has ended
  size_t queued_ = 0;  // statements since the last exchange
  std::map<OwnedKey, std::optional<Bytes>> values_;
  KeySet keys_read_;
  bool needs_restart_ = false;
  bool gathering_ = false;  // what is not known is not asked now, but noted
  bool lacked_ = false;     // something was not known
  KeySet lacked_keys_;
  std::optional<Error> error_;
  bool conflict_ = false;
  Bytes marker_;

  uint64_t next_stamp_ = 0;
  uint64_t stamps_left_ = 0;
  std::optional<uint64_t> stamp_;
};

}  // namespace cairn::store::postgres
