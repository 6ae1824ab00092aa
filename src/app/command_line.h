#pragma once

#include <string>
#include <vector>

#include "app/config.h"

namespace cairn::app {

// Runs `cairn ARGS…` (without the program's name) and returns its exit code (terminal.h). Errors in
// what was typed are told on stderr and end with kExitUsage.
int RunCommandLine(std::vector<std::string> args, const Environment& environment);

}  // namespace cairn::app
