#include "jobs/dump/dump_line.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/json_text.h"
#include "jobs/model/ids.h"
#include "jobs/model/json_check.h"
#include "jobs/model/json_members.h"
#include "jobs/model/queue_config.h"
#include "jobs/model/refusal.h"
#include "jobs/schedule/schedule.h"

namespace cairn::jobs {
namespace {

// --- The names of values ------------------------------------------------------------------------

constexpr std::array<std::pair<Gate, std::string_view>, 5> kGates = {{
    {Gate::kOpen, "open"},
    {Gate::kConcurrency, "concurrency"},
    {Gate::kDependencies, "dependencies"},
    {Gate::kGroup, "group"},
    {Gate::kRate, "rate"},
}};

std::string_view NameOf(State value) { return StateName(value); }
std::string_view NameOf(Priority value) { return PriorityName(value); }
std::string_view NameOf(Backoff value) { return BackoffName(value); }
std::string_view NameOf(DependencyPolicy value) { return DependencyPolicyName(value); }
std::string_view NameOf(Gate value) {
  for (const auto& [gate, name] : kGates) {
    if (gate == value) return name;
  }
  return "";
}

std::optional<State> ValueOf(std::string_view name, State /*kind*/) { return ParseState(name); }
std::optional<Priority> ValueOf(std::string_view name, Priority /*kind*/) {
  return ParsePriority(name);
}
std::optional<Backoff> ValueOf(std::string_view name, Backoff /*kind*/) {
  return ParseBackoff(name);
}
std::optional<DependencyPolicy> ValueOf(std::string_view name, DependencyPolicy /*kind*/) {
  return ParseDependencyPolicy(name);
}
std::optional<Gate> ValueOf(std::string_view name, Gate /*kind*/) {
  for (const auto& [gate, its_name] : kGates) {
    if (its_name == name) return gate;
  }
  return std::nullopt;
}

// --- The members of each line -------------------------------------------------------------------
// One list serves both directions. A member that is added to a stored thing is added here too: a
// dump that would leave it out is refused when it is made (dump.cc).

template <typename Line, typename Visitor>
requires std::is_same_v<std::remove_const_t<Line>, HeaderLine>
void VisitMembers(Line& line, Visitor& visit) {
  visit("format", line.format);
  visit("version", line.version);
  visit("exported_at", line.exported_at);
}

template <typename Line, typename Visitor>
requires std::is_same_v<std::remove_const_t<Line>, QueueLine>
void VisitMembers(Line& line, Visitor& visit) {
  visit("name", line.name);
  visit("config", line.config);
  visit("created_ns", line.state.created_ns);
  visit("last_ns", line.state.last_ns);
  visit("enqueued", line.state.enqueued);
  visit("counts", line.state.counts);
  visit("line", line.state.line);
  visit("parked", line.state.parked);
  visit("retention_due_ns", line.state.retention_due_ns);
  visit("throttle_due_ns", line.state.throttle_due_ns);
  visit("window_count", line.state.window_count);
  visit("window_oldest_ns", line.state.window_oldest_ns);
  visit("wakes_on_end", line.state.wakes_on_end);
}

template <typename Line, typename Visitor>
requires std::is_same_v<std::remove_const_t<Line>, BatchLine> ||
    std::is_same_v<std::remove_const_t<Line>, ScheduleLine>
void VisitMembers(Line& line, Visitor& visit) {
  visit("id", line.id);
  visit("document", line.document);
}

template <typename Line, typename Visitor>
requires std::is_same_v<std::remove_const_t<Line>, GateLine>
void VisitMembers(Line& line, Visitor& visit) {
  visit("queue", line.queue);
  visit("gate", line.gate);
  visit("key", line.key);
  visit("used", line.state.used);
  visit("parked", line.state.parked);
  visit("cursor_ns", line.state.cursor_ns);
  visit("oldest_ns", line.state.oldest_ns);
  visit("due_ns", line.state.due_ns);
}

template <typename Line, typename Visitor>
requires std::is_same_v<std::remove_const_t<Line>, StartLine>
void VisitMembers(Line& line, Visitor& visit) {
  visit("queue", line.queue);
  visit("key", line.key);
  visit("ns", line.ns);
  visit("serial", line.serial);
}

template <typename Line, typename Visitor>
requires std::is_same_v<std::remove_const_t<Line>, UniqueLockLine>
void VisitMembers(Line& line, Visitor& visit) {
  visit("queue", line.queue);
  visit("key", line.key);
  visit("job_id", line.job_id);
  visit("expires_ns", line.expires_ns);
}

template <typename Line, typename Visitor>
requires std::is_same_v<std::remove_const_t<Line>, IdempotencyKeyLine>
void VisitMembers(Line& line, Visitor& visit) {
  visit("queue", line.queue);
  visit("key", line.key);
  visit("job_id", line.job_id);
  visit("until_ns", line.until_ns);
}

template <typename Line, typename Visitor>
requires std::is_same_v<std::remove_const_t<Line>, DependantLine>
void VisitMembers(Line& line, Visitor& visit) {
  visit("job_id", line.job_id);
  visit("waiting_id", line.waiting_id);
}

template <typename Line, typename Visitor>
requires std::is_same_v<std::remove_const_t<Line>, JobErrorLine>
void VisitMembers(Line& line, Visitor& visit) {
  visit("job_id", line.job_id);
  visit("attempt", line.attempt);
  visit("document", line.document);
}

template <typename Line, typename Visitor>
requires std::is_same_v<std::remove_const_t<Line>, JobLine>
void VisitMembers(Line& line, Visitor& visit) {
  auto& job = line.job;
  visit("id", job.id);
  visit("queue", job.queue);
  visit("state", job.state);
  visit("priority", job.priority);
  visit("payload", job.payload);
  visit("gate", job.gate);
  visit("index_ns", job.index_ns);
  visit("max_retries", job.retry.max_retries);
  visit("retry_backoff", job.retry.backoff);
  visit("retry_base_ms", job.retry.base_ms);
  visit("retry_max_ms", job.retry.max_ms);
  visit("retry_jitter_percent", job.retry.jitter_percent);
  visit("attempt", job.attempt);
  visit("failures", job.failures);
  visit("reclaims", job.reclaims);
  visit("timeout_ms", job.timeout_ms);
  visit("has_errors", job.has_errors);
  visit("unique_key", job.unique_key);
  visit("idempotency_key", job.idempotency_key);
  visit("idempotency_queue", job.idempotency_queue);
  visit("concurrency_key", job.concurrency_key);
  visit("rate_key", job.rate_key);
  visit("group", job.group);
  visit("has_slot", job.has_slot);
  visit("batch_id", job.batch_id);
  visit("parent_id", job.parent_id);
  visit("chain_id", job.chain_id);
  visit("chain_step", job.chain_step);
  visit("chain_config", job.chain_config);
  visit("depends_on", job.depends_on);
  visit("waiting_for", job.waiting_for);
  visit("on_dependency_failure", job.on_dependency_failure);
  visit("has_dependents", job.has_dependents);
  visit("tags", job.tags);
  visit("progress", job.progress);
  visit("checkpoint", job.checkpoint);
  visit("agent", job.agent);
  visit("result", job.result);
  visit("trace_parent", job.trace_parent);
  visit("worker_id", job.worker_id);
  visit("hostname", job.hostname);
  visit("lease_token", job.lease_token);
  visit("lease_expires_ns", job.lease_expires_ns);
  visit("lease_ms", job.lease_ms);
  visit("created_ns", job.created_ns);
  visit("scheduled_ns", job.scheduled_ns);
  visit("expire_ns", job.expire_ns);
  visit("started_ns", job.started_ns);
  visit("completed_ns", job.completed_ns);
  visit("failed_ns", job.failed_ns);
  visit("reason", job.reason);
}

template <typename Line, typename Visitor>
requires std::is_same_v<std::remove_const_t<Line>, WebhookLine>
void VisitMembers(Line& line, Visitor& visit) {
  auto& webhook = line.webhook;
  visit("id", webhook.id);
  visit("url", webhook.url);
  visit("events", webhook.events);
  visit("secret", webhook.secret);
  visit("enabled", webhook.enabled);
  visit("retry_limit", webhook.retry_limit);
  visit("created_ns", webhook.created_ns);
}

template <typename Line, typename Visitor>
requires std::is_same_v<std::remove_const_t<Line>, EndLine>
void VisitMembers(Line& line, Visitor& visit) {
  visit("lines", line.lines);
  visit("jobs", line.jobs);
}

// The type of each line, in the order of the variant.
constexpr std::array<std::string_view, std::variant_size_v<DumpLine>> kTypes = {
    "header",    "queue", "batch", "gate",     "start",   "unique_lock", "idempotency_key",
    "dependant", "error", "job",   "schedule", "webhook", "end"};

// --- Writing ------------------------------------------------------------------------------------

class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}

