#pragma once

#include "doors/instance.h"

namespace cairn::data {

// Adds what this layer has to the tables of `instance`: its commands and the versions for WATCH.
// `instance` outlives its use.
void AddDataCommands(doors::Instance& instance);

// Parts of the above, one per file.
void AddStringCommands(doors::Instance& instance);
void AddHashCommands(doors::Instance& instance);
void AddSetCommands(doors::Instance& instance);
void AddSetAlgebraCommands(doors::Instance& instance);
void AddSortedSetCommands(doors::Instance& instance);
void AddSortedSetRangeCommands(doors::Instance& instance);
void AddSortedSetPopCommands(doors::Instance& instance);
void AddSortedSetAlgebraCommands(doors::Instance& instance);
void AddGeoCommands(doors::Instance& instance);
void AddKeyCommands(doors::Instance& instance);
void AddScanCommands(doors::Instance& instance);
void AddServerCommands(doors::Instance& instance);

}  // namespace cairn::data
