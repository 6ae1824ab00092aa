#include "data/commands.h"

#include "data/entry.h"

namespace cairn::data {

void AddDataCommands(doors::Instance& instance) {
  instance.set_version_reader(ReadVersion);
  instance.set_key_encoder(AppendRecordKey);
  AddStringCommands(instance);
  AddBitCommands(instance);
  AddHyperLogLogCommands(instance);
  AddHashCommands(instance);
  AddSetCommands(instance);
  AddSetAlgebraCommands(instance);
  AddSortedSetCommands(instance);
  AddSortedSetRangeCommands(instance);
  AddSortedSetPopCommands(instance);
  AddSortedSetAlgebraCommands(instance);
  AddGeoCommands(instance);
  AddKeyCommands(instance);
  AddListCommands(instance);
  AddListBlockingCommands(instance);
  AddStreamCommands(instance);
  AddStreamReadCommands(instance);
  AddStreamGroupCommands(instance);
  AddStreamInfoCommands(instance);
  AddDumpCommands(instance);
  AddSortCommands(instance);
  AddScanCommands(instance);
  AddServerCommands(instance);
  AddJsonDocumentCommands(instance);
  AddJsonValueCommands(instance);
  AddJsonArrayCommands(instance);
  AddScriptCommands(instance);
  AddFunctionCommands(instance);
  AddDiagnosticCommands(instance);
  AddLatencyCommands(instance);
  AddDebugCommand(instance);
  AddTopologyCommands(instance);
  AddFixedSettings(instance);
}

}  // namespace cairn::data
