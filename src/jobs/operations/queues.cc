#include "jobs/operations/queues.h"

#include <fmt/format.h>

#include <array>

#include "jobs/ledger/due.h"
#include "jobs/ledger/ledger.h"
#include "jobs/model/refusal.h"
#include "jobs/model/topics.h"

namespace cairn::jobs {
namespace {

using store::Space;

// Jobs removed in one transaction.
constexpr size_t kSweepBatch = 500;

Result<void> CheckQueueName(std::string_view queue) {
  if (IsName(queue, kMaxQueueNameBytes)) return {};
  return Refuse(Reason::kQueue,
                fmt::format("the name of a queue is 1 to {} bytes of text without control "
                            "characters",
                            kMaxQueueNameBytes));
}

// Changes the configuration by `change` and tells of it.
template <typename Change>
Result<QueueConfig> Configure(Context& context, std::string_view name, EventType type,
                              Change change) {
  CAIRN_RETURN_IF_ERROR(CheckQueueName(name));
  CAIRN_RETURN_IF_ERROR(CheckQueue(context.queues, name));
  Ledger ledger(context);
  CAIRN_ASSIGN_OR_RETURN(Ledger::Queue* const queue, ledger.QueueOf(name));
  CAIRN_RETURN_IF_ERROR(ledger.ConfigOf(*queue));
  QueueConfig config = *queue->config;
  CAIRN_RETURN_IF_ERROR(change(config));
  config.created_ns = queue->exists ? queue->state.created_ns : ledger.now_ns();
  const bool gates = config.key_concurrency != queue->config->key_concurrency ||
                     config.key_rate_limit != queue->config->key_rate_limit ||
                     config.key_rate_window_ms != queue->config->key_rate_window_ms;
  const bool throttle = config.rate_limit != queue->config->rate_limit ||
                        config.rate_window_ms != queue->config->rate_window_ms;
  queue->config = config;
  queue->changed = true;
  queue->state.wakes_on_end = config.max_concurrency > 0;
  context.transaction.Put(InJobs(QueueConfigKey(name)), QueueConfigJson(config));
  if (gates) CAIRN_RETURN_IF_ERROR(ledger.OpenGates(*queue));
  if (throttle) CAIRN_RETURN_IF_ERROR(ledger.ResetThrottle(*queue));
  ledger.Tell(type, name);
  ledger.WakeQueue(name);
  CAIRN_RETURN_IF_ERROR(ledger.Save());
  return config;
}

Result<void> Plainly(const Result<QueueConfig>& configured) {
  if (!configured.ok()) return configured.error();
  return {};
}

// The index time of the first in the line of a priority, which is not empty.
Result<uint64_t> HeadOf(store::Reader& reader, std::string_view name, const QueueState& state,
                        Priority priority) {
  const bool normal = priority == Priority::kNormal;
  Bytes prefix = NamedPrefix(normal ? family::kAppend : family::kPending, name);
  if (!normal) prefix.push_back(static_cast<char>(priority));
  store::Range range = store::Range::Prefix(Space::kJobs, prefix);
  if (normal) {
    CAIRN_ASSIGN_OR_RETURN(const auto cursor, reader.Get(InJobs(QueueCursorKey(name))));
    if (cursor) range.begin = *cursor + '\0';
  } else {
    AppendBig64(range.begin, state.cursor_ns[static_cast<size_t>(priority)] + 1);
  }
  uint64_t head_ns = 0;
  CAIRN_RETURN_IF_ERROR(reader.Scan(range, {.limit = 1}, [&](BytesView key, BytesView) {
    head_ns = BytesReader(key.substr(prefix.size())).Big64();
    return false;
  }));
  return head_ns;
}

Result<QueueInfo> InfoOf(store::Reader& reader, std::string_view name, const QueueState& state) {
  QueueInfo info{.name = std::string(name)};
  CAIRN_ASSIGN_OR_RETURN(info.config, LoadQueueConfig(reader, name));
  info.counts = state.counts;
  info.parked = state.parked;
  info.enqueued = state.enqueued;
  info.created_ns = state.created_ns;
  for (const Priority priority : {Priority::kCritical, Priority::kHigh, Priority::kNormal}) {
    if (state.line[static_cast<size_t>(priority)] == 0) continue;
    CAIRN_ASSIGN_OR_RETURN(const uint64_t head_ns, HeadOf(reader, name, state, priority));
    if (info.oldest_pending_ns == 0 || head_ns < info.oldest_pending_ns) {
      info.oldest_pending_ns = head_ns;
    }
  }
  return info;
}

// Where the jobs of the given states stand, kSweepBatch at most.
Result<std::vector<std::string>> JobsIn(store::Transaction& transaction, std::string_view queue,
                                        std::span<const std::string_view> families) {
  std::vector<std::string> jobs;
  for (const std::string_view family : families) {
    if (jobs.size() >= kSweepBatch) break;
    CAIRN_RETURN_IF_ERROR(
        transaction.Scan(store::Range::Prefix(Space::kJobs, NamedPrefix(family, queue)),
                         {.limit = kSweepBatch - jobs.size()}, [&](BytesView key, BytesView) {
                           // Every index key ends with the job's name, which holds no zero byte and
                           // begins so.
                           const size_t at = key.rfind("job_");
                           if (at != BytesView::npos) jobs.emplace_back(key.substr(at));
                           return true;
                         }));
  }
  return jobs;
}

constexpr std::array kWaiting = {family::kPending, family::kAppend, family::kParked,
                                 family::kScheduled, family::kRetrying};
constexpr std::array kAnywhere = {family::kPending,   family::kAppend,   family::kParked,
                                  family::kScheduled, family::kRetrying, family::kActive,
                                  family::kHeld,      family::kFinished};

Result<Sweep> RemoveJobs(Ledger& ledger, std::string_view queue,
                         std::span<const std::string_view> families, std::string_view reason) {
  CAIRN_ASSIGN_OR_RETURN(const auto jobs, JobsIn(ledger.transaction(), queue, families));
  Sweep sweep{.more = jobs.size() == kSweepBatch};
  for (const std::string& id : jobs) {
    CAIRN_ASSIGN_OR_RETURN(Job job, ledger.Load(id));
    CAIRN_RETURN_IF_ERROR(ledger.Remove(job, reason));
    ++sweep.removed;
  }
  return sweep;
}

Result<void> DeleteAll(store::Transaction& transaction, BytesView prefix) {
  std::vector<Bytes> keys;
  CAIRN_RETURN_IF_ERROR(transaction.Scan(store::Range::Prefix(Space::kJobs, prefix), {},
                                         [&](BytesView key, BytesView) {
                                           keys.emplace_back(key);
                                           return true;
                                         }));
  for (const Bytes& key : keys) transaction.Delete(InJobs(key));
  return {};
}

// Those of jobs that are elsewhere now, and those that outlive theirs.
Result<void> RemoveIdempotencyRows(store::Transaction& transaction, std::string_view queue) {
  const Bytes prefix = NamedPrefix(family::kIdempotency, queue);
  std::vector<std::pair<Bytes, uint64_t>> rows;
  CAIRN_RETURN_IF_ERROR(transaction.Scan(
      store::Range::Prefix(Space::kJobs, prefix), {}, [&](BytesView key, BytesView value) {
        rows.emplace_back(key, DecodeIdempotencyRow(value).until_ns);
        return true;
      }));
  for (const auto& [key, until_ns] : rows) {
    if (until_ns == 0) continue;
    transaction.Delete(InJobs(key));
    CancelDue(transaction, until_ns, DueKind::kIdempotency, queue,
              BytesView(key).substr(prefix.size()));
  }
  return {};
}

// All that is left of a queue without jobs.
Result<void> RemoveRows(store::Transaction& transaction, const Ledger::Queue& queue) {
  const QueueState& state = queue.state;
  if (state.retention_due_ns != 0) {
    CancelDue(transaction, state.retention_due_ns, DueKind::kRetention, queue.name, {});
  }
  if (state.throttle_due_ns != 0) {
    CancelDue(transaction, state.throttle_due_ns, DueKind::kThrottle, queue.name, {});
  }
  CAIRN_RETURN_IF_ERROR(DeleteAll(transaction, NamedPrefix(family::kRate, queue.name)));
  CAIRN_RETURN_IF_ERROR(DeleteAll(transaction, NamedPrefix(family::kKeyRate, queue.name)));
  CAIRN_RETURN_IF_ERROR(RemoveIdempotencyRows(transaction, queue.name));
  std::vector<std::pair<Bytes, uint64_t>> gates;
  CAIRN_RETURN_IF_ERROR(
      transaction.Scan(store::Range::Prefix(Space::kJobs, NamedPrefix(family::kGate, queue.name)),
                       {}, [&](BytesView key, BytesView value) {
                         const auto gate = DecodeGateState(value);
                         gates.emplace_back(key, gate ? gate->due_ns : 0);
                         return true;
                       }));
  for (const auto& [key, due_ns] : gates) {
    const auto name = DecodeGateKey(key);
    if (name && due_ns != 0) {
      CancelDue(transaction, due_ns, DueKind::kKeyRate, queue.name, name->key);
    }
    transaction.Delete(InJobs(key));
  }
  transaction.Delete(InJobs(QueueNameKey(queue.name)));
  transaction.Delete(InJobs(QueueConfigKey(queue.name)));
  transaction.Delete(InJobs(QueueStateKey(queue.name)));
  transaction.Delete(InJobs(QueueCursorKey(queue.name)));
  return {};
}

Error NoQueue(std::string_view name) {
  return Refuse(Reason::kNotFound, fmt::format("there is no queue {}", Printable(name, 64)));
}

}  // namespace

Result<std::vector<QueueInfo>> ListQueues(store::Reader& reader) {
  std::vector<std::string> names;
  CAIRN_RETURN_IF_ERROR(reader.Scan(
      store::Range::Prefix(Space::kJobs, family::kQueueName), {}, [&](BytesView key, BytesView) {
        if (const auto name = DecodeNameKey(family::kQueueName, key)) {
          names.emplace_back(*name);
        }
        return true;
      }));
  std::vector<QueueInfo> queues;
  for (const std::string& name : names) {
    CAIRN_ASSIGN_OR_RETURN(queues.emplace_back(), GetQueue(reader, name));
  }
  return queues;
}

Result<QueueInfo> GetQueue(store::Reader& reader, std::string_view queue) {
  CAIRN_ASSIGN_OR_RETURN(const auto state, LoadQueueState(reader, queue));
  if (!state) return NoQueue(queue);
  return InfoOf(reader, queue, *state);
}

Result<void> PauseQueue(Context& context, std::string_view queue) {
  return Plainly(
      Configure(context, queue, EventType::kQueuePaused, [](QueueConfig& config) -> Result<void> {
        config.paused = true;
        return {};
      }));
}

Result<void> ResumeQueue(Context& context, std::string_view queue) {
  return Plainly(
      Configure(context, queue, EventType::kQueueResumed, [](QueueConfig& config) -> Result<void> {
        config.paused = false;
        config.draining = false;
        return {};
      }));
}

Result<int64_t> DrainQueue(Context& context, std::string_view queue) {
  CAIRN_RETURN_IF_ERROR(
      Configure(context, queue, EventType::kQueueDraining, [](QueueConfig& config) -> Result<void> {
        config.paused = true;
        config.draining = true;
        return {};
      }));
  CAIRN_ASSIGN_OR_RETURN(const auto state, LoadQueueState(context.transaction, queue));
  return state ? state->counts[static_cast<size_t>(State::kActive)] : 0;
}

Result<QueueConfig> ConfigureQueue(Context& context, std::string_view queue,
                                   std::string_view json_patch) {
  return Configure(
      context, queue, EventType::kQueueConfigured, [&](QueueConfig& config) -> Result<void> {
        CAIRN_ASSIGN_OR_RETURN(const QueueConfig patched, PatchQueueConfig(config, json_patch));
        if (patched.created_ns != config.created_ns) {
          return Refuse(Reason::kQueue, "created_ns cannot be set");
        }
        config = patched;
        return {};
      });
}

Result<void> SetConcurrency(Context& context, std::string_view queue, int64_t max) {
  if (max > kMaxConcurrency) {
    return Refuse(Reason::kQueue, fmt::format("max must be at most {}", kMaxConcurrency));
  }
  return Plainly(Configure(context, queue, EventType::kQueueConfigured,
                           [&](QueueConfig& config) -> Result<void> {
                             config.max_concurrency = std::max<int64_t>(max, 0);
                             return {};
                           }));
}

Result<void> SetThrottle(Context& context, std::string_view queue, int64_t rate,
                         int64_t window_ms) {
  if (rate < 1 || rate > kMaxRateLimit || window_ms < 1 || window_ms > kMaxDelayMs) {
    return Refuse(Reason::kQueue,
                  fmt::format("rate must be 1 to {}, and window_ms above 0", kMaxRateLimit));
  }
  return Plainly(Configure(context, queue, EventType::kQueueConfigured,
                           [&](QueueConfig& config) -> Result<void> {
                             config.rate_limit = rate;
                             config.rate_window_ms = window_ms;
                             return {};
                           }));
}

Result<void> RemoveThrottle(Context& context, std::string_view queue) {
  return Plainly(Configure(context, queue, EventType::kQueueConfigured,
                           [](QueueConfig& config) -> Result<void> {
                             config.rate_limit = 0;
                             config.rate_window_ms = 0;
                             return {};
                           }));
}

Result<Sweep> ClearQueue(Context& context, std::string_view name) {
  CAIRN_RETURN_IF_ERROR(CheckQueue(context.queues, name));
  Ledger ledger(context);
  CAIRN_ASSIGN_OR_RETURN(const Ledger::Queue* const queue, ledger.QueueOf(name));
  if (!queue->exists) return NoQueue(name);
  CAIRN_ASSIGN_OR_RETURN(const Sweep sweep,
                         RemoveJobs(ledger, name, kWaiting, "its queue was cleared"));
  ledger.Tell(EventType::kQueueCleared, name, fmt::format(R"({{"count":{}}})", sweep.removed));
  CAIRN_RETURN_IF_ERROR(ledger.Save());
  return sweep;
}

Result<Sweep> DeleteQueue(Context& context, std::string_view name) {
  CAIRN_RETURN_IF_ERROR(CheckQueue(context.queues, name));
  Ledger ledger(context);
  CAIRN_ASSIGN_OR_RETURN(const Ledger::Queue* const queue, ledger.QueueOf(name));
  if (!queue->exists) return NoQueue(name);
  CAIRN_ASSIGN_OR_RETURN(Sweep sweep, RemoveJobs(ledger, name, kAnywhere, "its queue was deleted"));
  // What the end of a job leads to may have put a new one here.
  CAIRN_RETURN_IF_ERROR(ledger.Save());
  CAIRN_ASSIGN_OR_RETURN(const auto left, JobsIn(ledger.transaction(), name, kAnywhere));
  sweep.more = !left.empty();
  if (sweep.more) return sweep;
  CAIRN_RETURN_IF_ERROR(RemoveRows(ledger.transaction(), *queue));
  AppendEvent(ledger.transaction(), {.type = EventType::kQueueDeleted, .queue = name});
  ledger.transaction().Wake(QueueTopic(name));
  return sweep;
}

void KeepAllowed(const doors::NamePatterns* queues, std::vector<QueueInfo>& list) {
  std::erase_if(list, [&](const QueueInfo& queue) { return !doors::Allows(queues, queue.name); });
}

}  // namespace cairn::jobs
