#include "store/timers.h"

#include <algorithm>
#include <limits>

namespace cairn::store {
namespace {

constexpr Timestamp kNever{std::numeric_limits<int64_t>::max()};
// How many timers share a commit.
constexpr size_t kBatch = 256;
// A handler that fails is asked again after this long.
constexpr int64_t kRetryMs = 5000;
// The thread looks again at least this often, so that a wall clock set forward is noticed.
constexpr std::chrono::seconds kLongestSleep{1};

// The lease of a store that several processes share: how long it lasts, when its holder renews it,
// and how often others look whether it is free.
constexpr BytesView kLeaseKey = "timers/lease";
constexpr int64_t kLeaseMs = 10'000;
constexpr int64_t kRenewMs = 3'000;
constexpr int64_t kLookForLeaseMs = 1'000;

struct Lease {
  uint64_t token = 0;
  int64_t expires_ms = 0;
};

Bytes EncodeLease(const Lease& lease) {
  Bytes bytes;
  AppendBig64(bytes, lease.token);
  AppendBig64(bytes, static_cast<uint64_t>(lease.expires_ms));
  return bytes;
}

Lease DecodeLease(const std::optional<Bytes>& bytes) {
  if (!bytes) return {};
  BytesReader reader(*bytes);
  Lease lease;
  lease.token = reader.Big64();
  lease.expires_ms = static_cast<int64_t>(reader.Big64());
  return reader.AtEnd() ? lease : Lease{};
}

Scopes LeaseScope() { return std::move(Scopes().Add(Space::kSystem, kLeaseKey)); }

Timestamp WholeMillis(Timestamp time) { return Timestamp::FromMillis(time.millis()); }

}  // namespace

Bytes EncodeTimerKey(Timestamp due, uint8_t kind, BytesView owner) {
  CAIRN_CHECK(due.us >= 0, "timer due at {} us", due.us);
  Bytes key;
  AppendBig64(key, static_cast<uint64_t>(due.millis()));
  key.push_back(static_cast<char>(kind));
  key.append(owner);
  return key;
}

std::optional<Timer> DecodeTimerKey(BytesView key) {
  BytesReader reader(key);
  const uint64_t due_ms = reader.Big64();
  Timer timer;
  timer.kind = reader.Byte();
  timer.owner = reader.Rest();
  if (!reader.ok() || due_ms > static_cast<uint64_t>(kNever.millis())) return std::nullopt;
  timer.due = Timestamp::FromMillis(static_cast<int64_t>(due_ms));
  return timer;
}

struct TimerService::Pass {
  std::vector<Timer> due;
  Timestamp next = kNever;  // the first timer that is not due yet
  bool more = false;        // the batch was full
};

TimerService::TimerService(Store& store, const Clock& clock, Log log)
    : store_(store), clock_(clock), log_(std::move(log)) {
  earlier_ = store_.OnEarlierTimer([this](Timestamp due) { NoteEarlier(due); });
}

TimerService::~TimerService() { Stop(); }

void TimerService::Register(uint8_t kind, TimerHandler& handler) {
  CAIRN_CHECK(handlers_[kind] == nullptr, "timer kind {}", kind);
  handlers_[kind] = &handler;
}

void TimerService::Start() {
  thread_ = std::thread([this] { ThreadMain(); });
}

void TimerService::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  ReleaseLease();
}

void TimerService::NoteEarlier(Timestamp due) {
  const std::lock_guard lock(mutex_);
  due = WholeMillis(due);
  scan_from_ = std::min(scan_from_, due);
  if (due < next_due_) {
    next_due_ = due;
    changed_.notify_all();
  }
}

