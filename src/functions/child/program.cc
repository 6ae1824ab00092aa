#include "functions/child/program.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/file_descriptor.h"
#include "functions/child/sandbox.h"
#include "functions/child/worker.h"
#include "functions/engine/engine.h"
#include "functions/engine/runtime_chunks.h"
#include "functions/protocol/exit_codes.h"
#include "functions/protocol/messages.h"

namespace cairn::functions {
namespace {

constexpr int kControl = 3;
constexpr size_t kOrderBytes = 4'096;
constexpr int64_t kUsPerSecond = 1'000'000;

int Complain(const std::string& message) {
  (void)std::fprintf(stderr, "%s\n", message.c_str());
  return 1;
}

// The writable memory that this process has: what RLIMIT_DATA counts.
uint64_t DataBytes() {
  std::ifstream file("/proc/self/statm");
  std::array<uint64_t, 6> pages = {};
  for (uint64_t& page : pages) file >> page;
  return pages[5] * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

// A message with a descriptor attached. Never waits: a child that has filled its socket goes
// without.
void SendWith(int socket, const Bytes& frame, int descriptor) {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control = {};
  iovec piece{.iov_base = const_cast<char*>(frame.data()), .iov_len = frame.size()};
  msghdr message = {};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  if (descriptor >= 0) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &descriptor, sizeof(int));
  }
  (void)!sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

struct Order {
  ForkMessage fork;
  FileDescriptor socket;
};

// For WarmUp: nothing is asked, nothing is written.
class NoHost final : public EngineHost {
 public:
  void Call(uint64_t /*call*/, std::string_view /*operation*/,
            std::string_view /*arguments*/) override {}
  void Log(std::string_view /*level*/, std::string_view /*text*/) override {}
  std::optional<HostReply> WaitForReply(std::optional<uint64_t> /*timeout_ns*/) override {
    return std::nullopt;
  }
  bool connected() const override { return false; }
};

// Runs what nearly every function uses, so that children find it done: parts of the engine that are
// made at their first use, and files that a child could not open any more (time zones).
Result<void> WarmUp(Engine& engine) {
  auto program = std::make_shared<Program>();
  program->sha256 = "warm-up";
  program->entry = "function.js";
  program->files = {{.path = "function.js", .text = R"(
    export default async function (event, ctx) {
      const date = new Date(0).toString() + new Date().toLocaleString();
      const sorted = [3, 1, 2].map((n) => n * 2).filter(Boolean).sort((a, b) => a - b);
      const text = `${date}`.replace(/\d+/g, '0').split(' ').join('-');
      const map = new Map(Object.entries({a: 1}));
      await Promise.all([1, Promise.resolve(2)]);
      return {statusCode: 200, headers: {a: 'b'},
              body: JSON.stringify({sorted, text, size: map.size, event})};
    })"}};
  constexpr int kTimes = 20;
  NoHost host;
  for (int i = 0; i < kTimes; ++i) {
    const EngineOutcome outcome =
        engine.Run({.program = program, .event = "{}", .context = "{}", .env = "{}"}, host);
    if (outcome.status != RunStatus::kSuccess) {
      return Error{ErrorCode::kInternal, "functions cannot run: " + outcome.error.message};
    }
    engine.Prepare(program);
  }
  engine.Forget(program->sha256);
  engine.Shrink();
  return {};
}

class Zygote {
 public:
  explicit Zygote(uint32_t namespaces) : namespaces_(namespaces) {}

  int Run() {
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    // Children are small, and go by the pages they touch (worker.cc).
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    PrepareWorkerSignals();
    Result<std::unique_ptr<Engine>> engine = Engine::Make({.runtime = EmbeddedRuntime()});
    if (!engine.ok()) return Complain(engine.error().message);
    engine_ = *std::move(engine);
    const Result<void> warm = WarmUp(*engine_);
    if (!warm.ok()) return Complain(warm.error().message);
    empty_root_ = MakeEmptyRoot();
    baseline_bytes_ = DataBytes();
    const Result<uint32_t> parts = TryChild();
    if (!parts.ok()) return Complain(parts.error().message);
    parts_ = *parts | namespaces_;
    sigset_t children;
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    sigprocmask(SIG_BLOCK, &children, nullptr);
    ended_ = FileDescriptor(signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK));
    return Serve();
  }

 private:
  struct Child {
    FileDescriptor socket;
  };

  // A child that enters the sandbox and says what it got.
  Result<uint32_t> TryChild() {
    std::array<int, 2> ends = {-1, -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
      return Error{ErrorCode::kIo, "cannot make a socket"};
    }
    const FileDescriptor ours(ends[0]);
    FileDescriptor theirs(ends[1]);
    const pid_t pid = fork();
    if (pid < 0) return Error{ErrorCode::kIo, "cannot start a process for functions"};
    if (pid == 0) {
      const Result<uint32_t> parts = EnterSandbox(
          theirs.get(), {.empty_root = empty_root_.get(), .hard_memory_bytes = RLIM_INFINITY});
      if (parts.ok()) (void)!write(kSandboxSocket, &*parts, sizeof(uint32_t));
      _exit(parts.ok() ? 0 : kExitNoSandbox);
    }
    theirs.Close();
    uint32_t parts = 0;
    const ssize_t got = read(ours.get(), &parts, sizeof(parts));
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
    if (got != sizeof(parts)) {
      return Error{ErrorCode::kForbidden, "this machine does not allow the sandbox of functions"};
    }
    return parts;
  }

  int Serve() {
    while (true) {
      std::array<pollfd, 2> ready = {{{.fd = kControl, .events = POLLIN, .revents = 0},
                                      {.fd = ended_.get(), .events = POLLIN, .revents = 0}}};
      if (poll(ready.data(), ready.size(), -1) < 0 && errno != EINTR) return 1;
      if (ready[1].revents != 0) Reap();
      if (ready[0].revents == 0) continue;
      std::optional<Order> order = NextOrder();
      if (!order) return 0;  // the server has closed its side
      Fork(*std::move(order));
    }
  }

  std::optional<Order> NextOrder() {
    std::array<char, kOrderBytes> bytes;
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control = {};
    iovec piece{.iov_base = bytes.data(), .iov_len = bytes.size()};
    msghdr message = {};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t got = recvmsg(kControl, &message, MSG_CMSG_CLOEXEC);
    if (got <= 0) return std::nullopt;
    Order order;
    for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
         header = CMSG_NXTHDR(&message, header)) {
      if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
      int descriptor = -1;
      std::memcpy(&descriptor, CMSG_DATA(header), sizeof(int));
      order.socket = FileDescriptor(descriptor);
    }
    MessageReader<ToZygote> reader;
    reader.Append({bytes.data(), static_cast<size_t>(got)});
    const Result<std::optional<ToZygote>> decoded = reader.Next();
    if (!decoded.ok() || !*decoded || order.socket.get() < 0) return std::nullopt;
    order.fork = std::get<ForkMessage>(**decoded);
    return order;
  }

