#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "functions/protocol/program.h"

namespace cairn::functions {

// Make it before the expression that awaits the run: g++ 12 moves the strings of an aggregate made
// inside of one without telling them.
struct RunRequest {
  std::string tenant;  // processes are never shared between tenants
  std::shared_ptr<const Program> program;
  std::string event;    // JSON
  std::string context;  // JSON
  std::string env;      // JSON
  RunLimits limits = {};
  bool only_load = false;  // nothing is run: the child has the program ready then
};

// What a running function may ask of the server. Called on the loop of the run. The child is
// hostile: check every capability here.
class RunHost {
 public:
  virtual ~RunHost() = default;
  // JSON in, JSON out; an Error becomes an exception in JavaScript, with its message. At most
  // kMaxHostCallsInFlight at once.
  virtual boost::asio::awaitable<Result<std::string>> Call(std::string_view operation,
                                                           std::string arguments) = 0;
  // One line; text that need not be UTF-8.
  virtual void Log(std::string_view level, std::string_view text) = 0;
};

struct RunUsage {
  int64_t wall_us = 0;  // from the moment it had a child
  int64_t cpu_us = 0;   // as the child says
  uint64_t peak_memory_bytes = 0;
  bool cold = false;  // a child had to be started, or the code loaded
};

struct RunOutcome {
  RunStatus status = RunStatus::kError;
  std::string result = {};  // {"statusCode":…}, as engine/result.h has it
  bool result_truncated = false;
  RunError error = {};
  RunUsage usage = {};
  std::string limit_hit = {};  // "", "wall", "cpu", "memory", "crash"
};

}  // namespace cairn::functions
