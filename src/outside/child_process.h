#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/file_descriptor.h"
#include "base/result.h"

namespace cairn::outside {

// Limits that the kernel enforces on a child. Unset: the server's own. Core files are always off.
struct ChildLimits {
  std::optional<uint64_t> address_space_bytes = {};
  std::optional<uint64_t> cpu_seconds = {};
  std::optional<uint64_t> open_files = {};
  // Counts all processes and threads of the user, not only the child's. Root is not limited.
  std::optional<uint64_t> processes = {};
};

// What a standard stream of a child is connected to.
enum class ChildStream : uint8_t {
  kPipe,     // to us
  kNothing,  // /dev/null
  kShared,   // to what ours is connected to
};

struct ChildOptions {
  // The program's path, then its arguments. No shell looks at them and PATH is not searched.
  std::vector<std::string> arguments;
  std::vector<std::string> environment = {};  // "NAME=value"; nothing is inherited
  std::string directory = {};                 // empty: ours
  ChildStream input = ChildStream::kNothing;
  ChildStream output = ChildStream::kPipe;
  ChildStream errors = ChildStream::kPipe;
  // The first of these becomes descriptor 3 of the child, the next 4, and so on. They stay ours:
  // close them once the child has started, or its end will not be seen on the other side.
  std::vector<int> inherited = {};
  ChildLimits limits = {};
};

// How a child came to its end.
struct ChildExit {
  enum class Kind : uint8_t {
    kExited,       // by itself, with `code`
    kSignalled,    // killed by `signal`
    kCpuLimit,     // used up ChildLimits::cpu_seconds
    kOutOfMemory,  // killed by a SIGKILL that we did not send: as a rule, the kernel had no memory
    kNotStarted,   // `reason` says why
  };
  Kind kind = Kind::kExited;
  int code = 0;
  int signal = 0;
  std::string reason = {};

  bool ok() const { return kind == Kind::kExited && code == 0; }
  // "exited with code 3", "was killed by signal 11", "cannot start /bin/x: Permission denied"
  std::string ToString() const;
  friend bool operator==(const ChildExit&, const ChildExit&) = default;
};

// A running program, with pipes to it.
//
// Operation: the child leads a process group of its own, has none of our descriptors besides those
// it is given, no blocked or ignored signals, and cannot gain privileges. It is killed when the
// thread that started it ends (PR_SET_PDEATHSIG goes by thread), so start it from a thread that
// lives on, such as that of ChildKeeper (supervisor.h). What it leaves of its group is killed when
// it ends. Programs that the child starts do not learn of our end unless the child passes it on.
//
// A child that reaches its limit of address space is told so by malloc and ends as it likes, which
// shows as kSignalled or kExited.
//
// Concurrency: one thread at a time. No call waits, except Wait and the destructor.
class ChildProcess {
 public:
  // kNotFound, kForbidden or kIo, saying what went wrong, if the program cannot be run. `clock`
  // outlives the child.
  static Result<ChildProcess> Start(const ChildOptions& options, const Clock& clock);

  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;
  ~ChildProcess();  // kills

  pid_t pid() const { return pid_; }

  // What has arrived, at most `max_bytes` of it.
  struct Piece {
    std::string bytes;   // empty: nothing now
    bool ended = false;  // nothing will ever come
  };
  Result<Piece> ReadOutput(size_t max_bytes) { return ReadPipe(output_, max_bytes); }
  Result<Piece> ReadErrors(size_t max_bytes) { return ReadPipe(errors_, max_bytes); }

  // How much of `bytes` fitted into the pipe, which may be none. kUnavailable if the child no
  // longer reads.
  Result<size_t> Write(std::string_view bytes);
  void CloseInput() { input_.Close(); }

  // For poll(): the pipes, -1 where there is none, and a descriptor that is readable once the child
  // has ended.
  int input_fd() const { return input_.get(); }
  int output_fd() const { return output_.get(); }
  int errors_fd() const { return errors_.get(); }
  int exit_fd() const { return exit_.get(); }

  // Asks the group to end (SIGTERM). If it still runs when `grace` has passed, Poll kills it.
  void Terminate(std::chrono::milliseconds grace);
  // Kills the group (SIGKILL).
  void Kill();
  // When Poll would kill, by Clock::MonotonicNs.
  std::optional<uint64_t> kill_at_ns() const { return kill_at_ns_; }

  // How it ended, or nullopt while it runs. What is left in the pipes can still be read.
  std::optional<ChildExit> Poll();
  // The same, waiting for up to `timeout` of real time.
  std::optional<ChildExit> Wait(std::chrono::milliseconds timeout);

 private:
  explicit ChildProcess(const Clock& clock) : clock_(&clock) {}
  static Result<Piece> ReadPipe(FileDescriptor& pipe, size_t max_bytes);
  void Reap();

  const Clock* clock_;
  pid_t pid_ = -1;
  FileDescriptor input_;
  FileDescriptor output_;
  FileDescriptor errors_;
  FileDescriptor exit_;
  std::optional<uint64_t> cpu_seconds_;
  std::optional<uint64_t> kill_at_ns_;
  bool killed_ = false;  // by us
  std::optional<ChildExit> ended_;
};

// Two connected sockets, to speak with a child over one of them (ChildOptions::inherited). The
// first is ours, and never blocks; the second is the child's.
Result<std::pair<FileDescriptor, FileDescriptor>> MakeSocketPair();

}  // namespace cairn::outside
