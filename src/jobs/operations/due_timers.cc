#include "jobs/operations/due_timers.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <set>

#include "jobs/ledger/event_trim.h"
#include "jobs/ledger/lease_rows.h"
#include "jobs/ledger/ledger.h"
#include "jobs/operations/lease.h"
#include "jobs/operations/registry.h"

namespace cairn::jobs {
namespace {

using store::Space;
using store::Timer;

constexpr uint64_t kNsPerMs = 1'000'000;
// Rows that one look finds, and rows that one transaction acts on: so few that the largest jobs
// stay within what any server lets a transaction write (limits.transaction), or they would wait for
// ever.
constexpr size_t kFound = 1'000;
constexpr size_t kActed = 32;
// Finished jobs removed in one transaction.
constexpr size_t kPurged = 200;
constexpr int64_t kTidyMs = 60'000;
// A row that is overdue by this much has lost its timer.
constexpr uint64_t kOverdueNs = 5'000 * kNsPerMs;

uint64_t NowNs(const store::Transaction& transaction) {
  return static_cast<uint64_t>(transaction.now().us) * 1000;
}

// A timer of now that names rows: everything:1, then size:2 key for each. Keys of documents (j|)
// stand for jobs that a row is about without naming them.
struct Rows {
  bool everything = false;
  std::vector<Bytes> keys;
};

Bytes EncodeRows(const Rows& rows) {
  Bytes out;
  out.push_back(static_cast<char>(rows.everything ? 1 : 0));
  for (const Bytes& key : rows.keys) {
    AppendBig16(out, static_cast<uint16_t>(key.size()));
    out.append(key);
  }
  return out;
}

Rows DecodeRows(BytesView payload) {
  BytesReader reader(payload);
  Rows rows{.everything = reader.Byte() != 0};
  while (reader.ok() && !reader.AtEnd()) {
    const uint16_t size = reader.Big16();
    rows.keys.emplace_back(reader.Take(size));
  }
  return rows;
}

void ActLater(store::Transaction& transaction, const Rows& rows) {
  Bytes owner;
  AppendBig64(owner, transaction.NewStamp());
  transaction.SetTimer(transaction.now(), kTimerAct, owner, EncodeRows(rows));
}

// --- What is done --------------------------------------------------------------------------------

Result<void> Promote(Ledger& ledger, Job& job) {
  CAIRN_RETURN_IF_ERROR(ledger.Leave(job));
  job.state = State::kPending;
  job.scheduled_ns = 0;
  CAIRN_RETURN_IF_ERROR(ledger.Enter(job));
  ledger.Tell(EventType::kPromoted, job);
  return {};
}

Result<void> Expire(Ledger& ledger, Job& job) {
  CAIRN_RETURN_IF_ERROR(ledger.Leave(job));
  job.reason = "job expired";
  CAIRN_RETURN_IF_ERROR(ledger.End(job, State::kDead));
  ledger.Tell(EventType::kExpired, job, R"({"reason":"job expired"})");
  return {};
}

Result<void> EndLease(Ledger& ledger, Job& job) {
  CAIRN_ASSIGN_OR_RETURN(Ledger::Queue* const queue, ledger.QueueOf(job.queue));
  CAIRN_ASSIGN_OR_RETURN(const QueueConfig* const config, ledger.ConfigOf(*queue));
  CAIRN_RETURN_IF_ERROR(ledger.Leave(job));
  const uint64_t timeout_ns = static_cast<uint64_t>(job.timeout_ms) * kNsPerMs;
  if (job.timeout_ms > 0 && ledger.now_ns() >= job.started_ns + timeout_ns) {
    const std::string error = fmt::format("the attempt took more than {} ms", job.timeout_ms);
    CAIRN_RETURN_IF_ERROR(FailAttempt(ledger, job, {.error = error}));
    return {};
  }
  ++job.reclaims;
  const std::string data = fmt::format(R"({{"reclaims":{}}})", job.reclaims);
  if (job.reclaims > config->max_reclaims) {
    job.reason = fmt::format("its lease lapsed {} times", job.reclaims);
    CAIRN_RETURN_IF_ERROR(ledger.End(job, State::kDead));
    ledger.Tell(EventType::kReclaimed, job, data);
    ledger.Tell(EventType::kDead, job, fmt::format(R"({{"reason":"{}"}})", job.reason));
    return {};
  }
  job.state = State::kPending;
  job.lease_token = 0;
  job.lease_expires_ns = 0;
  CAIRN_RETURN_IF_ERROR(ledger.Enter(job));
  ledger.Tell(EventType::kReclaimed, job, data);
  return {};
}

// Removes finished jobs whose time is over, some at a time.
Result<void> Purge(Ledger& ledger, Ledger::Queue& queue, uint64_t from_ns) {
  queue.state.retention_due_ns = 0;
  queue.changed = true;
  store::Range range =
      store::Range::Prefix(Space::kJobs, NamedPrefix(family::kFinished, queue.name));
  AppendBig64(range.begin, from_ns);
  std::vector<std::string> old;
  std::optional<uint64_t> next_ns;
  CAIRN_RETURN_IF_ERROR(ledger.transaction().Scan(range, {}, [&](BytesView key, BytesView) {
    const auto row = DecodeTimedKey(family::kFinished, key);
    if (!row) return true;
    if (row->ns > ledger.now_ns() || old.size() == kPurged) {
      next_ns = row->ns;
      return false;
    }
    old.emplace_back(row->job);
    return true;
  }));
  for (const std::string& id : old) {
    CAIRN_ASSIGN_OR_RETURN(Job job, ledger.Load(id));
    CAIRN_RETURN_IF_ERROR(ledger.Remove(job, {}));
  }
  if (next_ns) {
    queue.state.retention_due_ns = *next_ns;
    SetDue(ledger.transaction(), *next_ns, DueKind::kRetention, queue.name, {});
  }
  return {};
}

// Whether the row is about this job, and the job still in the state that the row was made in.
bool Applies(const DueEntry& entry, const Job& job) {
  if (job.queue != entry.queue) return false;
  switch (static_cast<DueKind>(entry.kind)) {
    case DueKind::kLease:
      return job.state == State::kActive && job.lease_expires_ns == entry.due_ns;
    case DueKind::kPromote:
      return (job.state == State::kScheduled || job.state == State::kRetrying) &&
             job.index_ns == entry.due_ns;
    case DueKind::kExpire:
      return job.state != State::kActive && !IsFinished(job.state) && job.expire_ns == entry.due_ns;
    default:
      return false;
  }
}

bool IsAboutJobs(DueKind kind) {
  return kind == DueKind::kLease || kind == DueKind::kPromote || kind == DueKind::kExpire;
}

// Whether the job that is let through the gate next has a name that is not locked: it was moved
// into this queue from another.
Result<bool> LetsStrangerThrough(Context& context, const Job& job, Gate gate,
                                 std::string_view key) {
  Ledger ledger(context);
  CAIRN_ASSIGN_OR_RETURN(const auto next, ledger.NextAtGate(job.queue, gate, key));
  return next && !context.held.Covers(FirstLaneOfId(*next).value_or(0));
}

// Whether the end of this job may reach further than its name tells (ids.h).
Result<bool> MayReachFurther(Context& context, const Job& job) {
  if (job.has_dependents || FirstLaneOfId(job.id) != LaneOfQueue(job.queue)) return true;
  if (job.has_slot) {
    CAIRN_ASSIGN_OR_RETURN(const bool further, LetsStrangerThrough(context, job, Gate::kConcurrency,
                                                                   job.concurrency_key));
    if (further) return true;
  }
  if (job.group.empty()) return false;
  return LetsStrangerThrough(context, job, Gate::kGroup, job.group);
}

}  // namespace

// Looks at the rows of a span. The owner is the row to begin with, if that is not its start.
class DueTimers::Find final : public store::TimerHandler {
 public:
  void AddScopes(const Timer& /*timer*/, store::Scopes& /*scopes*/) const override {}

