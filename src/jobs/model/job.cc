#include "jobs/model/job.h"

#include <algorithm>
#include <array>
#include <limits>
#include <span>

#include "base/check.h"
#include "jobs/model/message_pack.h"

namespace cairn::jobs {
namespace {

constexpr std::array<std::string_view, kStates> kStateNames = {
    "pending", "active", "scheduled", "retrying", "held", "completed", "dead", "cancelled"};
constexpr std::array<std::string_view, 3> kPriorityNames = {"critical", "high", "normal"};
constexpr std::array<std::string_view, 4> kBackoffNames = {"none", "fixed", "linear",
                                                           "exponential"};
constexpr std::array<std::string_view, 3> kPolicyNames = {"fail", "ignore", "hold"};

template <typename T>
std::optional<T> FindName(std::span<const std::string_view> names, std::string_view name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<T>(found - names.begin());
}

// Every field with its number, in the order of the numbers. Stored: a number is never used for
// another field, a new field gets a new one at the end.
template <typename Job, typename Visitor>
void VisitFields(Job& job, Visitor& visit) {
  visit(1, job.queue);
  visit(2, job.state);
  visit(3, job.priority);
  visit(4, job.payload);
  visit(5, job.gate);
  visit(6, job.index_ns);
  visit(7, job.created_ns);
  visit(8, job.attempt);
  visit(9, job.failures);
  visit(10, job.reclaims);
  visit(11, job.timeout_ms);
  visit(12, job.has_errors);
  visit(13, job.retry.max_retries);
  visit(14, job.retry.backoff);
  visit(15, job.retry.base_ms);
  visit(16, job.retry.max_ms);
  visit(17, job.retry.jitter_percent);
  visit(18, job.worker_id);
  visit(19, job.hostname);
  visit(20, job.lease_token);
  visit(21, job.lease_expires_ns);
  visit(22, job.lease_ms);
  visit(23, job.scheduled_ns);
  visit(24, job.expire_ns);
  visit(25, job.started_ns);
  visit(26, job.completed_ns);
  visit(27, job.failed_ns);
  visit(28, job.reason);
  visit(29, job.unique_key);
  visit(30, job.idempotency_key);
  visit(31, job.concurrency_key);
  visit(32, job.rate_key);
  visit(33, job.group);
  visit(34, job.has_slot);
  visit(35, job.batch_id);
  visit(36, job.parent_id);
  visit(37, job.chain_id);
  visit(38, job.chain_step);
  visit(39, job.chain_config);
  visit(40, job.depends_on);
  visit(41, job.waiting_for);
  visit(42, job.on_dependency_failure);
  visit(43, job.has_dependents);
  visit(44, job.tags);
  visit(45, job.progress);
  visit(46, job.checkpoint);
  visit(47, job.result);
  visit(48, job.trace_parent);
  visit(49, job.idempotency_queue);
  visit(50, job.lease_sharers);
  visit(51, job.agent);
}

// What a field is when it is left out.
const Job& Usual() {
  static const Job usual;
  return usual;
}

class Writer {
 public:
  explicit Writer(Bytes& out) : pack_(out) {}

  void operator()(uint64_t number, const std::string& value) {
    if (number == 4 ? value == Usual().payload : value.empty()) return;
    Number(number);
    pack_.String(value);
  }
  void operator()(uint64_t number, uint64_t value) {
    if (value == 0) return;
    Number(number);
    pack_.Unsigned(value);
  }
  void operator()(uint64_t number, int64_t value) {
    if (value == UsualOf(number)) return;
    Number(number);
    pack_.Signed(value);
  }
  void operator()(uint64_t number, bool value) {
    if (!value) return;
    Number(number);
    pack_.Bool(value);
  }
  void operator()(uint64_t number, const std::vector<std::string>& values) {
    if (values.empty()) return;
    Number(number);
    pack_.ArrayHeader(static_cast<uint32_t>(values.size()));
    for (const std::string& value : values) pack_.String(value);
  }
  template <typename Enum>
  requires std::is_enum_v<Enum>
  void operator()(uint64_t number, Enum value) {
    const auto byte = static_cast<uint8_t>(value);
    if (byte == UsualOf(number)) return;
    Number(number);
    pack_.Unsigned(byte);
  }

