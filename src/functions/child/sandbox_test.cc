// What a process that has entered the sandbox can do, tried with the machine's own calls: as code
// that has taken over the JavaScript engine would.
#include "functions/child/sandbox.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file_descriptor.h"

namespace cairn::functions {
namespace {

using ::testing::UnorderedElementsAreArray;

// How an attempt ended.
enum class Fate : uint8_t { kKilled, kRefused, kFailed, kAllowed, kNoSandbox, kOther };

constexpr int kExitAllowed = 10;
constexpr int kExitRefused = 11;
constexpr int kExitFailed = 12;
constexpr int kExitUnsandboxed = 13;

std::string NameOf(Fate fate) {
  constexpr std::array<std::string_view, 6> kNames = {"killed",  "refused",    "failed",
                                                      "allowed", "no sandbox", "something else"};
  return std::string(kNames[static_cast<size_t>(fate)]);
}

Fate FateOf(int status) {
  if (WIFSIGNALED(status)) return WTERMSIG(status) == SIGSYS ? Fate::kKilled : Fate::kOther;
  switch (WEXITSTATUS(status)) {
    case kExitAllowed:
      return Fate::kAllowed;
    case kExitRefused:
      return Fate::kRefused;
    case kExitFailed:
      return Fate::kFailed;
    case kExitUnsandboxed:
      return Fate::kNoSandbox;
    default:
      return Fate::kOther;
  }
}

// A process of its own that enters the sandbox as the children of functions do, and then does what
// no JavaScript could. `attempt` returns what the call returned, -1 with errno set for an error.
template <typename Attempt>
int StatusOf(const Attempt& attempt) {
  std::array<int, 2> ends = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) std::abort();
  const FileDescriptor ours(ends[0]);
  FileDescriptor theirs(ends[1]);
  const pid_t pid = fork();
  if (pid == 0) {
    const FileDescriptor root = MakeEmptyRoot();
    const Result<uint32_t> entered =
        EnterSandbox(theirs.get(), {.empty_root = root.get(), .hard_memory_bytes = RLIM_INFINITY});
    if (!entered.ok()) _exit(kExitUnsandboxed);
    errno = 0;
    if (attempt() != -1) _exit(kExitAllowed);
    _exit(errno == EPERM ? kExitRefused : kExitFailed);
  }
  theirs.Close();
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  return status;
}
template <typename Attempt>
Fate Try(const Attempt& attempt) {
  return FateOf(StatusOf(attempt));
}

struct Attempt {
  std::string_view name;
  std::function<long()> call;
};
void ExpectAll(Fate expected, const std::vector<Attempt>& attempts) {
  for (const Attempt& attempt : attempts) {
    EXPECT_EQ(NameOf(Try(attempt.call)), NameOf(expected)) << attempt.name;
  }
}

bool Has(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// A change of these lists is a change of what an attacker has to work with: make it on purpose.
TEST(SandboxTest, TheListOfSystemCallsIsThis) {
  EXPECT_THAT(
      std::vector<std::string_view>(AllowedSystemCalls().begin(), AllowedSystemCalls().end()),
      UnorderedElementsAreArray({
          "brk",
          "clock_gettime",
          "clock_nanosleep",
          "exit",
          "exit_group",
          "futex",
          "getpid",
          "getrandom",
          "getrusage",
          "gettid",
          "gettimeofday",
          "madvise",
          "mmap",
          "mprotect",
          "mremap",
          "munmap",
          "poll",
          "prlimit64",
          "read",
          "recvfrom",
          "recvmsg",
          "restart_syscall",
          "rt_sigaction",
          "rt_sigprocmask",
          "rt_sigreturn",
          "sched_yield",
          "sendmsg",
          "sendto",
          "setitimer",
          "sigaltstack",
          "tgkill",
          "write",
      }));
  EXPECT_THAT(
      std::vector<std::string_view>(RefusedSystemCalls().begin(), RefusedSystemCalls().end()),
      UnorderedElementsAreArray({"access", "fstat", "getcwd", "ioctl", "lseek", "newfstatat",
                                 "open", "openat", "prctl", "readlink", "sched_getaffinity", "stat",
                                 "statx", "sysinfo", "uname"}));
}

// Every number there is, and some that there may be one day.
TEST(SandboxTest, EverySystemCallThatIsNotListedEndsTheProcess) {
  constexpr int kNumbers = 480;
  // By these the kernel comes back from its own probes. It asks no filter, and refuses anybody
  // else.
  constexpr int kUretprobe = 335;
  constexpr int kUprobe = 336;
  int tried = 0;
  for (int number = 0; number < kNumbers; ++number) {
    if (number == kUretprobe || number == kUprobe) continue;
    char* const resolved = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number);
    const std::string name = resolved == nullptr ? "" : resolved;
    std::free(resolved);
    if (Has(AllowedSystemCalls(), name)) continue;
    const Fate expected = Has(RefusedSystemCalls(), name) ? Fate::kRefused : Fate::kKilled;
    EXPECT_EQ(NameOf(Try([&] { return syscall(number, 0, 0, 0, 0, 0, 0); })), NameOf(expected))
        << number << " " << name;
    ++tried;
  }
  EXPECT_GT(tried, 400);
}

#ifdef __x86_64__
TEST(SandboxTest, OtherWaysIntoTheKernelEndTheProcess) {
  constexpr long kX32 = 0x40000000;
  constexpr int kGetpidOf32Bits = 20;
  ExpectAll(Fate::kKilled, {
                               {"getpid of x32", [] { return syscall(kX32 + SYS_getpid); }},
                               {"open of x32", [] { return syscall(kX32 + SYS_open, "/", 0); }},
                               {"getpid of 32 bits",
                                [] {
                                  long result = kGetpidOf32Bits;
                                  asm volatile("int $0x80" : "+a"(result)::"memory");
                                  return result;
                                }},
                           });
}
#endif

TEST(SandboxTest, NoFileCanBeOpenedOrChanged) {
  ExpectAll(Fate::kRefused,
            {
                {"open", [] { return syscall(SYS_open, "/etc/passwd", O_RDONLY); }},
                {"openat", [] { return syscall(SYS_openat, AT_FDCWD, "/etc/passwd", O_RDONLY); }},
                {"openat /proc", [] { return syscall(SYS_openat, AT_FDCWD, "/proc/1/mem", 2); }},
                {"stat", [] { return syscall(SYS_newfstatat, AT_FDCWD, "/", nullptr, 0); }},
                {"readlink", [] { return syscall(SYS_readlink, "/proc/self/exe", nullptr, 0); }},
                {"ioctl", [] { return syscall(SYS_ioctl, kSandboxSocket, 0x5412, "x"); }},
            });
  ExpectAll(
      Fate::kKilled,
      {
          {"openat2", [] { return syscall(437, AT_FDCWD, "/", nullptr, 0); }},
          {"creat", [] { return syscall(SYS_creat, "/x", 0600); }},
          {"mkdir", [] { return syscall(SYS_mkdir, "/x", 0700); }},
          {"unlink", [] { return syscall(SYS_unlink, "/x"); }},
          {"rename", [] { return syscall(SYS_rename, "/x", "/y"); }},
          {"symlink", [] { return syscall(SYS_symlink, "/x", "/y"); }},
          {"chmod", [] { return syscall(SYS_chmod, "/", 0777); }},
          {"chroot", [] { return syscall(SYS_chroot, "/"); }},
          {"chdir", [] { return syscall(SYS_chdir, ".."); }},
          {"getdents64", [] { return syscall(SYS_getdents64, 3, nullptr, 0); }},
          {"memfd_create", [] { return syscall(SYS_memfd_create, "x", 0); }},
          {"name_to_handle_at", [] { return syscall(SYS_name_to_handle_at, 0, "", 0, 0, 0); }},
          {"open_by_handle_at", [] { return syscall(SYS_open_by_handle_at, 0, nullptr, 0); }},
          {"read of another descriptor", [] { return syscall(SYS_read, 0, nullptr, 0); }},
          {"write to another descriptor", [] { return syscall(SYS_write, 2, "x", 1); }},
          {"pread64", [] { return syscall(SYS_pread64, kSandboxSocket, nullptr, 0, 0); }},
          {"dup", [] { return syscall(SYS_dup, kSandboxSocket); }},
          {"dup2", [] { return syscall(SYS_dup2, kSandboxSocket, 0); }},
          {"fcntl", [] { return syscall(SYS_fcntl, kSandboxSocket, F_DUPFD, 0); }},
      });
}

TEST(SandboxTest, NoNetworkButItsSocket) {
  ExpectAll(
      Fate::kKilled,
      {
          {"socket", [] { return syscall(SYS_socket, AF_INET, SOCK_STREAM, 0); }},
          {"netlink", [] { return syscall(SYS_socket, AF_NETLINK, SOCK_RAW, 0); }},
          {"socketpair", [] { return syscall(SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, nullptr); }},
          {"connect", [] { return syscall(SYS_connect, kSandboxSocket, nullptr, 0); }},
          {"bind", [] { return syscall(SYS_bind, kSandboxSocket, nullptr, 0); }},
          {"listen", [] { return syscall(SYS_listen, kSandboxSocket, 1); }},
          {"accept4", [] { return syscall(SYS_accept4, kSandboxSocket, nullptr, nullptr, 0); }},
          {"shutdown", [] { return syscall(SYS_shutdown, kSandboxSocket, SHUT_RDWR); }},
          {"setsockopt", [] { return syscall(SYS_setsockopt, kSandboxSocket, 1, 7, nullptr, 0); }},
          {"sendto elsewhere", [] { return syscall(SYS_sendto, 4, "x", 1, 0, nullptr, 0); }},
          {"sendmmsg", [] { return syscall(SYS_sendmmsg, kSandboxSocket, nullptr, 0, 0); }},
          {"poll of many", [] { return syscall(SYS_poll, nullptr, 2, 0); }},
          {"epoll_create1", [] { return syscall(SYS_epoll_create1, 0); }},
      });
}

TEST(SandboxTest, NoProcessCanBeMadeOrTouched) {
  static char* const kNone[] = {nullptr};
  ExpectAll(
      Fate::kKilled,
      {
          {"fork", [] { return syscall(SYS_fork); }},
          {"vfork", [] { return syscall(SYS_vfork); }},
          {"clone", [] { return syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr); }},
          {"a thread", [] { return syscall(SYS_clone, CLONE_VM | CLONE_THREAD, 0, 0, 0, 0); }},
          {"clone3", [] { return syscall(435, nullptr, 0); }},
          {"execve", [] { return syscall(SYS_execve, "/bin/sh", kNone, kNone); }},
          {"execveat", [] { return syscall(SYS_execveat, AT_FDCWD, "/bin/sh", kNone, kNone, 0); }},
          {"kill 1", [] { return syscall(SYS_kill, 1, SIGKILL); }},
          {"kill all", [] { return syscall(SYS_kill, -1, SIGKILL); }},
          {"kill its parent", [] { return syscall(SYS_kill, 1, SIGTERM); }},
          {"tkill", [] { return syscall(SYS_tkill, 1, SIGKILL); }},
          {"tgkill of another", [] { return syscall(SYS_tgkill, 1, 1, SIGKILL); }},
          {"rt_sigqueueinfo", [] { return syscall(SYS_rt_sigqueueinfo, 1, SIGKILL, nullptr); }},
          {"pidfd_open", [] { return syscall(SYS_pidfd_open, 1, 0); }},
          {"pidfd_send_signal", [] { return syscall(SYS_pidfd_send_signal, 3, 9, nullptr, 0); }},
          {"ptrace", [] { return syscall(SYS_ptrace, PTRACE_ATTACH, 1, nullptr, nullptr); }},
          {"ptrace of itself", [] { return syscall(SYS_ptrace, PTRACE_TRACEME, 0, 0, 0); }},
          {"process_vm_readv", [] { return syscall(SYS_process_vm_readv, 1, 0, 0, 0, 0, 0); }},
          {"process_vm_writev", [] { return syscall(SYS_process_vm_writev, 1, 0, 0, 0, 0, 0); }},
          {"kcmp", [] { return syscall(SYS_kcmp, 1, 1, 0, 0, 0); }},
          {"setpgid", [] { return syscall(SYS_setpgid, 0, 0); }},
          {"setpriority", [] { return syscall(SYS_setpriority, 0, 0, -20); }},
          {"limits of another", [] { return syscall(SYS_prlimit64, 1, RLIMIT_DATA, 0, 0); }},
          {"the limit of files", [] { return syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, 0); }},
          {"the limit of processes", [] { return syscall(SYS_prlimit64, 0, RLIMIT_NPROC, 0, 0); }},
      });
}

