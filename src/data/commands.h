#pragma once

#include "data/encoding_limits.h"
#include "doors/instance.h"

namespace cairn::data {

// Adds what this layer has to the tables of `instance`: its commands and the versions for WATCH.
// `instance` outlives its use.
void AddDataCommands(doors::Instance& instance);

// Parts of the above, one per file.
void AddStringCommands(doors::Instance& instance);
void AddBitCommands(doors::Instance& instance);
void AddHyperLogLogCommands(doors::Instance& instance);
void AddHashCommands(doors::Instance& instance, const SharedEncodingLimits& limits);
void AddSetCommands(doors::Instance& instance, const SharedEncodingLimits& limits);
void AddSetAlgebraCommands(doors::Instance& instance);
void AddSortedSetCommands(doors::Instance& instance, const SharedEncodingLimits& limits);
void AddSortedSetRangeCommands(doors::Instance& instance);
void AddSortedSetPopCommands(doors::Instance& instance);
void AddSortedSetAlgebraCommands(doors::Instance& instance);
void AddGeoCommands(doors::Instance& instance);
void AddKeyCommands(doors::Instance& instance, const SharedEncodingLimits& limits);
void AddListCommands(doors::Instance& instance);
void AddListBlockingCommands(doors::Instance& instance);
void AddStreamCommands(doors::Instance& instance);
void AddStreamReadCommands(doors::Instance& instance);
void AddStreamGroupCommands(doors::Instance& instance);
void AddStreamInfoCommands(doors::Instance& instance);
void AddDumpCommands(doors::Instance& instance);
void AddSortCommands(doors::Instance& instance);
void AddScanCommands(doors::Instance& instance);
void AddServerCommands(doors::Instance& instance);
void AddJsonDocumentCommands(doors::Instance& instance);
void AddJsonValueCommands(doors::Instance& instance);
void AddJsonArrayCommands(doors::Instance& instance);
void AddScriptCommands(doors::Instance& instance);      // EVAL, SCRIPT
void AddFunctionCommands(doors::Instance& instance);    // FCALL, FUNCTION
void AddDiagnosticCommands(doors::Instance& instance);  // after the server commands
void AddLatencyCommands(doors::Instance& instance);
void AddDebugCommand(doors::Instance& instance, const SharedEncodingLimits& limits);
void AddTopologyCommands(doors::Instance& instance);
void AddFixedSettings(doors::Instance& instance, const SharedEncodingLimits& limits);

}  // namespace cairn::data
