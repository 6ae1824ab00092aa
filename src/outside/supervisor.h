#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/file_descriptor.h"
#include "base/log.h"
#include "base/random.h"
#include "outside/backoff.h"
#include "outside/child_process.h"

namespace cairn::outside {

// Who is told what a supervised child does. Called by Supervisor::Step, one call at a time; must
// not wait.
class ChildWatcher {
 public:
  virtual ~ChildWatcher() = default;
  // Before each start: the place to make what the child inherits. An error counts as a child that
  // did not start.
  virtual Result<void> Prepare(ChildOptions& /*options*/) { return {}; }
  // It runs. `child` is valid until Ended.
  virtual void Started(ChildProcess& /*child*/) {}
  // Bytes of a piped stream, at most 64 KiB at a time. A child that writes faster than this returns
  // is held up by its pipe.
  virtual void Output(std::string_view /*bytes*/) {}
  virtual void Errors(std::string_view /*bytes*/) {}
  // It ended, or could not be started.
  virtual void Ended(const ChildExit& /*exit*/) {}
};

struct SupervisorOptions {
  ChildOptions child;
  Backoff backoff = {};
  // A child that has run for this long was well: its failures are forgotten.
  std::chrono::milliseconds well_after = std::chrono::minutes(1);
  // Ends in a row, whatever the reason, before the supervisor gives up. Unset: it never does.
  std::optional<int64_t> max_failures = {};
  // Between SIGTERM and SIGKILL when it is stopped.
  std::chrono::milliseconds grace = std::chrono::seconds(5);
};

// Keeps a child running: starts it again when it ends, after a pause that grows.
//
//   kPausing ─start→ kRunning ─end→ kPausing … after max_failures → kGivenUp
//                       └─Stop→ kStopping ─end→ kStopped
//
// Has no thread: whoever owns it calls Step when its child has something to say (ChildProcess's
// descriptors) or the time has come. ChildKeeper does that for many.
//
// Concurrency: one thread, which must outlive the child (child_process.h).
class Supervisor {
 public:
  enum class State : uint8_t { kPausing, kRunning, kStopping, kStopped, kGivenUp };

  // All outlive it. The first Step starts the child.
  Supervisor(SupervisorOptions options, ChildWatcher& watcher, const Clock& clock, Random& random);

  // Does what can be done now. Returns after how much time there is more to do, if time alone
  // brings it.
  std::optional<std::chrono::milliseconds> Step();
  // Asks the child to end; Step sees to the rest. Stopping twice is not an error.
  void Stop();

  State state() const { return state_; }
  bool over() const { return state_ == State::kStopped || state_ == State::kGivenUp; }
  int64_t failures() const { return failures_; }  // in a row
  ChildProcess* child() { return child_ ? &*child_ : nullptr; }

 private:
  void Start();
  // False if there may be more to read.
  bool Forward();
  void End(const ChildExit& exit);
  std::chrono::milliseconds Until(uint64_t at_ns) const;

  const SupervisorOptions options_;
  ChildWatcher& watcher_;
  const Clock& clock_;
  Random& random_;
  State state_ = State::kPausing;
  std::optional<ChildProcess> child_;
  uint64_t start_at_ns_ = 0;
  uint64_t started_ns_ = 0;
  int64_t failures_ = 0;
};

// One thread that keeps all children of the process. Children die with the thread that started
// them, so this is where they are started.
//
// Concurrency: safe to use from any thread. Watchers are called, and destroyed, on the keeper's
// thread.
class ChildKeeper {
 public:
  ChildKeeper(const Clock& clock, Random& random, Log log);
  ~ChildKeeper();  // stops
  ChildKeeper(const ChildKeeper&) = delete;
  ChildKeeper& operator=(const ChildKeeper&) = delete;

  using Id = uint64_t;
  // Starts a child soon and keeps it running. `name` is for the log.
  Id Add(std::string name, SupervisorOptions options, std::unique_ptr<ChildWatcher> watcher);
  // Asks the child to end and forgets it when it has. An id that is not known is not an error.
  void Remove(Id id);
  // Kills all children. Watchers hear nothing more.
  void Stop();
  // Looks at the clock again, for tests that have moved it.
  void Wake();

 private:
  struct Kept;
  void ThreadMain();
  void TakeRequests();
  // Steps all. Returns the shortest wait, in milliseconds as poll() has it.
  int StepAll();

  const Clock& clock_;
  Random& random_;
  const Log log_;
  FileDescriptor wake_;

  std::mutex mutex_;
  bool stopping_ = false;
  Id last_id_ = 0;
  std::vector<std::pair<Id, std::unique_ptr<Kept>>> added_;
  std::vector<Id> removed_;

  std::map<Id, std::unique_ptr<Kept>> kept_;  // the thread's own
  std::thread thread_;
};

}  // namespace cairn::outside
