#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "doors/resp/command.h"
#include "doors/resp/instance.h"
#include "net/resp/server.h"

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

// What has been counted since CONFIG RESETSTAT; the counters themselves only grow, as those who
// scrape them expect. Safe to use from any thread.
class NetworkSinceReset {
 public:
  void Reset(const net::RespServerStats& totals);
  net::RespServerStats Of(net::RespServerStats totals) const;

 private:
  mutable std::mutex mutex_;
  net::RespServerStats at_reset_;
};

// What INFO remembers from one call to the next.
struct InfoRates {
  RateMeter requests;
  RateMeter bytes_in;
  RateMeter bytes_out;
  NetworkSinceReset network;
};

// The INFO command: sections of name:value lines, as clients and monitoring tools read them.
Result<void> Info(doors::CommandContext& context, doors::Instance& instance, InfoRates& rates);

// The value of a setting, where the server has one.
std::string SettingOr(doors::Instance& instance, std::string_view name, std::string_view otherwise);

// What the process has in memory, now and at most.
uint64_t ResidentBytes();
uint64_t PeakResidentBytes();

}  // namespace cairn::data
