#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "outside/http_service.h"

// What is said to a frontend of Cadence, and in which words. Pure functions between what pollers
// mean and requests of HTTP.
namespace cairn::functions {

struct PollRequest {
  std::string domain;
  std::string tasklist;
  std::string worker_id;
};

// A task of an activity. Whatever it says was chosen by somebody else.
struct ActivityTask {
  Bytes token;
  std::string workflow_id;
  std::string run_id;
  std::string activity_id;
  std::string activity_type;
  int64_t attempt = 0;
  Bytes input;
  int64_t timeout_ms = 0;  // from the start of the activity to its end; 0: not known
  friend bool operator==(const ActivityTask&, const ActivityTask&) = default;
};

// How a task has ended. `details` of one that has failed, and `result` of one that has not, is
// JSON.
struct TaskAnswer {
  bool failed = false;
  std::string reason = {};  // of a failure: "error", "timeout", "role_missing", …
  std::string text;
};

struct TaskRef {
  BytesView token;
  std::string_view worker_id;
};

// One way of saying it. What Read… is given may be anything; errors of all of them:
//
//   kNotFound      the task is gone: answered, timed out, or its workflow has ended
//   kInvalid       the frontend will never take this
//   kIo            it took too long
//   kCorruption    no such answer is known
//   kTooLarge      a task that exceeds limits.h
//   kUnavailable   everything else
//
// Stateless: used on any thread.
class Wire {
 public:
  virtual ~Wire() = default;

  virtual outside::HttpCall Poll(const PollRequest& request) const = 0;
  // nullopt: there was no task.
  virtual Result<std::optional<ActivityTask>> ReadPoll(const outside::HttpAnswer& answer) const = 0;

  virtual outside::HttpCall Respond(const TaskRef& task, const TaskAnswer& answer) const = 0;
  virtual Result<void> ReadRespond(const outside::HttpAnswer& answer) const = 0;

  virtual outside::HttpCall Heartbeat(const TaskRef& task, std::string_view details) const = 0;
  // Whether the activity is asked to end.
  virtual Result<bool> ReadHeartbeat(const outside::HttpAnswer& answer) const = 0;
};

// "http://host:7833" of "host:7833" too; nullopt for what is no address of a server.
std::optional<std::string> FrontendUrl(std::string_view text);

// --- For both ------------------------------------------------------------------------------------

// A POST to the frontend, wherever that is: the operator has named it.
outside::HttpCall FrontendCall(std::string url, std::string body);
// Refuses a task that is larger than limits.h allows.
Result<void> CheckTask(const ActivityTask& task);

}  // namespace cairn::functions
