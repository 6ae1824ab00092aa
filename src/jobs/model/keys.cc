#include "jobs/model/keys.h"

#include "base/check.h"

namespace cairn::jobs {
namespace {

constexpr char kEnd = '\0';

Bytes Begin(std::string_view family, size_t size) {
  Bytes key;
  key.reserve(family.size() + size);
  key.append(family);
  return key;
}

void AppendName(Bytes& key, std::string_view name) {
  key.append(name);
  key.push_back(kEnd);
}

Bytes Timed(std::string_view family, std::string_view queue, uint64_t ns, std::string_view job) {
  Bytes key = Begin(family, queue.size() + job.size() + 9);
  AppendName(key, queue);
  AppendBig64(key, ns);
  key.append(job);
  return key;
}

Bytes Named(std::string_view family, std::string_view name) {
  Bytes key = Begin(family, name.size());
  key.append(name);
  return key;
}

Bytes Pair(std::string_view family, std::string_view first, std::string_view second) {
  Bytes key = Begin(family, first.size() + second.size() + 1);
  AppendName(key, first);
  key.append(second);
  return key;
}

// Takes the family and then a name with its end off the front of `key`.
std::optional<std::string_view> TakeName(BytesView& key) {
  const size_t end = key.find(kEnd);
  if (end == BytesView::npos) return std::nullopt;
  const std::string_view name = key.substr(0, end);
  key.remove_prefix(end + 1);
  return name;
}

bool TakeFamily(std::string_view family, BytesView& key) {
  if (!key.starts_with(family)) return false;
  key.remove_prefix(family.size());
  return true;
}

bool IsGate(uint8_t byte) { return byte == 'c' || byte == 'd' || byte == 'g' || byte == 'r'; }

}  // namespace

Bytes JobKey(std::string_view job) { return Named(family::kJob, job); }

Bytes JobErrorKey(std::string_view job, uint32_t attempt) {
  Bytes key = Begin(family::kJobError, job.size() + 5);
  AppendName(key, job);
  AppendBig32(key, attempt);
  return key;
}

Bytes PendingKey(std::string_view queue, Priority priority, uint64_t ns, std::string_view job) {
  Bytes key = Begin(family::kPending, queue.size() + job.size() + 10);
  AppendName(key, queue);
  key.push_back(static_cast<char>(priority));
  AppendBig64(key, ns);
  key.append(job);
  return key;
}

Bytes AppendKey(std::string_view queue, uint64_t ns, std::string_view job) {
  return Timed(family::kAppend, queue, ns, job);
}

Bytes ParkedKey(std::string_view queue, Gate gate, std::string_view key, uint64_t ns,
                std::string_view job) {
  Bytes out = Begin(family::kParked, queue.size() + key.size() + job.size() + 11);
  AppendName(out, queue);
  out.push_back(static_cast<char>(gate));
  AppendName(out, key);
  AppendBig64(out, ns);
  out.append(job);
  return out;
}

Bytes ActiveKey(std::string_view queue, std::string_view job) {
  return Pair(family::kActive, queue, job);
}
Bytes ScheduledKey(std::string_view queue, uint64_t scheduled_ns, std::string_view job) {
  return Timed(family::kScheduled, queue, scheduled_ns, job);
}
Bytes RetryingKey(std::string_view queue, uint64_t retry_ns, std::string_view job) {
  return Timed(family::kRetrying, queue, retry_ns, job);
}
Bytes HeldKey(std::string_view queue, uint64_t ns, std::string_view job) {
  return Timed(family::kHeld, queue, ns, job);
}
Bytes FinishedKey(std::string_view queue, uint64_t remove_ns, std::string_view job) {
  return Timed(family::kFinished, queue, remove_ns, job);
}

Bytes DueKey(uint64_t due_ns, uint8_t kind, std::string_view queue, std::string_view job) {
  Bytes key = Begin(family::kDue, queue.size() + job.size() + 10);
  AppendBig64(key, due_ns);
  key.push_back(static_cast<char>(kind));
  AppendName(key, queue);
  key.append(job);
  return key;
}

Bytes QueueNameKey(std::string_view queue) { return Named(family::kQueueName, queue); }
Bytes QueueConfigKey(std::string_view queue) { return Named(family::kQueueConfig, queue); }
Bytes QueueStateKey(std::string_view queue) { return Named(family::kQueueState, queue); }
Bytes QueueCursorKey(std::string_view queue) { return Named(family::kQueueCursor, queue); }

Bytes UniqueKey(std::string_view queue, std::string_view unique_key) {
  return Pair(family::kUnique, queue, unique_key);
}
Bytes IdempotencyKey(std::string_view queue, std::string_view key) {
  return Pair(family::kIdempotency, queue, key);
}

Bytes EncodeIdempotencyRow(const IdempotencyRow& row) {
  Bytes value = row.job;
  if (row.until_ns == 0) return value;
  value.push_back('\0');
  AppendBig64(value, row.until_ns);
  return value;
}

IdempotencyRow DecodeIdempotencyRow(BytesView value) {
  const size_t end = value.find('\0');
  if (end == BytesView::npos) return {.job = std::string(value)};
  return {.job = std::string(value.substr(0, end)),
          .until_ns = BytesReader(value.substr(end + 1)).Big64()};
}

Bytes RateKey(std::string_view queue, uint64_t fetched_ns, uint64_t random) {
  Bytes key = Begin(family::kRate, queue.size() + 17);
  AppendName(key, queue);
  AppendBig64(key, fetched_ns);
  AppendBig64(key, random);
  return key;
}

Bytes KeyRateKey(std::string_view queue, std::string_view key, uint64_t fetched_ns,
                 uint64_t random) {
  Bytes out = Begin(family::kKeyRate, queue.size() + key.size() + 18);
  AppendName(out, queue);
  AppendName(out, key);
  AppendBig64(out, fetched_ns);
  AppendBig64(out, random);
  return out;
}

Bytes GateKey(std::string_view queue, Gate gate, std::string_view key) {
  Bytes out = Begin(family::kGate, queue.size() + key.size() + 2);
  AppendName(out, queue);
  out.push_back(static_cast<char>(gate));
  out.append(key);
  return out;
}

Bytes DependentKey(std::string_view job, std::string_view waiting) {
  return Pair(family::kDependent, job, waiting);
}
Bytes BatchKey(std::string_view batch) { return Named(family::kBatch, batch); }
Bytes WorkerKey(std::string_view worker) { return Named(family::kWorker, worker); }
Bytes ScheduleKey(std::string_view schedule) { return Named(family::kSchedule, schedule); }

Bytes EventKey(uint64_t number) {
  Bytes key(family::kEvent);
  AppendBig64(key, number);
  return key;
}
Bytes EventCursorKey() { return Bytes(family::kEventCursor); }

Bytes BudgetKey(std::string_view scope, std::string_view target) {
  return Pair(family::kBudget, scope, target);
}
Bytes ProviderKey(std::string_view name) { return Named(family::kProvider, name); }
Bytes QueueProviderKey(std::string_view queue) { return Named(family::kQueueProvider, queue); }

Bytes NamedPrefix(std::string_view family, std::string_view name) {
  Bytes key = Begin(family, name.size() + 1);
  AppendName(key, name);
  return key;
}

std::optional<TimedJob> DecodeTimedKey(std::string_view family, BytesView key) {
  if (!TakeFamily(family, key)) return std::nullopt;
  const auto queue = TakeName(key);
  if (!queue) return std::nullopt;
  BytesReader reader(key);
  TimedJob out{*queue, reader.Big64(), reader.Rest()};
  if (!reader.ok() || out.job.empty()) return std::nullopt;
  return out;
}

std::optional<PendingJob> DecodePendingKey(BytesView key) {
  if (!TakeFamily(family::kPending, key)) return std::nullopt;
  const auto queue = TakeName(key);
  if (!queue) return std::nullopt;
  BytesReader reader(key);
  const uint8_t priority = reader.Byte();
  const uint64_t ns = reader.Big64();
  const std::string_view job = reader.Rest();
  if (!reader.ok() || job.empty() || priority > 1) return std::nullopt;
  return PendingJob{*queue, static_cast<Priority>(priority), ns, job};
}

std::optional<ParkedJob> DecodeParkedKey(BytesView key) {
  if (!TakeFamily(family::kParked, key)) return std::nullopt;
  const auto queue = TakeName(key);
  if (!queue || key.empty()) return std::nullopt;
  const auto gate = static_cast<uint8_t>(key.front());
  key.remove_prefix(1);
  const auto name = TakeName(key);
  if (!name || !IsGate(gate)) return std::nullopt;
  BytesReader reader(key);
  const uint64_t ns = reader.Big64();
  const std::string_view job = reader.Rest();
  if (!reader.ok() || job.empty()) return std::nullopt;
  return ParkedJob{*queue, static_cast<Gate>(gate), *name, ns, job};
}

std::optional<DueEntry> DecodeDueKey(BytesView key) {
  if (!TakeFamily(family::kDue, key)) return std::nullopt;
  BytesReader reader(key);
  DueEntry entry;
  entry.due_ns = reader.Big64();
  entry.kind = reader.Byte();
  BytesView rest = reader.Rest();
  if (!reader.ok()) return std::nullopt;
  const auto queue = TakeName(rest);
  if (!queue) return std::nullopt;
  entry.queue = *queue;
  entry.job = rest;
  return entry;
}

std::optional<NamePair> DecodePairKey(std::string_view family, BytesView key) {
  if (!TakeFamily(family, key)) return std::nullopt;
  const auto first = TakeName(key);
  if (!first || key.empty()) return std::nullopt;
  return NamePair{*first, key};
}

std::optional<GateName> DecodeGateKey(BytesView key) {
  if (!TakeFamily(family::kGate, key)) return std::nullopt;
  const auto queue = TakeName(key);
  if (!queue || key.empty() || !IsGate(static_cast<uint8_t>(key.front()))) return std::nullopt;
  return GateName{*queue, static_cast<Gate>(key.front()), key.substr(1)};
}

std::optional<std::string_view> DecodeNameKey(std::string_view family, BytesView key) {
  if (!TakeFamily(family, key) || key.empty()) return std::nullopt;
  return key;
}

std::optional<uint32_t> DecodeErrorAttempt(BytesView key) {
  if (!TakeFamily(family::kJobError, key)) return std::nullopt;
  const auto job = TakeName(key);
  if (!job) return std::nullopt;
  BytesReader reader(key);
  const uint32_t attempt = reader.Big32();
  if (!reader.AtEnd()) return std::nullopt;
  return attempt;
}

std::optional<uint64_t> DecodeEventNumber(BytesView key) {
  if (!TakeFamily(family::kEvent, key)) return std::nullopt;
  BytesReader reader(key);
  const uint64_t number = reader.Big64();
  if (!reader.AtEnd()) return std::nullopt;
  return number;
}

Bytes EncodeUniqueLock(std::string_view job, uint64_t expires_ns) {
  Bytes value(job);
  value.push_back('|');
  AppendBig64(value, expires_ns);
  return value;
}

std::optional<UniqueLock> DecodeUniqueLock(BytesView value) {
  constexpr size_t kTail = 9;  // the bar and the time
  if (value.size() <= kTail || value[value.size() - kTail] != '|') return std::nullopt;
  BytesReader reader(value.substr(value.size() - 8));
  return UniqueLock{std::string(value.substr(0, value.size() - kTail)), reader.Big64()};
}

}  // namespace cairn::jobs
