#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "store/store.h"

namespace cairn::admin {

// What GET /api/v1/cluster/status tells, as of one moment: what this server knows, and nothing that
// it would have to guess. Servers that share a store do not know of one another.
struct ClusterStatus {
  bool shared = false;  // other servers may serve the same store
  std::string node_id;  // of this run of this server: INFO's run_id
  std::string version;
  Timestamp started;
  Timestamp now;
  std::optional<std::string> why_not_ready;
  store::Durability durability = store::Durability::kSync;
  uint64_t last_commit = 0;  // numbers of commits: the newest, and the newest durable one
  uint64_t durable_commit = 0;
};

// As an object, to which layers add what they have.
boost::json::object ClusterStatusJson(const ClusterStatus& status);

}  // namespace cairn::admin
