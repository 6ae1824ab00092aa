#pragma once

#include "base/random.h"
#include "doors/resp/instance.h"

namespace cairn::functions {

// Adds FN.SIGNAL and FN.RESTART, which MULTI and scripts can use, and FN.STEPS. `random` outlives
// them.
void AddStepCommands(doors::Instance& instance, Random& random);

}  // namespace cairn::functions
