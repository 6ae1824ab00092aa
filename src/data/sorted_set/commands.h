#pragma once

#include "data/value/encoding_limits.h"
#include "doors/resp/instance.h"

// Commands about sorted sets and places. Each function adds the rows of one file.
namespace cairn::data {

void AddGeoCommands(doors::Instance& instance);
void AddSortedSetAlgebraCommands(doors::Instance& instance);
void AddSortedSetCommands(doors::Instance& instance, const SharedEncodingLimits& limits);
void AddSortedSetPopCommands(doors::Instance& instance);
void AddSortedSetRangeCommands(doors::Instance& instance);

}  // namespace cairn::data