  uint16_t count() const { return count_; }

 private:
  static int64_t UsualOf(uint64_t number) {
    switch (number) {
      case 3:
        return static_cast<int64_t>(Usual().priority);
      case 13:
        return Usual().retry.max_retries;
      case 14:
        return static_cast<int64_t>(Usual().retry.backoff);
      case 15:
        return Usual().retry.base_ms;
      case 16:
        return Usual().retry.max_ms;
      default:
        return 0;
    }
  }
  void Number(uint64_t number) {
    pack_.Unsigned(number);
    ++count_;
  }

  PackWriter pack_;
  uint16_t count_ = 0;
};

// Fields come in the order of their numbers, so one walk over both finds each.
class Reader {
 public:
  explicit Reader(BytesView document) : pack_(document), left_(pack_.MapHeader()) { NextField(); }

  template <typename T>
  void operator()(uint64_t number, T& value) {
    while (number_ < number) {
      pack_.Skip();
      NextField();
    }
    if (number_ != number) return;
    Read(value);
    NextField();
  }
  // Whether all was read: what is left over are fields that this version does not know.
  bool Finish() {
    while (number_ != kNone) {
      pack_.Skip();
      NextField();
    }
    return pack_.AtEnd();
  }

 private:
  static constexpr uint64_t kNone = std::numeric_limits<uint64_t>::max();

  void NextField() {
    if (left_ == 0 || !pack_.ok()) {
      number_ = kNone;
      return;
    }
    --left_;
    number_ = pack_.Unsigned();
    if (!pack_.ok()) number_ = kNone;
  }
  void Read(std::string& value) { value = pack_.String(); }
  void Read(uint64_t& value) { value = pack_.Unsigned(); }
  void Read(int64_t& value) { value = pack_.Signed(); }
  void Read(bool& value) { value = pack_.Bool(); }
  void Read(std::vector<std::string>& values) {
    values.clear();
    for (uint32_t count = pack_.ArrayHeader(); count > 0 && pack_.ok(); --count) {
      values.emplace_back(pack_.String());
    }
  }
  template <typename Enum>
  requires std::is_enum_v<Enum>
  void Read(Enum& value) { value = static_cast<Enum>(pack_.Unsigned()); }

