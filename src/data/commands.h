#pragma once

#include "doors/instance.h"

namespace cairn::data {

// Adds what this layer has to the tables of `instance`: its commands and the versions for WATCH.
// `instance` outlives its use.
void AddDataCommands(doors::Instance& instance);

// Parts of the above, one per file.
void AddStringCommands(doors::Instance& instance);
void AddBitCommands(doors::Instance& instance);
void AddHyperLogLogCommands(doors::Instance& instance);
void AddHashCommands(doors::Instance& instance);
void AddSetCommands(doors::Instance& instance);
void AddSetAlgebraCommands(doors::Instance& instance);
void AddKeyCommands(doors::Instance& instance);
void AddListCommands(doors::Instance& instance);
void AddListBlockingCommands(doors::Instance& instance);
void AddDumpCommands(doors::Instance& instance);
void AddScanCommands(doors::Instance& instance);
void AddServerCommands(doors::Instance& instance);

}  // namespace cairn::data
