#include "outside/child_process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <map>
#include <string>
#include <thread>

#include "tests/support/temp_directory.h"

namespace cairn::outside {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Optional;

// Nothing here takes this long unless it is broken.
constexpr seconds kLong{60};

ChildOptions Shell(const std::string& script) {
  return {.arguments = {"/bin/sh", "-c", script}, .environment = {"PATH=/usr/bin:/bin"}};
}

ChildExit Exited(int code) { return {.kind = ChildExit::Kind::kExited, .code = code}; }
ChildExit Signalled(int signal) { return {.kind = ChildExit::Kind::kSignalled, .signal = signal}; }

class ChildProcessTest : public ::testing::Test {
 protected:
  ChildProcess Start(const ChildOptions& options) {
    Result<ChildProcess> child = ChildProcess::Start(options, clock_);
    EXPECT_TRUE(child.ok()) << child.error().message;
    return std::move(*child);
  }
  // All that the child writes until it closes the stream.
  static std::string ReadAll(ChildProcess& child) {
    std::string all;
    while (true) {
      pollfd readable{.fd = child.output_fd(), .events = POLLIN, .revents = 0};
      EXPECT_EQ(poll(&readable, 1, 60'000), 1) << "waited for output after: " << all;
      const Result<ChildProcess::Piece> piece = child.ReadOutput(1'000);
      if (!piece.ok() || piece->ended) return all;
      EXPECT_LE(piece->bytes.size(), 1'000U);
      all += piece->bytes;
    }
  }
  std::string OutputOf(const ChildOptions& options) {
    ChildProcess child = Start(options);
    std::string output = ReadAll(child);
    EXPECT_TRUE(child.Wait(kLong).has_value());
    return output;
  }
  std::optional<ChildExit> ExitOf(const ChildOptions& options) {
    return Start(options).Wait(kLong);
  }

  ManualClock clock_;
};

TEST_F(ChildProcessTest, GetsItsArgumentsEnvironmentAndDirectoryAndNothingElse) {
  EXPECT_EQ(OutputOf({.arguments = {"/bin/sh", "-c", "echo \"$0|$1\"", "a b", "$(id)"}}),
            "a b|$(id)\n");
  EXPECT_EQ(OutputOf({.arguments = {"/usr/bin/env"}, .environment = {"A=1", "B=x y"}}),
            "A=1\nB=x y\n");
  ChildOptions options = Shell("pwd");
  options.directory = "/usr";
  EXPECT_EQ(OutputOf(options), "/usr\n");
}

TEST_F(ChildProcessTest, SaysHowItEnded) {
  EXPECT_THAT(ExitOf(Shell("exit 0")), Optional(Exited(0)));
  EXPECT_THAT(ExitOf(Shell("exit 3")), Optional(Exited(3)));
  EXPECT_THAT(ExitOf(Shell("kill -SEGV $$")), Optional(Signalled(SIGSEGV)));
  const auto killed = ExitOf(Shell("kill -KILL $$"));
  ASSERT_TRUE(killed);
  EXPECT_EQ(killed->kind, ChildExit::Kind::kOutOfMemory);
  EXPECT_EQ(Exited(3).ToString(), "exited with code 3");
  EXPECT_EQ(Signalled(11).ToString(), "was killed by signal 11");
}

TEST_F(ChildProcessTest, WhatCannotBeRunIsAnErrorThatSaysWhy) {
  const auto error = [&](const ChildOptions& options) {
    const Result<ChildProcess> child = ChildProcess::Start(options, clock_);
    EXPECT_FALSE(child.ok());
    return child.ok() ? Error{} : child.error();
  };
  EXPECT_EQ(error({.arguments = {"/no/such/program"}}),
            (Error{ErrorCode::kNotFound,
                   "cannot start /no/such/program: No such file or "
                   "directory"}));
  EXPECT_EQ(error({.arguments = {"/etc/passwd"}}).code, ErrorCode::kForbidden);
  EXPECT_EQ(error({.arguments = {"sh"}}).code, ErrorCode::kNotFound);  // PATH is not searched
  EXPECT_EQ(error({.arguments = {"/bin/sh"}, .directory = "/nowhere"}).message,
            "cannot start /bin/sh in /nowhere: No such file or directory");
  EXPECT_EQ(error({.arguments = {"/bin/sh", std::string("a\0b", 3)}}).code, ErrorCode::kInvalid);
  // A file that is no program.
  cairn::testing::TempDirectory directory;
  const std::string file = directory / "text";
  std::ofstream(file) << std::string("\x01\x02\x03", 3);
  chmod(file.c_str(), 0755);
  EXPECT_THAT(error({.arguments = {file}}).message, HasSubstr("Exec format error"));
  // Nothing is left of them.
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
}

TEST_F(ChildProcessTest, PipesLeadToItAndFromIt) {
  ChildOptions options = Shell("cat; echo done >&2");
  options.input = ChildStream::kPipe;
  ChildProcess child = Start(options);
  // More than a pipe holds, so that writing and reading take turns.
  const std::string sent(300'000, 'x');
  std::string_view left = sent;
  std::string received;
  while (received.size() < sent.size()) {
    if (!left.empty()) {
      const Result<size_t> written = child.Write(left);
      ASSERT_TRUE(written.ok());
      left.remove_prefix(*written);
    }
    const Result<ChildProcess::Piece> piece = child.ReadOutput(70'000);
    ASSERT_TRUE(piece.ok());
    ASSERT_FALSE(piece->ended);
    received += piece->bytes;
  }
  EXPECT_EQ(received, sent);
  child.CloseInput();
  EXPECT_THAT(child.Wait(kLong), Optional(Exited(0)));
  EXPECT_EQ(child.ReadErrors(1'000)->bytes, "done\n");
  EXPECT_TRUE(child.ReadErrors(1'000)->ended);
  EXPECT_EQ(child.errors_fd(), -1);
}

TEST_F(ChildProcessTest, WritingToOneThatDoesNotReadIsAnErrorAndNotASignal) {
  ChildOptions options = Shell("exec <&-; echo closed; sleep 1000");
  options.input = ChildStream::kPipe;
  ChildProcess child = Start(options);
  pollfd readable{.fd = child.output_fd(), .events = POLLIN, .revents = 0};
  ASSERT_EQ(poll(&readable, 1, 60'000), 1);
  const Result<size_t> written = child.Write("hello");
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(child.Write("again").error().code, ErrorCode::kUnavailable);
  sigset_t pending;
  sigpending(&pending);
  EXPECT_EQ(sigismember(&pending, SIGPIPE), 0);
}

TEST_F(ChildProcessTest, OneThatFloodsItsOutputIsHeldUpByThePipe) {
  ChildProcess child =
      Start(Shell("while :; do echo 0123456789012345678901234567890123456789; done"));
  size_t read = 0;
  while (read < 1'000'000) {
    const Result<ChildProcess::Piece> piece = child.ReadOutput(4'096);
    ASSERT_TRUE(piece.ok());
    ASSERT_LE(piece->bytes.size(), 4'096U);
    read += piece->bytes.size();
  }
  EXPECT_FALSE(child.Poll());
  child.Kill();
  EXPECT_THAT(child.Wait(kLong), Optional(Signalled(SIGKILL)));
}

TEST_F(ChildProcessTest, OneThatIgnoresTheRequestToEndIsKilledAfterItsGrace) {
  ChildProcess child = Start(Shell("trap '' TERM; echo ready; while :; do sleep 1000; done"));
  pollfd readable{.fd = child.output_fd(), .events = POLLIN, .revents = 0};
  ASSERT_EQ(poll(&readable, 1, 60'000), 1);
  child.Terminate(seconds(5));
  clock_.AdvanceMillis(4'999);
  EXPECT_FALSE(child.Poll());
  EXPECT_EQ(child.kill_at_ns(), clock_.MonotonicNs() + 1'000'000);
  clock_.AdvanceMillis(1);
  (void)child.Poll();
  EXPECT_THAT(child.Wait(kLong), Optional(Signalled(SIGKILL)));
}

TEST_F(ChildProcessTest, OneThatListensEndsWhenAsked) {
  ChildProcess child = Start(Shell("trap 'exit 7' TERM; echo ready; while :; do sleep 0.01; done"));
  pollfd readable{.fd = child.output_fd(), .events = POLLIN, .revents = 0};
  ASSERT_EQ(poll(&readable, 1, 60'000), 1);
  child.Terminate(seconds(5));
  EXPECT_THAT(child.Wait(kLong), Optional(Exited(7)));
  child.Terminate(seconds(5));  // too late, and no error
  child.Kill();
  EXPECT_THAT(child.Poll(), Optional(Exited(7)));
}

TEST_F(ChildProcessTest, WhatItLeavesBehindIsKilled) {
  ChildProcess child = Start(Shell("sleep 1000 & echo $!"));
  EXPECT_THAT(child.Wait(kLong), Optional(Exited(0)));
  // The stream ends because the one that held it open is gone.
  const pid_t left = std::stoi(ReadAll(child));
  EXPECT_GT(left, 0);
}

TEST_F(ChildProcessTest, EndsWithItsHandle) {
  pid_t pid = -1;
  {
    const ChildProcess child = Start(Shell("sleep 1000"));
    pid = child.pid();
    EXPECT_EQ(getpgid(pid), pid);
  }
  EXPECT_EQ(kill(pid, 0), -1);
  EXPECT_EQ(errno, ESRCH);
}

TEST_F(ChildProcessTest, DiesWithTheThreadThatStartedIt) {
  std::optional<ChildProcess> child;
  std::thread([&] { child.emplace(Start(Shell("sleep 1000"))); }).join();
  const std::optional<ChildExit> exit = child->Wait(kLong);
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->signal, SIGKILL);
}

TEST_F(ChildProcessTest, HasNoDescriptorsButThoseItWasGiven) {
  // One that is not closed by exec, as a library may open it.
  const FileDescriptor careless(open("/dev/null", O_RDONLY));
  Result<std::pair<FileDescriptor, FileDescriptor>> sockets = MakeSocketPair();
  ASSERT_TRUE(sockets.ok());
  ChildOptions options = Shell("ls /proc/$$/fd; read line <&3; echo \"got $line\" >&3");
  options.inherited = {sockets->second.get()};
  ChildProcess child = Start(options);
  sockets->second.Close();
  ASSERT_EQ(write(sockets->first.get(), "hello\n", 6), 6);
  EXPECT_EQ(ReadAll(child), "0\n1\n2\n3\n");
  EXPECT_THAT(child.Wait(kLong), Optional(Exited(0)));
  char answer[64] = {};
  EXPECT_EQ(read(sockets->first.get(), answer, sizeof(answer)), 10);
  EXPECT_STREQ(answer, "got hello\n");
  EXPECT_EQ(read(sockets->first.get(), answer, sizeof(answer)), 0);  // its end is seen
}

TEST_F(ChildProcessTest, InheritedDescriptorsMayHaveTheNumbersOfOthers) {
  Result<std::pair<FileDescriptor, FileDescriptor>> a = MakeSocketPair();
  Result<std::pair<FileDescriptor, FileDescriptor>> b = MakeSocketPair();
  ASSERT_TRUE(a.ok() && b.ok());
  ChildOptions options = Shell("echo three >&3; echo four >&4");
  // The higher number first, so that each may stand where the other is to go.
  options.inherited = {b->second.get(), a->second.get()};
  EXPECT_EQ(OutputOf(options), "");
  char text[16] = {};
  EXPECT_EQ(read(b->first.get(), text, sizeof(text)), 6);
  EXPECT_STREQ(text, "three\n");
}

// What the kernel keeps of a signal: handler, flags, restorer, mask.
using KernelAction = std::array<uint64_t, 4>;
KernelAction SetKernelAction(int signal, const KernelAction& action) {
  KernelAction before = {};
  EXPECT_EQ(syscall(SYS_rt_sigaction, signal, action.data(), before.data(), 8), 0);
  return before;
}

// 32 is one of the two that the C library does not let programs change: a shell or a runner can
// have left it ignored all the same.
TEST_F(ChildProcessTest, HasNoIgnoredOrBlockedSignals) {
  const KernelAction ignore = {reinterpret_cast<uint64_t>(SIG_IGN), 0, 0, 0};
  std::map<int, KernelAction> before;
  for (const int signal : {SIGPIPE, 32, SIGRTMAX}) {
    before[signal] = SetKernelAction(signal, ignore);
  }
  sigset_t blocked;
  sigset_t mask;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &blocked, &mask);
  const std::string status = OutputOf({.arguments = {"/bin/grep", "Sig[BI]", "/proc/self/status"}});
  for (const auto& [signal, action] : before) SetKernelAction(signal, action);
  pthread_sigmask(SIG_SETMASK, &mask, nullptr);
  EXPECT_EQ(status, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

TEST_F(ChildProcessTest, LimitsHold) {
  ChildOptions options = Shell("ulimit -v; ulimit -t; ulimit -n; ulimit -c");
  options.limits = {.address_space_bytes = 512ULL << 20, .cpu_seconds = 9, .open_files = 20};
  EXPECT_EQ(OutputOf(options), "524288\n9\n20\n0\n");
  EXPECT_EQ(OutputOf({.arguments = {"/bin/grep", "NoNewPrivs", "/proc/self/status"}}),
            "NoNewPrivs:\t1\n");
}

TEST_F(ChildProcessTest, OneThatUsesUpItsProcessorTimeIsToldFromOthers) {
  ChildOptions options = Shell("while :; do :; done");
  options.limits.cpu_seconds = 1;
  options.output = ChildStream::kNothing;
  const std::optional<ChildExit> exit = ExitOf(options);
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->kind, ChildExit::Kind::kCpuLimit);
  EXPECT_EQ(exit->ToString(), "used up its processor time");
}

}  // namespace
}  // namespace cairn::outside
