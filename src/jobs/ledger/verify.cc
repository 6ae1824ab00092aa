#include "jobs/ledger/verify.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/hash.h"
#include "base/json_text.h"
#include "jobs/ledger/due.h"
#include "jobs/ledger/event.h"
#include "jobs/ledger/ledger.h"
#include "jobs/model/job.h"
#include "jobs/model/queue_state.h"

namespace cairn::jobs {
namespace {

using store::Space;

// What the jobs of a queue add up to, beside what its row says.
struct QueueCheck {
  QueueState counted;  // counts, line, parked
  std::optional<QueueState> stored;
  QueueConfig config;
  std::optional<Bytes> cursor;
  bool named = false;
  uint64_t first_removal_ns = 0;
};
struct GateCheck {
  int64_t used = 0;
  int64_t parked = 0;
  std::optional<GateState> stored;
};
struct BatchCheck {
  int64_t live = 0;
  bool stored = false;
};

class Verifier {
 public:
  Verifier(store::Reader& reader, house::Verification* progress)
      : reader_(reader), progress_(progress) {}

  Result<VerifyReport> Run() {
    CAIRN_RETURN_IF_ERROR(ReadQueues());
    CAIRN_RETURN_IF_ERROR(ReadGates());
    CAIRN_RETURN_IF_ERROR(ReadJobs());
    for (const std::string_view family :
         {family::kPending, family::kAppend, family::kParked, family::kScheduled, family::kRetrying,
          family::kHeld, family::kFinished}) {
      CAIRN_RETURN_IF_ERROR(Scan(family, [&](BytesView key, BytesView) { Expected(key); }));
    }
    CAIRN_RETURN_IF_ERROR(ReadActive());
    CAIRN_RETURN_IF_ERROR(ReadKeptKeys());
    CAIRN_RETURN_IF_ERROR(ReadDue());
    CAIRN_RETURN_IF_ERROR(ReadLocks());
    CAIRN_RETURN_IF_ERROR(ReadDependants());
    CAIRN_RETURN_IF_ERROR(ReadBatches());
    CAIRN_RETURN_IF_ERROR(ReadWindows());
    CAIRN_RETURN_IF_ERROR(ReadEvents());
    CheckMissing();
    CheckQueues();
    CheckGates();
    return std::move(report_);
  }

 private:
  template <typename Visit>
  Result<void> Scan(std::string_view family, Visit visit) {
    bool abandoned = false;
    CAIRN_RETURN_IF_ERROR(reader_.Scan(store::Range::Prefix(Space::kJobs, family), {},
                                       [&](BytesView key, BytesView value) {
                                         visit(key, value);
                                         abandoned = progress_ != nullptr && !progress_->Read();
                                         return !abandoned;
                                       }));
    if (abandoned) return Error{ErrorCode::kUnavailable, "the verification was cancelled"};
    return {};
  }

  template <typename... Args>
  void Problem(fmt::format_string<Args...> format, Args&&... args) {
    if (report_.problems.size() == kMaxProblems) {
      ++report_.more_problems;
      return;
    }
    report_.problems.push_back(fmt::format(format, std::forward<Args>(args)...));
  }

  // The owner of rows that is called so; its index.
  uint32_t AddOwner(std::string name) {
    owners_.push_back(std::move(name));
    return static_cast<uint32_t>(owners_.size() - 1);
  }
  // The owner at `index` must have this row.
  void Expect(BytesView key, uint32_t index) { expected_.emplace(Hash64(key), index); }
  // A row that is there: somebody must have wanted it.
  bool Expected(BytesView key) {
    if (expected_.erase(Hash64(key)) > 0) return true;
    Problem("the row {} belongs to nothing that stands there", Printable(key, 160));
    return false;
  }
  // Whoever waits for this time waits without end if the row is missing.
  void ExpectDue(uint64_t due_ns, DueKind kind, std::string_view queue, std::string_view key,
                 uint32_t owner) {
    if (due_ns != 0) Expect(DueKey(due_ns, static_cast<uint8_t>(kind), queue, key), owner);
  }

