#pragma once

#include "base/result.h"
#include "house/metrics.h"
#include "jobs/ledger/event.h"
#include "store/store.h"

namespace cairn::jobs {

// Writes what /metrics shows about queues, workers and the event log. Reads the state of each
// queue, so it belongs on a thread that may wait. Writes nothing if the store cannot be read.
Result<void> WriteMetrics(store::Store& store, const EventGaps& gaps, house::MetricsWriter& writer);

}  // namespace cairn::jobs