  void operator()(std::string_view name, const std::string& value) {
    if (value.empty()) return;
    Begin(name);
    Text(value);
  }
  void operator()(std::string_view name, int64_t value) {
    if (value == 0) return;
    Begin(name);
    out_ += fmt::to_string(value);
  }
  void operator()(std::string_view name, uint64_t value) {
    if (value == 0) return;
    Begin(name);
    out_ += fmt::to_string(value);
  }
  void operator()(std::string_view name, bool value) {
    if (!value) return;
    Begin(name);
    out_ += "true";
  }
  template <typename Enum>
  requires std::is_enum_v<Enum>
  void operator()(std::string_view name, Enum value) {
    Begin(name);
    Text(NameOf(value));
  }
  void operator()(std::string_view name, const std::vector<std::string>& values) {
    if (values.empty()) return;
    Begin(name);
    out_.push_back('[');
    for (const std::string& value : values) {
      if (out_.back() != '[') out_.push_back(',');
      Text(value);
    }
    out_.push_back(']');
  }
  template <size_t size>
  void operator()(std::string_view name, const std::array<int64_t, size>& values) {
    Begin(name);
    out_ += fmt::format("[{}", values[0]);
    for (size_t i = 1; i < size; ++i) out_ += fmt::format(",{}", values[i]);
    out_.push_back(']');
  }

