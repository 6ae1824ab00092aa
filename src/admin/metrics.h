#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "admin/loop_latency.h"
#include "admin/process_usage.h"
#include "base/clock.h"
#include "house/registry.h"
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

// What requests and replies of all connections take together.
struct BufferMetrics {
  uint64_t used_bytes = 0;
  uint64_t limit_bytes = 0;
  uint64_t disconnected = 0;  // connections closed because they held the most
  uint64_t refused = 0;       // replies that there was no room for
};

// What /metrics shows about the server itself, as of one moment.
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
  ProcessUsage process;
  uint64_t audit_failures = 0;
};

std::string_view DurabilityName(store::Durability durability);  // "sync"

// In Prometheus' text format, version 0.0.4: the server's figures and those of its layers, which
// are asked here, so on a thread that may wait. docs/operations.md lists the names.
std::string FormatMetrics(const MetricsSnapshot& snapshot,
                          std::span<const house::Registry::Metrics> layers = {});

// The media type of that format.
inline constexpr std::string_view kMetricsType = "text/plain; version=0.0.4; charset=utf-8";

}  // namespace cairn::admin
