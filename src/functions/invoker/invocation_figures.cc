#include "functions/invoker/invocation_figures.h"

#include <algorithm>
#include <utility>

namespace cairn::functions {

void Durations::Add(double took_ms) {
  const auto* const bound = std::ranges::lower_bound(kBoundsMs, took_ms);
  ++counts[static_cast<size_t>(bound - kBoundsMs.begin())];
  sum_ms += took_ms;
}

void InvocationFigures::Count(const Activation& activation) {
  InvocationSeries series{.tenant = activation.tenant,
                          .ns = activation.ns,
                          .function = activation.ref.function,
                          .version = activation.resolved_version.value_or(0),
                          .trigger = activation.trigger.type,
                          .status = activation.status};
  const auto took_ms = static_cast<double>(activation.duration_ms.value_or(0));
  DurationSeries timed{.tenant = series.tenant,
                       .ns = series.ns,
                       .function = series.function,
                       .version = series.version,
                       .trigger = series.trigger};
  const std::scoped_lock lock(mutex_);
  auto found = counted_.ended.find(series);
  if (found == counted_.ended.end()) {
    if (counted_.ended.size() >= kMaxSeries) {
      series = {.trigger = series.trigger, .status = series.status};
    }
    found = counted_.ended.try_emplace(std::move(series), 0).first;
  }
  ++found->second;
  if (counted_.durations.size() >= kMaxDurationSeries && !counted_.durations.contains(timed)) {
    timed = {.trigger = timed.trigger};
  }
  counted_.durations[std::move(timed)].Add(took_ms);
}

InvocationFigures::Snapshot InvocationFigures::Take() const {
  const std::scoped_lock lock(mutex_);
  return counted_;
}

}  // namespace cairn::functions
