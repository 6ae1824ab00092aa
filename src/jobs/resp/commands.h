#pragma once

#include "doors/resp/instance.h"
#include "doors/turn/route_store.h"

namespace cairn::jobs {

// JOB.* and QUEUE.*
void AddJobCommands(doors::Instance& instance);
// JOB.SUBSCRIBE and JOB.UNSUBSCRIBE, which push jobs to connections on the loops of `routes`.
void AddPushCommands(doors::Instance& instance, doors::RouteStore& routes);

}  // namespace cairn::jobs
