#pragma once

#include "doors/resp/instance.h"

namespace cairn::data {

// Adds what this layer has to the tables of `instance`: its commands and the versions for WATCH.
// `instance` outlives its use.
void AddDataCommands(doors::Instance& instance);

}  // namespace cairn::data
