#include "jobs/job_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>
#include <iterator>

#include "base/utf8.h"
#include "jobs/json_members.h"
#include "jobs/refusal.h"
#include "net/http/message.h"

namespace cairn::jobs {
namespace {

// Writes the members of one object.
class ObjectWriter {
 public:
  explicit ObjectWriter(std::string& out) : out_(out) { out_.push_back('{'); }
  ~ObjectWriter() { out_.push_back('}'); }
  ObjectWriter(const ObjectWriter&) = delete;
  ObjectWriter& operator=(const ObjectWriter&) = delete;

  void Text(std::string_view name, std::string_view value) {
    Name(name);
    AppendJsonString(value, out_);
  }
  void Raw(std::string_view name, std::string_view json) {
    Name(name);
    out_.append(json);
  }
  void Number(std::string_view name, int64_t value) {
    Name(name);
    fmt::format_to(std::back_inserter(out_), "{}", value);
  }
  void Bool(std::string_view name, bool value) { Raw(name, value ? "true" : "false"); }
  // These leave out what is not there.
  void TextIf(std::string_view name, std::string_view value) {
    if (!value.empty()) Text(name, value);
  }
  void RawIf(std::string_view name, std::string_view json) {
    if (!json.empty()) Raw(name, json);
  }
  void NumberIf(std::string_view name, int64_t value) {
    if (value != 0) Number(name, value);
  }
  void TimeIf(std::string_view name, uint64_t ns) {
    if (ns != 0) Text(name, FormatTime(ns));
  }
  void TextsIf(std::string_view name, std::span<const std::string> values) {
    if (values.empty()) return;
    Name(name);
    out_.push_back('[');
    for (const std::string& value : values) {
      if (&value != values.data()) out_.push_back(',');
      AppendJsonString(value, out_);
    }
    out_.push_back(']');
  }
  void Name(std::string_view name) {
    if (!std::exchange(first_, false)) out_.push_back(',');
    out_.push_back('"');
    out_.append(name);
    out_.append("\":");
  }

