#include "jobs/model/queue_config.h"

#include <fmt/format.h>

#include <array>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "jobs/model/limits.h"
#include "jobs/model/refusal.h"

namespace cairn::jobs {
namespace {

namespace json = boost::json;

struct NumberRow {
  std::string_view name;
  int64_t QueueConfig::*field;
  int64_t least;
  int64_t most;
};
constexpr std::array kNumbers = {
    NumberRow{"max_concurrency", &QueueConfig::max_concurrency, 0, kMaxConcurrency},
    NumberRow{"rate_limit", &QueueConfig::rate_limit, 0, kMaxRateLimit},
    NumberRow{"rate_window_ms", &QueueConfig::rate_window_ms, 0, kMaxDelayMs},
    NumberRow{"key_concurrency", &QueueConfig::key_concurrency, 1, kMaxConcurrency},
    NumberRow{"key_rate_limit", &QueueConfig::key_rate_limit, 0, kMaxRateLimit},
    NumberRow{"key_rate_window_ms", &QueueConfig::key_rate_window_ms, 0, kMaxDelayMs},
    NumberRow{"timeout_ms", &QueueConfig::timeout_ms, 0, kMaxDelayMs},
    NumberRow{"max_reclaims", &QueueConfig::max_reclaims, 0, kMaxMaxRetries},
    NumberRow{"retention_ms", &QueueConfig::retention_ms, 0, kMaxDelayMs},
    NumberRow{"failed_retention_ms", &QueueConfig::failed_retention_ms, 0, kMaxDelayMs},
};

struct OptionalRow {
  std::string_view name;
  std::optional<int64_t> QueueConfig::*field;
  int64_t most;
};
constexpr std::array kOptionals = {
    OptionalRow{"max_retries", &QueueConfig::max_retries, kMaxMaxRetries},
    OptionalRow{"retry_base_delay_ms", &QueueConfig::retry_base_delay_ms, kMaxDelayMs},
    OptionalRow{"retry_max_delay_ms", &QueueConfig::retry_max_delay_ms, kMaxDelayMs},
};

Error Bad(std::string_view name, std::string_view what) {
  return Refuse(Reason::kQueue, fmt::format("{} {}", name, what));
}

Result<int64_t> NumberIn(std::string_view name, const json::value& value, int64_t least,
                         int64_t most) {
  boost::system::error_code failure;
  const auto number = value.is_number() ? value.to_number<int64_t>(failure) : 0;
  if (!value.is_number() || failure || number < least || number > most) {
    return Bad(name, fmt::format("must be a whole number from {} to {}", least, most));
  }
  return number;
}

Result<void> Apply(QueueConfig& config, std::string_view name, const json::value& value) {
  static const QueueConfig usual;
  for (const NumberRow& row : kNumbers) {
    if (row.name != name) continue;
    if (value.is_null()) {
      config.*row.field = usual.*row.field;
      return {};
    }
    CAIRN_ASSIGN_OR_RETURN(config.*row.field, NumberIn(name, value, row.least, row.most));
    return {};
  }
  for (const OptionalRow& row : kOptionals) {
    if (row.name != name) continue;
    (config.*row.field).reset();
    if (value.is_null()) return {};
    CAIRN_ASSIGN_OR_RETURN(config.*row.field, NumberIn(name, value, 0, row.most));
    return {};
  }
  if (name == "retry_backoff") {
    config.retry_backoff.reset();
    if (value.is_null()) return {};
    if (value.is_string()) config.retry_backoff = ParseBackoff(value.get_string());
    if (!config.retry_backoff) return Bad(name, "must be one of none, fixed, linear, exponential");
    return {};
  }
  if (name == "paused" || name == "draining") {
    if (!value.is_bool()) return Bad(name, "must be true or false");
    (name == "paused" ? config.paused : config.draining) = value.get_bool();
    return {};
  }
  if (name == "created_ns") {
    CAIRN_ASSIGN_OR_RETURN(const int64_t ns,
                           NumberIn(name, value, 0, std::numeric_limits<int64_t>::max()));
    config.created_ns = static_cast<uint64_t>(ns);
    return {};
  }
  return Bad(Printable(name, 32), "is not a setting of a queue");
}

Result<void> CheckWhole(const QueueConfig& config) {
  if ((config.rate_limit > 0) != (config.rate_window_ms > 0)) {
    return Bad("rate_limit", "and rate_window_ms must be set together");
  }
  if ((config.key_rate_limit > 0) != (config.key_rate_window_ms > 0)) {
    return Bad("key_rate_limit", "and key_rate_window_ms must be set together");
  }
  return {};
}

}  // namespace

std::string QueueConfigJson(const QueueConfig& config) {
  static const QueueConfig usual;
  json::object out;
  if (config.paused) out["paused"] = true;
  if (config.draining) out["draining"] = true;
  for (const NumberRow& row : kNumbers) {
    if (config.*row.field != usual.*row.field) out[row.name] = config.*row.field;
  }
  for (const OptionalRow& row : kOptionals) {
    if (config.*row.field) out[row.name] = *(config.*row.field);
  }
  if (config.retry_backoff) out["retry_backoff"] = BackoffName(*config.retry_backoff);
  if (config.created_ns != 0) out["created_ns"] = config.created_ns;
  return json::serialize(out);
}

Result<QueueConfig> ParseQueueConfig(std::string_view text) {
  return PatchQueueConfig(QueueConfig(), text);
}

Result<QueueConfig> PatchQueueConfig(const QueueConfig& base, std::string_view text) {
  boost::system::error_code failure;
  const json::value patch = json::parse(text, failure);
  if (failure || !patch.is_object()) return Bad("the settings", "must be a JSON object");
  QueueConfig config = base;
  for (const auto& [name, value] : patch.get_object()) {
    CAIRN_RETURN_IF_ERROR(Apply(config, name, value));
  }
  CAIRN_RETURN_IF_ERROR(CheckWhole(config));
  return config;
}

Result<QueueConfig> LoadQueueConfig(store::Reader& reader, std::string_view queue) {
  const Bytes key = QueueConfigKey(queue);
  CAIRN_ASSIGN_OR_RETURN(const auto row, reader.Get(InJobs(key)));
  if (!row) return QueueConfig();
  Result<QueueConfig> config = ParseQueueConfig(*row);
  if (!config.ok()) {
    return Error{ErrorCode::kCorruption,
                 fmt::format("the configuration of queue {}: {}", queue, config.error().message)};
  }
  return config;
}

void ApplyDefaults(const QueueConfig& config, Job& job) {
  job.retry.max_retries = config.max_retries.value_or(kDefaultMaxRetries);
  job.retry.backoff = config.retry_backoff.value_or(Backoff::kExponential);
  job.retry.base_ms = config.retry_base_delay_ms.value_or(kDefaultRetryBaseMs);
  job.retry.max_ms = config.retry_max_delay_ms.value_or(kDefaultRetryMaxMs);
  job.timeout_ms = config.timeout_ms;
}

}  // namespace cairn::jobs