void TimerService::ThreadMain() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    lock.unlock();
    Result<size_t> fired = RunDue();
    if (!fired.ok()) log_.Error("timers could not run", {{"reason", fired.error().message}});
    lock.lock();
    const int64_t wait_us = fired.ok() ? next_due_.us - clock_.Now().us : kRetryMs * 1000;
    if (wait_us <= 0) continue;
    const auto sleep =
        std::min<std::chrono::microseconds>(std::chrono::microseconds(wait_us), kLongestSleep);
    changed_.wait_for(lock, sleep,
                      [&, planned = next_due_] { return stopping_ || next_due_ < planned; });
  }
}

Result<TimerService::Pass> TimerService::CollectDue() {
  Timestamp from;
  {
    const std::lock_guard lock(mutex_);
    from = scan_from_;
    // A timer set from here on is seen by the scan, or announced again by NoteEarlier.
    next_due_ = kNever;
    scan_from_ = kNever;
  }
  const Timestamp now = WholeMillis(clock_.Now());
  Pass pass;
  Bytes begin;
  AppendBig64(begin, static_cast<uint64_t>(std::max<int64_t>(from.millis(), 0)));
  CAIRN_ASSIGN_OR_RETURN(const auto snapshot, store_.Read());
  Result<void> scanned = snapshot->Scan({Space::kTimers, begin, std::nullopt}, {},
                                        [&](BytesView key, BytesView payload) {
                                          std::optional<Timer> timer = DecodeTimerKey(key);
                                          CAIRN_CHECK(timer, "timer key {}", Printable(key));
                                          if (timer->due > now) {
                                            pass.next = timer->due;
                                            return false;
                                          }
                                          if (pass.due.size() == kBatch) {
                                            pass.more = true;
                                            return false;
                                          }
                                          if (handlers_[timer->kind] != nullptr) {
                                            timer->payload = payload;
                                            pass.due.push_back(std::move(*timer));
                                          }
                                          return true;
                                        });
  const std::lock_guard lock(mutex_);
  if (!scanned.ok()) {
    scan_from_ = from;
    return scanned.error();
  }
  next_due_ = std::min(next_due_, pass.more ? now : pass.next);
  const Timestamp first_left = pass.due.empty() ? pass.next : pass.due.front().due;
  scan_from_ = std::min(scan_from_, first_left);
  return pass;
}

// True also without asking, as long as the lease is fresh. Each fired timer checks the token.
Result<bool> TimerService::HoldLease() {
  if (!store_.shared()) return true;
  const Timestamp now = clock_.Now();
  if (now >= ask_lease_again_) CAIRN_RETURN_IF_ERROR(AskForLease(now));
  if (lease_token_ != 0) return true;
  const std::lock_guard lock(mutex_);
  next_due_ = std::max(next_due_, ask_lease_again_);
  return false;
}

Result<void> TimerService::AskForLease(Timestamp now) {
  uint64_t token = 0;
  const auto claim = [&](Transaction& transaction) -> Result<void> {
    token = 0;
    CAIRN_ASSIGN_OR_RETURN(const auto row, transaction.Get({Space::kSystem, kLeaseKey}));
    const Lease lease = DecodeLease(row);
    const bool mine = lease.token != 0 && lease.token == lease_token_;
    if (!mine && lease.expires_ms > now.millis()) return {};
    token = mine ? lease_token_ : transaction.NewStamp();
    transaction.Put({Space::kSystem, kLeaseKey}, EncodeLease({token, now.millis() + kLeaseMs}));
    return {};
  };
  CAIRN_RETURN_IF_ERROR(store_.Run(LeaseScope(), claim));
  lease_token_ = token;
  const int64_t again_ms = now.millis() + (token != 0 ? kRenewMs : kLookForLeaseMs);
  ask_lease_again_ = Timestamp::FromMillis(again_ms);
  return {};
}

