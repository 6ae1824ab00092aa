#pragma once

#include "doors/resp/instance.h"

// Commands about strings, bitmaps and HyperLogLogs. Each function adds the rows of one file.
namespace cairn::data {

void AddBitCommands(doors::Instance& instance);
void AddHyperLogLogCommands(doors::Instance& instance);
void AddStringCommands(doors::Instance& instance);

}  // namespace cairn::data
