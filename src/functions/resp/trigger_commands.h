#pragma once

#include "base/random.h"
#include "doors/resp/instance.h"
#include "functions/model/secrets.h"
#include "functions/trigger/triggers.h"

namespace cairn::functions {

// Adds FN.TRIGGER and its subcommands. A trigger is named TENANT/NAMESPACE/TRIGGER; replies are
// JSON, the same as over HTTP. `secrets` and `random` outlive the instance.
void AddTriggerCommands(doors::Instance& instance, const SecretKeys& secrets, Random& random,
                        const TriggerPlace& place);

}  // namespace cairn::functions
