#include "data/commands.h"

#include "data/entry.h"

namespace cairn::data {

void AddDataCommands(doors::Instance& instance) {
  instance.set_version_reader(ReadVersion);
  AddStringCommands(instance);
  AddKeyCommands(instance);
  AddListCommands(instance);
  AddListBlockingCommands(instance);
  AddStreamCommands(instance);
  AddStreamReadCommands(instance);
  AddStreamGroupCommands(instance);
  AddStreamInfoCommands(instance);
  AddScanCommands(instance);
  AddServerCommands(instance);
}

}  // namespace cairn::data
