#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string_view>

#include "base/log.h"

namespace cairn::doors {

// Wrong passwords and keys at both doors. Guessing is made slow (who fails waits for the answer)
// and seen (a count, and a log line now and then). Safe to use from any thread.
class FailedLogins {
 public:
  // How long the answer to the n-th failure in a row of one connection is held back: from a tenth
  // of a second, doubled each time, to a few seconds.
  static std::chrono::milliseconds DelayAfter(uint32_t failures);

  // Counts one, and logs it unless that was done a moment ago.
  void Note(uint64_t now_ns, std::string_view peer, const Log& log);

  uint64_t count() const { return count_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> count_ = 0;
  std::atomic<uint64_t> logged_count_ = 0;
  std::atomic<uint64_t> next_log_ns_ = 0;
};

}  // namespace cairn::doors
