#pragma once

#include "admin/metrics.h"
#include "base/result.h"
#include "store/store.h"
#include "view/view.h"

namespace cairn::app {

// Reads the state of each queue, so it belongs on a thread that may wait.
Result<admin::JobMetrics> ReadJobMetrics(store::Store& store, const view::View& view);

}  // namespace cairn::app
