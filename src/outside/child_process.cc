#include "outside/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/check.h"

namespace cairn::outside {
namespace {

constexpr int kFirstInherited = 3;
constexpr size_t kMaxInherited = 16;
constexpr uint64_t kNsPerMs = 1'000'000;

struct Limit {
  int resource = 0;
  rlimit value = {};
};

// Everything that the child needs between vfork and exec, made before: nothing is allocated there.
struct Launch {
  std::vector<char*> arguments;
  std::vector<char*> environment;
  const char* directory = nullptr;
  std::vector<int> descriptors;  // the i-th becomes descriptor i
  std::vector<int> moved;        // of the same size, for the child to use
  std::vector<Limit> limits;
  pid_t parent = -1;
  int report = -1;  // where the child writes why it cannot start
};

// What the child could not do.
enum class Step : int { kSetUp, kDirectory, kExec };
struct Failure {
  Step step = Step::kSetUp;
  int code = 0;
};

Error SystemError(std::string_view what, int code) {
  const ErrorCode kind = code == ENOENT || code == ENOTDIR ? ErrorCode::kNotFound
                         : code == EACCES || code == EPERM ? ErrorCode::kForbidden
                                                           : ErrorCode::kIo;
  return {kind, fmt::format("{}: {}", what, std::strerror(code))};
}

[[noreturn]] void GiveUp(int report, Step step) {
  const Failure failure{step, errno};
  (void)!write(report, &failure, sizeof(failure));
  _exit(127);
}

// Asks the kernel and not the library, which keeps two signals to itself and would leave them
// ignored if whoever started us had ignored them.
void ResetSignal(int signal) {
  constexpr size_t kKernelMaskBytes = 8;
  const std::array<uint64_t, 4> by_default = {};  // handler SIG_DFL, no flags, an empty mask
  syscall(SYS_rt_sigaction, signal, by_default.data(), nullptr, kKernelMaskBytes);
}

// Runs in the child, which shares our memory until it calls exec: only system calls, and no writes
// to memory but its own and `launch.moved`.
[[noreturn]] void RunChild(Launch& launch) {
  // Away from the numbers that they are about to replace.
  const int first_free = static_cast<int>(launch.descriptors.size());
  const int report = fcntl(launch.report, F_DUPFD_CLOEXEC, first_free);
  if (report < 0) _exit(127);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != launch.parent) _exit(127);  // it ended before it could be watched
  if (setpgid(0, 0) != 0) GiveUp(report, Step::kSetUp);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) GiveUp(report, Step::kSetUp);
  for (size_t i = 0; i < launch.descriptors.size(); ++i) {
    launch.moved[i] = fcntl(launch.descriptors[i], F_DUPFD_CLOEXEC, first_free);
    if (launch.moved[i] < 0) GiveUp(report, Step::kSetUp);
  }
  for (size_t i = 0; i < launch.descriptors.size(); ++i) {
    if (dup2(launch.moved[i], static_cast<int>(i)) < 0) GiveUp(report, Step::kSetUp);
  }
  // Ours are all closed by exec; those of libraries may not be. A kernel without the call (before
  // 5.11) leaves those open.
  (void)syscall(SYS_close_range, first_free, ~0U, 1U << 2 /* CLOSE_RANGE_CLOEXEC */);
  for (int signal = 1; signal < NSIG; ++signal) ResetSignal(signal);
  if (launch.directory != nullptr && chdir(launch.directory) != 0) {
    GiveUp(report, Step::kDirectory);
  }
  for (const Limit& limit : launch.limits) {
    if (setrlimit(static_cast<__rlimit_resource>(limit.resource), &limit.value) != 0) {
      GiveUp(report, Step::kSetUp);
    }
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execve(launch.arguments[0], launch.arguments.data(), launch.environment.data());
  GiveUp(report, Step::kExec);
}

// vfork and not fork: the pages of a large server are not to be marked for copying each time that a
// child starts. All signals are blocked meanwhile, so that no handler of ours runs in the child.
// Returns the child, or -1 with errno set.
[[gnu::noinline]] pid_t Fork(Launch& launch) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t child = vfork();       // NOLINT(clang-analyzer-security.insecureAPI.vfork)
  if (child == 0) RunChild(launch);  // NOLINT(clang-analyzer-unix.Vfork)
  const int failure = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = failure;
  return child;
}

