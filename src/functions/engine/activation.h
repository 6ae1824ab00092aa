#pragma once

#include <jsapi.h>

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "functions/engine/engine.h"
#include "functions/engine/job_queue.h"

namespace cairn::functions {

// What one run has going besides JavaScript on the stack: timers, calls to the host, promises that
// were rejected without anybody listening.
class Activation {
 public:
  // All outlive it. `host` may be null: then nothing can be asked.
  Activation(JSContext* cx, Jobs& queue, EngineHost* host, AnswerMode answer);
  Activation(const Activation&) = delete;
  Activation& operator=(const Activation&) = delete;

  EngineHost* host() const { return host_; }
  Jobs& queue() const { return queue_; }
  uint64_t started_ns() const { return started_ns_; }

  // Throw, by returning false or null with an exception pending, when there are too many.
  bool SetTimer(JS::HandleObject function, double delay_ms, bool repeat, double& id);
  void ClearTimer(double id);
  JSObject* Call(std::string_view operation, std::string_view arguments);

  // An answer that is sent as it is made. The first three throw, by returning false or null with an
  // exception pending, at the wrong time. Once the answer is not wanted any more they do nothing.
  bool BeginStream(std::string_view head);
  bool StreamPiece(std::string_view bytes);
  bool EndStream();
  bool has_room() const { return aborted_ || room_ > 0; }
  JSObject* AwaitRoom();
  bool stream_begun() const { return stream_ != Stream::kNone; }
  AnswerMode answer() const { return answer_; }
  // `function` is called, with why, when the answer is not wanted any more. Returns why, if that is
  // so already: then it is never called.
  const std::optional<std::string>& OnAbort(JS::HandleObject function);

  void NoteRejection(JS::HandleObject promise, bool handled);
  // Descriptions of the rejected promises nobody has listened to.
  std::vector<RunError> UnhandledRejections();

  // Runs until `promise` is settled. False if it cannot be any more: nothing is left that could
  // settle it, or the run was stopped (`stopped()`).
  bool RunUntilSettled(JS::HandleObject promise);
  bool stopped() const { return stopped_; }

 private:
  struct Timer {
    uint64_t due_ns = 0;
    uint64_t period_ns = 0;  // 0: once
    JS::PersistentRootedObject function;
  };

  bool RunJobs();
  bool RunDueTimers();
  bool Settle(const HostReply& reply);
  bool Take(const HostReply& reply);
  bool Abort(const std::string& reason);
  bool WakeStream();

  enum class Stream : uint8_t { kNone, kBegun, kEnded };

  JSContext* cx_;
  Jobs& queue_;
  EngineHost* host_;
  uint64_t started_ns_;
  bool stopped_ = false;
  double last_timer_ = 0;
  std::map<double, Timer> timers_;
  std::set<std::pair<uint64_t, double>> due_;  // (due_ns, id)
  uint64_t last_call_ = 0;
  size_t call_bytes_ = 0;
  std::map<uint64_t, std::pair<size_t, JS::PersistentRootedObject>> calls_;
  std::list<JS::PersistentRootedObject> rejected_;
  const AnswerMode answer_;
  Stream stream_ = Stream::kNone;
  int64_t room_;  // of the stream
  std::optional<JS::PersistentRootedObject> room_wait_;
  std::optional<std::string> aborted_;  // why
  std::list<JS::PersistentRootedObject> on_abort_;
};

// Monotonic time. The engine's own, because nothing of a function may wait for a test's clock.
uint64_t MonotonicNowNs();

}  // namespace cairn::functions