 private:
  std::string& out_;
  bool first_ = true;
};

void AppendErrors(const Job& job, std::span<const JobError> errors, std::string& out) {
  out.push_back('[');
  for (const JobError& error : errors) {
    if (&error != errors.data()) out.push_back(',');
    ObjectWriter object(out);
    object.Number("id", error.attempt);
    object.Text("job_id", job.id);
    object.Number("attempt", error.attempt);
    object.Text("error", error.error);
    object.TextIf("backtrace", error.backtrace);
    object.TimeIf("created_at", error.created_ns);
  }
  out.push_back(']');
}

Error Bad(std::string_view name, std::string_view what) {
  return Refuse(Reason::kValidation, fmt::format("{} {}", Printable(name, 64), what));
}

// --- The members of an enqueue request -----------------------------------------------------------

// What a member's value is made into; refuses one of another kind.
Result<std::string> ToText(const RawMember& member) {
  std::optional<std::string> text = StringOf(member.json);
  if (!text) return Bad(member.name, "must be a string");
  return std::move(*text);
}

Result<int64_t> ToInteger(const RawMember& member) {
  int64_t value = 0;
  const char* end = member.json.data() + member.json.size();
  const auto parsed = std::from_chars(member.json.data(), end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end)
    return Bad(member.name, "must be a whole number");
  return value;
}

// Seconds, or a duration as text; gives milliseconds.
Result<int64_t> ToDuration(const RawMember& member) {
  if (const auto text = StringOf(member.json)) {
    if (const auto ms = ParseDuration(*text)) return *ms;
    return Bad(member.name, "is not a duration such as 5s, 10m or 1h30m");
  }
  double seconds = 0;
  const char* end = member.json.data() + member.json.size();
  const auto parsed = std::from_chars(member.json.data(), end, seconds);
  const bool sane = seconds >= 0 && seconds * 1000 <= static_cast<double>(kMaxDelayMs);
  if (parsed.ec != std::errc() || parsed.ptr != end || !sane) {
    return Bad(member.name, "is not a duration such as 5s, or a number of seconds");
  }
  return static_cast<int64_t>(std::llround(seconds * 1000));
}

Result<uint64_t> ToTime(const RawMember& member) {
  const auto text = StringOf(member.json);
  const auto ns = text ? ParseTime(*text) : std::nullopt;
  if (!ns) return Bad(member.name, "is not a time such as 2026-01-31T12:00:00Z");
  return *ns;
}

Result<std::vector<std::string>> ToTexts(const RawMember& member) {
  const auto items = ItemsOf(member.json);
  if (!items) return Bad(member.name, "must be an array of strings");
  std::vector<std::string> texts;
  for (const std::string_view item : *items) {
    auto text = StringOf(item);
    if (!text) return Bad(member.name, "must be an array of strings");
    texts.push_back(std::move(*text));
  }
  return texts;
}

template <typename T>
Result<T> ToChoice(const RawMember& member, std::optional<T> (*parse)(std::string_view),
                   std::string_view choices) {
  const auto text = StringOf(member.json);
  const auto value = text ? parse(*text) : std::nullopt;
  if (!value) return Bad(member.name, fmt::format("is one of {}", choices));
  return *value;
}

using Reader = Result<void> (*)(const RawMember&, EnqueueRequest&);
struct MemberRow {
  std::string_view name;
  Reader read;
};

template <auto field>
Result<void> Text(const RawMember& member, EnqueueRequest& request) {
  CAIRN_ASSIGN_OR_RETURN(request.*field, ToText(member));
  return {};
}
template <auto field>
Result<void> Integer(const RawMember& member, EnqueueRequest& request) {
  CAIRN_ASSIGN_OR_RETURN(request.*field, ToInteger(member));
  return {};
}
template <auto field>
Result<void> Duration(const RawMember& member, EnqueueRequest& request) {
  CAIRN_ASSIGN_OR_RETURN(request.*field, ToDuration(member));
  return {};
}
template <auto field>
Result<void> Json(const RawMember& member, EnqueueRequest& request) {
  request.*field = member.json;
  return {};
}

Result<void> ReadPriority(const RawMember& member, EnqueueRequest& request) {
  CAIRN_ASSIGN_OR_RETURN(request.priority,
                         ToChoice(member, ParsePriority, "critical, high, normal"));
  return {};
}
Result<void> ReadBackoff(const RawMember& member, EnqueueRequest& request) {
  CAIRN_ASSIGN_OR_RETURN(request.retry_backoff,
                         ToChoice(member, ParseBackoff, "none, fixed, linear, exponential"));
  return {};
}
Result<void> ReadUniqueMode(const RawMember& member, EnqueueRequest& request) {
  CAIRN_ASSIGN_OR_RETURN(request.unique_mode,
                         ToChoice(member, ParseUniqueMode, "reject, replace, debounce"));
  return {};
}
Result<void> ReadPolicy(const RawMember& member, EnqueueRequest& request) {
  CAIRN_ASSIGN_OR_RETURN(request.on_dependency_failure,
                         ToChoice(member, ParseDependencyPolicy, "fail, ignore, hold"));
  return {};
}
Result<void> ReadScheduledAt(const RawMember& member, EnqueueRequest& request) {
  CAIRN_ASSIGN_OR_RETURN(request.scheduled_ns, ToTime(member));
  return {};
}
Result<void> ReadDependsOn(const RawMember& member, EnqueueRequest& request) {
  CAIRN_ASSIGN_OR_RETURN(request.depends_on, ToTexts(member));
  return {};
}

// One that is malformed is left out, as the standard has it.
Result<void> ReadTrace(const RawMember& member, EnqueueRequest& request) {
  CAIRN_ASSIGN_OR_RETURN(const std::string text, ToText(member));
  if (const auto trace = net::ParseTraceParent(text)) request.trace_parent = trace->ToString();
  return {};
}

constexpr std::array kMembers = {
    MemberRow{"queue", Text<&EnqueueRequest::queue>},
    MemberRow{"payload", Json<&EnqueueRequest::payload>},
    MemberRow{"priority", ReadPriority},
    MemberRow{"unique_key", Text<&EnqueueRequest::unique_key>},
    MemberRow{"unique_period", Duration<&EnqueueRequest::unique_period_ms>},
    MemberRow{"unique_mode", ReadUniqueMode},
    MemberRow{"idempotency_key", Text<&EnqueueRequest::idempotency_key>},
    MemberRow{"scheduled_at", ReadScheduledAt},
    MemberRow{"delay", Duration<&EnqueueRequest::delay_ms>},
    MemberRow{"expire_after", Duration<&EnqueueRequest::expire_after_ms>},
    MemberRow{"max_retries", Integer<&EnqueueRequest::max_retries>},
    MemberRow{"retry_backoff", ReadBackoff},
    MemberRow{"retry_base_delay", Duration<&EnqueueRequest::retry_base_delay_ms>},
    MemberRow{"retry_max_delay", Duration<&EnqueueRequest::retry_max_delay_ms>},
    MemberRow{"retry_jitter_percent", Integer<&EnqueueRequest::retry_jitter_percent>},
    MemberRow{"timeout", Duration<&EnqueueRequest::timeout_ms>},
    MemberRow{"tags", Json<&EnqueueRequest::tags>},
    MemberRow{"checkpoint", Json<&EnqueueRequest::checkpoint>},
    MemberRow{"agent", Json<&EnqueueRequest::agent>},
    MemberRow{"parent_id", Text<&EnqueueRequest::parent_id>},
    MemberRow{"depends_on", ReadDependsOn},
    MemberRow{"on_dependency_failure", ReadPolicy},
    MemberRow{"chain", Json<&EnqueueRequest::chain>},
    MemberRow{"chain_id", Text<&EnqueueRequest::chain_id>},
    MemberRow{"chain_step", Integer<&EnqueueRequest::chain_step>},
    MemberRow{"chain_config", Json<&EnqueueRequest::chain_config>},
    MemberRow{"batch_id", Text<&EnqueueRequest::batch_id>},
    MemberRow{"concurrency_key", Text<&EnqueueRequest::concurrency_key>},
    MemberRow{"rate_key", Text<&EnqueueRequest::rate_key>},
    MemberRow{"group", Text<&EnqueueRequest::group>},
    MemberRow{"traceparent", ReadTrace},
};

}  // namespace

void AppendJsonString(std::string_view text, std::string& out) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out.push_back('"');
  size_t plain = 0;  // where what needs no escape begins
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<uint8_t>(text[i]);
    if (byte >= 0x80) {
      const size_t length = Utf8SequenceLength(text.substr(i));
      if (length > 0) {
        i += length - 1;
        continue;
      }
      out.append(text, plain, i - plain);
      out.append("\xEF\xBF\xBD");
      plain = i + 1;
      continue;
    }
    if (byte >= 0x20 && byte != '"' && byte != '\\') continue;
    out.append(text, plain, i - plain);
    plain = i + 1;
    if (byte == '"' || byte == '\\') {
      out.push_back('\\');
      out.push_back(text[i]);
    } else {
      out.append("\\u00");
      out.push_back(kHex[byte >> 4]);
      out.push_back(kHex[byte & 15]);
    }
  }
  out.append(text, plain, text.size() - plain);
  out.push_back('"');
}

