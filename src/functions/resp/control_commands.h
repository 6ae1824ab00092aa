#pragma once

#include "base/random.h"
#include "doors/resp/instance.h"
#include "functions/control/bundle_compiler.h"
#include "functions/model/secrets.h"

namespace cairn::functions {

// Adds FN.CREATE, FN.PUBLISH, FN.ALIAS and the like. Replies are JSON, the same as over HTTP; a
// refusal is an error whose first word is its code (errors.h). A function is named
// TENANT/NAMESPACE/FUNCTION. All parts outlive the instance;
// without a compiler, versions are published without code.
void AddControlCommands(doors::Instance& instance, const SecretKeys& secrets, Random& random,
                        BundleCompiler* compiler = nullptr);

}  // namespace cairn::functions
