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
  AnswerMode answer = AnswerMode::kAtEnd;
};

// What the host of a run may tell the function. On the loop of the run.
class RunControl {
 public:
  // The client has taken so much of the answer that is being sent.
  virtual void Grant(uint64_t bytes) = 0;
  // Nobody wants the answer any more: the function's signal is aborted, and its stream cancelled.
  virtual void Abort(std::string_view reason) = 0;

 protected:
  ~RunControl() = default;
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

  // The run has a child from now on; with null, not any more.
  virtual void SetControl(RunControl* /*control*/) {}
  // What a run tells before it ends, as RunRequest::answer allows: a whole answer, or the head of
  // one and then pieces of its body, of which not more are under way than wire::kStreamWindowBytes,
  // and one more. StreamEnded comes if the body is complete. Texts are as the child says.
  virtual void Answered(std::string /*result*/, bool /*truncated*/) {}
  virtual void StreamBegun(std::string /*head*/) {}
  virtual void StreamPiece(std::string /*bytes*/) {}
  virtual void StreamEnded() {}
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
