#include "doors/resp/latency_events.h"

#include <algorithm>

namespace cairn::doors {

void LatencyEvents::Add(std::string_view event, Timestamp now, int64_t ms) {
  const int64_t second = now.us / 1'000'000;
  const std::lock_guard lock(mutex_);
  Series& series = events_[std::string(event)];
  series.max_ms = std::max(series.max_ms, ms);
  if (!series.samples.empty() && series.samples.back().second == second) {
    series.samples.back().ms = std::max(series.samples.back().ms, ms);
    return;
  }
  series.samples.push_back({second, ms});
  if (series.samples.size() > kSamples) series.samples.pop_front();
}

std::vector<LatencyEvents::Sample> LatencyEvents::History(std::string_view event) const {
  const std::lock_guard lock(mutex_);
  const auto found = events_.find(event);
  if (found == events_.end()) return {};
  return {found->second.samples.begin(), found->second.samples.end()};
}

std::vector<LatencyEvents::Summary> LatencyEvents::Summaries() const {
  const std::lock_guard lock(mutex_);
  std::vector<Summary> summaries;
  for (const auto& [event, series] : events_) {
    summaries.push_back({event, series.samples.back(), series.max_ms});
  }
  return summaries;
}

size_t LatencyEvents::Reset(std::span<const std::string_view> events) {
  const std::lock_guard lock(mutex_);
  const size_t before = events_.size();
  if (events.empty()) events_.clear();
  for (const std::string_view event : events) {
    if (const auto found = events_.find(event); found != events_.end()) events_.erase(found);
  }
  return before - events_.size();
}

}  // namespace cairn::doors
