#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "functions/model/message.h"
#include "functions/model/records.h"

namespace cairn::functions {

// Activations that have ended, as /metrics tells them apart.
struct InvocationSeries {
  std::string tenant;
  std::string ns;
  std::string function;
  uint64_t version = 0;
  TriggerType trigger = TriggerType::kApi;
  Status status = Status::kSuccess;
  friend auto operator<=>(const InvocationSeries&, const InvocationSeries&) = default;
};

// How long activations took, in milliseconds. `counts` has those up to each bound and above the one
// before, and last those above all bounds.
struct Durations {
  static constexpr std::array<double, 12> kBoundsMs = {1,   2.5, 5,    10,   25,    50,
                                                       100, 250, 1000, 5000, 30000, 300000};
  std::array<uint64_t, kBoundsMs.size() + 1> counts = {};
  double sum_ms = 0;
};

// Counts ends of activations in this process. Safe to use from any thread.
class InvocationFigures {
 public:
  // Of so many series each is counted by itself; the rest together, with empty names and version 0.
  static constexpr size_t kMaxSeries = 2'000;
  static constexpr size_t kTriggers = 6;

  // One that has ended.
  void Count(const Activation& activation);

  struct Snapshot {
    std::map<InvocationSeries, int64_t> ended;
    std::array<Durations, kTriggers> durations;  // by TriggerType
  };
  Snapshot Take() const;

 private:
  mutable std::mutex mutex_;
  Snapshot counted_;
};

}  // namespace cairn::functions