 private:
  void Begin(std::string_view name) { out_.append(",\"").append(name).append("\":"); }
  void Text(std::string_view text) { AppendJsonString(text, out_); }

  std::string& out_;
};

// --- Reading ------------------------------------------------------------------------------------

template <typename Number>
bool ReadNumber(std::string_view json, Number& value) {
  const auto [end, failure] = std::from_chars(json.data(), json.data() + json.size(), value);
  return failure == std::errc() && end == json.data() + json.size();
}

// Gives each member its value; one that is missing stays as it is. Remembers the first fault.
class Reader {
 public:
  explicit Reader(std::vector<RawMember> members)
      : members_(std::move(members)), used_(members_.size()) {}

  void operator()(std::string_view name, std::string& value) {
    Take(name, "text", [&](std::string_view json) { return Assign(StringOf(json), value); });
  }
  void operator()(std::string_view name, int64_t& value) {
    Take(name, "a whole number", [&](std::string_view json) { return ReadNumber(json, value); });
  }
  void operator()(std::string_view name, uint64_t& value) {
    Take(name, "a whole number that is not negative",
         [&](std::string_view json) { return ReadNumber(json, value); });
  }
  void operator()(std::string_view name, bool& value) {
    Take(name, "true or false", [&](std::string_view json) {
      value = json == "true";
      return value || json == "false";
    });
  }
  template <typename Enum>
  requires std::is_enum_v<Enum>
  void operator()(std::string_view name, Enum& value) {
    const bool found = Take(name, "one of the names that it can have", [&](std::string_view json) {
      const auto text = StringOf(json);
      return text && Assign(ValueOf(*text, value), value);
    });
    if (!found) Fault("{} is missing", name);
  }
  void operator()(std::string_view name, std::vector<std::string>& values) {
    Take(name, "a list of texts", [&](std::string_view json) {
      const auto items = ItemsOf(json);
      if (!items) return false;
      values.clear();
      for (const std::string_view item : *items) {
        if (!Assign(StringOf(item), values.emplace_back())) return false;
      }
      return true;
    });
  }
  template <size_t size>
  void operator()(std::string_view name, std::array<int64_t, size>& values) {
    Take(name, "a list of that many whole numbers", [&](std::string_view json) {
      const auto items = ItemsOf(json);
      if (!items || items->size() != size) return false;
      for (size_t i = 0; i < size; ++i) {
        if (!ReadNumber((*items)[i], values[i])) return false;
      }
      return true;
    });
  }

