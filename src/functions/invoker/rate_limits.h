#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/clock.h"

namespace cairn::functions {

// How often something may happen a second, by name: a token bucket each, which holds the tokens of
// one second. Of this process alone; another node of the same store has buckets of its own.
//
// Safe to use from any thread.
class RateLimits {
 public:
  explicit RateLimits(const Clock& clock) : clock_(clock) {}

  // Takes a token of `name`, whose bucket is filled at `per_second`; 0: without limit. nullopt if
  // there was one, else after how many milliseconds there will be.
  std::optional<int64_t> Take(std::string_view name, int64_t per_second);

 private:
  struct Bucket {
    double tokens = 0;
    uint64_t filled_ns = 0;
  };
  // Buckets that are full again are forgotten when there are so many.
  static constexpr size_t kSweepAt = 10'000;

  static void Fill(Bucket& bucket, int64_t per_second, uint64_t now_ns);
  void Sweep(uint64_t now_ns);

  const Clock& clock_;
  std::mutex mutex_;
  std::unordered_map<std::string, Bucket> buckets_;
  size_t sweep_at_ = kSweepAt;
};

}  // namespace cairn::functions
