#pragma once

#include <atomic>
#include <compare>
#include <cstdint>

namespace cairn {

// An instant of wall-clock time: microseconds since 1970-01-01 UTC.
struct Timestamp {
  int64_t us = 0;

  static constexpr Timestamp FromMillis(int64_t ms) { return {ms * 1000}; }
  constexpr int64_t millis() const { return us / 1000; }
  friend constexpr auto operator<=>(const Timestamp&, const Timestamp&) = default;
};

// Where time comes from. Everything that asks for the time is given a Clock, so tests advance time
// instead of sleeping. Safe to use from any thread.
class Clock {
 public:
  virtual ~Clock() = default;
  // Wall-clock time; may jump when the machine's clock is set.
  virtual Timestamp Now() const = 0;
  // Nanoseconds that never go back, for measuring how long something took.
  virtual uint64_t MonotonicNs() const = 0;
};

class SystemClock final : public Clock {
 public:
  Timestamp Now() const override;
  uint64_t MonotonicNs() const override;
};

// A clock that stands still until told otherwise.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(Timestamp start = Timestamp::FromMillis(1'700'000'000'000))
      : us_(start.us) {}

  Timestamp Now() const override { return {us_.load()}; }
  uint64_t MonotonicNs() const override { return static_cast<uint64_t>(us_.load()) * 1000; }
  void AdvanceMillis(int64_t ms) { us_ += ms * 1000; }

 private:
  std::atomic<int64_t> us_;
};

}  // namespace cairn