  Result<void> ReadQueues() {
    CAIRN_RETURN_IF_ERROR(Scan(family::kQueueState, [&](BytesView key, BytesView value) {
      const std::string name(DecodeNameKey(family::kQueueState, key).value_or(""));
      QueueCheck& queue = queues_[name];
      queue.stored = DecodeQueueState(value);
      if (!queue.stored)
        return Problem("the row {} cannot be decoded as a queue's state", Printable(key));
      const uint32_t owner = AddOwner(fmt::format("queue {}", name));
      ExpectDue(queue.stored->retention_due_ns, DueKind::kRetention, name, {}, owner);
      ExpectDue(queue.stored->throttle_due_ns, DueKind::kThrottle, name, {}, owner);
    }));
    CAIRN_RETURN_IF_ERROR(Scan(family::kQueueName, [&](BytesView key, BytesView) {
      queues_[std::string(DecodeNameKey(family::kQueueName, key).value_or(""))].named = true;
    }));
    CAIRN_RETURN_IF_ERROR(Scan(family::kQueueConfig, [&](BytesView key, BytesView value) {
      const Result<QueueConfig> config = ParseQueueConfig(value);
      if (!config.ok()) Problem("the row {} cannot be decoded as a configuration", Printable(key));
      const auto queue = queues_.find(DecodeNameKey(family::kQueueConfig, key).value_or(""));
      if (queue == queues_.end()) {
        Problem("the row {} configures a queue that does not exist", Printable(key));
      } else if (config.ok()) {
        queue->second.config = *config;
      }
    }));
    return Scan(family::kQueueCursor, [&](BytesView key, BytesView value) {
      queues_[std::string(DecodeNameKey(family::kQueueCursor, key).value_or(""))].cursor =
          Bytes(value);
    });
  }

  Result<void> ReadGates() {
    return Scan(family::kGate, [&](BytesView key, BytesView value) {
      const auto name = DecodeGateKey(key);
      const auto state = DecodeGateState(value);
      gates_[Bytes(key)].stored = state;
      if (!name || !state) return Problem("the row {} cannot be decoded as a gate", Printable(key));
      ExpectDue(state->due_ns, DueKind::kKeyRate, name->queue, name->key,
                AddOwner(fmt::format("the gate {}", Printable(key, 160))));
    });
  }

  Result<void> ReadJobs() {
    return Scan(family::kJob, [&](BytesView key, BytesView value) {
      const std::string id(DecodeNameKey(family::kJob, key).value_or(""));
      const Result<Job> job = DecodeJob(id, value);
      ++report_.jobs;
      if (!IsId(id)) Problem("{} is not the name of a job", Printable(id));
      if (!job.ok()) {
        Problem("{}", job.error().message);
        return;
      }
      ExpectRows(*job, AddOwner(id));
      Count(*job);
      Remember(*job);
    });
  }

  void ExpectRows(const Job& job, uint32_t index) {
    Expect(IndexKeyOf(job), index);
    const auto due = [&](uint64_t due_ns, DueKind kind) {
      Expect(DueKey(due_ns, static_cast<uint8_t>(kind), job.queue, job.id), index);
    };
    if (job.state == State::kActive) {
      Expect(job.lease_sharers == 0 ? LeaseRowKey(job) : InLeaseRow(LeaseRowKey(job), job.id),
             index);
      leases_[job.id] = job.lease_expires_ns;
      if (job.lease_token == 0) Problem("{} is active without a lease", job.id);
    }
    if (job.state == State::kScheduled || job.state == State::kRetrying) {
      due(job.index_ns, DueKind::kPromote);
    }
    const bool may_expire = job.state != State::kActive && !IsFinished(job.state);
    if (job.expire_ns != 0 && may_expire) due(job.expire_ns, DueKind::kExpire);
    if (!job.idempotency_key.empty()) Expect(IdempotencyKeyOf(job), index);
  }

  void Count(const Job& job) {
    QueueCheck& queue = queues_[job.queue];
    ++queue.counted.counts[static_cast<size_t>(job.state)];
    if (IsFinished(job.state)) {
      uint64_t& first = queue.first_removal_ns;
      if (first == 0 || job.index_ns < first) first = job.index_ns;
    }
    if (job.has_slot) ++GateCheckOf(job, Gate::kConcurrency, job.concurrency_key).used;
    if (job.has_slot && job.state != State::kPending && job.state != State::kActive) {
      Problem("{} is {} and holds a slot of its key", job.id, StateName(job.state));
    }
    if (job.state != State::kPending) return;
    if (job.gate == Gate::kOpen) {
      ++queue.counted.line[static_cast<size_t>(job.priority)];
      if (!job.concurrency_key.empty() && !job.has_slot) {
        Problem("{} is in the line without a slot of its key", job.id);
      }
      if (!job.group.empty() && job.priority == Priority::kNormal) {
        ++GateCheckOf(job, Gate::kGroup, job.group).used;
      }
      CheckCursor(queue, job);
      return;
    }
    ++queue.counted.parked;
    if (job.gate == Gate::kConcurrency) CountParked(job, job.concurrency_key);
    if (job.gate == Gate::kRate) CountParked(job, job.rate_key);
    if (job.gate == Gate::kGroup) CountParked(job, job.group);
    if (job.gate == Gate::kDependencies && job.waiting_for == 0) {
      Problem("{} waits for nothing at the gate of dependencies", job.id);
    }
  }

