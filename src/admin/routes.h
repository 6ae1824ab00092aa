#pragma once

#include <functional>
#include <string>

#include "admin/cluster_status.h"
#include "admin/health.h"
#include "admin/metrics.h"
#include "base/clock.h"
#include "base/thread_pool.h"
#include "doors/route_table.h"
#include "store/store.h"

namespace cairn::admin {

// What the routes answer from. All of it outlives the table's use.
struct AdminParts {
  store::Store& store;
  const Health& health;
  const Clock& clock;
  ThreadPool& pool;                          // for what waits for the disk
  std::string data;                          // the data directory, absolute
  std::string backups;                       // backups go below this directory, absolute
  std::function<MetricsSnapshot()> metrics;  // called on the pool
  std::function<ClusterStatus()> cluster;    // likewise
};

// Adds /healthz, /readyz, /metrics, /v1/admin/backup, and under /api/v1 metrics, cluster/status,
// admin/backup and admin/restore.
void AddRoutes(const AdminParts& parts, doors::RouteTable& table);

}  // namespace cairn::admin