std::vector<char*> PointersTo(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  // exec does not write to them, whatever its type says.
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// The soft limit is the limit; `beyond` is how far the hard one is away from it. A limit above what
// we have ourselves would be refused.
Limit LimitOf(int resource, uint64_t value, uint64_t beyond = 0) {
  rlimit own = {};
  getrlimit(static_cast<__rlimit_resource>(resource), &own);
  const auto most = static_cast<uint64_t>(own.rlim_max);
  return {resource, {std::min<uint64_t>(value, most), std::min<uint64_t>(value + beyond, most)}};
}

std::vector<Limit> LimitsOf(const ChildLimits& limits) {
  std::vector<Limit> all = {LimitOf(RLIMIT_CORE, 0)};
  if (limits.address_space_bytes) all.push_back(LimitOf(RLIMIT_AS, *limits.address_space_bytes));
  // At the soft limit SIGXCPU, which says what happened; who ignores it is killed a second later.
  if (limits.cpu_seconds) all.push_back(LimitOf(RLIMIT_CPU, *limits.cpu_seconds, 1));
  if (limits.open_files) all.push_back(LimitOf(RLIMIT_NOFILE, *limits.open_files));
  if (limits.processes) all.push_back(LimitOf(RLIMIT_NPROC, *limits.processes));
  return all;
}

struct Pipe {
  FileDescriptor read;
  FileDescriptor write;
};
Result<Pipe> MakePipe() {
  std::array<int, 2> ends = {-1, -1};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return SystemError("cannot make a pipe", errno);
  return Pipe{FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

void NeverBlock(const FileDescriptor& fd) {
  fcntl(fd.get(), F_SETFL, fcntl(fd.get(), F_GETFL) | O_NONBLOCK);
}

// The child's end of a standard stream, and ours if there is one.
struct Stream {
  FileDescriptor theirs;
  FileDescriptor ours;
};
Result<Stream> Connect(ChildStream kind, int number) {
  Stream stream;
  if (kind == ChildStream::kPipe) {
    CAIRN_ASSIGN_OR_RETURN(Pipe pipe, MakePipe());
    const bool to_child = number == STDIN_FILENO;
    stream.theirs = std::move(to_child ? pipe.read : pipe.write);
    stream.ours = std::move(to_child ? pipe.write : pipe.read);
    NeverBlock(stream.ours);
    return stream;
  }
  const bool shared = kind == ChildStream::kShared;
  stream.theirs = FileDescriptor(shared ? fcntl(number, F_DUPFD_CLOEXEC, kFirstInherited)
                                        : open("/dev/null", O_RDWR | O_CLOEXEC));
  if (stream.theirs.get() < 0) return SystemError("cannot connect a child's stream", errno);
  return stream;
}

// Why the child could not start; nullopt if it did. Returns once the child has called exec.
std::optional<Failure> ReadReport(const FileDescriptor& report) {
  Failure failure;
  ssize_t got = 0;
  do {
    got = read(report.get(), &failure, sizeof(failure));
  } while (got < 0 && errno == EINTR);
  if (got != static_cast<ssize_t>(sizeof(failure))) return std::nullopt;
  return failure;
}

Error StartError(const ChildOptions& options, const Failure& failure) {
  const std::string& program = options.arguments.front();
  switch (failure.step) {
    case Step::kDirectory:
      return SystemError(fmt::format("cannot start {} in {}", program, options.directory),
                         failure.code);
    case Step::kSetUp:
    case Step::kExec:
      break;
  }
  return SystemError(fmt::format("cannot start {}", program), failure.code);
}

// What exec would cut short without a word.
bool HasNul(const std::vector<std::string>& texts) {
  return std::ranges::any_of(
      texts, [](const std::string& text) { return text.find('\0') != std::string::npos; });
}

Result<void> CheckOptions(const ChildOptions& options) {
  CAIRN_CHECK(!options.arguments.empty());
  CAIRN_CHECK(options.inherited.size() <= kMaxInherited);
  if (HasNul(options.arguments) || HasNul(options.environment)) {
    return Error{ErrorCode::kInvalid, fmt::format("cannot start {}: an argument has a zero byte",
                                                  options.arguments.front().c_str())};
  }
  return {};
}

ChildExit ExitOf(int status, const rusage& usage, std::optional<uint64_t> cpu_seconds,
                 bool killed_by_us) {
  if (WIFEXITED(status)) return {.kind = ChildExit::Kind::kExited, .code = WEXITSTATUS(status)};
  const int signal = WTERMSIG(status);
  ChildExit exit{.kind = ChildExit::Kind::kSignalled, .signal = signal};
  const auto used = static_cast<uint64_t>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec);
  const bool unexplained = signal == SIGKILL && !killed_by_us;
  if (signal == SIGXCPU || (unexplained && cpu_seconds && used >= *cpu_seconds)) {
    exit.kind = ChildExit::Kind::kCpuLimit;
  } else if (unexplained) {
    exit.kind = ChildExit::Kind::kOutOfMemory;
  }
  return exit;
}

// Writes without the SIGPIPE that would end us if the other side is gone.
ssize_t WriteQuietly(int fd, std::string_view bytes) {
  sigset_t pipe;
  sigset_t before;
  sigset_t pending;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  sigpending(&pending);
  pthread_sigmask(SIG_BLOCK, &pipe, &before);
  const ssize_t written = write(fd, bytes.data(), bytes.size());
  const int failure = errno;
  if (written < 0 && failure == EPIPE && sigismember(&pending, SIGPIPE) == 0) {
    const timespec at_once = {};
    while (sigtimedwait(&pipe, nullptr, &at_once) < 0 && errno == EINTR) continue;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = failure;
  return written;
}

}  // namespace

std::string ChildExit::ToString() const {
  switch (kind) {
    case Kind::kExited:
      return fmt::format("exited with code {}", code);
    case Kind::kSignalled:
      return fmt::format("was killed by signal {}", signal);
    case Kind::kCpuLimit:
      return "used up its processor time";
    case Kind::kOutOfMemory:
      return "was killed by the system, which was probably out of memory";
    case Kind::kNotStarted:
      return reason;
  }
  return "";
}

Result<ChildProcess> ChildProcess::Start(const ChildOptions& options, const Clock& clock) {
  CAIRN_RETURN_IF_ERROR(CheckOptions(options));
  ChildProcess child(clock);
  CAIRN_ASSIGN_OR_RETURN(Stream input, Connect(options.input, STDIN_FILENO));
  CAIRN_ASSIGN_OR_RETURN(Stream output, Connect(options.output, STDOUT_FILENO));
  CAIRN_ASSIGN_OR_RETURN(Stream errors, Connect(options.errors, STDERR_FILENO));
  CAIRN_ASSIGN_OR_RETURN(Pipe report, MakePipe());
  Launch launch{.arguments = PointersTo(options.arguments),
                .environment = PointersTo(options.environment),
                .directory = options.directory.empty() ? nullptr : options.directory.c_str(),
                .descriptors = {input.theirs.get(), output.theirs.get(), errors.theirs.get()},
                .moved = {},
                .limits = LimitsOf(options.limits),
                .parent = getpid(),
                .report = report.write.get()};
  launch.descriptors.insert(launch.descriptors.end(), options.inherited.begin(),
                            options.inherited.end());
  launch.moved.resize(launch.descriptors.size());
  child.pid_ = Fork(launch);
  if (child.pid_ < 0) return SystemError("cannot start " + options.arguments.front(), errno);
  report.write.Close();
  if (const std::optional<Failure> failure = ReadReport(report.read)) {
    return StartError(options, *failure);  // the destructor waits for its end
  }
  child.exit_ = FileDescriptor(static_cast<int>(syscall(SYS_pidfd_open, child.pid_, 0)));
  if (child.exit_.get() < 0) return SystemError("cannot watch a child process", errno);
  child.input_ = std::move(input.ours);
  child.output_ = std::move(output.ours);
  child.errors_ = std::move(errors.ours);
  child.cpu_seconds_ = options.limits.cpu_seconds;
  return child;
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : clock_(other.clock_),
      pid_(std::exchange(other.pid_, -1)),
      input_(std::move(other.input_)),
      output_(std::move(other.output_)),
      errors_(std::move(other.errors_)),
      exit_(std::move(other.exit_)),
      cpu_seconds_(other.cpu_seconds_),
      kill_at_ns_(other.kill_at_ns_),
      killed_(other.killed_),
      ended_(std::move(other.ended_)) {}

ChildProcess::~ChildProcess() {
  if (pid_ < 0 || ended_) return;
  Kill();
  Reap();
}

Result<ChildProcess::Piece> ChildProcess::ReadPipe(FileDescriptor& pipe, size_t max_bytes) {
  constexpr size_t kPipeBytes = 65'536;
  Piece piece;
  if (pipe.get() < 0) {
    piece.ended = true;
    return piece;
  }
  piece.bytes.resize(std::min(max_bytes, kPipeBytes));
  const ssize_t got = read(pipe.get(), piece.bytes.data(), piece.bytes.size());
  const int failure = errno;
  piece.bytes.resize(got > 0 ? static_cast<size_t>(got) : 0);
  if (got < 0 && failure != EAGAIN && failure != EINTR) {
    return SystemError("cannot read from a child process", failure);
  }
  if (got == 0 && max_bytes > 0) {
    piece.ended = true;
    pipe.Close();
  }
  return piece;
}

Result<size_t> ChildProcess::Write(std::string_view bytes) {
  const Error gone{ErrorCode::kUnavailable, "the child process no longer reads its input"};
  if (input_.get() < 0) return gone;
  const ssize_t written = WriteQuietly(input_.get(), bytes);
  if (written >= 0) return static_cast<size_t>(written);
  if (errno == EAGAIN || errno == EINTR) return size_t{0};
  if (errno != EPIPE) return SystemError("cannot write to a child process", errno);
  input_.Close();
  return gone;
}

void ChildProcess::Terminate(std::chrono::milliseconds grace) {
  if (ended_) return;
  kill(-pid_, SIGTERM);
  const uint64_t at =
      clock_->MonotonicNs() + static_cast<uint64_t>(std::max<int64_t>(grace.count(), 0)) * kNsPerMs;
  kill_at_ns_ = std::min(kill_at_ns_.value_or(at), at);
}

void ChildProcess::Kill() {
  if (ended_) return;
  killed_ = true;
  kill_at_ns_.reset();
  kill(-pid_, SIGKILL);
  kill(pid_, SIGKILL);  // one that could not start may not lead its group yet
}

std::optional<ChildExit> ChildProcess::Poll() {
  if (ended_) return ended_;
  if (kill_at_ns_ && clock_->MonotonicNs() >= *kill_at_ns_) Kill();
  siginfo_t info = {};
  const int seen = waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT);
  if (seen == 0 && info.si_pid == 0) return std::nullopt;
  Reap();
  return ended_;
}

// Kills what is left of the group first: once the child has been waited for, its number may be
// given to somebody else.
void ChildProcess::Reap() {
  if (ended_) return;
  int status = 0;
  rusage usage = {};
  siginfo_t info = {};
  while (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
  }
  kill(-pid_, SIGKILL);
  pid_t waited = 0;
  do {
    waited = wait4(pid_, &status, 0, &usage);
  } while (waited < 0 && errno == EINTR);
  CAIRN_CHECK(waited == pid_, "wait4: {}", std::strerror(errno));  // nobody else waits for it
  ended_ = ExitOf(status, usage, cpu_seconds_, killed_);
  kill_at_ns_.reset();
}

std::optional<ChildExit> ChildProcess::Wait(std::chrono::milliseconds timeout) {
  pollfd ended{.fd = exit_.get(), .events = POLLIN, .revents = 0};
  if (!ended_) (void)poll(&ended, 1, static_cast<int>(timeout.count()));
  return Poll();
}

Result<std::pair<FileDescriptor, FileDescriptor>> MakeSocketPair() {
  std::array<int, 2> ends = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return SystemError("cannot make a pair of sockets", errno);
  }
  std::pair<FileDescriptor, FileDescriptor> pair{FileDescriptor(ends[0]), FileDescriptor(ends[1])};
  NeverBlock(pair.first);
  return pair;
}

}  // namespace cairn::outside