// So that another process need not wait until it expires.
void TimerService::ReleaseLease() {
  if (lease_token_ == 0) return;
  const Result<Commit> released =
      store_.Run(LeaseScope(), [this](Transaction& transaction) -> Result<void> {
        CAIRN_ASSIGN_OR_RETURN(const auto row, transaction.Get({Space::kSystem, kLeaseKey}));
        if (DecodeLease(row).token == lease_token_) {
          transaction.Delete({Space::kSystem, kLeaseKey});
        }
        return {};
      });
  if (!released.ok()) {
    log_.Warn("the timers' lease stays until it expires", {{"reason", released.error().message}});
  }
  lease_token_ = 0;
  ask_lease_again_ = {};
}

Result<size_t> TimerService::RunDue() {
  size_t fired = 0;
  for (;;) {
    CAIRN_ASSIGN_OR_RETURN(const bool holds, HoldLease());
    if (!holds) return fired;
    CAIRN_ASSIGN_OR_RETURN(const Pass pass, CollectDue());
    if (pass.due.empty()) return fired;
    CAIRN_ASSIGN_OR_RETURN(const size_t count, FireBatch(pass.due));
    fired += count;
    const std::lock_guard lock(mutex_);
    if (stopping_) return fired;
  }
}

Result<size_t> TimerService::FireBatch(const std::vector<Timer>& timers) {
  const std::unique_ptr<Group> group = store_.NewGroup();
  size_t fired = 0;
  for (const Timer& timer : timers) {
    CAIRN_ASSIGN_OR_RETURN(const bool present, FireOne(*group, timer));
    if (present) ++fired;
  }
  CAIRN_RETURN_IF_ERROR(group->Finish());
  return fired;
}

Result<bool> TimerService::FireOne(Group& group, const Timer& timer) {
  TimerHandler& handler = *handlers_[timer.kind];
  const Bytes key = EncodeTimerKey(timer.due, timer.kind, timer.owner);
  Scopes scopes;
  scopes.Add(Space::kTimers, key);
  handler.AddScopes(timer, scopes);

  bool present = false;
  bool lease_passed_on = false;
  const auto fire = [&](Transaction& transaction) -> Result<void> {
    present = false;
    const std::array<Key, 2> asked = {Key{Space::kTimers, key}, Key{Space::kSystem, kLeaseKey}};
    const size_t count = store_.shared() ? 2 : 1;
    CAIRN_ASSIGN_OR_RETURN(const auto rows, transaction.GetMany(std::span(asked).first(count)));
    lease_passed_on = count == 2 && DecodeLease(rows[1]).token != lease_token_;
    present = rows[0].has_value() && !lease_passed_on;
    if (!present) return {};  // cancelled meanwhile, or no longer ours to fire
    transaction.CancelTimer(timer.due, timer.kind, timer.owner);
    return handler.Fire(transaction, timer);
  };
  const auto run = [&](Body body) -> Result<void> {
    Result<Dependency> ran = group.Run(scopes, Access::kWrite, body);
    if (ran.ok()) return {};
    if (ran.error().code != ErrorCode::kWouldBlock) return ran.error();
    CAIRN_RETURN_IF_ERROR(group.Finish());  // it must hold nothing while this thread waits
    CAIRN_RETURN_IF_ERROR(store_.Run(scopes, body));
    return {};
  };

  const Result<void> ran = run(fire);
  if (lease_passed_on) lease_token_ = 0;
  if (ran.ok()) return present;
  if (store_.write_failure()) return ran.error();
  log_.Error("a timer failed and will be tried again", {{"kind", int{timer.kind}},
                                                        {"owner", Printable(timer.owner)},
                                                        {"reason", ran.error().message}});
  const Timestamp later = Timestamp::FromMillis(clock_.Now().millis() + kRetryMs);
  CAIRN_RETURN_IF_ERROR(run([&](Transaction& transaction) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(const auto row, transaction.Get({Space::kTimers, key}));
    if (!row) return {};
    transaction.CancelTimer(timer.due, timer.kind, timer.owner);
    transaction.SetTimer(later, timer.kind, timer.owner, *row);
    return {};
  }));
  return false;
}

}  // namespace cairn::store
