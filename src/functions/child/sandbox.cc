#include "functions/child/sandbox.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/futex.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#ifdef __clang__
// The macros of libseccomp are such.
#pragma clang diagnostic ignored "-Wc99-extensions"
#endif

namespace cairn::functions {
namespace {

constexpr uid_t kNobody = 65'534;
constexpr uint64_t kMaxFiles = kSandboxSocket + 1;

uint32_t Bit(SandboxPart part) { return static_cast<uint32_t>(part); }

Error Refused(std::string_view what) {
  return {ErrorCode::kForbidden,
          fmt::format("cannot enter the sandbox: {}: {}", what, std::strerror(errno))};
}

// Allowed with any arguments. Some of the rules below allow more, with certain arguments.
constexpr auto kAllowed = std::to_array<std::string_view>({
    "brk",          "clock_gettime",  "clock_nanosleep", "exit",        "exit_group",
    "getpid",       "getrandom",      "getrusage",       "gettid",      "gettimeofday",
    "madvise",      "mprotect",       "mremap",          "munmap",      "restart_syscall",
    "rt_sigaction", "rt_sigprocmask", "rt_sigreturn",    "sched_yield", "setitimer",
    "sigaltstack",
});
// Only with the arguments that AddRules says.
constexpr auto kAllowedInPart = std::to_array<std::string_view>({
    "futex",
    "mmap",
    "poll",
    "prlimit64",
    "read",
    "recvmsg",
    "recvfrom",
    "sendmsg",
    "sendto",
    "tgkill",
    "write",
});
// What libraries try and do without: time zone files, the size of the machine, names of threads.
constexpr auto kRefused = std::to_array<std::string_view>({
    "access",
    "fstat",
    "getcwd",
    "ioctl",
    "lseek",
    "newfstatat",
    "open",
    "openat",
    "prctl",
    "readlink",
    "sched_getaffinity",
    "stat",
    "statx",
    "sysinfo",
    "uname",
});

class Filter {
 public:
  Filter() : context_(seccomp_init(SCMP_ACT_KILL_PROCESS)) {}
  ~Filter() {
    if (context_ != nullptr) seccomp_release(context_);
  }
  Filter(const Filter&) = delete;
  Filter& operator=(const Filter&) = delete;

