#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace cairn::doors {

// How long calls took: bucket i counts those of up to about 2^i microseconds and more than half of
// it; the last one, all above.
inline constexpr size_t kLatencyBuckets = 32;
using LatencyBuckets = std::array<uint64_t, kLatencyBuckets>;

inline size_t LatencyBucketOf(uint64_t ns) {
  return std::min<size_t>(static_cast<size_t>(std::bit_width(ns >> 10)), kLatencyBuckets - 1);
}

// What has become of the calls of one command.
struct CallTotals {
  uint64_t calls = 0;     // ran
  uint64_t ns = 0;        // in all of them
  uint64_t rejected = 0;  // refused before they ran: wrong arity, not authenticated
  uint64_t failed = 0;    // ran and gave an error
  LatencyBuckets latency{};

  CallTotals& operator+=(const CallTotals& other) {
    calls += other.calls;
    ns += other.ns;
    rejected += other.rejected;
    failed += other.failed;
    for (size_t i = 0; i < kLatencyBuckets; ++i) latency[i] += other.latency[i];
    return *this;
  }

  // The time that so many of a hundred calls stayed within, rounded up to a bucket's end.
  uint64_t PercentileUs(double percent) const {
    const double wanted = static_cast<double>(calls) * percent / 100;
    uint64_t seen = 0;
    for (size_t i = 0; i < kLatencyBuckets; ++i) {
      seen += latency[i];
      if (static_cast<double>(seen) >= wanted) return uint64_t{1} << i;
    }
    return uint64_t{1} << (kLatencyBuckets - 1);
  }
};

// Counts error replies by their code, the first word. Safe to use from any thread.
class ErrorCounters {
 public:
  void Count(std::string_view code) {
    const std::lock_guard lock(mutex_);
    ++total_;
    const auto found = counts_.find(code);
    if (found != counts_.end()) {
      ++found->second;
    } else if (counts_.size() < kMostCodes) {
      counts_.emplace(code, 1);
    }
  }
  void Reset() {
    const std::lock_guard lock(mutex_);
    counts_.clear();
    total_ = 0;
  }
  uint64_t total() const {
    const std::lock_guard lock(mutex_);
    return total_;
  }
  std::map<std::string, uint64_t, std::less<>> counts() const {
    const std::lock_guard lock(mutex_);
    return counts_;
  }

 private:
  static constexpr size_t kMostCodes = 128;  // scripts make up their own

  mutable std::mutex mutex_;
  std::map<std::string, uint64_t, std::less<>> counts_;
  uint64_t total_ = 0;
};

// What has become of the keys that commands looked for.
struct LookupTotals {
  uint64_t hits = 0;
  uint64_t misses = 0;

  LookupTotals& operator+=(const LookupTotals& other) {
    hits += other.hits;
    misses += other.misses;
    return *this;
  }
};

// Counts calls by command, for one loop: counted by its thread only and therefore without locked
// instructions, read from any thread.
class CallCounters {
 public:
  explicit CallCounters(size_t commands) : rows_(commands) {}

  void Ran(uint32_t command, uint64_t ns, bool failed) {
    Row& row = rows_[command];
    Add(row.calls, 1);
    Add(row.ns, ns);
    if (failed) Add(row.failed, 1);
    Add(row.latency[LatencyBucketOf(ns)], 1);
  }
  void Rejected(uint32_t command) { Add(rows_[command].rejected, 1); }
  void LookedUp(uint64_t hits, uint64_t misses) {
    if (hits != 0) Add(hits_, hits);
    if (misses != 0) Add(misses_, misses);
  }

  LookupTotals Lookups() const {
    return {hits_.load(std::memory_order_relaxed), misses_.load(std::memory_order_relaxed)};
  }

  CallTotals Totals(uint32_t command) const {
    const Row& row = rows_[command];
    CallTotals totals{.calls = row.calls.load(std::memory_order_relaxed),
                      .ns = row.ns.load(std::memory_order_relaxed),
                      .rejected = row.rejected.load(std::memory_order_relaxed),
                      .failed = row.failed.load(std::memory_order_relaxed)};
    for (size_t i = 0; i < kLatencyBuckets; ++i) {
      totals.latency[i] = row.latency[i].load(std::memory_order_relaxed);
    }
    return totals;
  }

  // On the counting thread.
  void Reset() {
    hits_.store(0, std::memory_order_relaxed);
    misses_.store(0, std::memory_order_relaxed);
    for (Row& row : rows_) {
      for (std::atomic<uint64_t>* counter : {&row.calls, &row.ns, &row.rejected, &row.failed}) {
        counter->store(0, std::memory_order_relaxed);
      }
      for (std::atomic<uint64_t>& bucket : row.latency) bucket.store(0, std::memory_order_relaxed);
    }
  }

 private:
  struct Row {
    std::atomic<uint64_t> calls{0};
    std::atomic<uint64_t> ns{0};
    std::atomic<uint64_t> rejected{0};
    std::atomic<uint64_t> failed{0};
    std::array<std::atomic<uint64_t>, kLatencyBuckets> latency{};
  };

  static void Add(std::atomic<uint64_t>& counter, uint64_t delta) {
    counter.store(counter.load(std::memory_order_relaxed) + delta, std::memory_order_relaxed);
  }

  std::vector<Row> rows_;
  std::atomic<uint64_t> hits_{0};
  std::atomic<uint64_t> misses_{0};
};

}  // namespace cairn::doors
