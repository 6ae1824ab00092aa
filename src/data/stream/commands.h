#pragma once

#include "doors/resp/instance.h"

// Commands about streams. Each function adds the rows of one file.
namespace cairn::data {

void AddStreamCommands(doors::Instance& instance);
void AddStreamGroupCommands(doors::Instance& instance);
void AddStreamInfoCommands(doors::Instance& instance);
void AddStreamReadCommands(doors::Instance& instance);

}  // namespace cairn::data
