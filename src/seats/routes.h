#pragma once

#include <string>

#include "doors/http/route_table.h"
#include "doors/resp/pubsub.h"
#include "doors/turn/route_store.h"

namespace cairn::seats {

// What the routes work with. All of it outlives the table's use.
struct RouteParts {
  doors::RouteStore& store;
  doors::PubSub& pubsub;
  std::string key_prefix;
};

// Adds /v1/events and /v1/bookings, on database 0.
void AddSeatRoutes(const RouteParts& parts, doors::RouteTable& table);

}  // namespace cairn::seats
