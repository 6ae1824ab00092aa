#pragma once

#include "actors/operations/context.h"
#include "doors/http/route_table.h"
#include "doors/turn/route_store.h"

namespace cairn::actors {

// What the routes work with. All of it outlives the table's use.
struct RouteParts {
  doors::RouteStore& store;
  const Policy& policy;
};

// Adds /v1/actors.
void AddActorRoutes(const RouteParts& parts, doors::RouteTable& table);

}  // namespace cairn::actors
