#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "admin/loop_latency.h"
#include "admin/process_usage.h"
#include "base/clock.h"
#include "net/http/server.h"
#include "net/resp/server.h"
#include "store/store.h"

namespace cairn::admin {

// What one command has done since the start.
struct CommandMetrics {
  std::string_view name;  // "client|list" for a subcommand
  uint64_t calls = 0;
  uint64_t failed = 0;    // ran and replied with an error
  uint64_t rejected = 0;  // refused before they ran
  double seconds = 0;
};

struct QueueMetrics {
  std::string name;
  std::vector<std::pair<std::string_view, int64_t>> jobs;  // how many in each state
  int64_t enqueued = 0;                                    // ever
  double oldest_pending_seconds = 0;  // how long the first that a worker can have has waited
  bool paused = false;
};

struct JobMetrics {
  std::vector<QueueMetrics> queues;
  size_t workers = 0;       // heard of lately
  uint64_t last_event = 0;  // numbers of events: the newest, and the newest in the search view
  uint64_t view_event = 0;
  // How often each kind of reader of the event log found that events it had not read were gone.
  std::vector<std::pair<std::string_view, uint64_t>> event_gaps;
};

// What requests and replies of all connections take together.
struct BufferMetrics {
  uint64_t used_bytes = 0;
  uint64_t limit_bytes = 0;
  uint64_t disconnected = 0;  // connections closed because they held the most
  uint64_t refused = 0;       // replies that there was no room for
};

// Everything that /metrics shows, as of one moment.
struct MetricsSnapshot {
  std::string version;
  std::string revision;
  Timestamp started;
  bool ready = true;
  bool writes_stopped = false;
  store::Durability durability = store::Durability::kSync;
  store::StoreStats store;
  uint64_t memory_budget_bytes = 0;
  BufferMetrics buffers;
  uint64_t failed_logins = 0;
  net::RespServerStats resp;
  net::HttpServerStats http;
  std::vector<CommandMetrics> commands;
  std::vector<LoopLatency::Histogram> loops;
  std::optional<JobMetrics> jobs;  // nullopt: the store cannot be read
  ProcessUsage process;
  uint64_t audit_failures = 0;
};

std::string_view DurabilityName(store::Durability durability);  // "sync"

// In Prometheus' text format, version 0.0.4. docs/operations.md lists the names.
std::string FormatMetrics(const MetricsSnapshot& snapshot);

// The media type of that format.
inline constexpr std::string_view kMetricsType = "text/plain; version=0.0.4; charset=utf-8";

}  // namespace cairn::admin
