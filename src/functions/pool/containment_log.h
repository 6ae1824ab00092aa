#pragma once

#include <cstdint>
#include <mutex>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "functions/pool/run.h"

namespace cairn::functions {

// The server's log of what the sandbox has stopped: one line for each run that ended at a limit or
// with its process. Tenants decide how often that happens, so there are at most kLinesPerSecond;
// how many were left out is said later.
//
// Safe to use from any thread.
class ContainmentLog {
 public:
  static constexpr int kLinesPerSecond = 10;

  // `clock` outlives it.
  ContainmentLog(Log log, const Clock& clock) : log_(std::move(log)), clock_(clock) {}

  // Nothing, if the run ended by itself.
  void Note(const std::string& tenant, const RunOutcome& outcome);

 private:
  // Whether a line may be written now; `left_out` is how many were not, before it.
  bool TakeLine(int64_t& left_out);

  const Log log_;
  const Clock& clock_;
  std::mutex mutex_;
  uint64_t second_ = 0;
  int lines_ = 0;
  int64_t left_out_ = 0;
};

}  // namespace cairn::functions
