#pragma once

#include <cstdint>
#include <mutex>
#include <random>
#include <span>

#include "base/bytes.h"

namespace cairn {

// Where randomness comes from, injected so that a test can repeat a run from its seed.
// Safe to use from any thread.
class Random {
 public:
  virtual ~Random() = default;
  virtual uint64_t Next() = 0;

  // Uniform in [0, bound); bound > 0.
  uint64_t Below(uint64_t bound);
  Bytes NextBytes(size_t count);
};

// The operating system's generator: unpredictable, for ids, tokens and keys.
class SystemRandom final : public Random {
 public:
  uint64_t Next() override;
};

// A fixed sequence from a seed, for tests and simulations only.
class SeededRandom final : public Random {
 public:
  explicit SeededRandom(uint64_t seed) : engine_(seed) {}
  uint64_t Next() override;

 private:
  std::mutex mutex_;
  std::mt19937_64 engine_;
};

}  // namespace cairn
