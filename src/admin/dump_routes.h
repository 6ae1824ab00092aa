#pragma once

#include "base/thread_pool.h"
#include "doors/http/route_table.h"
#include "house/dump.h"
#include "store/store.h"

namespace cairn::admin {

// All of it outlives the table's use.
struct DumpParts {
  store::Store& store;
  ThreadPool& pool;  // for what waits for the disk
  const house::LayerDump& dump;
};

// Adds the two routes of a layer's dump: what it keeps as text, and back.
void AddDumpRoutes(const DumpParts& parts, doors::RouteTable& table);

}  // namespace cairn::admin