  bool Load() {
    if (context_ == nullptr) return false;
    // Calls of another architecture, by int 0x80, end the process too, and not one thread of it.
    (void)seccomp_attr_set(context_, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
    for (const std::string_view name : kAllowed) Add(SCMP_ACT_ALLOW, name, {});
    for (const std::string_view name : kRefused) Add(SCMP_ACT_ERRNO(EPERM), name, {});
    AddSocket();
    AddLocks();
    AddMemory();
    AddOwnProcess();
    if (failed_) return false;
    const int failure = seccomp_load(context_);
    if (failure != 0) errno = -failure;
    return failure == 0;
  }

 private:
  using Arguments = std::vector<scmp_arg_cmp>;

  void Add(uint32_t action, std::string_view name, const Arguments& arguments) {
    const int number = seccomp_syscall_resolve_name(std::string(name).c_str());
    if (number < 0) return;  // this machine has no such call, so nobody can make it
    const int failure = seccomp_rule_add_array(
        context_, action, number, static_cast<unsigned>(arguments.size()), arguments.data());
    if (failure == 0) return;
    errno = -failure;
    failed_ = true;
  }

  void AddSocket() {
    for (const char* const name : {"read", "write", "recvmsg", "sendmsg", "recvfrom", "sendto"}) {
      Add(SCMP_ACT_ALLOW, name, {SCMP_A0(SCMP_CMP_EQ, kSandboxSocket)});
    }
    Add(SCMP_ACT_ALLOW, "poll", {SCMP_A1(SCMP_CMP_LE, 1)});
  }

  // What locks need. The other operations, of priorities and queues, are where the kernel's futex
  // had its faults.
  void AddLocks() {
    constexpr auto kOperation = static_cast<scmp_datum_t>(FUTEX_CMD_MASK);
    for (const int operation : {FUTEX_WAIT, FUTEX_WAKE, FUTEX_WAIT_BITSET, FUTEX_WAKE_BITSET}) {
      Add(SCMP_ACT_ALLOW, "futex",
          {SCMP_A1(SCMP_CMP_MASKED_EQ, kOperation & UINT32_MAX,
                   static_cast<scmp_datum_t>(operation))});
    }
  }

  // Only memory of its own: neither shared nor of a file.
  void AddMemory() {
    Add(SCMP_ACT_ALLOW, "mmap",
        {SCMP_A3(SCMP_CMP_MASKED_EQ, MAP_ANONYMOUS | MAP_PRIVATE | MAP_SHARED,
                 MAP_ANONYMOUS | MAP_PRIVATE)});
  }

  void AddOwnProcess() {
    const auto self = static_cast<scmp_datum_t>(getpid());
    Add(SCMP_ACT_ALLOW, "tgkill", {SCMP_A0(SCMP_CMP_EQ, self)});
    for (const int resource : {RLIMIT_DATA, RLIMIT_CPU}) {
      Add(SCMP_ACT_ALLOW, "prlimit64",
          {SCMP_A0(SCMP_CMP_EQ, 0), SCMP_A1(SCMP_CMP_EQ, static_cast<scmp_datum_t>(resource))});
    }
  }

  scmp_filter_ctx context_;
  bool failed_ = false;
};

bool SetLimit(__rlimit_resource resource, rlim_t value) {
  const rlimit limit{value, value};
  return setrlimit(resource, &limit) == 0;
}

bool SetLimits(uint64_t hard_memory_bytes) {
  rlimit data = {};
  getrlimit(RLIMIT_DATA, &data);
  data.rlim_max = std::min<rlim_t>(data.rlim_max, hard_memory_bytes);
  data.rlim_cur = std::min(data.rlim_cur, data.rlim_max);
  return SetLimit(RLIMIT_CORE, 0) && SetLimit(RLIMIT_NOFILE, kMaxFiles) &&
         SetLimit(RLIMIT_FSIZE, 0) && SetLimit(RLIMIT_MEMLOCK, 0) && SetLimit(RLIMIT_MSGQUEUE, 0) &&
         SetLimit(RLIMIT_NPROC, 0) && setrlimit(RLIMIT_DATA, &data) == 0;
}

bool DropCapabilities() {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  const std::array<__user_cap_data_struct, 2> none = {};
  return syscall(SYS_capset, &header, none.data()) == 0;
}

// Who may not change users has capabilities only inside a user namespace, if at all.
bool BecomeNobody() {
  if (setgroups(0, nullptr) != 0) return false;
  return setresgid(kNobody, kNobody, kNobody) == 0 && setresuid(kNobody, kNobody, kNobody) == 0;
}

void WriteFile(const char* path, std::string_view text) {
  const FileDescriptor file(open(path, O_WRONLY | O_CLOEXEC));
  if (file.get() >= 0) (void)!write(file.get(), text.data(), text.size());
}

// As a user namespace shows us to itself: nobody is nobody. To the machine we are the same user as
// before.
bool EnterUserNamespace() {
  const uid_t user = geteuid();
  const gid_t group = getegid();
  if (unshare(CLONE_NEWUSER) != 0) return false;
  WriteFile("/proc/self/setgroups", "deny");
  WriteFile("/proc/self/uid_map", fmt::format("{} {} 1", kNobody, user));
  WriteFile("/proc/self/gid_map", fmt::format("{} {} 1", kNobody, group));
  return true;
}

struct PartText {
  SandboxPart part;
  std::string_view name;
  std::string_view meaning;
};
constexpr auto kParts = std::to_array<PartText>({
    {SandboxPart::kSystemCalls, "system call filter", "make any system call"},
    {SandboxPart::kLimits, "resource limits", "use up memory, files and processes"},
    {SandboxPart::kNoPrivileges, "no privileges", "use or gain capabilities"},
    {SandboxPart::kUser, "own user", "act as the server's user"},
    {SandboxPart::kEmptyRoot, "empty root directory", "see the server's files"},
    {SandboxPart::kNetwork, "network namespace", "reach the server's network"},
    {SandboxPart::kProcesses, "process namespace", "see other processes"},
    {SandboxPart::kMountsAndIpc, "mount and IPC namespaces", "see mounts and shared memory"},
});

}  // namespace

std::vector<SandboxFinding> DescribeSandbox(uint32_t parts) {
  std::vector<SandboxFinding> findings;
  for (const PartText& text : kParts) {
    findings.push_back({.part = text.part,
                        .name = text.name,
                        .in_force = (parts & Bit(text.part)) != 0,
                        .meaning = text.meaning});
  }
  return findings;
}

std::span<const std::string_view> AllowedSystemCalls() {
  static const auto all = [] {
    std::vector<std::string_view> names(kAllowed.begin(), kAllowed.end());
    names.insert(names.end(), kAllowedInPart.begin(), kAllowedInPart.end());
    return names;
  }();
  return all;
}

std::span<const std::string_view> RefusedSystemCalls() { return kRefused; }

uint32_t EnterNamespaces() {
  uint32_t parts = 0;
  // With the privilege to do so, no user namespace is needed; it would only take away the change
  // of user.
  if (unshare(CLONE_NEWNET) != 0) {
    if (!EnterUserNamespace()) return 0;
    if (unshare(CLONE_NEWNET) != 0) return 0;
  }
  parts |= Bit(SandboxPart::kNetwork);
  if (unshare(CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNS) == 0) {
    (void)mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
    parts |= Bit(SandboxPart::kMountsAndIpc);
  }
  if (unshare(CLONE_NEWPID) == 0) parts |= Bit(SandboxPart::kProcesses);
  return parts;
}

FileDescriptor MakeEmptyRoot() {
  std::array<char, 32> path = {"/tmp/cairn-sandbox-XXXXXX"};
  if (mkdtemp(path.data()) == nullptr) return FileDescriptor();
  FileDescriptor directory(open(path.data(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  (void)rmdir(path.data());
  return directory;
}

Result<uint32_t> EnterSandbox(int socket, const SandboxOptions& options) {
  uint32_t parts = 0;
  if (options.empty_root >= 0 && fchdir(options.empty_root) == 0 && chroot(".") == 0 &&
      chdir("/") == 0) {
    parts |= Bit(SandboxPart::kEmptyRoot);
  }
  if (socket != kSandboxSocket && dup2(socket, kSandboxSocket) < 0) return Refused("its socket");
  (void)syscall(SYS_close_range, 0U, kSandboxSocket - 1, 0U);
  (void)syscall(SYS_close_range, kSandboxSocket + 1, ~0U, 0U);
  if (BecomeNobody()) parts |= Bit(SandboxPart::kUser);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return Refused("privileges");
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) return Refused("core dumps");
  if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0) return Refused("the end of its parent");
  if (!SetLimits(options.hard_memory_bytes)) return Refused("limits");
  if (!DropCapabilities()) return Refused("capabilities");
  if (!Filter().Load()) return Refused("the system call filter");
  return parts | kRequiredParts;
}

Result<uint32_t> ProbeSandbox() {
  std::array<int, 2> ends = {-1, -1};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return Refused("a pipe");
  const FileDescriptor read_end(ends[0]);
  FileDescriptor write_end(ends[1]);
  const pid_t outer = fork();
  if (outer < 0) return Refused("a process");
  if (outer == 0) {
    const uint32_t namespaces = EnterNamespaces();
    const pid_t inner = fork();
    if (inner != 0) {
      int status = 0;
      waitpid(inner, &status, 0);
      _exit(0);
    }
    const FileDescriptor root = MakeEmptyRoot();
    const Result<uint32_t> entered = EnterSandbox(
        write_end.get(), {.empty_root = root.get(), .hard_memory_bytes = RLIM_INFINITY});
    const uint32_t parts = entered.ok() ? *entered | namespaces : 0;
    if (write(kSandboxSocket, &parts, sizeof(parts)) < 0) _exit(1);
    _exit(0);
  }
  write_end.Close();
  uint32_t parts = 0;
  const ssize_t got = read(read_end.get(), &parts, sizeof(parts));
  int status = 0;
  while (waitpid(outer, &status, 0) < 0 && errno == EINTR) continue;
  if (got != sizeof(parts) || (parts & kRequiredParts) != kRequiredParts) {
    return Error{ErrorCode::kForbidden,
                 "functions cannot run on this machine: it does not allow system call filters"};
  }
  return parts;
}

}  // namespace cairn::functions
