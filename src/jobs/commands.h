#pragma once

#include "doors/instance.h"

namespace cairn::jobs {

// JOB.* and QUEUE.*
void AddJobCommands(doors::Instance& instance);

}  // namespace cairn::jobs
