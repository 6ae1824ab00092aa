#pragma once

#include "admin/cluster_status.h"
#include "admin/metrics.h"
#include "base/result.h"
#include "store/store.h"
#include "view/view.h"

namespace cairn::app {

// Reads the state of each queue, so it belongs on a thread that may wait.
Result<admin::JobMetrics> ReadJobMetrics(store::Store& store, const view::View& view,
                                         const jobs::EventGaps& gaps);
// The event log and how far the view is in it.
Result<admin::ClusterStatus::Events> ReadEventPositions(store::Store& store,
                                                        const view::View& view);

}  // namespace cairn::app
