#pragma once

#include <string>

#include "base/clock.h"
#include "base/random.h"
#include "base/thread_pool.h"
#include "doors/http/route_table.h"
#include "doors/turn/route_store.h"
#include "functions/model/secrets.h"

namespace cairn::functions {

// What the routes work with. All of it outlives the table's use.
struct ControlParts {
  doors::RouteStore& store;
  ThreadPool& pool;  // for what is large: packing files
  const Clock& clock;
  Random& random;
  const SecretKeys& secrets;
  std::string seats_prefix = {};  // the setting seats.key_prefix
};

// Adds the routes of functions, drafts, versions and aliases under
// /v1/tenants/{tenant}/namespaces/{namespace}/functions.
void AddControlRoutes(const ControlParts& parts, doors::RouteTable& table);

}  // namespace cairn::functions