  void Fork(Order order) {
    const pid_t pid = fork();
    if (pid == 0) BecomeChild(order);
    if (pid < 0) return;  // its socket closes, which tells the server
    const FileDescriptor process(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
    SendWith(order.socket.get(), Encode(ForkedMessage{.pid = pid, .sandbox = parts_}),
             process.get());
    children_[pid] = {.socket = std::move(order.socket)};
  }

  [[noreturn]] void BecomeChild(const Order& order) {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    // Between the fork and this the parent may have ended.
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != zygote_) _exit(0);
    const Result<uint32_t> entered = EnterSandbox(
        order.socket.get(), {.empty_root = empty_root_.get(),
                             .hard_memory_bytes = baseline_bytes_ + order.fork.hard_memory_bytes});
    if (!entered.ok()) _exit(kExitNoSandbox);
    RunWorker(*engine_, baseline_bytes_);
  }

  void Reap() {
    signalfd_siginfo ignored;
    while (read(ended_.get(), &ignored, sizeof(ignored)) > 0) continue;
    while (true) {
      int status = 0;
      rusage usage = {};
      const pid_t pid = wait4(-1, &status, WNOHANG, &usage);
      if (pid <= 0) return;
      const auto child = children_.find(pid);
      if (child == children_.end()) continue;
      const int64_t cpu_us = (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * kUsPerSecond +
                             usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
      SendWith(child->second.socket.get(),
               Encode(ExitedMessage{.status = status, .cpu_us = cpu_us}), -1);
      children_.erase(child);
    }
  }

  const uint32_t namespaces_;
  const pid_t zygote_ = getpid();
  uint32_t parts_ = 0;
  uint64_t baseline_bytes_ = 0;
  std::unique_ptr<Engine> engine_;
  FileDescriptor empty_root_;
  FileDescriptor ended_;
  std::map<pid_t, Child> children_;
};

// The first process of a new process namespace is its init; we stay outside to wait for it.
int RunInside(uint32_t namespaces) {
  const pid_t inner = fork();
  if (inner < 0) return Complain("cannot start a process for functions");
  if (inner == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    _exit(Zygote(namespaces).Run());
  }
  close(kControl);
  int status = 0;
  while (waitpid(inner, &status, 0) < 0 && errno == EINTR) continue;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

}  // namespace

int RunSandboxProgram() {
  int type = 0;
  socklen_t size = sizeof(type);
  if (getsockopt(kControl, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_SEQPACKET) {
    return Complain("cairn sandbox: this program is started by the server only");
  }
  const uint32_t namespaces = EnterNamespaces();
  if ((namespaces & static_cast<uint32_t>(SandboxPart::kProcesses)) != 0) {
    return RunInside(namespaces);
  }
  return Zygote(namespaces).Run();
}

}  // namespace cairn::functions
