#pragma once

#include "base/random.h"
#include "doors/resp/instance.h"
#include "functions/model/secrets.h"

namespace cairn::functions {

// Adds FN.SCHEDULE and its subcommands. A schedule is named TENANT/NAMESPACE/SCHEDULE; replies are
// JSON, the same as over HTTP. `secrets` and `random` outlive the instance.
void AddScheduleCommands(doors::Instance& instance, const SecretKeys& secrets, Random& random);

}  // namespace cairn::functions
