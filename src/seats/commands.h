#pragma once

#include <string>

#include "doors/resp/instance.h"

namespace cairn::seats {

// Adds the SEAT.* commands. Keys begin with `key_prefix`. `instance` outlives their use.
void AddSeatCommands(doors::Instance& instance, const std::string& key_prefix);

}  // namespace cairn::seats
