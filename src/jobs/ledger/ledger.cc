#include "jobs/ledger/ledger.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "jobs/model/chain.h"
#include "jobs/model/limits.h"
#include "jobs/model/topics.h"

namespace cairn::jobs {
namespace {

using store::Space;

constexpr uint64_t kNsPerMs = 1'000'000;

bool MayExpire(State state) { return state != State::kActive && !IsFinished(state); }

int64_t& CountOf(QueueState& state, State of) { return state.counts[static_cast<size_t>(of)]; }

}  // namespace

Result<void> Ledger::Require(Lane lane) {
  if (context_.held.Covers(lane)) return {};
  context_.held.wants_everything = true;
  return Error{ErrorCode::kWouldBlock, "the operation touches more than its scopes"};
}

Result<Ledger::Queue*> Ledger::QueueOf(std::string_view name) {
  const auto found = queues_.find(name);
  if (found != queues_.end()) return &found->second;
  CAIRN_RETURN_IF_ERROR(RequireQueue(name));
  CAIRN_ASSIGN_OR_RETURN(const auto state, LoadQueueState(transaction_, name));
  Queue queue{.name = std::string(name), .exists = state.has_value()};
  if (state) queue.state = *state;
  return &queues_.emplace(queue.name, std::move(queue)).first->second;
}

Result<const QueueConfig*> Ledger::ConfigOf(Queue& queue) {
  if (!queue.config) {
    CAIRN_ASSIGN_OR_RETURN(queue.config, LoadQueueConfig(transaction_, queue.name));
  }
  return &*queue.config;
}

uint64_t Ledger::NextNs(Queue& queue) {
  queue.state.last_ns = std::max(queue.state.last_ns + 1, now_ns());
  queue.changed = true;
  return queue.state.last_ns;
}

Result<void> Ledger::Expect(std::span<const std::string_view> ids) {
  std::vector<Bytes> keys;
  keys.reserve(ids.size());
  for (const std::string_view id : ids) keys.push_back(JobKey(id));
  std::vector<store::Key> borrowed;
  borrowed.reserve(keys.size());
  for (const Bytes& key : keys) borrowed.push_back(InJobs(key));
  return transaction_.Expect(borrowed);
}

Result<Job> Ledger::Load(std::string_view id) {
  if (const auto lane = FirstLaneOfId(id)) {
    CAIRN_RETURN_IF_ERROR(Require(*lane));
    CAIRN_ASSIGN_OR_RETURN(const auto document, transaction_.Get(InJobs(JobKey(id))));
    if (document) return DecodeJob(id, *document);
  }
  return NoSuchJob(id);
}

Result<Job> Ledger::LoadNamed(std::string_view id) {
  Result<Job> job = Load(id);
  if (job.ok()) CAIRN_RETURN_IF_ERROR(CheckJob(context_.queues, *job));
  return job;
}

void Ledger::SetDueRows(const Job& job) {
  CAIRN_CHECK((job.state == State::kActive) == (job.lease_expires_ns != 0),
              "{} is {}, leased to {}", job.id, StateName(job.state), job.lease_expires_ns);
  if (job.state == State::kActive) leases_.Set(job);
  if (job.state == State::kScheduled || job.state == State::kRetrying) {
    due_.Set(job.index_ns, DueKind::kPromote, job.queue, job.id);
  }
  if (job.expire_ns != 0 && MayExpire(job.state)) {
    due_.Set(job.expire_ns, DueKind::kExpire, job.queue, job.id);
  }
}

void Ledger::CancelDueRows(Job& job) {
  if (job.state == State::kActive) leases_.Release(job);
  if (job.state == State::kScheduled || job.state == State::kRetrying) {
    due_.Cancel(job.index_ns, DueKind::kPromote, job.queue, job.id);
  }
  if (job.expire_ns != 0 && MayExpire(job.state)) {
    due_.Cancel(job.expire_ns, DueKind::kExpire, job.queue, job.id);
  }
}

Result<void> Ledger::Leave(Job& job) {
  CAIRN_ASSIGN_OR_RETURN(Queue* const queue, QueueOf(job.queue));
  transaction_.Delete(InJobs(IndexKeyOf(job)));
  CancelDueRows(job);
  queue->changed = true;
  --CountOf(queue->state, job.state);
  const Gate gate = std::exchange(job.gate, Gate::kOpen);
  if (job.state == State::kActive) {
    if (queue->state.wakes_on_end) WakeQueue(job.queue);
    if (CountOf(queue->state, State::kActive) == 0) transaction_.Wake(QueueIdleTopic(job.queue));
  }
  if (job.state != State::kPending) return {};
  if (gate != Gate::kOpen) {
    --queue->state.parked;
    if (gate == Gate::kDependencies) return {};
    const std::string& key = gate == Gate::kConcurrency ? job.concurrency_key
                             : gate == Gate::kRate      ? job.rate_key
                                                        : job.group;
    CAIRN_ASSIGN_OR_RETURN(GateRow* const row, GateOf(job.queue, gate, key));
    --row->state.parked;
    return {};
  }
  --queue->state.line[static_cast<size_t>(job.priority)];
  if (job.group.empty() || job.priority != Priority::kNormal) return {};
  CAIRN_ASSIGN_OR_RETURN(GateRow* const row, GateOf(job.queue, Gate::kGroup, job.group));
  --row->state.used;
  return Admit(*queue, *row);
}

Result<void> Ledger::Enter(Job& job) {
  CAIRN_CHECK(!job.id.empty() && !job.queue.empty());
  CAIRN_CHECK(job.gate == Gate::kOpen, "{} enters through a closed gate", job.id);
  CAIRN_ASSIGN_OR_RETURN(Queue* const queue, QueueOf(job.queue));
  queue->changed = true;
  if (job.state != State::kPending && job.state != State::kActive) {
    CAIRN_RETURN_IF_ERROR(ReleaseSlot(*queue, job));
  }
  if (job.state == State::kPending) return EnterPending(*queue, job, Gate::kOpen);
  ++CountOf(queue->state, job.state);
  Bytes value;
  if (job.state == State::kActive) AppendBig64(value, job.lease_expires_ns);
  if (job.state == State::kHeld) job.index_ns = NextNs(*queue);
  if (IsFinished(job.state)) NoteRetention(*queue, job.index_ns);
  transaction_.Put(InJobs(IndexKeyOf(job)), value);
  SetDueRows(job);
  Store(job);
  return {};
}

void Ledger::Store(const Job& job) { transaction_.Put(InJobs(JobKey(job.id)), EncodeJob(job)); }

void Ledger::Relet(Job& job, uint64_t expires_ns) {
  CAIRN_CHECK(job.state == State::kActive, "{} is {} and has no lease", job.id,
              StateName(job.state));
  CAIRN_CHECK(expires_ns > 0 && job.lease_token != 0, "{} until {}", job.id, expires_ns);
  CancelDueRows(job);
  job.lease_expires_ns = expires_ns;
  Bytes value;
  AppendBig64(value, expires_ns);
  transaction_.Put(InJobs(ActiveKey(job.queue, job.id)), value);
  SetDueRows(job);
}

void Ledger::NoteRetention(Queue& queue, uint64_t remove_ns) {
  uint64_t& due_ns = queue.state.retention_due_ns;
  if (due_ns != 0 && due_ns <= remove_ns) return;
  if (due_ns != 0) due_.Cancel(due_ns, DueKind::kRetention, queue.name, {});
  due_ns = remove_ns;
  due_.Set(due_ns, DueKind::kRetention, queue.name, {});
}

Result<void> Ledger::Erase(const Job& job) {
  CAIRN_RETURN_IF_ERROR(DeleteRows(job));
  Tell(EventType::kDeleted, job);
  transaction_.Wake(JobTopic(job.id));
  return {};
}

Result<void> Ledger::DeleteRows(const Job& job) {
  transaction_.Delete(InJobs(JobKey(job.id)));
  if (job.has_errors) {
    std::vector<Bytes> rows;
    CAIRN_RETURN_IF_ERROR(transaction_.Scan(
        store::Range::Prefix(Space::kJobs, NamedPrefix(family::kJobError, job.id)), {},
        [&](BytesView key, BytesView) {
          rows.emplace_back(key);
          return true;
        }));
    for (const Bytes& key : rows) transaction_.Delete(InJobs(key));
  }
  if (!job.idempotency_key.empty()) {
    transaction_.Delete(InJobs(IdempotencyKeyOf(job)));
  }
  return {};
}

Result<void> Ledger::Remove(Job& job, std::string_view reason) {
  CAIRN_RETURN_IF_ERROR(Leave(job));
  if (!IsFinished(job.state)) {
    job.reason = reason;
    CAIRN_RETURN_IF_ERROR(End(job, State::kCancelled));
    CAIRN_RETURN_IF_ERROR(Leave(job));
  }
  return Erase(job);
}

void Ledger::KeepIdempotencyKey(std::string_view queue, std::string_view key,
                                std::string_view job) {
  const uint64_t until_ns = now_ns() + static_cast<uint64_t>(kDefaultRetentionMs) * kNsPerMs;
  transaction_.Put(InJobs(IdempotencyKey(queue, key)),
                   EncodeIdempotencyRow({.job = std::string(job), .until_ns = until_ns}));
  due_.Set(until_ns, DueKind::kIdempotency, queue, key);
}

Result<void> Ledger::GiveUpSlot(Job& job) {
  CAIRN_ASSIGN_OR_RETURN(Queue* const queue, QueueOf(job.queue));
  return ReleaseSlot(*queue, job);
}

Result<void> Ledger::Add(Job& job) {
  CAIRN_CHECK(job.state != State::kActive && !IsFinished(job.state), "a new job is {}",
              StateName(job.state));
  CAIRN_ASSIGN_OR_RETURN(Queue* const queue, QueueOf(job.queue));
  const uint64_t ns = NextNs(*queue);
  if (job.id.empty()) {
    IdParts parts{.ns = ns, .lane = LaneOfQueue(job.queue), .serial = transaction_.NewStamp()};
    if (!job.batch_id.empty()) parts.extra.push_back(FirstLaneOfId(job.batch_id).value_or(0));
    if (!job.chain_config.empty()) AddChainLanes(job, parts.extra);
    job.id = MakeId(parts);
  }
  job.created_ns = now_ns();
  ++queue->state.enqueued;
  CAIRN_RETURN_IF_ERROR(Enter(job));
  std::string_view data;
  if (job.state == State::kScheduled) data = R"({"state":"scheduled"})";
  Tell(EventType::kEnqueued, job, data);
  return {};
}

void Ledger::Tell(EventType type, const Job& job, std::string_view data) {
  events_.Add({.type = type, .job = job.id, .queue = job.queue, .data = data});
}

void Ledger::Tell(EventType type, std::string_view queue, std::string_view data) {
  events_.Add({.type = type, .queue = queue, .data = data});
}

void Ledger::WakeQueue(std::string_view queue) {
  if (std::ranges::find(woken_, queue) == woken_.end()) woken_.emplace_back(queue);
}

Result<void> Ledger::Save() {
  CAIRN_RETURN_IF_ERROR(TellDependants());
  CAIRN_CHECK(ended_.empty(), "{} jobs have ended that nobody was told of", ended_.size());
  CAIRN_RETURN_IF_ERROR(leases_.Save());
  for (auto& [name, queue] : queues_) {
    if (!std::exchange(queue.changed, false)) continue;
    if (!std::exchange(queue.exists, true)) {
      queue.state.created_ns = now_ns();
      transaction_.Put(InJobs(QueueNameKey(name)), {});
    }
    transaction_.Put(InJobs(QueueStateKey(name)), EncodeQueueState(queue.state));
  }
  for (auto& [key, row] : gates_) {
    if (!row.state.empty()) {
      transaction_.Put(InJobs(key), EncodeGateState(row.state));
      row.stored = true;
    } else if (std::exchange(row.stored, false)) {
      transaction_.Delete(InJobs(key));
    }
  }
  for (auto& [id, row] : batches_) {
    if (std::exchange(row.changed, false))
      transaction_.Put(InJobs(BatchKey(id)), BatchJson(row.batch));
  }
  for (const std::string& queue : woken_) transaction_.Wake(QueueTopic(queue));
  events_.Write();
  return {};
}

}  // namespace cairn::jobs