void AppendJob(const Job& job, std::span<const JobError> errors, std::string& out) {
  ObjectWriter object(out);
  object.Text("id", job.id);
  object.Text("queue", job.queue);
  object.Text("state", StateName(job.state));
  object.Raw("payload", job.payload);
  object.Number("priority", static_cast<int64_t>(job.priority));
  object.Number("attempt", job.attempt);
  object.Number("max_retries", job.retry.max_retries);
  object.Text("retry_backoff", BackoffName(job.retry.backoff));
  object.Number("retry_base_delay_ms", job.retry.base_ms);
  object.Number("retry_max_delay_ms", job.retry.max_ms);
  object.NumberIf("retry_jitter_percent", job.retry.jitter_percent);
  object.NumberIf("timeout_ms", job.timeout_ms);
  object.NumberIf("failures", job.failures);
  object.NumberIf("reclaims", job.reclaims);
  object.TextIf("unique_key", job.unique_key);
  object.TextIf("idempotency_key", job.idempotency_key);
  object.TextIf("concurrency_key", job.concurrency_key);
  object.TextIf("rate_key", job.rate_key);
  object.TextIf("group", job.group);
  object.TextIf("batch_id", job.batch_id);
  object.TextIf("worker_id", job.worker_id);
  object.TextIf("hostname", job.hostname);
  object.RawIf("tags", job.tags);
  object.RawIf("progress", job.progress);
  object.RawIf("checkpoint", job.checkpoint);
  object.RawIf("agent", job.agent);
  object.RawIf("result", job.result);
  if (job.state == State::kActive) object.TimeIf("lease_expires_at", job.lease_expires_ns);
  object.TimeIf("scheduled_at", job.scheduled_ns);
  object.TimeIf("expire_at", job.expire_ns);
  object.TextIf("parent_id", job.parent_id);
  object.TextIf("chain_id", job.chain_id);
  if (!job.chain_id.empty()) object.Number("chain_step", job.chain_step);
  object.RawIf("chain_config", job.chain_config);
  object.TextsIf("depends_on", job.depends_on);
  object.NumberIf("waiting_for", job.waiting_for);
  object.TextIf("traceparent", job.trace_parent);
  object.TimeIf("created_at", job.created_ns);
  object.TimeIf("started_at", job.started_ns);
  object.TimeIf("completed_at", job.completed_ns);
  object.TimeIf("failed_at", job.failed_ns);
  object.TextIf(job.state == State::kHeld ? "hold_reason" : "reason", job.reason);
  if (errors.empty()) return;
  object.Name("errors");
  AppendErrors(job, errors, out);
}

