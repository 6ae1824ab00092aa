#include "jobs/http/throughput.h"

#include <fmt/format.h>

#include <vector>

#include "base/time_text.h"
#include "jobs/ledger/event.h"

namespace cairn::jobs {
namespace {

constexpr size_t kBatch = 4'096;
constexpr uint64_t kNsPerMinute = 60ULL * 1'000'000'000;

// A number such that all events after it, and hardly any before it, are not older than `ns`.
Result<uint64_t> NumberBefore(store::Reader& reader, uint64_t low, uint64_t high, uint64_t ns) {
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    CAIRN_ASSIGN_OR_RETURN(const EventPage next, ReadEvents(reader, middle, 1));
    if (next.events.empty() || next.events.front().at_ns >= ns) {
      high = middle;
    } else {
      low = next.events.front().number;
    }
  }
  return low;
}

}  // namespace

Throughput::Minute& Throughput::At(int64_t minute) {
  Minute& place = minutes_[static_cast<size_t>(minute % kMinutes)];
  if (place.number != minute) place = {.number = minute};
  return place;
}

Result<std::string> Throughput::CatchUp(store::Reader& reader) {
  const std::lock_guard lock(mutex_);
  const int64_t now = reader.now().us * 1000 / static_cast<int64_t>(kNsPerMinute);
  const int64_t oldest = now - kMinutes + 1;
  CAIRN_ASSIGN_OR_RETURN(const uint64_t newest, NewestEvent(reader));
  CAIRN_ASSIGN_OR_RETURN(counted_, NumberBefore(reader, counted_, newest,
                                                static_cast<uint64_t>(oldest) * kNsPerMinute));
  while (counted_ < newest) {
    CAIRN_ASSIGN_OR_RETURN(const EventPage page, ReadEvents(reader, counted_, kBatch));
    if (page.missed_to != 0 && counted_ != 0) ++gaps_->throughput;
    if (page.events.empty()) break;
    for (const Event& event : page.events) {
      const auto minute = static_cast<int64_t>(event.at_ns / kNsPerMinute);
      if (minute < oldest || minute > now) continue;
      if (event.type == EventType::kEnqueued) ++At(minute).enqueued;
      if (event.type == EventType::kCompleted) ++At(minute).completed;
      if (event.type == EventType::kFailed) ++At(minute).failed;
    }
    counted_ = page.events.back().number;
  }
  std::string text = "[";
  for (int64_t minute = oldest; minute <= now; ++minute) {
    const Minute& counts = At(minute);
    if (text.size() > 1) text.push_back(',');
    text += fmt::format(R"({{"minute":"{}","enqueued":{},"completed":{},"failed":{}}})",
                        FormatTime(static_cast<uint64_t>(minute) * kNsPerMinute), counts.enqueued,
                        counts.completed, counts.failed);
  }
  return text + "]";
}

}  // namespace cairn::jobs
