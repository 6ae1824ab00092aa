#pragma once

#include "base/clock.h"
#include "base/random.h"
#include "base/thread_pool.h"
#include "doors/http/route_table.h"
#include "doors/turn/route_store.h"
#include "functions/control/bundle_compiler.h"
#include "functions/http/api_figures.h"
#include "functions/model/secrets.h"

namespace cairn::functions {

// What the routes work with. All of it outlives the table's use.
struct ControlParts {
  doors::RouteStore& store;
  ThreadPool& pool;  // for what is large: packing files
  const Clock& clock;
  Random& random;
  const SecretKeys& secrets;
  BundleCompiler* compiler = nullptr;  // null: versions are published without code
  ApiFigures* figures = nullptr;       // counts requests; null: nobody does
};

// Adds the routes of functions, drafts, versions and aliases under
// /v1/tenants/{tenant}/namespaces/{namespace}/functions.
void AddControlRoutes(const ControlParts& parts, doors::RouteTable& table);

}  // namespace cairn::functions
