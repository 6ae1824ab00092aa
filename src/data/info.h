#pragma once

#include <cstdint>
#include <mutex>

#include "base/clock.h"
#include "base/result.h"
#include "doors/command.h"
#include "doors/instance.h"

namespace cairn::data {

// How fast a total grows, measured from one question to the next. Safe to use from any thread.
class RateMeter {
 public:
  // Per second, since the last question that is at least a tenth of a second ago.
  double Measure(uint64_t total, Timestamp now);

 private:
  std::mutex mutex_;
  Timestamp last_time_;
  uint64_t last_total_ = 0;
  double rate_ = 0;
};

struct InfoRates {
  RateMeter requests;
  RateMeter bytes_in;
  RateMeter bytes_out;
};

// The INFO command: sections of name:value lines, as clients and monitoring tools read them.
Result<void> Info(doors::CommandContext& context, doors::Instance& instance, InfoRates& rates);

// What the process has in memory, now and at most.
uint64_t ResidentBytes();
uint64_t PeakResidentBytes();

}  // namespace cairn::data