  GateCheck& GateCheckOf(const Job& job, Gate gate, std::string_view key) {
    return gates_[GateKey(job.queue, gate, key)];
  }

  void CountParked(const Job& job, std::string_view key) {
    GateCheck& gate = GateCheckOf(job, job.gate, key);
    ++gate.parked;
    // Who is let through next is looked for behind the cursor.
    if (gate.stored && job.index_ns <= gate.stored->cursor_ns) {
      Problem("{} stands before the cursor of its gate", job.id);
    }
  }

  void CheckCursor(const QueueCheck& queue, const Job& job) {
    if (job.priority == Priority::kNormal) {
      if (queue.cursor && IndexKeyOf(job) <= *queue.cursor) {
        Problem("{} stands before the cursor of queue {}", job.id, job.queue);
      }
    } else if (queue.stored &&
               job.index_ns <= queue.stored->cursor_ns[static_cast<size_t>(job.priority)]) {
      Problem("{} stands before the cursor of queue {}", job.id, job.queue);
    }
    if (queue.stored && job.index_ns > queue.stored->last_ns) {
      Problem("{} stands behind the last index time of queue {}", job.id, job.queue);
    }
  }

  void Remember(const Job& job) {
    if (!IsFinished(job.state)) {
      if (!job.unique_key.empty()) lockable_[job.id] = UniqueKey(job.queue, job.unique_key);
      if (!job.batch_id.empty()) ++batches_[job.batch_id].live;
    }
    if (job.has_dependents) awaited_.insert(job.id);
    if (job.waiting_for != 0) waiting_[job.id] = job.waiting_for;
    if (!job.depends_on.empty()) {
      for (const std::string& id : job.depends_on) named_.insert(Hash64(DependentKey(id, job.id)));
    }
  }

  Result<void> ReadActive() {
    return Scan(family::kActive, [&](BytesView key, BytesView value) {
      if (!Expected(key)) return;
      const auto pair = DecodePairKey(family::kActive, key);
      const auto lease = leases_.find(std::string(pair ? pair->second : ""));
      BytesReader reader(value);
      if (lease == leases_.end() || reader.Big64() != lease->second || !reader.AtEnd()) {
        Problem("the row {} and its job disagree about when the lease ends", Printable(key, 160));
      }
    });
  }

  Result<void> ReadDue() {
    CAIRN_RETURN_IF_ERROR(Scan(family::kWorker, [&](BytesView key, BytesView) {
      workers_.emplace(DecodeNameKey(family::kWorker, key).value_or(""));
    }));
    CAIRN_RETURN_IF_ERROR(Scan(family::kBatch, [&](BytesView key, BytesView) {
      batches_[std::string(DecodeNameKey(family::kBatch, key).value_or(""))].stored = true;
    }));
    return Scan(family::kDue, [&](BytesView key, BytesView value) { CheckDue(key, value); });
  }

  // Stands for a job's place in a row that it shares.
  static Bytes InLeaseRow(Bytes row, std::string_view job) {
    return row.append(1, '\0').append(job);
  }

  void CheckLeases(BytesView key, BytesView value) {
    if (value.empty()) {
      Expected(key);
      return;
    }
    for (const std::string& job : DecodeLeaseRow(value)) Expected(InLeaseRow(Bytes(key), job));
  }

  void CheckDue(BytesView key, BytesView value) {
    const auto entry = DecodeDueKey(key);
    if (!entry) return Problem("the row {} cannot be decoded as a due row", Printable(key, 160));
    bool fits = true;
    switch (static_cast<DueKind>(entry->kind)) {
      case DueKind::kLease:
        CheckLeases(key, value);
        return;
      case DueKind::kPromote:
      case DueKind::kExpire:
      case DueKind::kRetention:
      case DueKind::kThrottle:
      case DueKind::kKeyRate:
      case DueKind::kIdempotency:
        Expected(key);
        return;
      case DueKind::kWorker:
        fits = workers_.contains(std::string(entry->job));
        break;
      case DueKind::kBatch: {
        const auto batch = batches_.find(entry->job);
        fits = batch != batches_.end() && batch->second.stored;
        break;
      }
      case DueKind::kSchedule:
        break;
      default:
        fits = false;
    }
    if (!fits) Problem("the due row {} belongs to nothing", Printable(key, 160));
  }

