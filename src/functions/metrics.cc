#include "functions/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "functions/codeq/names.h"
#include "jobs/operations/queues.h"

namespace cairn::functions {
namespace {

// Of "T/N/F:V".
house::MetricsWriter::Labels LabelsOf(std::string_view slot) {
  house::MetricsWriter::Labels labels;
  for (const auto& [label, end] : {std::pair<std::string_view, char>{"tenant", '/'},
                                   {"namespace", '/'},
                                   {"function", ':'},
                                   {"version", '\0'}}) {
    const size_t size = std::min(slot.find(end), slot.size());
    labels.emplace_back(label, slot.substr(0, size));
    slot.remove_prefix(std::min(size + 1, slot.size()));
  }
  return labels;
}

}  // namespace

void WriteFigures(const InvokerFigures& invoker, const ProgramCache::Figures& cache,
                  const SandboxStats& sandbox, house::MetricsWriter& writer) {
  for (const auto& [series, count] : invoker.ended.ended) {
    writer.Counter(
        "cs_invocations_total",
        "Activations that have ended, by tenant, namespace, function, version, trigger and "
        "status; those of functions beyond the first thousands have empty names.",
        static_cast<double>(count),
        {{"tenant", series.tenant},
         {"namespace", series.ns},
         {"function", series.function},
         {"version", fmt::to_string(series.version)},
         {"trigger", std::string(TriggerName(series.trigger))},
         {"status", std::string(StatusName(series.status))}});
  }
  for (const auto& [series, durations] : invoker.ended.durations) {
    writer.Histogram("cs_invocation_duration_ms",
                     "How long they took, in milliseconds, retries apart, by the same without the "
                     "status; beyond the first hundreds with empty names.",
                     {Durations::kBoundsMs, durations.counts, durations.sum_ms},
                     {{"tenant", series.tenant},
                      {"namespace", series.ns},
                      {"function", series.function},
                      {"version", fmt::to_string(series.version)},
                      {"trigger", std::string(TriggerName(series.trigger))}});
  }
  writer.Counter("cs_invocations_lost_total",
                 "Runs whose message somebody else had when they ended.",
                 static_cast<double>(invoker.lost));
  writer.Counter("cs_invoker_untold_failures_total",
                 "Failures that could not be published to the topic on_failure.",
                 static_cast<double>(invoker.untold));
  writer.Counter("cs_invoker_parked_total",
                 "Messages put back because their versions ran as often as they may.",
                 static_cast<double>(invoker.parked));
  writer.Gauge("cs_invoker_parked", "Of these, those that wait for a run to end.",
               static_cast<double>(invoker.parked_now));
  for (const auto& [slot, running] : invoker.running_by_version) {
    writer.Gauge("cs_invoker_inflight",
                 "Activations that run now, by tenant, namespace, function and version.",
                 static_cast<double>(running), LabelsOf(slot));
  }
  writer.Counter("cs_invoker_cold_starts_total",
                 "Activations that had to wait for a process or for their code.",
                 static_cast<double>(invoker.cold), {{"runtime", "cs-js"}});
  writer.Gauge("cs_invoker_cache_items", "Versions whose code is kept in memory.",
               static_cast<double>(cache.items));
  writer.Gauge("cs_invoker_cache_bytes", "What that code takes.", static_cast<double>(cache.bytes));
  writer.Counter("cs_invoker_code_loads_total", "Versions whose code was read from the store.",
                 static_cast<double>(cache.loads));
  writer.Counter("cs_invoker_code_missing_total",
                 "Of these, those whose code was not stored and had to be compiled first.",
                 static_cast<double>(cache.compiled));
  writer.Counter("cs_sandbox_warm_loads_total",
                 "Children made ready for aliases that keep some warm.",
                 static_cast<double>(sandbox.warm_loads));
  writer.Counter("cs_sandbox_compiles_total",
                 "Bundles that were compiled, most of them to be published.",
                 static_cast<double>(sandbox.compiles));
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
    writer.Counter(
        "cs_scheduler_ticks_total",
        "Ticks of schedules that were published, by tenant, namespace and schedule; those "
        "of schedules beyond the first thousand have empty names.",
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

void WriteFigures(const ApiFigures::Snapshot& api, house::MetricsWriter& writer) {
  for (const auto& [series, count] : api.requests) {
    writer.Counter("cs_api_requests_total",
                   "Requests of the functions API that were answered, by route, method and status.",
                   static_cast<double>(count),
                   {{"route", series.route},
                    {"method", series.method},
                    {"status", fmt::to_string(series.status)}});
  }
  for (const auto& [route, durations] : api.durations) {
    writer.Histogram(
        "cs_api_request_duration_ms",
        "How long they took, in milliseconds, by route and method; a stream until it began.",
        {Durations::kBoundsMs, durations.counts, durations.sum_ms},
        {{"route", route.first}, {"method", route.second}});
  }
}

Result<void> WriteQueueLags(store::Store& store, house::MetricsWriter& writer) {
  CAIRN_ASSIGN_OR_RETURN(const std::unique_ptr<store::Snapshot> reader, store.Read());
  for (const std::string_view topic : {kInvokeTopic, kResultsTopic}) {
    double lag_ms = 0;
    const Result<jobs::QueueInfo> queue = jobs::GetQueue(*reader, topic);
    if (!queue.ok() && queue.error().code != ErrorCode::kNotFound) return queue.error();
    if (queue.ok() && queue->oldest_pending_ns != 0) {
      lag_ms = static_cast<double>(reader->now().us) / 1e3 -
               static_cast<double>(queue->oldest_pending_ns) / 1e6;
    }
    writer.Gauge("cs_invoker_queue_lag_ms",
                 "How long the first message of a topic that can be claimed has waited, in "
                 "milliseconds; 0 if there is none.",
                 std::max(lag_ms, 0.0), {{"topic", std::string(topic)}});
  }
  return {};
}

}  // namespace cairn::functions
