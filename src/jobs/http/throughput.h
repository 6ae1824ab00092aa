#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "base/result.h"
#include "jobs/ledger/event.h"
#include "store/transaction.h"

namespace cairn::jobs {

// How many jobs were enqueued, completed and failed in each of the last sixty minutes, counted from
// the event log when somebody asks: the first time an hour of it, then what came since. Safe to use
// from any thread.
class Throughput {
 public:
  // Minutes whose events the log lost before they were counted show too few; `gaps` counts that.
  explicit Throughput(std::shared_ptr<EventGaps> gaps) : gaps_(std::move(gaps)) {}

  // The array of sixty {"minute","enqueued","completed","failed"}, oldest first. Reads what is new,
  // so it belongs on a thread that may wait.
  Result<std::string> CatchUp(store::Reader& reader);

 private:
  struct Minute {
    int64_t number = -1;  // minutes since 1970; a place is used again after an hour
    int64_t enqueued = 0;
    int64_t completed = 0;
    int64_t failed = 0;
  };
  static constexpr int64_t kMinutes = 60;

  Minute& At(int64_t minute);

  const std::shared_ptr<EventGaps> gaps_;
  std::mutex mutex_;
  uint64_t counted_ = 0;  // events up to this number
  std::array<Minute, kMinutes> minutes_;
};

}  // namespace cairn::jobs
