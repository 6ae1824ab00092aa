#pragma once

#include "actors/operations/context.h"
#include "doors/resp/instance.h"

namespace cairn::actors {

// Adds the ACTOR.* commands. Both outlive their use.
void AddActorCommands(doors::Instance& instance, const Policy& policy);

}  // namespace cairn::actors