TEST(SandboxTest, NoMemoryIsSharedOrOfAFile) {
  constexpr size_t kPage = 4096;
  const auto map = [](int protection, int flags, int file) {
    return syscall(SYS_mmap, nullptr, kPage, protection, flags, file, 0);
  };
  ExpectAll(
      Fate::kKilled,
      {
          {"shared memory", [&] { return map(PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1); }},
          {"a shared file", [&] { return map(PROT_READ, MAP_SHARED, kSandboxSocket); }},
          {"a file", [&] { return map(PROT_READ, MAP_PRIVATE, kSandboxSocket); }},
          {"code of a file",
           [&] { return map(PROT_READ | PROT_EXEC, MAP_PRIVATE, kSandboxSocket); }},
          {"shared and checked", [&] { return map(PROT_READ, 3 | MAP_ANONYMOUS, -1); }},
          {"shmget", [] { return syscall(SYS_shmget, IPC_PRIVATE, kPage, 0600); }},
          {"shmat", [] { return syscall(SYS_shmat, 0, nullptr, 0); }},
          {"semget", [] { return syscall(SYS_semget, IPC_PRIVATE, 1, 0600); }},
          {"msgget", [] { return syscall(SYS_msgget, IPC_PRIVATE, 0600); }},
          {"mq_open", [] { return syscall(SYS_mq_open, "/x", O_CREAT, 0600, nullptr); }},
          {"memfd_secret", [] { return syscall(447, 0); }},
          {"userfaultfd", [] { return syscall(SYS_userfaultfd, 0); }},
          {"mlock", [] { return syscall(SYS_mlock, nullptr, kPage); }},
          {"remap_file_pages", [] { return syscall(SYS_remap_file_pages, 0, kPage, 0, 0, 0); }},
          {"vmsplice", [] { return syscall(SYS_vmsplice, kSandboxSocket, nullptr, 0, 0); }},
      });
  // The engine writes machine code into memory of its own.
  ExpectAll(Fate::kAllowed, {{"memory of its own", [&] {
                                return map(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
                              }}});
}

TEST(SandboxTest, NothingOfTheKernelIsInReach) {
  ExpectAll(
      Fate::kKilled,
      {
          {"unshare", [] { return syscall(SYS_unshare, CLONE_NEWUSER); }},
          {"setns", [] { return syscall(SYS_setns, kSandboxSocket, 0); }},
          {"mount", [] { return syscall(SYS_mount, "none", "/", "tmpfs", 0, nullptr); }},
          {"umount2", [] { return syscall(SYS_umount2, "/", MNT_DETACH); }},
          {"pivot_root", [] { return syscall(SYS_pivot_root, "/", "/"); }},
          {"fsopen", [] { return syscall(430, "tmpfs", 0); }},
          {"keyctl", [] { return syscall(SYS_keyctl, 0, -3, 1); }},
          {"add_key", [] { return syscall(SYS_add_key, "user", "x", "y", 1, -3); }},
          {"bpf", [] { return syscall(SYS_bpf, 0, nullptr, 0); }},
          {"io_uring_setup", [] { return syscall(SYS_io_uring_setup, 1, nullptr); }},
          {"io_setup", [] { return syscall(SYS_io_setup, 1, nullptr); }},
          {"perf_event_open", [] { return syscall(SYS_perf_event_open, nullptr, 0, -1, -1, 0); }},
          {"seccomp", [] { return syscall(SYS_seccomp, 0, 0, nullptr); }},
          {"setuid", [] { return syscall(SYS_setuid, 0); }},
          {"setresuid", [] { return syscall(SYS_setresuid, 0, 0, 0); }},
          {"capset", [] { return syscall(SYS_capset, nullptr, nullptr); }},
          {"init_module", [] { return syscall(SYS_init_module, nullptr, 0, ""); }},
          {"kexec_load", [] { return syscall(SYS_kexec_load, 0, 0, nullptr, 0); }},
          {"reboot", [] { return syscall(SYS_reboot, 0, 0, 0, nullptr); }},
          {"settimeofday", [] { return syscall(SYS_settimeofday, nullptr, nullptr); }},
          {"sethostname", [] { return syscall(SYS_sethostname, "x", 1); }},
          {"syslog", [] { return syscall(SYS_syslog, 3, nullptr, 0); }},
          {"personality", [] { return syscall(SYS_personality, 0x0040000); }},
          {"arch_prctl", [] { return syscall(SYS_arch_prctl, 0x1002, 0); }},
          {"modify_ldt", [] { return syscall(SYS_modify_ldt, 0, nullptr, 0); }},
          {"timer_create", [] { return syscall(SYS_timer_create, 0, nullptr, nullptr); }},
          {"signalfd", [] { return syscall(SYS_signalfd4, -1, nullptr, 8, 0); }},
          {"futex of priorities", [] { return syscall(SYS_futex, nullptr, FUTEX_LOCK_PI, 0); }},
          {"futex moved", [] { return syscall(SYS_futex, nullptr, FUTEX_CMP_REQUEUE_PI, 0); }},
          {"robust list", [] { return syscall(SYS_set_robust_list, nullptr, 24); }},
      });
  ExpectAll(Fate::kRefused,
            {
                {"dumpable again", [] { return syscall(SYS_prctl, PR_SET_DUMPABLE, 1, 0, 0, 0); }},
                {"no parent's end", [] { return syscall(SYS_prctl, PR_SET_PDEATHSIG, 0, 0, 0); }},
                {"a tracer", [] { return syscall(SYS_prctl, PR_SET_PTRACER, -1, 0, 0, 0); }},
            });
}

TEST(SandboxTest, WhatAnEngineNeedsWorks) {
  ExpectAll(Fate::kAllowed,
            {
                {"write to its socket", [] { return syscall(SYS_write, kSandboxSocket, "x", 1); }},
                {"its own signals",
                 [] { return syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGCONT); }},
                {"the time", [] { return syscall(SYS_gettimeofday, nullptr, nullptr); }},
                {"a lock",
                 [] {
                   int word = 0;
                   return syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
                 }},
                {"its own memory limit",
                 [] { return syscall(SYS_prlimit64, 0, RLIMIT_DATA, nullptr, nullptr); }},
            });
}

