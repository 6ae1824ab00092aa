#pragma once

#include "base/result.h"
#include "house/metrics.h"
#include "store/store.h"

namespace cairn::actors {

// How many actors there are, and what they keep.
Result<void> WriteMetrics(store::Store& store, house::MetricsWriter& writer);

}  // namespace cairn::actors
