#include "view/filter.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/value.hpp>
#include <utility>

#include "base/bytes.h"
#include "base/time_text.h"
#include "view/payload_query.h"
#include "view/rows.h"

namespace cairn::view {
namespace {

namespace json = boost::json;

Error Wrong(std::string_view name, std::string_view expected) {
  return {ErrorCode::kInvalid, fmt::format("{}: expected {}", name, expected)};
}

Result<std::string> Text(std::string_view name, const json::value& value) {
  if (!value.is_string()) return Wrong(name, "a string");
  return std::string(value.as_string());
}

using Adder = Result<void> (*)(std::string_view name, const json::value& value, JobFilter& filter);

// The column of this name is this text.
Result<void> Same(std::string_view name, const json::value& value, JobFilter& filter) {
  CAIRN_ASSIGN_OR_RETURN(std::string text, Text(name, value));
  filter.where.And(fmt::format("{} = ?", name), {std::move(text)});
  return {};
}

Result<void> Queue(std::string_view name, const json::value& value, JobFilter& filter) {
  CAIRN_ASSIGN_OR_RETURN(filter.queue, Text(name, value));
  return Same(name, value, filter);
}

Result<void> States(std::string_view name, const json::value& value, JobFilter& filter) {
  const json::array list = value.is_array() ? value.as_array() : json::array{value};
  std::vector<Condition::Value> names;
  std::string marks;
  for (const json::value& entry : list) {
    CAIRN_ASSIGN_OR_RETURN(std::string text, Text(name, entry));
    const std::optional<jobs::State> state = jobs::ParseState(text);
    if (!state) return Wrong(name, fmt::format("the name of a state, not '{}'", Printable(text)));
    if (std::find(filter.states.begin(), filter.states.end(), *state) == filter.states.end()) {
      filter.states.push_back(*state);
    }
    marks += marks.empty() ? "?" : ", ?";
    names.emplace_back(std::move(text));
  }
  if (!names.empty()) filter.where.And("state IN (" + marks + ")", std::move(names));
  return {};
}

Result<void> OfPriority(std::string_view name, const json::value& value, JobFilter& filter) {
  std::optional<jobs::Priority> priority;
  if (value.is_string()) priority = jobs::ParsePriority(std::string(value.as_string()));
  if (value.is_int64() && value.as_int64() >= 0 && value.as_int64() <= 2) {
    priority = static_cast<jobs::Priority>(value.as_int64());
  }
  if (!priority) return Wrong(name, "critical, high, normal or 0 to 2");
  filter.where.And("priority = ?", {static_cast<int64_t>(*priority)});
  return {};
}

Result<void> Tags(std::string_view name, const json::value& value, JobFilter& filter) {
  if (!value.is_object()) return Wrong(name, "an object");
  constexpr std::string_view kTag =
      "EXISTS (SELECT 1 FROM json_each(jobs.tags) AS tag WHERE tag.key = ? AND ";
  for (const auto& [key, wanted] : value.as_object()) {
    Condition tag;
    if (wanted.is_string()) {
      tag = Condition(fmt::format("{}tag.type = 'text' AND tag.value = ?)", kTag),
                      {std::string(key), std::string(wanted.as_string())});
    } else if (wanted.is_number()) {
      tag = Condition(fmt::format("{}tag.type IN ('integer', 'real') AND tag.value = ?)", kTag),
                      {std::string(key), wanted.to_number<double>()});
    } else if (wanted.is_bool()) {
      tag = Condition(fmt::format("{}tag.type = ?)", kTag),
                      {std::string(key), std::string(wanted.as_bool() ? "true" : "false")});
    } else {
      return Wrong(fmt::format("tags.{}", std::string_view(key)),
                   "a string, a number or a boolean");
    }
    filter.where.And(tag.If("json_valid(jobs.tags)"));
  }
  return {};
}

Result<void> PayloadContains(std::string_view name, const json::value& value, JobFilter& filter) {
  CAIRN_ASSIGN_OR_RETURN(std::string text, Text(name, value));
  filter.where.And("json_contains_text(payload, ?)", {std::move(text)});
  return {};
}

Result<void> PayloadQuery(std::string_view name, const json::value& value, JobFilter& filter) {
  CAIRN_ASSIGN_OR_RETURN(const std::string text, Text(name, value));
  CAIRN_ASSIGN_OR_RETURN(Condition condition, ParsePayloadQuery(text));
  filter.where.And(std::move(condition));
  return {};
}

Result<void> HasErrors(std::string_view name, const json::value& value, JobFilter& filter) {
  if (!value.is_bool()) return Wrong(name, "true or false");
  filter.where.And(fmt::format("{} EXISTS (SELECT 1 FROM job_errors WHERE job_id = jobs.id)",
                               value.as_bool() ? "" : "NOT"));
  return {};
}

Result<void> ErrorContains(std::string_view name, const json::value& value, JobFilter& filter) {
  CAIRN_ASSIGN_OR_RETURN(std::string text, Text(name, value));
  filter.where.And(
      "EXISTS (SELECT 1 FROM job_errors WHERE job_id = jobs.id AND contains_text(error, ?))",
      {std::move(text)});
  return {};
}

Result<void> IdPrefix(std::string_view name, const json::value& value, JobFilter& filter) {
  CAIRN_ASSIGN_OR_RETURN(const std::string prefix, Text(name, value));
  filter.where.And("id >= ?", {prefix});
  if (const std::optional<Bytes> end = PrefixSuccessor(prefix)) filter.where.And("id < ?", {*end});
  return {};
}

Result<void> Attempts(std::string_view name, const json::value& value, JobFilter& filter) {
  if (!value.is_int64()) return Wrong(name, "a whole number");
  filter.where.And(name == "attempt_min" ? "attempt >= ?" : "attempt <= ?", {value.as_int64()});
  return {};
}

// created_after is created_at > ?. A job that has no such time does not fit.
Result<void> Time(std::string_view name, const json::value& value, JobFilter& filter) {
  CAIRN_ASSIGN_OR_RETURN(const std::string text, Text(name, value));
  const std::optional<uint64_t> ns = ParseTime(text);
  if (!ns) return Wrong(name, "a time such as 2026-11-17T04:50:22Z");
  const size_t end = name.rfind('_');
  const std::string_view sign = name.substr(end) == "_after" ? ">" : "<";
  filter.where.And(fmt::format("{}_at {} ?", name.substr(0, end), sign), {TimeText(*ns)});
  return {};
}

constexpr std::array<std::pair<std::string_view, Adder>, 28> kMembers = {{
    {"queue", Queue},
    {"state", States},
    {"priority", OfPriority},
    {"tags", Tags},
    {"payload_contains", PayloadContains},
    {"payload_jq", PayloadQuery},
    {"created_after", Time},
    {"created_before", Time},
    {"scheduled_after", Time},
    {"scheduled_before", Time},
    {"started_after", Time},
    {"started_before", Time},
    {"completed_after", Time},
    {"completed_before", Time},
    {"failed_after", Time},
    {"failed_before", Time},
    {"expire_after", Time},
    {"expire_before", Time},
    {"attempt_min", Attempts},
    {"attempt_max", Attempts},
    {"unique_key", Same},
    {"batch_id", Same},
    {"worker_id", Same},
    {"parent_id", Same},
    {"chain_id", Same},
    {"has_errors", HasErrors},
    {"error_contains", ErrorContains},
    {"job_id_prefix", IdPrefix},
}};

}  // namespace

Result<JobFilter> ParseFilter(const json::object& given,
                              const std::vector<std::string_view>& others) {
  JobFilter filter;
  for (const auto& [key, value] : given) {
    const std::string_view name(key);
    if (std::find(others.begin(), others.end(), name) != others.end()) continue;
    if (value.is_null()) continue;  // as if it were not there
    const auto* const member =
        std::find_if(kMembers.begin(), kMembers.end(),
                     [&](const auto& candidate) { return candidate.first == name; });
    if (member == kMembers.end()) {
      return Error{ErrorCode::kInvalid, fmt::format("unknown filter '{}'", Printable(name))};
    }
    // The name handed on is the table's, never the user's: it becomes a column.
    CAIRN_RETURN_IF_ERROR(member->second(member->first, value, filter));
  }
  return filter;
}

Condition InQueues(const doors::NamePatterns* queues) {
  if (queues == nullptr) return Condition();
  if (queues->patterns().empty()) return Condition("0", {});
  std::string sql;
  std::vector<Condition::Value> values;
  for (const doors::NamePatterns::Pattern& pattern : queues->patterns()) {
    if (!sql.empty()) sql += " OR ";
    sql += pattern.prefix ? "substr(jobs.queue, 1, length(?)) = ?" : "jobs.queue = ?";
    values.emplace_back(pattern.text);
    if (pattern.prefix) values.emplace_back(pattern.text);
  }
  return Condition("(" + sql + ")", std::move(values));
}

}  // namespace cairn::view
