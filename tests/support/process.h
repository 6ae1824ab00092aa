#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cairn::testing {

struct ProcessOptions {
  std::vector<std::string> args;  // args[0] is the program's path
  // Added to, and overriding, what the child gets of this process's environment: PATH, HOME, TMPDIR
  // and the sanitizers' options. So no CAIRN_ variable arrives by accident.
  std::map<std::string, std::string> environment;
  std::string directory;  // where it starts; empty: where this process is
};

// How a process ended: with an exit code, or by a signal.
struct ExitStatus {
  std::optional<int> code;
  std::optional<int> signal;

  bool ok() const { return code == 0; }
  friend bool operator==(const ExitStatus&, const ExitStatus&) = default;
};

// A child process with its output captured, for black-box and crash tests. Whatever a test does, no
// child is left behind: the destructor kills it, and the kernel does when the *thread* that started
// it ends, so a child is started from the thread that outlives its use.
//
// Used by one thread at a time, except Signal, which is for any.
class Process {
 public:
  static Result<Process> Start(const ProcessOptions& options);
  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;
  ~Process();

  pid_t pid() const { return pid_; }
  // A process that has ended already is not an error.
  void Signal(int signal) const;

  // nullopt if it still runs after `limit`. After the end the same status is returned again.
  std::optional<ExitStatus> Wait(std::chrono::milliseconds limit);
  bool running() { return !Wait(std::chrono::milliseconds(0)).has_value(); }
  // SIGKILL, and waits for the end.
  void Kill();

  // What it has written so far. There is no limit on how much: it never blocks on a full pipe.
  std::string out() const;
  std::string err() const;

 private:
  Process() = default;
  void Close();

  pid_t pid_ = -1;
  int pid_fd_ = -1;
  int out_fd_ = -1;
  int err_fd_ = -1;
  std::optional<ExitStatus> status_;
};

// A process that has run to its end.
struct Finished {
  ExitStatus status;
  std::string out;
  std::string err;
};

// Starts and waits. Past the limit the process is killed and the status says so.
Finished RunToEnd(const ProcessOptions& options,
                  std::chrono::milliseconds limit = std::chrono::seconds(60));

// The program under test, from the environment variable CAIRN_BINARY.
std::string CairnBinary();

// `cairn ARGS…` run to its end.
Finished RunCairn(std::vector<std::string> args,
                  std::map<std::string, std::string> environment = {});

}  // namespace cairn::testing
