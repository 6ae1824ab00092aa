#pragma once

#include "base/random.h"
#include "doors/resp/instance.h"
#include "functions/model/secrets.h"

namespace cairn::functions {

// FN.CADENCE CREATE, SET, ENABLE, DISABLE, DELETE, GET, LIST: worker bindings.
void AddCadenceCommands(doors::Instance& instance, const SecretKeys& secrets, Random& random);

}  // namespace cairn::functions