  template <typename... Args>
  void Fault(fmt::format_string<Args...> format, Args&&... args) {
    if (fault_.empty()) fault_ = fmt::format(format, std::forward<Args>(args)...);
  }
  // Empty if there is none. Last: what was not asked for is one too.
  const std::string& Finish() {
    for (size_t i = 0; i < members_.size(); ++i) {
      if (!used_[i])
        Fault("the member '{}' is unknown here or appears twice", Printable(members_[i].name));
    }
    return fault_;
  }

 private:
  template <typename T>
  static bool Assign(std::optional<T> read, T& value) {
    if (!read) return false;
    value = *std::move(read);
    return true;
  }

  template <typename Read>
  bool Take(std::string_view name, std::string_view kind, Read read) {
    for (size_t i = 0; i < members_.size(); ++i) {
      if (used_[i] || members_[i].name != name) continue;
      used_[i] = true;
      if (!read(members_[i].json)) Fault("{} is not {}", name, kind);
      return true;
    }
    return false;
  }

  std::vector<RawMember> members_;
  std::vector<bool> used_;
  std::string fault_;
};

// --- What cannot have come from a store ---------------------------------------------------------

void CheckQueueName(std::string_view member, const std::string& name, Reader& reader) {
  if (!IsName(name, kMaxQueueNameBytes)) reader.Fault("{} is not the name of a queue", member);
}
void CheckKey(const std::string& key, Reader& reader) {
  if (!IsName(key, kMaxKeyBytes)) reader.Fault("key is not a key");
}
void CheckOptionalKey(std::string_view member, const std::string& key, Reader& reader) {
  if (!key.empty() && !IsName(key, kMaxKeyBytes)) reader.Fault("{} is not a key", member);
}
void CheckId(std::string_view member, const std::string& id, Reader& reader) {
  if (!IsId(id)) reader.Fault("{} is not an id", member);
}
void CheckJson(std::string_view member, const std::string& text, Reader& reader) {
  if (!text.empty() && !IsJson(text)) reader.Fault("{} is not valid JSON", member);
}
void CheckDocument(const std::string& document, Reader& reader) {
  if (!IsJson(document, JsonKind::kObject)) reader.Fault("document is not a JSON object");
}