void AppendFetched(const Job& job, std::string& out) {
  ObjectWriter object(out);
  object.Text("job_id", job.id);
  object.Text("queue", job.queue);
  object.Raw("payload", job.payload);
  object.Number("attempt", job.attempt);
  object.Number("max_retries", job.retry.max_retries);
  object.Number("lease_duration", (job.lease_ms + 999) / 1000);
  object.Text("lease_token", FormatToken(job.lease_token));
  object.Text("lease_expires_at", FormatTime(job.lease_expires_ns));
  object.RawIf("checkpoint", job.checkpoint);
  object.RawIf("tags", job.tags);
  object.RawIf("agent", job.agent);
  object.TextIf("traceparent", job.trace_parent);
}

void AppendQueue(const QueueInfo& queue, std::string& out) {
  ObjectWriter object(out);
  object.Text("name", queue.name);
  object.Bool("paused", queue.config.paused);
  if (queue.config.draining) object.Bool("draining", true);
  object.NumberIf("max_concurrency", queue.config.max_concurrency);
  object.NumberIf("rate_limit", queue.config.rate_limit);
  object.NumberIf("rate_window_ms", queue.config.rate_window_ms);
  object.TimeIf("created_at", queue.created_ns);
  for (size_t state = 0; state < kStates; ++state) {
    object.Number(StateName(static_cast<State>(state)), queue.counts[state]);
  }
  object.Number("parked", queue.parked);
  object.Number("enqueued", queue.enqueued);
  object.Number("failed", queue.counts[static_cast<size_t>(State::kDead)]);
  object.TimeIf("oldest_pending_at", queue.oldest_pending_ns);
}

void AppendWorker(const Worker& worker, std::string& out) {
  ObjectWriter object(out);
  object.Text("id", worker.id);
  object.Text("hostname", worker.hostname);
  // The reference gives the queues as JSON inside a string.
  std::string queues = "[";
  for (const std::string& queue : worker.queues) {
    if (queues.size() > 1) queues.push_back(',');
    AppendJsonString(queue, queues);
  }
  queues.push_back(']');
  object.Text("queues", queues);
  object.TimeIf("last_heartbeat", worker.last_heartbeat_ns);
  object.TimeIf("started_at", worker.started_ns);
}

void AppendEnqueued(const EnqueueResult& result, std::string& out) {
  ObjectWriter object(out);
  object.Text("job_id", result.id);
  const std::string_view existing = result.debounced ? "debounced" : "duplicate";
  object.Text("status", result.existing ? existing : StateName(result.state));
  object.Bool("unique_existing", result.existing);
}

Result<EnqueueRequest> ParseEnqueue(std::string_view text) {
  const auto members = MembersOf(text);
  if (!members) return Refuse(Reason::kValidation, "a job is a JSON object");
  EnqueueRequest request;
  for (const RawMember& member : *members) {
    const auto* row = std::ranges::find(kMembers, member.name, &MemberRow::name);
    if (row == kMembers.end()) return Bad(member.name, "is not an option of a job");
    if (member.json == "null" && member.name != "payload") continue;
    CAIRN_RETURN_IF_ERROR(row->read(member, request));
  }
  return request;
}

}  // namespace cairn::jobs
