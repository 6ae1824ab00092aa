#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "doors/resp/command.h"

namespace cairn::doors {

// The calls that took longest to run, newest first, a bounded number of them. Safe to use from any
// thread.
class SlowLog {
 public:
  struct Entry {
    uint64_t id = 0;
    Timestamp time;
    uint64_t duration_us = 0;
    std::vector<std::string> args;  // cut to a bound, each and all
    std::string peer;
    std::string client_name;
  };

  // Whether a call of this duration belongs here. Asked for every call.
  bool Wants(uint64_t duration_us) const {
    const int64_t threshold = threshold_us_.load(std::memory_order_relaxed);
    return threshold >= 0 && duration_us >= static_cast<uint64_t>(threshold);
  }
  void Add(Timestamp time, uint64_t duration_us, Args args, std::string peer,
           std::string client_name);

  std::vector<Entry> Newest(size_t count) const;
  size_t size() const;
  void Clear();

  int64_t threshold_us() const { return threshold_us_.load(std::memory_order_relaxed); }
  void set_threshold_us(int64_t us) { threshold_us_.store(us, std::memory_order_relaxed); }
  size_t max_length() const;
  void set_max_length(size_t length);

 private:
  std::atomic<int64_t> threshold_us_{10'000};  // negative: nothing is logged
  mutable std::mutex mutex_;
  size_t max_length_ = 128;
  uint64_t next_id_ = 0;
  std::deque<Entry> entries_;  // newest first
};

}  // namespace cairn::doors