  // Idempotency keys that are kept for a time of their own.
  Result<void> ReadKeptKeys() {
    return Scan(family::kIdempotency, [&](BytesView key, BytesView value) {
      const uint64_t until_ns = DecodeIdempotencyRow(value).until_ns;
      const auto pair = DecodePairKey(family::kIdempotency, key);
      if (!pair)
        return Problem("the row {} cannot be decoded as an idempotency key", Printable(key, 160));
      if (until_ns == 0) return;
      ExpectDue(until_ns, DueKind::kIdempotency, pair->first, pair->second,
                AddOwner(fmt::format("the idempotency key {}", Printable(key, 160))));
    });
  }

  Result<void> ReadLocks() {
    CAIRN_RETURN_IF_ERROR(Scan(family::kUnique, [&](BytesView key, BytesView value) {
      const auto lock = DecodeUniqueLock(value);
      const auto owner = lock ? lockable_.find(lock->job) : lockable_.end();
      if (owner == lockable_.end() || owner->second != key) {
        Problem("the unique lock {} points to no live job that has it", Printable(key, 160));
      }
    }));
    return Scan(family::kIdempotency, [&](BytesView key, BytesView value) {
      if (DecodeIdempotencyRow(value).until_ns == 0) Expected(key);
    });
  }

  Result<void> ReadDependants() {
    CAIRN_RETURN_IF_ERROR(Scan(family::kDependent, [&](BytesView key, BytesView) {
      const auto pair = DecodePairKey(family::kDependent, key);
      if (!pair)
        return Problem("the row {} cannot be decoded as a dependency", Printable(key, 160));
      if (!awaited_.contains(std::string(pair->first))) {
        Problem("{} waits for {}, which does not know of it or has ended", pair->second,
                pair->first);
      }
      // Who has been cancelled meanwhile waits for nothing any more.
      const auto waits = waiting_.find(std::string(pair->second));
      if (waits == waiting_.end()) return;
      --waits->second;
      if (!named_.contains(Hash64(key))) {
        Problem("{} waits for {} without naming it", pair->second, pair->first);
      }
    }));
    for (const auto& [id, left] : waiting_) {
      if (left != 0) Problem("{} waits for {} more than it is registered with", id, left);
    }
    return {};
  }

  Result<void> ReadBatches() {
    for (const auto& [id, check] : batches_) {
      CAIRN_ASSIGN_OR_RETURN(const auto batch, LoadBatch(reader_, id));
      if (!batch) continue;  // done and removed, while members were run again
      if (batch->pending != check.live) {
        Problem("{} counts {} members that have not ended, of {}", id, batch->pending, check.live);
      }
      const int64_t sum = batch->pending + batch->succeeded + batch->failed + batch->cancelled;
      if (sum != batch->total) Problem("{} counts {} members of {}", id, sum, batch->total);
      if (batch->sealed && batch->pending == 0 && !batch->done) Problem("{} is not done", id);
    }
    return {};
  }

  Result<void> ReadWindows() {
    CAIRN_RETURN_IF_ERROR(Scan(family::kRate, [&](BytesView key, BytesView) {
      const BytesView name = key.substr(family::kRate.size());
      ++queues_[std::string(name.substr(0, name.find('\0')))].counted.window_count;
    }));
    return Scan(family::kKeyRate, [&](BytesView key, BytesView) {
      const auto pair = DecodePairKey(family::kKeyRate, key);
      if (!pair || pair->second.size() <= 17) return Problem("bad row {}", Printable(key, 160));
      const std::string_view name = pair->second.substr(0, pair->second.size() - 17);
      ++gates_[GateKey(pair->first, Gate::kRate, name)].used;
    });
  }

  Result<void> ReadEvents() {
    CAIRN_ASSIGN_OR_RETURN(const EventTail tail, LoadEventTail(reader_));
    uint64_t counted = 0;
    CAIRN_RETURN_IF_ERROR(Scan(family::kEvent, [&](BytesView key, BytesView value) {
      const Result<std::vector<Event>> events = DecodeEvents(key, value);
      if (!events.ok()) return Problem("the row {} cannot be decoded as an event", Printable(key));
      report_.events += static_cast<int64_t>(events->size());
      const uint64_t number = events->back().number;
      if (number <= tail.removed) Problem("event {} should have been removed", number);
      if (number <= tail.counted) counted += events->size();
    }));
    if (counted != tail.count) {
      Problem("the event log counts {} events, of {}", tail.count, counted);
    }
    return {};
  }