  Result<void> Fire(store::Transaction& transaction, const Timer& timer) override {
    store::Range range = store::Range::Prefix(Space::kJobs, family::kDue);
    const auto due_ns = static_cast<uint64_t>(timer.due.millis()) * kNsPerMs;
    range.begin = timer.owner.empty() ? DueKey(StartOfDueSpan(timer.due), 0, {}, {}) : timer.owner;
    range.end = DueKey(due_ns + 1, 0, {}, {});
    std::map<std::string, Rows, std::less<>> by_queue;
    std::optional<Bytes> next;
    size_t found = 0;
    CAIRN_RETURN_IF_ERROR(transaction.Scan(range, {}, [&](BytesView key, BytesView value) {
      if (found == kFound) {
        next = key;
        return false;
      }
      ++found;
      const auto entry = DecodeDueKey(key);
      if (!entry) return true;
      Rows& rows = by_queue[std::string(entry->queue)];
      rows.keys.emplace_back(key);
      if (entry->kind == static_cast<uint8_t>(DueKind::kLease)) {
        for (const std::string& job : DecodeLeaseRow(value)) rows.keys.push_back(JobKey(job));
      }
      if (rows.keys.size() >= kActed) ActLater(transaction, std::exchange(rows, Rows()));
      return true;
    }));
    for (const auto& [queue, rows] : by_queue) {
      if (!rows.keys.empty()) ActLater(transaction, rows);
    }
    if (next) transaction.SetTimer(timer.due, kTimerDue, *next, {});
    return {};
  }
};

class DueTimers::Act final : public store::TimerHandler {
 public:
  explicit Act(const DueTimers& timers) : timers_(timers) {}

