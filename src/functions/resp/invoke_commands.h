#pragma once

#include "base/random.h"
#include "doors/resp/instance.h"
#include "functions/invoker/invoker.h"

namespace cairn::functions {

// Adds FN.INVOKE, which waits for the result as a blocking command does, FN.ACTIVATION and FN.LOGS.
// Replies are JSON, the same as over HTTP. In MULTI and in scripts FN.INVOKE … ASYNC queues an
// activation in the commit of the whole transaction. `invoker` and `random` outlive the instance's
// use.
void AddInvokeCommands(doors::Instance& instance, Invoker& invoker, Random& random);

}  // namespace cairn::functions
