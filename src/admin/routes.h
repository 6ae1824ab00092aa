#pragma once

#include <boost/json/object.hpp>
#include <functional>
#include <string>

#include "base/clock.h"
#include "base/thread_pool.h"
#include "doors/http/route_table.h"
#include "house/health.h"
#include "store/store.h"

namespace cairn::admin {

// What the routes answer from. All of it outlives the table's use.
struct AdminParts {
  store::Store& store;
  const house::Health& health;
  const Clock& clock;
  ThreadPool& pool;                              // for what waits for the disk
  std::string data;                              // the data directory, absolute
  std::string backups;                           // backups go below this directory, absolute
  std::function<std::string()> metrics;          // as FormatMetrics; called on the pool
  std::function<boost::json::object()> cluster;  // as ClusterStatusJson; likewise
};

// Adds /healthz, /readyz, /metrics, /v1/admin/backup, and under /api/v1 metrics and cluster/status.
void AddRoutes(const AdminParts& parts, doors::RouteTable& table);

}  // namespace cairn::admin
