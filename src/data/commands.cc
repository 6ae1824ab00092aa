#include "data/commands.h"

#include "data/entry.h"

namespace cairn::data {

void AddDataCommands(doors::Instance& instance) {
  instance.set_version_reader(ReadVersion);
  AddStringCommands(instance);
  AddHashCommands(instance);
  AddSetCommands(instance);
  AddSetAlgebraCommands(instance);
  AddSortedSetCommands(instance);
  AddSortedSetRangeCommands(instance);
  AddSortedSetPopCommands(instance);
  AddSortedSetAlgebraCommands(instance);
  AddGeoCommands(instance);
  AddKeyCommands(instance);
  AddScanCommands(instance);
  AddServerCommands(instance);
}

}  // namespace cairn::data
