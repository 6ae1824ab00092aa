#include "jobs/operations/enqueue_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/time_text.h"
#include "jobs/model/durations.h"
#include "jobs/model/json_members.h"
#include "jobs/model/limits.h"
#include "jobs/model/refusal.h"
#include "net/http/message.h"

namespace cairn::jobs {
namespace {

Error Bad(std::string_view name, std::string_view what) {
  return Refuse(Reason::kValidation, fmt::format("{} {}", Printable(name, 64), what));
}

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

Result<EnqueueRequest> ParseEnqueue(std::string_view text) {
  const auto members = MembersOf(text);
  if (!members) return Refuse(Reason::kValidation, "each job must be a JSON object");
  if (const auto repeated = FindRepeated(*members)) return Bad(*repeated, "is there twice");
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