  void AddScopes(const Timer& timer, store::Scopes& scopes) const override {
    HeldFor(timer, &scopes).AddTo(scopes);
  }

  Result<void> Fire(store::Transaction& transaction, const Timer& timer) override {
    const Rows rows = DecodeRows(timer.payload);
    Held held = HeldFor(timer, nullptr);
    Context context{transaction, held};
    Rows further{.everything = true};
    for (const Bytes& key : rows.keys) {
      const auto entry = DecodeDueKey(key);
      if (!entry) continue;
      CAIRN_ASSIGN_OR_RETURN(const auto value, transaction.Get(InJobs(key)));
      if (!value) continue;  // taken back meanwhile
      const Result<bool> done = FireRow(context, *entry, *value);
      if (held.wants_everything) NoteWide(timer.owner);
      if (!done.ok()) return done.error();
      if (!*done) further.keys.push_back(key);
    }
    if (!further.keys.empty()) ActLater(transaction, further);
    return {};
  }

 private:
  // The timer failed for want of scopes: when it is tried again, it has all.
  void NoteWide(const Bytes& owner) {
    const std::lock_guard lock(mutex_);
    wide_.insert(owner);
  }
  bool IsWide(const Bytes& owner) const {
    const std::lock_guard lock(mutex_);
    return wide_.contains(owner);
  }

  DueHandler* HandlerOf(uint8_t kind) const {
    return kind < timers_.handlers_.size() ? timers_.handlers_[kind] : nullptr;
  }

  Held HeldFor(const Timer& timer, store::Scopes* scopes) const {
    const Rows rows = DecodeRows(timer.payload);
    if (rows.everything || IsWide(timer.owner)) return Held::Everything();
    Held held;
    store::Scopes unused;
    for (const Bytes& key : rows.keys) {
      if (const auto job = DecodeNameKey(family::kJob, key)) held.AddJob(*job);
      const auto entry = DecodeDueKey(key);
      if (!entry) continue;
      if (DueHandler* const handler = HandlerOf(entry->kind)) {
        handler->AddScopes(*entry, held, scopes == nullptr ? unused : *scopes);
        continue;
      }
      if (!entry->queue.empty()) held.AddQueue(entry->queue);
      held.AddJob(entry->job);
      if (entry->kind == static_cast<uint8_t>(DueKind::kWorker)) AddWorkerScopes(entry->job, held);
    }
    return held;
  }

  // False if it needs all scopes and does not have them: then nothing was done.
  Result<bool> FireRow(Context& context, const DueEntry& entry, BytesView value) {
    const auto remove = [&] {
      context.transaction.Delete(InJobs(DueKey(entry.due_ns, entry.kind, entry.queue, entry.job)));
    };
    if (DueHandler* const handler = HandlerOf(entry.kind)) {
      remove();
      CAIRN_RETURN_IF_ERROR(handler->Fire(context, entry, value));
      return true;
    }
    const auto kind = static_cast<DueKind>(entry.kind);
    if (kind == DueKind::kSchedule) return true;  // stays until there is somebody for it
    if (IsAboutJobs(kind)) {
      CAIRN_ASSIGN_OR_RETURN(const bool done, ActOnJobs(context, entry, value));
      if (done) remove();
      return done;
    }
    remove();
    CAIRN_RETURN_IF_ERROR(ActOnQueue(context, entry));
    return true;
  }

  // The one that the row names, or those that share it.
  static Result<bool> ActOnJobs(Context& context, const DueEntry& entry, BytesView value) {
    const auto kind = static_cast<DueKind>(entry.kind);
    std::vector<std::string> jobs;
    if (kind == DueKind::kLease) jobs = DecodeLeaseRow(value);
    if (jobs.empty()) jobs.emplace_back(entry.job);
    for (const std::string& id : jobs) {
      CAIRN_ASSIGN_OR_RETURN(const auto job, LoadJob(context.transaction, id));
      if (!job || context.held.everything()) continue;
      CAIRN_ASSIGN_OR_RETURN(const bool further, MayReachFurther(context, *job));
      if (further) return false;
    }
    for (const std::string& id : jobs) {
      CAIRN_ASSIGN_OR_RETURN(auto job, LoadJob(context.transaction, id));
      if (job && Applies(entry, *job)) CAIRN_RETURN_IF_ERROR(ActOnJob(context, kind, *job));
    }
    return true;
  }

