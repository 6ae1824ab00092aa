// The gates beside a queue's line (keys.h): which jobs wait there, and what lets them through.
//
//   concurrency   a key has so many slots. A job takes one on its way into the line and keeps it
//                 until it is neither pending nor active; then the one that waits longest has it.
//   group         a group has one job in the line. When a worker takes it, the group's next goes to
//                 the end of the line: so groups take turns, however many jobs one of them has.
//   rate          a key has a window of so many starts. Who is first in line and finds it full
//                 steps aside, until a start has left the window.
#include <algorithm>

#include "jobs/ledger/ledger.h"

namespace cairn::jobs {
namespace {

using store::Space;

constexpr int64_t kNsPerMs = 1'000'000;

// Starts that were counted under keys prefix ns:8 random:8.
struct Window {
  store::Transaction& transaction;
  Bytes prefix;
  int64_t& count;
  uint64_t& oldest_ns;

  // Forgets what is older than `cutoff_ns`.
  Result<void> Prune(uint64_t cutoff_ns) {
    if (count == 0 || oldest_ns > cutoff_ns) return {};
    store::Range range = store::Range::Prefix(Space::kJobs, prefix);
    AppendBig64(range.begin, oldest_ns);
    std::vector<Bytes> old;
    CAIRN_RETURN_IF_ERROR(transaction.Scan(range, {}, [&](BytesView key, BytesView) {
      const uint64_t ns = BytesReader(key.substr(prefix.size())).Big64();
      oldest_ns = ns;
      if (ns > cutoff_ns) return false;
      old.emplace_back(key);
      return true;
    }));
    for (const Bytes& key : old) transaction.Delete(InJobs(key));
    count -= static_cast<int64_t>(old.size());
    if (count == 0) oldest_ns = 0;
    return {};
  }

