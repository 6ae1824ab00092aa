#pragma once

#include "data/value/encoding_limits.h"
#include "doors/resp/instance.h"

// Commands about sets. Each function adds the rows of one file.
namespace cairn::data {

void AddSetAlgebraCommands(doors::Instance& instance);
void AddSetCommands(doors::Instance& instance, const SharedEncodingLimits& limits);

}  // namespace cairn::data
