#pragma once

#include "base/result.h"
#include "doors/command.h"
#include "doors/instance.h"

namespace cairn::data {

// The INFO command: sections of name:value lines, as clients and monitoring tools read them.
Result<void> Info(doors::CommandContext& context, doors::Instance& instance);

}  // namespace cairn::data
