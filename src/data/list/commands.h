#pragma once

#include "doors/resp/instance.h"

// Commands about lists. Each function adds the rows of one file.
namespace cairn::data {

void AddListBlockingCommands(doors::Instance& instance);
void AddListCommands(doors::Instance& instance);

}  // namespace cairn::data
