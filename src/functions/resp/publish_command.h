#pragma once

#include "doors/resp/command.h"
#include "doors/resp/instance.h"
#include "functions/control/bundle_compiler.h"
#include "functions/model/bundle.h"
#include "functions/resp/command_support.h"

namespace cairn::functions {

// Pairs of a path and a file's bytes.
Files TakeFiles(doors::Args args);

// Adds FN.PUBLISH. It waits until its files are compiled, as BLPOP waits for an element: then it
// publishes, or is refused. In MULTI and in scripts nothing can wait: there it publishes, and the
// version is compiled right after the commit. `compiler` may be null: nothing is compiled.
void AddPublishCommand(doors::Instance& instance, CommandParts parts, BundleCompiler* compiler);

}  // namespace cairn::functions