// What holds even if the filter did not.
TEST(SandboxTest, ThePartsHoldByThemselves) {
  constexpr uint64_t kMemory = uint64_t{1} << 46U;  // room for the shadow memory of a sanitizer
  std::array<int, 2> ends = {-1, -1};
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  const FileDescriptor read_end(ends[0]);
  FileDescriptor write_end(ends[1]);
  const pid_t pid = fork();
  if (pid == 0) {
    const Result<uint32_t> entered =
        EnterSandbox(write_end.get(), {.empty_root = -1, .hard_memory_bytes = kMemory});
    if (!entered.ok() || write(kSandboxSocket, "y", 1) != 1) _exit(1);
    while (true) syscall(SYS_sched_yield);
  }
  write_end.Close();
  char said = 0;
  ASSERT_EQ(read(read_end.get(), &said, 1), 1) << "it did not enter";

  // The filter forbids it to ask for most of this, so we ask.
  std::map<std::string, std::string> facts;
  std::ifstream file(fmt::format("/proc/{}/status", pid));
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(":\t");
    if (colon != std::string::npos) facts[line.substr(0, colon)] = line.substr(colon + 2);
  }
  EXPECT_EQ(facts["Seccomp"], "2");
  EXPECT_EQ(facts["NoNewPrivs"], "1");
  for (const char* const set : {"CapInh", "CapPrm", "CapEff", "CapAmb"}) {
    EXPECT_EQ(facts[set], "0000000000000000") << set;
  }
  if (geteuid() == 0) {
    EXPECT_EQ(facts["Uid"], "65534\t65534\t65534\t65534");
    EXPECT_EQ(facts["Gid"], "65534\t65534\t65534\t65534");
    EXPECT_EQ(facts["Groups"].find_first_not_of(' '), std::string::npos) << facts["Groups"];
  }
  std::map<std::string, std::string> most;  // hard limits
  std::ifstream limits(fmt::format("/proc/{}/limits", pid));
  for (std::string line; std::getline(limits, line);) {
    // The name takes 26 columns, the soft limit 21.
    if (line.size() < 48) continue;
    const std::string name = line.substr(0, line.find_last_not_of(' ', 25) + 1);
    most[name] = line.substr(47, line.find(' ', 47) - 47);
  }
  EXPECT_EQ(most["Max core file size"], "0");
  EXPECT_EQ(most["Max file size"], "0");
  EXPECT_EQ(most["Max processes"], "0");
  EXPECT_EQ(most["Max locked memory"], "0");
  EXPECT_EQ(most["Max msgqueue size"], "0");
  EXPECT_EQ(most["Max open files"], fmt::to_string(kSandboxSocket + 1));
  EXPECT_EQ(most["Max data size"], fmt::to_string(kMemory));
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
}

