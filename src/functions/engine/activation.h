#pragma once

#include <jsapi.h>

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <set>
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
  Activation(JSContext* cx, Jobs& queue, EngineHost* host);
  Activation(const Activation&) = delete;
  Activation& operator=(const Activation&) = delete;

  EngineHost* host() const { return host_; }
  Jobs& queue() const { return queue_; }
  uint64_t started_ns() const { return started_ns_; }

  // Throw, by returning false or null with an exception pending, when there are too many.
  // One that is not `keeps` keeps nobody awake: with no others left, the run is idle.
  struct TimerKind {
    bool repeat = false;
    bool keeps = true;
  };
  bool SetTimer(JS::HandleObject function, double delay_ms, TimerKind kind, double& id);
  void ClearTimer(double id);
  JSObject* Call(std::string_view operation, std::string_view arguments);

  // `idle` is called when nothing is left that could settle the run's promise, but timers that keep
  // nobody awake. It returns whether it has asked for something. `end` is called when the handler's
  // promise was fulfilled.
  void Watch(JS::HandleObject idle, JS::HandleObject end);
  // Calls `end`; what it returns is waited for. False, with an exception or as a call that was
  // stopped, if it ends the run otherwise.
  bool CallEnd(JS::MutableHandleValue returned);
  // Ends the run without its handler's result; the caller returns to the engine at once. Without an
  // error, to be gone on with later.
  void Leave(std::optional<RunError> error);
  bool left() const { return left_; }
  const std::optional<RunError>& left_with() const { return left_with_; }

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
    bool keeps = true;
    JS::PersistentRootedObject function;
  };

  bool RunJobs();
  bool RunDueTimers();
  void ForgetTimer(std::map<double, Timer>::iterator timer);
  // Whether it has asked for something.
  bool CallIdle();
  bool Settle(const HostReply& reply);

  JSContext* cx_;
  Jobs& queue_;
  EngineHost* host_;
  uint64_t started_ns_;
  bool stopped_ = false;
  double last_timer_ = 0;
  std::map<double, Timer> timers_;
  std::set<std::pair<uint64_t, double>> due_;  // (due_ns, id)
  size_t keeping_ = 0;                         // timers that keep the run awake
  std::optional<JS::PersistentRootedObject> idle_;
  std::optional<JS::PersistentRootedObject> end_;
  bool left_ = false;
  std::optional<RunError> left_with_;
  uint64_t last_call_ = 0;
  size_t call_bytes_ = 0;
  std::map<uint64_t, std::pair<size_t, JS::PersistentRootedObject>> calls_;
  std::list<JS::PersistentRootedObject> rejected_;
};

// Monotonic time. The engine's own, because nothing of a function may wait for a test's clock.
uint64_t MonotonicNowNs();

}  // namespace cairn::functions
