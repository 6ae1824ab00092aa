#include "data/commands.h"

#include "data/entry.h"

namespace cairn::data {

void AddDataCommands(doors::Instance& instance) {
  instance.set_version_reader(ReadVersion);
  AddStringCommands(instance);
  AddKeyCommands(instance);
  AddScanCommands(instance);
  AddServerCommands(instance);
  AddDiagnosticCommands(instance);
  AddTopologyCommands(instance);
  AddFixedSettings(instance);
}

}  // namespace cairn::data