void CheckLine(const HeaderLine& line, Reader& reader) {
  if (line.format != kDumpFormat) reader.Fault("format is not {}", kDumpFormat);
  if (line.version != kDumpVersion) {
    reader.Fault("version {} is not one that this server knows: {}", line.version, kDumpVersion);
  }
}
void CheckLine(const QueueLine& line, Reader& reader) {
  CheckQueueName("name", line.name, reader);
  if (line.config.empty()) return;
  const Result<QueueConfig> config = ParseQueueConfig(line.config);
  if (!config.ok()) reader.Fault("config: {}", RefusalText(config.error()));
}
void CheckLine(const BatchLine& line, Reader& reader) {
  CheckId("id", line.id, reader);
  CheckDocument(line.document, reader);
}
void CheckLine(const GateLine& line, Reader& reader) {
  CheckQueueName("queue", line.queue, reader);
  CheckKey(line.key, reader);
  if (line.gate == Gate::kOpen || line.gate == Gate::kDependencies) {
    reader.Fault("gate is not one that keeps count");
  }
}
void CheckLine(const StartLine& line, Reader& reader) {
  CheckQueueName("queue", line.queue, reader);
  CheckOptionalKey("key", line.key, reader);
}
void CheckLine(const UniqueLockLine& line, Reader& reader) {
  CheckQueueName("queue", line.queue, reader);
  CheckKey(line.key, reader);
  CheckId("job_id", line.job_id, reader);
}
void CheckLine(const IdempotencyKeyLine& line, Reader& reader) {
  CheckQueueName("queue", line.queue, reader);
  // Not a name: one that was made for a job of many has more than its client gave.
  if (line.key.empty() || line.key.find('\0') != std::string::npos) {
    reader.Fault("key is not a key");
  }
  CheckId("job_id", line.job_id, reader);
}
void CheckLine(const DependantLine& line, Reader& reader) {
  CheckId("job_id", line.job_id, reader);
  CheckId("waiting_id", line.waiting_id, reader);
}
void CheckLine(const JobErrorLine& line, Reader& reader) {
  CheckId("job_id", line.job_id, reader);
  if (line.attempt < 0 || line.attempt > UINT32_MAX) reader.Fault("attempt is out of its bounds");
  CheckDocument(line.document, reader);
}
void CheckLine(const JobLine& line, Reader& reader) {
  const Job& job = line.job;
  CheckId("id", job.id, reader);
  CheckQueueName("queue", job.queue, reader);
  CheckOptionalKey("unique_key", job.unique_key, reader);
  CheckOptionalKey("concurrency_key", job.concurrency_key, reader);
  CheckOptionalKey("rate_key", job.rate_key, reader);
  CheckOptionalKey("group", job.group, reader);
  if (job.payload.empty()) reader.Fault("payload is missing");
  CheckJson("payload", job.payload, reader);
  CheckJson("tags", job.tags, reader);
  CheckJson("progress", job.progress, reader);
  CheckJson("checkpoint", job.checkpoint, reader);
  CheckJson("agent", job.agent, reader);
  CheckJson("result", job.result, reader);
  CheckJson("chain_config", job.chain_config, reader);
  if (job.state == State::kActive && (job.lease_token == 0 || job.lease_expires_ns == 0)) {
    reader.Fault("lease_token or lease_expires_ns is missing: the job is active");
  }
  if (job.state != State::kActive && job.index_ns == 0) reader.Fault("index_ns is missing");
}
void CheckLine(const ScheduleLine& line, Reader& reader) {
  CheckDocument(line.document, reader);
  const Result<Schedule> schedule = ParseSchedule(line.id, line.document);
  if (!schedule.ok()) reader.Fault("document: {}", RefusalText(schedule.error()));
}
void CheckLine(const WebhookLine& line, Reader& reader) {
  if (const auto fault = FindWebhookFault(line.webhook)) reader.Fault("{}", *fault);
}
void CheckLine(const EndLine& line, Reader& reader) {
  if (line.lines < 0 || line.jobs < 0) reader.Fault("lines or jobs is negative");
}

// What a member is that is left out: empty, zero, false, whatever a new one would have.
template <typename Line>
Line Blank() {
  Line line{};
  if constexpr (std::is_same_v<Line, JobLine>) {
    line.job.payload.clear();
    line.job.retry = {.max_retries = 0, .base_ms = 0, .max_ms = 0};
  }
  if constexpr (std::is_same_v<Line, WebhookLine>) {
    line.webhook = {.events = {}, .enabled = false, .retry_limit = 0};
  }
  return line;
}

template <size_t index = 0>
Result<DumpLine> ParseAs(std::string_view type, Reader& reader) {
  if constexpr (index == kTypes.size()) {
    return Refuse(Reason::kValidation,
                  fmt::format("'{}' is not a type of line that a dump has", Printable(type)));
  } else {
    if (kTypes[index] != type) return ParseAs<index + 1>(type, reader);
    using Line = std::variant_alternative_t<index, DumpLine>;
    Line line = Blank<Line>();
    VisitMembers(line, reader);
    if (reader.Finish().empty()) CheckLine(line, reader);
    if (!reader.Finish().empty()) {
      return Refuse(Reason::kValidation, fmt::format("{}: {}", type, reader.Finish()));
    }
    return DumpLine(std::move(line));
  }
}

}  // namespace

std::string FormatLine(const DumpLine& line) {
  std::string out = fmt::format(R"({{"type":"{}")", kTypes[line.index()]);
  Writer writer(out);
  std::visit([&](const auto& its) { VisitMembers(its, writer); }, line);
  out.push_back('}');
  return out;
}

Result<DumpLine> ParseLine(std::string_view text) {
  auto members = MembersOf(text);
  if (!members) return Refuse(Reason::kValidation, "the line is not a JSON object");
  Reader reader(*std::move(members));
  std::string type;
  reader("type", type);
  return ParseAs(type, reader);
}

}  // namespace cairn::jobs
