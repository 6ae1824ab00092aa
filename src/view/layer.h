#pragma once

#include <memory>

#include "house/layer.h"
#include "jobs/ledger/event.h"

namespace cairn::view {

// The search view of jobs, and bulk actions. `gaps` is shared with whoever else reads the event
// log.
std::unique_ptr<house::Layer> MakeViewLayer(std::shared_ptr<jobs::EventGaps> gaps);

}  // namespace cairn::view
