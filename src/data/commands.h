#pragma once

#include "doors/instance.h"

namespace cairn::data {

// Adds what this layer has to the tables of `instance`: its commands and the versions for WATCH.
// `instance` outlives its use.
void AddDataCommands(doors::Instance& instance);

// Parts of the above, one per file.
void AddStringCommands(doors::Instance& instance);
void AddKeyCommands(doors::Instance& instance);
void AddScanCommands(doors::Instance& instance);
void AddServerCommands(doors::Instance& instance);
void AddDiagnosticCommands(doors::Instance& instance);  // after the server commands
void AddTopologyCommands(doors::Instance& instance);
void AddFixedSettings(doors::Instance& instance);

}  // namespace cairn::data
