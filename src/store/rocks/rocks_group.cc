#include "store/rocks/rocks_group.h"

#include <algorithm>
#include <thread>

namespace cairn::store::rocks {
namespace {

// How long a group that must not wait still tries for a stripe another loop holds: such a stripe is
// free within a turn, while one held by a thread that reads from disk may take far longer.
constexpr int kSpins = 200;

// A group that has written this much commits before its next body, so that its record in the log
// stays near what a body alone may write.
constexpr size_t kGroupBytes = 16 * 1024 * 1024;

// Stripes::Collect gives all of them for an exclusive scope; looking at each would tell no more
// than the newest commit does.
bool CoversEverything(const Scopes& scopes) { return scopes.exclusive(); }

}  // namespace

RocksGroup::RocksGroup(Engine& engine, Sequencer& sequencer, Syncer& syncer, Waiting waiting)
    : engine_(engine),
      sequencer_(sequencer),
      syncer_(syncer),
      waiting_(waiting),
      writes_(engine.transaction_bytes,
              waiting == Waiting::kAllowed ? &engine.write_room : nullptr),
      transaction_(engine, writes_, waiting) {}

RocksGroup::~RocksGroup() { ReleaseFrom(0); }

void RocksGroup::ReleaseFrom(size_t first) {
  while (held_.size() > first) {
    engine_.stripes.Release(held_.back(), this);
    held_.pop_back();
  }
}

bool RocksGroup::TryAcquireWanted() {
  const size_t before = held_.size();
  for (const Stripes::Index stripe : wanted_) {
    if (engine_.stripes.IsHeldBy(stripe, this)) continue;
    if (!engine_.stripes.TryAcquire(stripe, this)) {
      ReleaseFrom(before);
      return false;
    }
    held_.push_back(stripe);
  }
  return true;
}

Result<bool> RocksGroup::AcquireWanted() {
  if (TryAcquireWanted()) return true;
  // Never wait while holding stripes: commit what the group has so far, which frees them.
  CAIRN_RETURN_IF_ERROR(SubmitEarly());
  if (waiting_ == Waiting::kAllowed) {
    for (const Stripes::Index stripe : wanted_) {
      engine_.stripes.Acquire(stripe, this);
      held_.push_back(stripe);
    }
    return true;
  }
  for (int spin = 0; spin < kSpins; ++spin) {
    if (TryAcquireWanted()) return true;
    std::this_thread::yield();
  }
  return false;
}

Result<void> RocksGroup::RunBody(Access access, Body body) {
  auto view = RocksTransaction::View::kOptimistic;
  for (;;) {
    const WriteSet::Mark mark = writes_.mark();
    writes_.BeginBody();
    transaction_.Begin(access, view);
    Result<void> result = body(transaction_);
    const bool restart = transaction_.needs_restart();
    // A body that swallowed a failed read has decided on something it did not know.
    if (result.ok() && transaction_.read_error()) result = *transaction_.read_error();
    if (writes_.over_limit()) result = writes_.limit_error();
    transaction_.End();
    if (!result.ok()) writes_.UndoTo(mark);
    if (!restart) return result;
    CAIRN_CHECK(view == RocksTransaction::View::kOptimistic);
    view = RocksTransaction::View::kSnapshot;
  }
}

Dependency RocksGroup::DependencyOf(const Scopes& scopes, bool wrote, bool shares_held) const {
  if (CoversEverything(scopes)) {
    return {{engine_.visible_commit.load(std::memory_order_acquire)}, !writes_.empty()};
  }
  // Read after the body has run: a commit whose effects it saw had set its number before.
  uint64_t newest = 0;
  for (const Stripes::Index stripe : wanted_) {
    newest = std::max(newest, engine_.stripes.newest_commit(stripe));
  }
  return {{newest}, wrote || shares_held};
}

bool RocksGroup::SeesUncommitted(const Scopes& scopes) const {
  if (CoversEverything(scopes)) return !writes_.empty();
  return std::ranges::any_of(
      wanted_, [this](Stripes::Index stripe) { return engine_.stripes.IsHeldBy(stripe, this); });
}

// A body that reads what its group has not committed comes after that commit in the one order of
// bodies, so what else it reads must not change until then. Otherwise two groups that each write
// one key and then read both could each miss the other's write, and no order would explain it.
// Where the stripes cannot be had, the group commits first, and the body reads what everybody sees.
Result<Dependency> RocksGroup::RunRead(const Scopes& scopes, Body body) {
  bool on_group = SeesUncommitted(scopes);
  const size_t held_before = held_.size();
  if (on_group && (CoversEverything(scopes) || !TryAcquireWanted())) {
    (void)SubmitEarly();  // the next Finish tells of a failure; reads go on without the writes
    on_group = false;
  }
  if (Result<void> ran = RunBody(Access::kRead, body); !ran.ok()) {
    ReleaseFrom(std::min(held_before, held_.size()));
    return ran.error();
  }
  return DependencyOf(scopes, false, on_group);
}

Result<Dependency> RocksGroup::Run(const Scopes& scopes, Access access, Body body) {
  if (access == Access::kRead && CoversEverything(scopes)) {
    wanted_.clear();
  } else {
    Stripes::Collect(scopes, wanted_);
  }
  if (access == Access::kRead) return RunRead(scopes, body);

  const bool shares_held = SeesUncommitted(scopes);
  if (const auto failure = engine_.failure.get()) return *failure;
  if (writes_.bytes() > kGroupBytes) CAIRN_RETURN_IF_ERROR(SubmitEarly());
  const size_t held_before = held_.size();
  CAIRN_ASSIGN_OR_RETURN(const bool acquired, AcquireWanted());
  if (!acquired) return Error{ErrorCode::kWouldBlock, "another thread holds the scopes"};
  const size_t undone_from = std::min(held_before, held_.size());
  const WriteSet::Mark before = writes_.mark();
  if (Result<void> ran = RunBody(access, body); !ran.ok()) {
    ReleaseFrom(undone_from);
    return ran.error();
  }
  const bool wrote = writes_.ChangedSince(before);
  return DependencyOf(scopes, wrote, shares_held);
}

void RocksGroup::Expect(std::span<const Key> keys) { engine_.cache.Expect(keys); }

Result<Commit> RocksGroup::Submit() {
  if (writes_.empty()) {
    ReleaseFrom(0);
    engine_.wakeups.Wake(writes_.wakes());
    const Commit newest{engine_.visible_commit.load(std::memory_order_acquire)};
    for (const auto& function : writes_.after_commit()) function(newest);
    writes_.Clear();
    return newest;
  }
  Result<Commit> commit = sequencer_.Submit(writes_, held_, this);
  held_.clear();
  if (commit.ok()) {
    waiting_ == Waiting::kAllowed ? syncer_.Request(*commit) : syncer_.SyncOrRequest(*commit);
    engine_.wakeups.Wake(writes_.wakes());
    if (writes_.earliest_timer_us() != WriteSet::kNoTimer) {
      const std::lock_guard lock(engine_.timer_mutex);
      if (engine_.earlier_timer) engine_.earlier_timer({writes_.earliest_timer_us()});
    }
  }
  writes_.Clear();
  return commit;
}

Result<void> RocksGroup::SubmitEarly() {
  Result<Commit> committed = Submit();
  if (committed.ok()) return {};
  failed_ = committed.error();
  return committed.error();
}

Result<Commit> RocksGroup::Finish() {
  Result<Commit> commit = Submit();
  if (failed_) return *std::exchange(failed_, std::nullopt);
  return commit;
}

}  // namespace cairn::store::rocks
