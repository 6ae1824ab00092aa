#pragma once

#include "data/value/encoding_limits.h"
#include "doors/resp/instance.h"

// Commands about keys of any type: finding, expiring, copying, dumping, sorting. Each function adds
// the rows of one file.
namespace cairn::data {

void AddDumpCommands(doors::Instance& instance);
void AddKeyCommands(doors::Instance& instance, const SharedEncodingLimits& limits);
void AddScanCommands(doors::Instance& instance);
void AddSortCommands(doors::Instance& instance);

}  // namespace cairn::data
