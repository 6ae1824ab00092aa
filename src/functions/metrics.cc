#include "functions/metrics.h"

#include <fmt/format.h>

#include <string>

namespace cairn::functions {

void WriteFigures(const InvokerFigures& invoker, const ProgramCache::Figures& cache,
                  const SandboxStats& sandbox, house::MetricsWriter& writer) {
  for (const auto& [series, count] : invoker.ended.ended) {
    writer.Counter("cs_invocations_total",
                   "Activations that have ended in this process; those of functions beyond the "
                   "first thousands have empty names.",
                   static_cast<double>(count),
                   {{"tenant", series.tenant},
                    {"namespace", series.ns},
                    {"function", series.function},
                    {"version", fmt::to_string(series.version)},
                    {"trigger", std::string(TriggerName(series.trigger))},
                    {"status", std::string(StatusName(series.status))}});
  }
  for (size_t i = 0; i < invoker.ended.durations.size(); ++i) {
    const Durations& durations = invoker.ended.durations[i];
    writer.Histogram("cs_invocation_duration_ms", "How long activations took, retries apart.",
                     {Durations::kBoundsMs, durations.counts, durations.sum_ms},
                     {{"trigger", std::string(TriggerName(static_cast<TriggerType>(i)))}});
  }
  writer.Counter("cs_invocations_lost_total",
                 "Runs whose message somebody else had when they ended.",
                 static_cast<double>(invoker.lost));
  writer.Gauge("cs_invoker_inflight", "Activations that run now.",
               static_cast<double>(invoker.running));
  writer.Counter("cs_invoker_cold_starts_total",
                 "Activations that had to wait for a process or for their code.",
                 static_cast<double>(invoker.cold), {{"runtime", "cs-js"}});
  writer.Gauge("cs_invoker_cache_items", "Versions whose code is kept in memory.",
               static_cast<double>(cache.items));
  writer.Gauge("cs_invoker_cache_bytes", "What that code takes.", static_cast<double>(cache.bytes));
  writer.Gauge("cs_sandbox_children", "Processes of the sandbox.",
               static_cast<double>(sandbox.children));
  writer.Gauge("cs_sandbox_idle", "Of these, those with nothing to do.",
               static_cast<double>(sandbox.idle));
  writer.Gauge("cs_sandbox_waiting", "Activations that wait for a process.",
               static_cast<double>(sandbox.waiting));
  writer.Gauge("cs_sandbox_warm_wanted", "Processes that aliases want to be kept (min_warm).",
               static_cast<double>(sandbox.warm_wanted));
  writer.Gauge(
      "cs_sandbox_warm_missing",
      "Of these, those that are not there, because there is no room or they did not start.",
      static_cast<double>(sandbox.warm_missing));
  writer.Counter("cs_sandbox_forks_total", "Processes that were started.",
                 static_cast<double>(sandbox.forks));
  writer.Counter("cs_sandbox_crashes_total", "Processes that ended in the middle of a run.",
                 static_cast<double>(sandbox.crashes));
}

void WriteFigures(const TickFigures& ticks, house::MetricsWriter& writer) {
  for (const auto& [schedule, count] : ticks.fired) {
    writer.Counter("cs_scheduler_ticks_total",
                   "Ticks of schedules that this process has published; those of schedules beyond "
                   "the first thousand have empty names.",
                   static_cast<double>(count),
                   {{"tenant", schedule.ns.tenant},
                    {"namespace", schedule.ns.name},
                    {"schedule", schedule.name}});
  }
  writer.Counter("cs_scheduler_skipped_total",
                 "Ticks left out, because activations of their schedules had not ended.",
                 static_cast<double>(ticks.skipped));
  writer.Counter("cs_scheduler_publish_errors_total", "Ticks whose activation was refused.",
                 static_cast<double>(ticks.refused));
}

void WriteFigures(const TriggerFigures& triggers, house::MetricsWriter& writer) {
  writer.Gauge("cs_triggers_running", "Triggers that are enabled.",
               static_cast<double>(triggers.running));
  writer.Counter("cs_trigger_batches_total", "Batches that this process has begun for triggers.",
                 static_cast<double>(triggers.batches));
  writer.Counter("cs_trigger_paused_total",
                 "Times a trigger had something to do and its function could not be run.",
                 static_cast<double>(triggers.paused));
}

}  // namespace cairn::functions
