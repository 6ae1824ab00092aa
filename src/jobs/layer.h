#pragma once

#include <memory>

#include "house/layer.h"
#include "jobs/ledger/event.h"

namespace cairn::jobs {

// The job queue, with its schedules and webhooks. `gaps` is shared with whoever else reads the
// event log.
std::unique_ptr<house::Layer> MakeJobsLayer(std::shared_ptr<EventGaps> gaps);

}  // namespace cairn::jobs
