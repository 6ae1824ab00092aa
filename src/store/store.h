#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "store/scopes.h"
#include "store/transaction.h"

namespace cairn::store {

// When an acknowledged write is on disk.
enum class Durability {
  kSync,      // before it is acknowledged
  kInterval,  // at most about a second later
  kOs,        // when the operating system writes it
};

// What a reply about a body has to wait for before it may leave: the newest commit it depends on,
// and whether it also depends on the group's own commit, which has no number yet.
struct Dependency {
  Commit commit;
  bool on_group = false;
};

enum class Access {
  kRead,  // the body only reads; it takes no lock and waits for no one
  kWrite,
};

// Runs bodies one after another on one thread and commits them together: what an event loop uses to
// give all requests of one turn one commit. Each body sees the writes of those before it in the
// group; each is undone alone if it fails. Used by one thread at a time.
//
//   group->Run(scopes, Access::kWrite, body)   for every request that is ready
//   Commit commit = group->Finish()            once
//   replies that depend on the group leave when the store has made `commit` durable
class Group {
 public:
  virtual ~Group() = default;

  // Never waits: neither for the disk nor, beyond a moment, for another thread's scopes. Where it
  // would have to, it fails with kWouldBlock and nothing of the body remains; the caller then uses
  // Store::Run from a thread that may wait. If scopes are held elsewhere it may first commit what
  // the group has done so far; the next Finish() covers that.
  virtual Result<Dependency> Run(const Scopes& scopes, Access access, Body body) = 0;

  // Bodies that read these keys come next: a chance to fetch from memory what is known about them,
  // all at once instead of one after the other. Changes nothing.
  virtual void Expect(std::span<const Key> /*keys*/) {}

  // The topics that bodies have woken since the last commit, in the order of the calls; who waits
  // for them hears of it after the next one. Valid until the next Run or Finish.
  virtual std::span<const Topic> woken() const { return {}; }

  // Commits what ran since the last call. With nothing written it returns the newest commit those
  // bodies could see. An error means that the store has stopped writing and that none of the bodies
  // may be acknowledged.
  virtual Result<Commit> Finish() = 0;
};

// One of several bodies that may share a transaction, and what came of it.
struct Part {
  Body body;
  Result<Commit> result = Commit{};
};

// A read-only view as of the moment it was made, kept until destroyed. Waits for the disk if it
// must.
class Snapshot : public Reader {
 public:
  // The newest commit in the view: a reply made from it waits for Durable(commit()).
  virtual Commit commit() const = 0;
};

// Ends what it stands for when destroyed.
class Subscription {
 public:
  Subscription() = default;
  explicit Subscription(std::function<void()> cancel) : cancel_(std::move(cancel)) {}
  Subscription(Subscription&& other) noexcept : cancel_(std::exchange(other.cancel_, nullptr)) {}
  Subscription& operator=(Subscription&& other) noexcept {
    std::swap(cancel_, other.cancel_);
    return *this;
  }
  ~Subscription() {
    if (cancel_) cancel_();
  }

 private:
  std::function<void()> cancel_;
};

// A row that a commit has put or deleted.
struct Change {
  BytesView key;
  uint32_t origin = 0;    // Transaction::set_origin of whoever wrote it; 0: nobody said, or several
  bool is_range = false;  // a range begins at `key` of which no earlier row is left
};
// The views last until it returns.
using ChangeListener = std::function<void(Commit, std::span<const Change>)>;

// Figures for INFO, /metrics and cairn doctor.
struct StoreStats {
  uint64_t commits = 0;        // groups committed since the start
  uint64_t engine_writes = 0;  // engine writes they were merged into
  uint64_t syncs = 0;          // times the log was made durable
  uint64_t last_commit = 0;
  uint64_t durable_commit = 0;
  uint64_t cache_hits = 0;
  uint64_t cache_misses = 0;
  uint64_t cache_bytes = 0;         // value cache in use
  uint64_t block_cache_bytes = 0;   // engine cache in use
  uint64_t write_buffer_bytes = 0;  // memtables in use
  uint64_t disk_bytes = 0;          // live files
};

// An ordered, transactional, durable store of bytes; the only thing in Cairn that keeps state.
//
// Operation: a body runs under its scopes, its writes pass the one sequencer, become visible and
// are numbered; its scopes are free again; later a sync makes it durable. Whoever tells the outside
// about a commit, as writer or as reader, waits for Durable first, so nothing that was ever told is
// lost.
//
// Safe to use from any thread. Groups and snapshots must be gone before the store is destroyed.
class Store {
 public:
  virtual ~Store() = default;