  PackReader pack_;
  uint32_t left_;
  uint64_t number_ = kNone;
};

bool IsSane(const Job& job) {
  const auto gate = static_cast<uint8_t>(job.gate);
  return !job.queue.empty() && static_cast<size_t>(job.state) < kStates &&
         job.priority <= Priority::kNormal && job.retry.backoff <= Backoff::kExponential &&
         job.on_dependency_failure <= DependencyPolicy::kHold &&
         (gate == 0 || gate == 'c' || gate == 'd' || gate == 'g' || gate == 'r');
}

// Whether the document is one; the job is as it comes otherwise.
bool Fill(Job& job, std::string_view id, BytesView document) {
  Reader reader(document);
  VisitFields(job, reader);
  job.id = id;
  return reader.Finish() && IsSane(job);
}

Error NoJob(std::string_view id) {
  return {ErrorCode::kCorruption,
          "the document of " + Printable(id) + " cannot be decoded as a job"};
}

// The name behind which a parked job waits.
const std::string& GateNameOf(const Job& job) {
  static const std::string none;
  switch (job.gate) {
    case Gate::kConcurrency:
      return job.concurrency_key;
    case Gate::kRate:
      return job.rate_key;
    case Gate::kGroup:
      return job.group;
    default:
      return none;
  }
}

}  // namespace

std::string_view StateName(State state) { return kStateNames[static_cast<size_t>(state)]; }
std::optional<State> ParseState(std::string_view name) {
  return FindName<State>(kStateNames, name);
}
std::string_view PriorityName(Priority priority) {
  return kPriorityNames[static_cast<size_t>(priority)];
}
std::optional<Priority> ParsePriority(std::string_view name) {
  return FindName<Priority>(kPriorityNames, name);
}
std::string_view BackoffName(Backoff backoff) {
  return kBackoffNames[static_cast<size_t>(backoff)];
}
std::optional<Backoff> ParseBackoff(std::string_view name) {
  return FindName<Backoff>(kBackoffNames, name);
}
std::string_view DependencyPolicyName(DependencyPolicy policy) {
  return kPolicyNames[static_cast<size_t>(policy)];
}
std::optional<DependencyPolicy> ParseDependencyPolicy(std::string_view name) {
  return FindName<DependencyPolicy>(kPolicyNames, name);
}

int64_t RetryDelayMs(const RetryPolicy& policy, int64_t retry, uint64_t random) {
  const int64_t cap = policy.max_ms > 0 ? policy.max_ms : kMaxDelayMs;
  int64_t delay = 0;
  switch (policy.backoff) {
    case Backoff::kNone:
      return 0;
    case Backoff::kFixed:
      delay = policy.base_ms;
      break;
    case Backoff::kLinear:
      delay = policy.base_ms > cap / std::max<int64_t>(retry, 1) ? cap : policy.base_ms * retry;
      break;
    case Backoff::kExponential: {
      const int64_t doublings = std::clamp<int64_t>(retry - 1, 0, 62);
      delay = policy.base_ms > (cap >> doublings) ? cap : policy.base_ms << doublings;
      break;
    }
  }
  delay = std::min(delay, cap);
  const int64_t slack = delay / 100 * policy.jitter_percent;
  return slack > 0 ? delay - static_cast<int64_t>(random % static_cast<uint64_t>(slack + 1))
                   : delay;
}

Bytes EncodeJob(const Job& job) {
  Bytes out;
  out.reserve(160 + job.payload.size() + job.result.size() + job.checkpoint.size());
  // A map whose count of fields is filled in when it is known.
  out.assign("\xDE\0\0", 3);
  Writer writer(out);
  VisitFields(job, writer);
  out[1] = static_cast<char>(writer.count() >> 8);
  out[2] = static_cast<char>(writer.count() & 255);
  return out;
}

// Made first, filled where it is, and the only thing returned, so that it is not moved: a job has
// many strings.
Result<Job> DecodeJob(std::string_view id, BytesView document) {
  Result<Job> job{Job()};
  if (!Fill(*job, id, document)) job = NoJob(id);
  return job;
}

Bytes IdempotencyKeyOf(const Job& job) {
  return IdempotencyKey(job.idempotency_queue.empty() ? job.queue : job.idempotency_queue,
                        job.idempotency_key);
}

Bytes IndexKeyOf(const Job& job) {
  switch (job.state) {
    case State::kPending:
      if (job.gate != Gate::kOpen) {
        return ParkedKey(job.queue, job.gate, GateNameOf(job), job.index_ns, job.id);
      }
      if (job.priority == Priority::kNormal) return AppendKey(job.queue, job.index_ns, job.id);
      return PendingKey(job.queue, job.priority, job.index_ns, job.id);
    case State::kActive:
      return ActiveKey(job.queue, job.id);
    case State::kScheduled:
      return ScheduledKey(job.queue, job.index_ns, job.id);
    case State::kRetrying:
      return RetryingKey(job.queue, job.index_ns, job.id);
    case State::kHeld:
      return HeldKey(job.queue, job.index_ns, job.id);
    default:
      return FinishedKey(job.queue, job.index_ns, job.id);
  }
}

Result<std::optional<Job>> LoadJob(store::Reader& reader, std::string_view id) {
  Result<std::optional<Job>> job{std::optional<Job>()};
  const Bytes key = JobKey(id);
  CAIRN_ASSIGN_OR_RETURN(const auto document, reader.Get(InJobs(key)));
  if (!document) return job;
  if (!Fill(job->emplace(), id, *document)) return NoJob(id);
  return job;
}

std::string FormatToken(uint64_t token) {
  Bytes bytes;
  AppendBig64(bytes, token);
  return HexEncode(bytes);
}

std::optional<uint64_t> ParseToken(std::string_view text) {
  if (text.size() != 16) return std::nullopt;
  uint64_t token = 0;
  for (const char c : text) {
    const size_t digit = std::string_view("0123456789abcdef").find(c);
    if (digit == std::string_view::npos) return std::nullopt;
    token = token << 4 | digit;
  }
  return token;
}

}  // namespace cairn::jobs
