#include "data/commands.h"

#include "data/entry.h"

namespace cairn::data {

void AddDataCommands(doors::Instance& instance) {
  instance.set_version_reader(ReadVersion);
  AddStringCommands(instance);
  AddBitCommands(instance);
  AddHyperLogLogCommands(instance);
  AddHashCommands(instance);
  AddSetCommands(instance);
  AddSetAlgebraCommands(instance);
  AddKeyCommands(instance);
  AddListCommands(instance);
  AddListBlockingCommands(instance);
  AddDumpCommands(instance);
  AddScanCommands(instance);
  AddServerCommands(instance);
}

}  // namespace cairn::data
