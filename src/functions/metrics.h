#pragma once

#include "base/result.h"
#include "functions/http/api_figures.h"
#include "functions/invoker/invoker.h"
#include "functions/pool/sandbox_pool.h"
#include "functions/schedule/firing.h"
#include "house/metrics.h"
#include "store/store.h"

namespace cairn::functions {

// What /metrics shows about this process's invocations, the code it keeps and its sandbox.
void WriteFigures(const InvokerFigures& invoker, const ProgramCache::Figures& cache,
                  const SandboxStats& sandbox, house::MetricsWriter& writer);

void WriteFigures(const TickFigures& ticks, house::MetricsWriter& writer);

void WriteFigures(const ApiFigures::Snapshot& api, house::MetricsWriter& writer);

// How long messages have waited, as the store has them; nothing if it cannot be read.
Result<void> WriteQueueLags(store::Store& store, house::MetricsWriter& writer);

}  // namespace cairn::functions
