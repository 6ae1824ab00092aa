#pragma once

#include "doors/resp/instance.h"

namespace cairn::functions {

// CODEQ.*: messages of topics, in MULTI and scripts too, so that publishing one and writing data
// are one commit. `instance` outlives its use.
void AddCodeqCommands(doors::Instance& instance);

}  // namespace cairn::functions
