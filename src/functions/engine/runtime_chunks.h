#pragma once

#include "functions/engine/engine.h"

namespace cairn::functions {

// The runtime `cs-js`: the files of js/ and what manifest.txt says of them, put into the program by
// the build. What it refers to lives as long as the program.
RuntimeScripts EmbeddedRuntime();

}  // namespace cairn::functions
