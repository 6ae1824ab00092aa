#pragma once

#include "data/value/encoding_limits.h"
#include "doors/resp/instance.h"

// Commands about hashes. Each function adds the rows of one file.
namespace cairn::data {

void AddHashCommands(doors::Instance& instance, const SharedEncodingLimits& limits);

}  // namespace cairn::data