TEST(SandboxTest, ItsParentTakesItAlong) {
  std::array<int, 2> ends = {-1, -1};
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  const FileDescriptor read_end(ends[0]);
  FileDescriptor write_end(ends[1]);
  const pid_t parent = fork();
  if (parent == 0) {
    const pid_t child = fork();
    if (child == 0) {
      const Result<uint32_t> entered =
          EnterSandbox(write_end.get(), {.empty_root = -1, .hard_memory_bytes = RLIM_INFINITY});
      const char ok = entered.ok() ? 'y' : 'n';
      if (write(kSandboxSocket, &ok, 1) != 1) _exit(1);
      while (true) syscall(SYS_sched_yield);
    }
    write_end.Close();
    pause();
  }
  write_end.Close();
  char said = 0;
  ASSERT_EQ(read(read_end.get(), &said, 1), 1);
  EXPECT_EQ(said, 'y');
  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);
  EXPECT_EQ(read(read_end.get(), &said, 1), 0);  // the child's end of the pipe has closed
}

TEST(SandboxTest, DoctorIsToldEachPart) {
  const Result<uint32_t> parts = ProbeSandbox();
  ASSERT_TRUE(parts.ok()) << parts.error().message;
  EXPECT_EQ(*parts & kRequiredParts, kRequiredParts);
  const std::vector<SandboxFinding> findings = DescribeSandbox(*parts);
  EXPECT_EQ(findings.size(), 8U);
  for (const SandboxFinding& finding : findings) {
    EXPECT_EQ(finding.in_force, (*parts & static_cast<uint32_t>(finding.part)) != 0);
    EXPECT_FALSE(finding.name.empty());
    EXPECT_FALSE(finding.meaning.empty());
  }
}

}  // namespace
}  // namespace cairn::functions
