#include "admin/loop_latency.h"

#include <algorithm>
#include <utility>

namespace cairn::admin {

LoopLatency::LoopLatency(net::LoopGroup& loops, const Clock& clock,
                         std::chrono::milliseconds period)
    : loops_(loops), clock_(clock), period_(period) {
  for (size_t i = 0; i < loops.size(); ++i) {
    probes_.push_back(std::make_unique<Probe>());
    probes_.back()->loop = &loops.at(i);
  }
  loops.RunOnEach([this](net::Loop& loop) {
    for (const auto& probe : probes_) {
      if (probe->loop == &loop) Schedule(*probe);
    }
  });
}

LoopLatency::~LoopLatency() { Stop(); }

void LoopLatency::Stop() {
  if (std::exchange(stopped_, true)) return;
  loops_.RunOnEach([this](net::Loop& loop) {
    for (const auto& probe : probes_) {
      if (probe->loop == &loop) probe->timer = {};
    }
  });
}

void LoopLatency::Schedule(Probe& probe) {
  probe.due_ns =
      clock_.MonotonicNs() + static_cast<uint64_t>(std::chrono::nanoseconds(period_).count());
  probe.timer = probe.loop->After(period_, [this, &probe] {
    Record(probe);
    Schedule(probe);
  });
}

void LoopLatency::Record(Probe& probe) const {
  const uint64_t now_ns = clock_.MonotonicNs();
  const uint64_t late_ns = now_ns > probe.due_ns ? now_ns - probe.due_ns : 0;
  const double late_seconds = static_cast<double>(late_ns) / 1e9;
  const auto bucket =
      static_cast<size_t>(std::ranges::lower_bound(kBounds, late_seconds) - kBounds.begin());
  probe.counts[bucket].fetch_add(1, std::memory_order_relaxed);
  probe.sum_ns.fetch_add(late_ns, std::memory_order_relaxed);
}

std::vector<LoopLatency::Histogram> LoopLatency::histograms() const {
  std::vector<Histogram> histograms;
  for (const auto& probe : probes_) {
    Histogram histogram;
    for (size_t i = 0; i < histogram.counts.size(); ++i) {
      histogram.counts[i] = probe->counts[i].load(std::memory_order_relaxed);
    }
    histogram.sum_seconds =
        static_cast<double>(probe->sum_ns.load(std::memory_order_relaxed)) / 1e9;
    histograms.push_back(histogram);
  }
  return histograms;
}

}  // namespace cairn::admin