  void Record(uint64_t now_ns) {
    Bytes key = prefix;
    AppendBig64(key, now_ns);
    AppendBig64(key, transaction.NewStamp());
    transaction.Put(InJobs(key), {});
    if (count++ == 0) oldest_ns = now_ns;
  }
};

Bytes KeyWindowPrefix(std::string_view queue, std::string_view key) {
  Bytes prefix = NamedPrefix(family::kKeyRate, queue);
  prefix.append(key);
  prefix.push_back('\0');
  return prefix;
}

uint64_t Cutoff(uint64_t now_ns, int64_t window_ms) {
  const uint64_t window_ns = static_cast<uint64_t>(window_ms) * kNsPerMs;
  return now_ns > window_ns ? now_ns - window_ns : 0;
}

uint64_t EndOf(uint64_t ns, int64_t window_ms) {
  return ns + static_cast<uint64_t>(window_ms) * kNsPerMs;
}

}  // namespace

Result<Ledger::GateRow*> Ledger::GateOf(std::string_view queue, Gate gate, std::string_view key) {
  Bytes stored = GateKey(queue, gate, key);
  const auto found = gates_.find(stored);
  if (found != gates_.end()) return &found->second;
  CAIRN_ASSIGN_OR_RETURN(const auto value, transaction_.Get(InJobs(stored)));
  GateRow row{.queue = std::string(queue), .gate = gate, .key = std::string(key)};
  if (value) {
    const auto state = DecodeGateState(*value);
    if (!state) return Error{ErrorCode::kCorruption, "a gate's row cannot be decoded"};
    row.state = *state;
    row.stored = true;
  }
  return &gates_.emplace(std::move(stored), std::move(row)).first->second;
}

void Ledger::Park(Queue& queue, GateRow* row, Gate gate, Job& job) {
  job.gate = gate;
  job.index_ns = NextNs(queue);
  transaction_.Put(InJobs(IndexKeyOf(job)), {});
  ++queue.state.counts[static_cast<size_t>(State::kPending)];
  ++queue.state.parked;
  if (row != nullptr) ++row->state.parked;
  SetDueRows(job);
  Store(job);
}

Result<void> Ledger::EnterPending(Queue& queue, Job& job, Gate passed) {
  if (job.waiting_for > 0) {
    Park(queue, nullptr, Gate::kDependencies, job);
    return {};
  }
  if (!job.concurrency_key.empty() && !job.has_slot) {
    CAIRN_ASSIGN_OR_RETURN(GateRow* const row,
                           GateOf(queue.name, Gate::kConcurrency, job.concurrency_key));
    CAIRN_ASSIGN_OR_RETURN(const QueueConfig* const config, ConfigOf(queue));
    const bool others = row->state.parked > 0 && passed != Gate::kConcurrency;
    if (others || row->state.used >= config->key_concurrency) {
      Park(queue, row, Gate::kConcurrency, job);
      return {};
    }
    ++row->state.used;
    job.has_slot = true;
  }
  if (!job.rate_key.empty() && passed != Gate::kRate) {
    CAIRN_ASSIGN_OR_RETURN(GateRow* const row, GateOf(queue.name, Gate::kRate, job.rate_key));
    if (row->state.parked > 0) {
      Park(queue, row, Gate::kRate, job);
      return {};
    }
  }
  // More urgent jobs do not wait for their group's turn.
  if (!job.group.empty() && job.priority == Priority::kNormal) {
    CAIRN_ASSIGN_OR_RETURN(GateRow* const row, GateOf(queue.name, Gate::kGroup, job.group));
    if (row->state.used > 0 || (row->state.parked > 0 && passed != Gate::kGroup)) {
      Park(queue, row, Gate::kGroup, job);
      return {};
    }
    ++row->state.used;
  }
  job.gate = Gate::kOpen;
  job.index_ns = NextNs(queue);
  transaction_.Put(InJobs(IndexKeyOf(job)), {});
  ++queue.state.counts[static_cast<size_t>(State::kPending)];
  ++queue.state.line[static_cast<size_t>(job.priority)];
  SetDueRows(job);
  Store(job);
  WakeQueue(queue.name);
  return {};
}

Result<std::optional<std::string>> Ledger::NextParked(GateRow& row) {
  store::Range range = store::Range::Prefix(
      Space::kJobs, ParkedKey(row.queue, row.gate, row.key, 0, {})
                        .substr(0, family::kParked.size() + row.queue.size() + row.key.size() + 3));
  range.begin = ParkedKey(row.queue, row.gate, row.key, row.state.cursor_ns + 1, {});
  std::optional<std::string> next;
  CAIRN_RETURN_IF_ERROR(transaction_.Scan(range, {.limit = 1}, [&](BytesView key, BytesView) {
    if (const auto parked = DecodeParkedKey(key)) {
      row.state.cursor_ns = parked->ns;
      next.emplace(parked->job);
    }
    return false;
  }));
  return next;
}

Result<std::optional<std::string>> Ledger::NextAtGate(std::string_view queue, Gate gate,
                                                      std::string_view key) {
  CAIRN_ASSIGN_OR_RETURN(GateRow* const row, GateOf(queue, gate, key));
  if (row->state.parked == 0) return std::optional<std::string>();
  GateRow looked_at = *row;  // whose cursor moves
  return NextParked(looked_at);
}

Result<void> Ledger::Admit(Queue& queue, GateRow& row) {
  CAIRN_ASSIGN_OR_RETURN(const QueueConfig* const config, ConfigOf(queue));
  const int64_t limit = row.gate == Gate::kConcurrency ? config->key_concurrency : 1;
  while (row.state.parked > 0 && row.state.used < limit) {
    CAIRN_ASSIGN_OR_RETURN(const auto id, NextParked(row));
    if (!id) return Error{ErrorCode::kCorruption, "a gate counts jobs that are not there"};
    CAIRN_ASSIGN_OR_RETURN(Job job, Load(*id));
    CAIRN_RETURN_IF_ERROR(Leave(job));
    CAIRN_RETURN_IF_ERROR(EnterPending(queue, job, row.gate));
  }
  return {};
}

Result<void> Ledger::ReleaseSlot(Queue& queue, Job& job) {
  if (!std::exchange(job.has_slot, false)) return {};
  CAIRN_ASSIGN_OR_RETURN(GateRow* const row,
                         GateOf(queue.name, Gate::kConcurrency, job.concurrency_key));
  --row->state.used;
  return Admit(queue, *row);
}

Result<bool> Ledger::TakeRate(Queue& queue, Job& job) {
  if (job.rate_key.empty()) return true;
  CAIRN_ASSIGN_OR_RETURN(const QueueConfig* const config, ConfigOf(queue));
  if (config->key_rate_limit == 0) return true;
  CAIRN_ASSIGN_OR_RETURN(GateRow* const row, GateOf(queue.name, Gate::kRate, job.rate_key));
  Window window{transaction_, KeyWindowPrefix(queue.name, job.rate_key), row->state.used,
                row->state.oldest_ns};
  CAIRN_RETURN_IF_ERROR(window.Prune(Cutoff(now_ns(), config->key_rate_window_ms)));
  if (row->state.used >= config->key_rate_limit) return false;
  window.Record(now_ns());
  if (row->state.due_ns == 0) {
    row->state.due_ns = EndOf(row->state.oldest_ns, config->key_rate_window_ms);
    due_.Set(row->state.due_ns, DueKind::kKeyRate, queue.name, job.rate_key);
  }
  return true;
}

Result<void> Ledger::ParkForRate(Job& job) {
  CAIRN_ASSIGN_OR_RETURN(Queue* const queue, QueueOf(job.queue));
  CAIRN_ASSIGN_OR_RETURN(GateRow* const row, GateOf(job.queue, Gate::kRate, job.rate_key));
  Park(*queue, row, Gate::kRate, job);
  return {};
}

Result<void> Ledger::OpenRateGate(Queue& queue, std::string_view key) {
  CAIRN_ASSIGN_OR_RETURN(GateRow* const row, GateOf(queue.name, Gate::kRate, key));
  CAIRN_ASSIGN_OR_RETURN(const QueueConfig* const config, ConfigOf(queue));
  const bool limited = config->key_rate_limit > 0;
  Window window{transaction_, KeyWindowPrefix(queue.name, key), row->state.used,
                row->state.oldest_ns};
  const uint64_t cutoff_ns =
      limited ? Cutoff(now_ns(), config->key_rate_window_ms) : row->state.oldest_ns + now_ns();
  CAIRN_RETURN_IF_ERROR(window.Prune(cutoff_ns));
  int64_t room = limited ? config->key_rate_limit - row->state.used : row->state.parked;
  for (; room > 0 && row->state.parked > 0; --room) {
    CAIRN_ASSIGN_OR_RETURN(const auto id, NextParked(*row));
    if (!id) return Error{ErrorCode::kCorruption, "a gate counts jobs that are not there"};
    CAIRN_ASSIGN_OR_RETURN(Job job, Load(*id));
    CAIRN_RETURN_IF_ERROR(Leave(job));
    CAIRN_RETURN_IF_ERROR(EnterPending(queue, job, Gate::kRate));
  }
  row->state.due_ns = 0;
  if (limited && (row->state.used > 0 || row->state.parked > 0)) {
    const uint64_t from = row->state.used > 0 ? row->state.oldest_ns : now_ns();
    row->state.due_ns = EndOf(from, config->key_rate_window_ms);
    due_.Set(row->state.due_ns, DueKind::kKeyRate, queue.name, key);
  }
  return {};
}

Result<int64_t> Ledger::RoomInWindow(Queue& queue) {
  CAIRN_ASSIGN_OR_RETURN(const QueueConfig* const config, ConfigOf(queue));
  if (config->rate_limit == 0) return static_cast<int64_t>(kMaxFetch);
  Window window{transaction_, NamedPrefix(family::kRate, queue.name), queue.state.window_count,
                queue.state.window_oldest_ns};
  const int64_t before = queue.state.window_count;
  CAIRN_RETURN_IF_ERROR(window.Prune(Cutoff(now_ns(), config->rate_window_ms)));
  queue.changed = queue.changed || queue.state.window_count != before;
  return config->rate_limit - queue.state.window_count;
}

Result<void> Ledger::CountStarts(Queue& queue, int64_t starts) {
  CAIRN_ASSIGN_OR_RETURN(const QueueConfig* const config, ConfigOf(queue));
  if (config->rate_limit == 0 || starts == 0) return {};
  Window window{transaction_, NamedPrefix(family::kRate, queue.name), queue.state.window_count,
                queue.state.window_oldest_ns};
  for (; starts > 0; --starts) window.Record(now_ns());
  queue.changed = true;
  if (queue.state.throttle_due_ns != 0) return {};
  queue.state.throttle_due_ns = EndOf(queue.state.window_oldest_ns, config->rate_window_ms);
  due_.Set(queue.state.throttle_due_ns, DueKind::kThrottle, queue.name, {});
  return {};
}

Result<void> Ledger::ResetThrottle(Queue& queue) {
  if (const uint64_t due_ns = std::exchange(queue.state.throttle_due_ns, 0); due_ns != 0) {
    due_.Cancel(due_ns, DueKind::kThrottle, queue.name, {});
  }
  queue.changed = true;
  CAIRN_RETURN_IF_ERROR(RoomInWindow(queue));
  WakeQueue(queue.name);
  CAIRN_ASSIGN_OR_RETURN(const QueueConfig* const config, ConfigOf(queue));
  if (config->rate_limit == 0 || queue.state.window_count == 0) return {};
  queue.state.throttle_due_ns = EndOf(queue.state.window_oldest_ns, config->rate_window_ms);
  due_.Set(queue.state.throttle_due_ns, DueKind::kThrottle, queue.name, {});
  return {};
}

// A limit was changed: lets through who may.
Result<void> Ledger::OpenGates(Queue& queue) {
  std::vector<std::pair<Gate, std::string>> keys;
  CAIRN_RETURN_IF_ERROR(
      transaction_.Scan(store::Range::Prefix(Space::kJobs, NamedPrefix(family::kGate, queue.name)),
                        {}, [&](BytesView key, BytesView) {
                          if (const auto name = DecodeGateKey(key)) {
                            keys.emplace_back(name->gate, name->key);
                          }
                          return true;
                        }));
  for (const auto& [gate, key] : keys) {
    CAIRN_ASSIGN_OR_RETURN(GateRow* const row, GateOf(queue.name, gate, key));
    if (gate == Gate::kConcurrency) CAIRN_RETURN_IF_ERROR(Admit(queue, *row));
    if (gate != Gate::kRate) continue;
    if (row->state.due_ns != 0) {
      due_.Cancel(row->state.due_ns, DueKind::kKeyRate, queue.name, key);
    }
    CAIRN_RETURN_IF_ERROR(OpenRateGate(queue, key));
  }
  return {};
}

}  // namespace cairn::jobs