  void CheckMissing() {
    for (const auto& [hash, index] : expected_) Problem("{} lacks a row", owners_[index]);
  }

  void CheckQueues() {
    for (const auto& [name, queue] : queues_) {
      ++report_.queues;
      if (!queue.stored || !queue.named) {
        Problem("queue {} lacks its state or its name", name);
        continue;
      }
      const QueueState& stored = *queue.stored;
      for (size_t state = 0; state < kStates; ++state) {
        if (stored.counts[state] == queue.counted.counts[state]) continue;
        Problem("queue {} counts {} jobs {}, of {}", name, stored.counts[state],
                StateName(static_cast<State>(state)), queue.counted.counts[state]);
      }
      if (stored.line != queue.counted.line) Problem("queue {} miscounts its line", name);
      if (stored.parked != queue.counted.parked) Problem("queue {} miscounts the parked", name);
      if (stored.window_count != queue.counted.window_count) {
        Problem("queue {} counts {} starts, of {}", name, stored.window_count,
                queue.counted.window_count);
      }
      const bool covers =
          stored.retention_due_ns != 0 && stored.retention_due_ns <= queue.first_removal_ns;
      if (queue.first_removal_ns != 0 && !covers) {
        Problem("queue {} has finished jobs that nothing will remove", name);
      }
    }
  }

  void CheckGates() {
    for (const auto& [key, gate] : gates_) {
      const GateState stored = gate.stored.value_or(GateState());
      if (stored.used != gate.used || stored.parked != gate.parked) {
        Problem("the gate {} counts {} and {} parked, of {} and {}", Printable(key, 160),
                stored.used, stored.parked, gate.used, gate.parked);
      }
      const auto name = DecodeGateKey(key);
      if (name && gate.parked > 0 && IsLeftShut(*name, gate)) {
        Problem("the gate {} is shut for {} jobs, and nothing will open it", Printable(key, 160),
                gate.parked);
      }
    }
  }

  // Those parked at a gate are let through by who gives back what they wait for: the end of a job
  // that has a slot, a worker that takes the group's job from the line, the time at which a start
  // leaves the window. A gate at which somebody waits, and none of these can come, stays shut.
  bool IsLeftShut(const GateName& name, const GateCheck& gate) const {
    const auto queue = queues_.find(name.queue);
    const QueueConfig config = queue == queues_.end() ? QueueConfig() : queue->second.config;
    switch (name.gate) {
      case Gate::kConcurrency:
        return gate.used < config.key_concurrency;
      case Gate::kGroup:
        return gate.used == 0;
      case Gate::kRate:
        return config.key_rate_limit == 0 || !gate.stored || gate.stored->due_ns == 0;
      default:
        return true;
    }
  }

  store::Reader& reader_;
  house::Verification* const progress_;
  VerifyReport report_;
  std::vector<std::string> owners_;                  // of rows, by index: jobs, queues, gates
  std::unordered_map<uint64_t, uint32_t> expected_;  // hashes of rows that must be there
  std::map<std::string, QueueCheck, std::less<>> queues_;
  std::map<Bytes, GateCheck> gates_;
  std::map<std::string, BatchCheck, std::less<>> batches_;
  std::unordered_map<std::string, uint64_t> leases_;
  std::unordered_map<std::string, Bytes> lockable_;   // live jobs with the key of their lock
  std::unordered_map<std::string, int64_t> waiting_;  // for so many
  std::unordered_set<std::string> awaited_;
  std::unordered_set<uint64_t> named_;  // hashes of dp| rows that jobs name
  std::unordered_set<std::string> workers_;
};

}  // namespace

std::string VerifyReport::ToJson() const {
  std::string out = fmt::format(R"({{"sound":{},"queues":{},"jobs":{},"events":{},"problems":[)",
                                sound(), queues, jobs, events);
  for (const std::string& problem : problems) {
    if (&problem != problems.data()) out.push_back(',');
    AppendJsonString(problem, out);
  }
  out += fmt::format(R"(],"more_problems":{}}})", more_problems);
  return out;
}

Result<VerifyReport> Verify(store::Reader& reader, house::Verification* progress) {
  return Verifier(reader, progress).Run();
}

}  // namespace cairn::jobs
