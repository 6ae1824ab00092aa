#pragma once

#include "doors/resp/instance.h"

// Commands about scripts (EVAL, SCRIPT) and functions (FCALL, FUNCTION). Each function adds the
// rows of one file.
namespace cairn::data {

void AddFunctionCommands(doors::Instance& instance);
void AddScriptCommands(doors::Instance& instance);

}  // namespace cairn::data
