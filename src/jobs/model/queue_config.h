#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "jobs/model/job.h"
#include "store/transaction.h"

namespace cairn::jobs {

// What was set for a queue: the row qc|, JSON with these names, in which what was not set is
// missing. A queue without the row has the defaults.
struct QueueConfig {
  bool paused = false;
  bool draining = false;  // paused by drain: says so until it is resumed

  // Of the queue as a whole; 0: no limit.
  int64_t max_concurrency = 0;
  int64_t rate_limit = 0;  // starts per rate_window_ms
  int64_t rate_window_ms = 0;
  // Of each key that jobs name.
  int64_t key_concurrency = 1;
  int64_t key_rate_limit = 0;
  int64_t key_rate_window_ms = 0;

  // For jobs that do not say it themselves.
  std::optional<int64_t> max_retries = {};
  std::optional<Backoff> retry_backoff = {};
  std::optional<int64_t> retry_base_delay_ms = {};
  std::optional<int64_t> retry_max_delay_ms = {};
  int64_t timeout_ms = 0;

  int64_t max_reclaims = kDefaultMaxReclaims;
  // How long a job is kept after its end.
  int64_t retention_ms = kDefaultRetentionMs;         // completed
  int64_t failed_retention_ms = kDefaultRetentionMs;  // dead and cancelled

  uint64_t created_ns = 0;

  friend bool operator==(const QueueConfig&, const QueueConfig&) = default;
};

std::string QueueConfigJson(const QueueConfig& config);
// Members that are unknown or out of bounds are refused (VALIDATION_ERROR).
Result<QueueConfig> ParseQueueConfig(std::string_view json);
// Applies the members of a JSON object to `base`; null takes a member back to its default.
Result<QueueConfig> PatchQueueConfig(const QueueConfig& base, std::string_view json);

// The defaults if there is no row.
Result<QueueConfig> LoadQueueConfig(store::Reader& reader, std::string_view queue);

// Gives a job what the queue has for those that do not say it themselves.
void ApplyDefaults(const QueueConfig& config, Job& job);

}  // namespace cairn::jobs