  // Runs body as if alone among all bodies that share a scope with it, and commits what it wrote as
  // one unit. Waits for scopes and for the disk to read, not for durability.
  virtual Result<Commit> Run(const Scopes& scopes, Body body) = 0;
  // The same for a body that only reads: no lock; the result says what a reply has to wait for.
  virtual Result<Commit> RunRead(const Scopes& scopes, Body body) = 0;

  // Runs parts in order, each with a result of its own, as Run or RunRead would one after the
  // other; `scopes` are those of all together. They may share a transaction: a part that fails is
  // then undone alone, and what keeps the transaction from its commit is the result of all.
  virtual void RunParts(const Scopes& scopes, Access access, std::span<Part> parts) {
    for (Part& part : parts) {
      part.result = access == Access::kRead ? RunRead(scopes, part.body) : Run(scopes, part.body);
    }
  }
  // Whether a transaction has a price that parts had better share, because it is made elsewhere. No
  // body ever runs in a group then.
  virtual bool shares_transactions() const { return false; }

  virtual std::unique_ptr<Group> NewGroup() = 0;
  virtual Result<std::unique_ptr<Snapshot>> Read() = 0;

  // Whether a reply that depends on `commit` may leave now: it is as durable as configured.
  virtual bool IsDurable(Commit commit) const = 0;
  // Waits until it is; an error if it never will be.
  virtual Result<void> Durable(Commit commit) = 0;
  // Calls `listener` from the syncing thread each time the durable commit has grown, and once with
  // an error when writing has stopped for good. It must be quick and must not call the store.
  virtual Subscription OnDurable(std::function<void(Result<Commit>)> listener) = 0;

  // Calls `waiter`, on the committing thread, after each commit that woke `topic`. It must be quick
  // and must not call the store.
  virtual Subscription OnWake(Topic topic, std::function<void()> waiter) = 0;
  // Calls `listener`, on the committing thread and one commit after the other, with the rows of
  // `space` that a commit has changed, once bodies can see them and behind AfterCommit. What a body
  // that begins after OnChange has returned does not see yet, the listener will be told. It must be
  // quick and must not call the store. There is one at a time; without one, a commit costs one
  // atomic load more. A store that others serve too (shared) tells nothing of what they change.
  // NOLINTNEXTLINE(performance-unnecessary-value-param): who overrides this keeps the listener.
  virtual Subscription OnChange(Space /*space*/, ChangeListener /*listener*/) { return {}; }
  // Calls `listener` when a timer was set that is due before all others known so far.
  virtual Subscription OnEarlierTimer(std::function<void(Timestamp due)> listener) = 0;

  // nullopt while writes work; else why they have stopped (disk full, fsync failed). Reads go on.
  virtual std::optional<Error> write_failure() const = 0;
  // Whether other processes may serve the same store at the same time. A waiter may then also be
  // called without a commit that concerns it, and OnEarlierTimer with a timer already known.
  virtual bool shared() const { return false; }

  // A consistent copy in `directory`, which must not exist, while the store is in use.
  virtual Result<void> Backup(const std::string& directory) = 0;
  // Reads everything and checks it against its checksums; names the file that does not match.
  virtual Result<void> Verify() = 0;

  virtual Durability durability() const = 0;
  virtual StoreStats stats() const = 0;
};

}  // namespace cairn::store
