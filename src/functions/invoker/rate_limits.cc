#include "functions/invoker/rate_limits.h"

#include <algorithm>
#include <cmath>

namespace cairn::functions {

constexpr double kNsPerSecond = 1e9;

void RateLimits::Fill(Bucket& bucket, int64_t per_second, uint64_t now_ns) {
  const double seconds = static_cast<double>(now_ns - bucket.filled_ns) / kNsPerSecond;
  const auto most = static_cast<double>(per_second);
  bucket.tokens = std::min(most, bucket.tokens + seconds * most);
  bucket.filled_ns = now_ns;
}

void RateLimits::Sweep(uint64_t now_ns) {
  // One that was not touched for a second is full, whatever its rate.
  std::erase_if(buckets_, [&](const auto& entry) {
    return static_cast<double>(now_ns - entry.second.filled_ns) >= kNsPerSecond;
  });
  sweep_at_ = std::max(kSweepAt, buckets_.size() * 2);
}

std::optional<int64_t> RateLimits::Take(std::string_view name, int64_t per_second) {
  if (per_second <= 0) return std::nullopt;
  const uint64_t now_ns = clock_.MonotonicNs();
  const std::scoped_lock lock(mutex_);
  if (buckets_.size() >= sweep_at_) Sweep(now_ns);
  const auto [found, is_new] = buckets_.try_emplace(std::string(name));
  Bucket& bucket = found->second;
  if (is_new) bucket = {static_cast<double>(per_second), now_ns};
  Fill(bucket, per_second, now_ns);
  if (bucket.tokens >= 1) {
    bucket.tokens -= 1;
    return std::nullopt;
  }
  const double missing = (1 - bucket.tokens) / static_cast<double>(per_second);
  return std::max<int64_t>(1, std::llround(std::ceil(missing * 1000)));
}

}  // namespace cairn::functions
