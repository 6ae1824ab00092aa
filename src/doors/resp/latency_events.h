#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"

namespace cairn::doors {

// What took long, by kind of event, a bounded number of samples each: LATENCY. Events are "command"
// and "fast-command", for commands that are said to be fast. Safe to use from any thread.
class LatencyEvents {
 public:
  static constexpr size_t kSamples = 160;

  struct Sample {
    int64_t second = 0;  // since 1970
    int64_t ms = 0;      // the longest of that second
  };
  struct Summary {
    std::string event;
    Sample latest;
    int64_t max_ms = 0;  // since the event was last reset
  };

  // Whether something of this duration is an event. Asked for every call.
  bool Wants(uint64_t duration_us) const {
    const int64_t threshold_ms = threshold_ms_.load(std::memory_order_relaxed);
    return threshold_ms > 0 && duration_us >= static_cast<uint64_t>(threshold_ms) * 1000;
  }
  void Add(std::string_view event, Timestamp now, int64_t ms);

  std::vector<Sample> History(std::string_view event) const;  // oldest first
  std::vector<Summary> Summaries() const;                     // by name
  // Forgets these events, or all; returns how many there were.
  size_t Reset(std::span<const std::string_view> events);

  int64_t threshold_ms() const { return threshold_ms_.load(std::memory_order_relaxed); }
  void set_threshold_ms(int64_t ms) { threshold_ms_.store(ms, std::memory_order_relaxed); }

 private:
  struct Series {
    std::deque<Sample> samples;
    int64_t max_ms = 0;
  };

  std::atomic<int64_t> threshold_ms_{0};  // 0: nothing is an event
  mutable std::mutex mutex_;
  std::map<std::string, Series, std::less<>> events_;
};

}  // namespace cairn::doors
