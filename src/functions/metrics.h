#pragma once

#include "functions/invoker/invoker.h"
#include "functions/pool/sandbox_pool.h"
#include "functions/schedule/firing.h"
#include "functions/trigger/runner.h"
#include "house/metrics.h"

namespace cairn::functions {

// What /metrics shows about this process's invocations, the code it keeps and its sandbox.
void WriteFigures(const InvokerFigures& invoker, const ProgramCache::Figures& cache,
                  const SandboxStats& sandbox, house::MetricsWriter& writer);

void WriteFigures(const TickFigures& ticks, house::MetricsWriter& writer);

void WriteFigures(const TriggerFigures& triggers, house::MetricsWriter& writer);

}  // namespace cairn::functions
