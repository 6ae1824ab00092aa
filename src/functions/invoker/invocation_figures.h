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

// The same whose durations are told apart.
struct DurationSeries {
  std::string tenant;
  std::string ns;
  std::string function;
  uint64_t version = 0;
  TriggerType trigger = TriggerType::kApi;
  friend auto operator<=>(const DurationSeries&, const DurationSeries&) = default;
};

// How long activations took, in milliseconds. `counts` has those up to each bound and above the one
// before, and last those above all bounds.
struct Durations {
  static constexpr std::array<double, 12> kBoundsMs = {1,   2.5, 5,    10,   25,    50,
                                                       100, 250, 1000, 5000, 30000, 300000};
  std::array<uint64_t, kBoundsMs.size() + 1> counts = {};
  double sum_ms = 0;

  void Add(double took_ms);
};

// Counts ends of activations in this process. Safe to use from any thread.
class InvocationFigures {
 public:
  // Of so many series each is counted by itself; the rest together, with empty names and version 0.
  static constexpr size_t kMaxSeries = 2'000;
  static constexpr size_t kMaxDurationSeries = 500;  // of which each is many lines of /metrics

  // One that has ended.
  void Count(const Activation& activation);

  struct Snapshot {
    std::map<InvocationSeries, int64_t> ended;
    std::map<DurationSeries, Durations> durations;
  };
  Snapshot Take() const;

 private:
  mutable std::mutex mutex_;
  Snapshot counted_;
};

}  // namespace cairn::functions
