#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "net/loop.h"

namespace cairn::admin {

// How late each loop was with what it had to do: the time by which a regular timer came late. A
// loop that something blocks shows here first.
//
// Construct while the loops run, destroy then or after they have stopped, on a thread that is not a
// loop's; read from any thread.
class LoopLatency {
 public:
  // Upper bounds in seconds; a last bucket has none.
  static constexpr std::array kBounds = {0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0};

  struct Histogram {
    std::array<uint64_t, kBounds.size() + 1> counts{};  // of each bucket alone
    double sum_seconds = 0;
  };

  LoopLatency(net::LoopGroup& loops, const Clock& clock,
              std::chrono::milliseconds period = std::chrono::milliseconds(100));
  ~LoopLatency();  // stops
  LoopLatency(const LoopLatency&) = delete;
  LoopLatency& operator=(const LoopLatency&) = delete;

  // Measures no more; what was measured can still be read. The loops may be destroyed after this.
  void Stop();

  // One per loop.
  std::vector<Histogram> histograms() const;

 private:
  struct Probe {
    net::Loop* loop = nullptr;
    net::Timer timer;
    uint64_t due_ns = 0;
    // Written by the loop's thread only.
    std::array<std::atomic<uint64_t>, kBounds.size() + 1> counts{};
    std::atomic<uint64_t> sum_ns{0};
  };

  void Schedule(Probe& probe);
  void Record(Probe& probe) const;

  net::LoopGroup& loops_;
  const Clock& clock_;
  const std::chrono::milliseconds period_;
  bool stopped_ = false;
  std::vector<std::unique_ptr<Probe>> probes_;
};

}  // namespace cairn::admin
