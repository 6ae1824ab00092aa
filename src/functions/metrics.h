#pragma once

#include "functions/cadence/figures.h"
#include "functions/invoker/invoker.h"
#include "functions/pool/sandbox_pool.h"
#include "functions/schedule/firing.h"
#include "house/metrics.h"

namespace cairn::functions {

// What /metrics shows about this process's invocations, the code it keeps and its sandbox.
void WriteFigures(const InvokerFigures& invoker, const ProgramCache::Figures& cache,
                  const SandboxStats& sandbox, house::MetricsWriter& writer);

void WriteFigures(const TickFigures& ticks, house::MetricsWriter& writer);

void WriteFigures(const CadenceFigures::Snapshot& cadence, house::MetricsWriter& writer);

}  // namespace cairn::functions
