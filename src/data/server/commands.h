#pragma once

#include "data/value/encoding_limits.h"
#include "doors/resp/instance.h"

// Commands that describe the server and set it up. Each function adds the rows of one file.
namespace cairn::data {

void AddDebugCommand(doors::Instance& instance, const SharedEncodingLimits& limits);
void AddDiagnosticCommands(doors::Instance& instance);
void AddFixedSettings(doors::Instance& instance, const SharedEncodingLimits& limits);
void AddLatencyCommands(doors::Instance& instance);
void AddServerCommands(doors::Instance& instance);
void AddTopologyCommands(doors::Instance& instance);

}  // namespace cairn::data
