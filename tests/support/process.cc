#include "tests/support/process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace cairn::testing {
namespace {

constexpr std::array kInherited = {"PATH",         "HOME",          "TMPDIR",
                                   "ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"};

std::vector<std::string> ChildEnvironment(const std::map<std::string, std::string>& added) {
  std::map<std::string, std::string> merged = added;
  for (const char* name : kInherited) {
    const char* value = std::getenv(name);
    if (value != nullptr) merged.emplace(name, value);
  }
  std::vector<std::string> entries;
  for (const auto& [name, value] : merged) {
    std::string entry = name;
    entry += '=';
    entry += value;
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// Between fork and exec only what is safe in a signal handler may be called.
[[noreturn]] void BecomeChild(char* const* argv, char* const* envp, const char* directory,
                              int out_fd, int err_fd, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);  // the parent ended before the line above
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const int null_fd = open("/dev/null", O_RDONLY);
  dup2(null_fd, STDIN_FILENO);
  dup2(out_fd, STDOUT_FILENO);
  dup2(err_fd, STDERR_FILENO);
  if (directory[0] == '\0' || chdir(directory) == 0) execve(argv[0], argv, envp);
  const char* reason = strerror(errno);
  [[maybe_unused]] ssize_t written = write(STDERR_FILENO, reason, strlen(reason));
  _exit(127);
}

std::string ReadAll(int fd) {
  struct stat status {};
  if (fd < 0 || fstat(fd, &status) != 0) return {};
  std::string content(static_cast<size_t>(status.st_size), '\0');
  const ssize_t got = pread(fd, content.data(), content.size(), 0);
  content.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
  return content;
}

}  // namespace

Result<Process> Process::Start(const ProcessOptions& options) {
  CAIRN_CHECK(!options.args.empty());
  Process process;
  process.out_fd_ = memfd_create("stdout", MFD_CLOEXEC);
  process.err_fd_ = memfd_create("stderr", MFD_CLOEXEC);
  const std::vector<std::string> environment = ChildEnvironment(options.environment);
  const std::vector<char*> argv = Pointers(options.args);
  const std::vector<char*> envp = Pointers(environment);
  const pid_t parent = getpid();
  process.pid_ = fork();
  if (process.pid_ == 0) {
    BecomeChild(argv.data(), envp.data(), options.directory.c_str(), process.out_fd_,
                process.err_fd_, parent);
  }
  if (process.pid_ > 0) {
    process.pid_fd_ = static_cast<int>(syscall(SYS_pidfd_open, process.pid_, 0));
  }
  if (process.pid_ < 0 || process.pid_fd_ < 0) {
    const std::string reason = strerror(errno);
    return Error{ErrorCode::kInternal, "cannot start " + options.args[0] + ": " + reason};
  }
  return process;
}

Process::Process(Process&& other) noexcept { *this = std::move(other); }

Process& Process::operator=(Process&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(pid_fd_, other.pid_fd_);
  std::swap(out_fd_, other.out_fd_);
  std::swap(err_fd_, other.err_fd_);
  std::swap(status_, other.status_);
  return *this;
}

Process::~Process() {
  Kill();
  Close();
}

void Process::Close() {
  for (int* fd : {&pid_fd_, &out_fd_, &err_fd_}) {
    if (*fd >= 0) close(*fd);
    *fd = -1;
  }
}

void Process::Signal(int signal) const {
  // Through the descriptor, not the number: the number may belong to another process by now.
  if (pid_fd_ >= 0) syscall(SYS_pidfd_send_signal, pid_fd_, signal, nullptr, 0);
}

std::optional<ExitStatus> Process::Wait(std::chrono::milliseconds limit) {
  if (status_ || pid_fd_ < 0) return status_;
  const auto deadline = std::chrono::steady_clock::now() + limit;
  pollfd ended{pid_fd_, POLLIN, 0};
  int ready = 0;
  do {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    ready = poll(&ended, 1, static_cast<int>(std::max<int64_t>(left.count(), 0)));
  } while (ready < 0 && errno == EINTR);
  if (ready <= 0) return std::nullopt;
  int raw = 0;
  CAIRN_CHECK(waitpid(pid_, &raw, 0) == pid_, "pid {}", pid_);
  status_.emplace();
  if (WIFEXITED(raw)) status_->code = WEXITSTATUS(raw);
  if (WIFSIGNALED(raw)) status_->signal = WTERMSIG(raw);
  return status_;
}

void Process::Kill() {
  if (status_ || pid_fd_ < 0) return;
  Signal(SIGKILL);
  CAIRN_CHECK(Wait(std::chrono::minutes(1)).has_value(), "pid {} survives SIGKILL", pid_);
}

std::string Process::out() const { return ReadAll(out_fd_); }
std::string Process::err() const { return ReadAll(err_fd_); }

Finished RunToEnd(const ProcessOptions& options, std::chrono::milliseconds limit) {
  Result<Process> process = Process::Start(options);
  CAIRN_CHECK(process.ok(), "{}", process.error().message);
  if (!process->Wait(limit)) process->Kill();
  return {*process->Wait(std::chrono::milliseconds(0)), process->out(), process->err()};
}

std::string CairnBinary() {
  const char* path = std::getenv("CAIRN_BINARY");
  CAIRN_CHECK(path != nullptr, "set CAIRN_BINARY to the path of the cairn binary");
  return path;
}

Finished RunCairn(std::vector<std::string> args, std::map<std::string, std::string> environment) {
  args.insert(args.begin(), CairnBinary());
  return RunToEnd({std::move(args), std::move(environment), {}});
}

}  // namespace cairn::testing