  static Result<void> ActOnJob(Context& context, DueKind kind, Job& job) {
    Ledger ledger(context);
    if (kind == DueKind::kLease) CAIRN_RETURN_IF_ERROR(EndLease(ledger, job));
    if (kind == DueKind::kPromote) CAIRN_RETURN_IF_ERROR(Promote(ledger, job));
    if (kind == DueKind::kExpire) CAIRN_RETURN_IF_ERROR(Expire(ledger, job));
    return ledger.Save();
  }

  static Result<void> ActOnQueue(Context& context, const DueEntry& entry) {
    if (static_cast<DueKind>(entry.kind) == DueKind::kWorker) {
      return ForgetWorkerIfGone(context, entry.job);
    }
    if (static_cast<DueKind>(entry.kind) == DueKind::kBatch) {
      context.transaction.Delete(InJobs(BatchKey(entry.job)));
      return {};
    }
    if (static_cast<DueKind>(entry.kind) == DueKind::kIdempotency) {
      context.transaction.Delete(InJobs(IdempotencyKey(entry.queue, entry.job)));
      return {};
    }
    Ledger ledger(context);
    CAIRN_ASSIGN_OR_RETURN(Ledger::Queue* const queue, ledger.QueueOf(entry.queue));
    if (!queue->exists) return {};
    switch (static_cast<DueKind>(entry.kind)) {
      case DueKind::kRetention:
        CAIRN_RETURN_IF_ERROR(Purge(ledger, *queue, entry.due_ns));
        break;
      case DueKind::kThrottle:
        CAIRN_RETURN_IF_ERROR(ledger.ResetThrottle(*queue));
        break;
      case DueKind::kKeyRate:
        CAIRN_RETURN_IF_ERROR(ledger.OpenRateGate(*queue, entry.job));
        break;
      default:
        break;
    }
    return ledger.Save();
  }

  const DueTimers& timers_;
  mutable std::mutex mutex_;
  std::set<Bytes> wide_;  // a handful in the life of a process
};

// At the next full minute, so that it is the same timer however often it is armed.
static void ArmTidy(store::Transaction& transaction, bool at_once) {
  const int64_t now_ms = transaction.now().millis();
  const int64_t next_ms = at_once ? now_ms : (now_ms / kTidyMs + 1) * kTidyMs;
  transaction.SetTimer(Timestamp::FromMillis(next_ms), kTimerTidy, {}, {});
}

// Once a minute: removes old events, and finds due rows whose timer got lost, which can only be if
// a transaction took longer to commit than its row had time (LookAt in due.cc).
class DueTimers::Tidy final : public store::TimerHandler {
 public:
  void AddScopes(const Timer& /*timer*/, store::Scopes& scopes) const override {
    scopes.Add(Space::kJobs, family::kEvent);
  }

  Result<void> Fire(store::Transaction& transaction, const Timer& /*timer*/) override {
    CAIRN_ASSIGN_OR_RETURN(const bool more, TrimEvents(transaction));
    CAIRN_RETURN_IF_ERROR(FindOverdue(transaction));
    ArmTidy(transaction, more);
    return {};
  }

 private:
  static Result<void> FindOverdue(store::Transaction& transaction) {
    const store::Range range{Space::kJobs, Bytes(family::kDue),
                             DueKey(NowNs(transaction) - kOverdueNs, 0, {}, {})};
    Rows rows{.everything = true};
    CAIRN_RETURN_IF_ERROR(transaction.Scan(range, {.limit = kActed}, [&](BytesView key, BytesView) {
      rows.keys.emplace_back(key);
      return true;
    }));
    if (!rows.keys.empty()) ActLater(transaction, rows);
    return {};
  }
};

DueTimers::DueTimers()
    : find_(std::make_unique<Find>()),
      act_(std::make_unique<Act>(*this)),
      tidy_(std::make_unique<Tidy>()) {}
DueTimers::~DueTimers() = default;

void DueTimers::ForEach(FunctionRef<void(uint8_t kind, store::TimerHandler& handler)> add) {
  add(kTimerDue, *find_);
  add(kTimerAct, *act_);
  add(kTimerTidy, *tidy_);
}

void DueTimers::RegisterWith(store::TimerService& timers) {
  ForEach([&](uint8_t kind, store::TimerHandler& handler) { timers.Register(kind, handler); });
}

Result<void> DueTimers::StartTidying(store::Store& store) {
  store::Scopes scopes;
  scopes.Add(Space::kJobs, family::kEvent);
  CAIRN_RETURN_IF_ERROR(store.Run(scopes, [](store::Transaction& transaction) -> Result<void> {
    ArmTidy(transaction, false);
    return {};
  }));
  return {};
}

}  // namespace cairn::jobs
