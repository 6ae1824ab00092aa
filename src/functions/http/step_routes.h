#pragma once

#include "base/random.h"
#include "doors/http/route_table.h"
#include "doors/turn/route_store.h"

namespace cairn::functions {

// What the routes work with. All of it outlives the table's use.
struct StepParts {
  doors::RouteStore& store;
  Random& random;
};

// Below /v1/tenants/T/activations/ID:
//
//   GET  steps               what the activation has recorded, and what it waits for
//   POST events/NAME         sends it an event
//   POST restart             a new activation that goes on from one of its steps
void AddStepRoutes(const StepParts& parts, doors::RouteTable& table);

}  // namespace cairn::functions
