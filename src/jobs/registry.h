#pragma once

#include <string_view>

#include "base/result.h"
#include "jobs/operations.h"

namespace cairn::jobs {

Lane LaneOfWorker(std::string_view worker_id);

// The time has come at which the worker would be forgotten.
Result<void> ForgetWorkerIfGone(Context& context, std::string_view id);

}  // namespace cairn::jobs
