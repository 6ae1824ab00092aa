#pragma once

#include <string>

#include "base/result.h"
#include "functions/cli/local.h"
#include "functions/cli/target.h"
#include "house/verb.h"

// A folder that is run here as the options of `cairn fn test` and `dev` say.
namespace cairn::functions::cli {

Result<LocalOptions> LocalOptionsOf(const house::VerbCall& call);

// Packs and compiles it. Waits.
Result<LocalFunction> LoadFolder(const house::VerbCall& call, const Target& target,
                                 LocalRuntime& runtime);

}  // namespace cairn::functions::cli
