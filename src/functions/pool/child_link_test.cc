// A child that is not ours any more: whoever has taken it over can say anything over its socket. It
// may cost the activation it was given, and nothing else.
#include "functions/pool/child_link.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <csignal>
#include <cstring>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/random.h"
#include "functions/protocol/limits.h"

namespace cairn::functions {
namespace {

using boost::asio::awaitable;
using ::testing::HasSubstr;

constexpr uint64_t kFirst = 1;  // the number of a child's first activation
constexpr size_t kMiB = size_t{1} << 20U;

class TestHost final : public RunHost {
 public:
  awaitable<Result<std::string>> Call(std::string_view operation, std::string arguments) override {
    ++calls;
    if (operation == "large") co_return std::string(16 * kMiB, 'x');
    if (operation == "never") {
      boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor);
      timer.expires_at(boost::asio::steady_timer::time_point::max());
      try {
        co_await timer.async_wait(boost::asio::use_awaitable);
      } catch (const std::exception&) {
        ++cancelled;
        throw;
      }
    }
    co_return arguments;
  }
  void Log(std::string_view /*level*/, std::string_view text) override { log_bytes += text.size(); }

  std::atomic<int> calls = 0;
  std::atomic<int> cancelled = 0;
  std::atomic<size_t> log_bytes = 0;
};

// The other side of a ChildLink: a process that does nothing, to see it being killed, and the
// socket, on which the test says what it likes.
class Hostile {
 public:
  explicit Hostile(FileDescriptor socket) : socket_(std::move(socket)), pid_(fork()) {
    if (pid_ == 0) {
      while (true) pause();
    }
    process_ = FileDescriptor(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
  }
  ~Hostile() {
    if (ended_) return;
    ::kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Hostile(const Hostile&) = delete;
  Hostile& operator=(const Hostile&) = delete;

  // As the zygote does.
  void SayForked() const { SendWith(Encode(ForkedMessage{.pid = pid_, .sandbox = 7}), true); }

  // False if the server does not listen any more.
  bool Say(BytesView bytes) const {
    while (!bytes.empty()) {
      const ssize_t sent = send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }
  void SayWithDescriptor(const Bytes& bytes) const { SendWith(bytes, true); }
  void AwaitWork() const {
    char byte = 0;
    EXPECT_EQ(recv(socket_.get(), &byte, 1, 0), 1);
  }
  // Whoever still talks, on another thread, is told that nobody listens.
  void HangUp() const { shutdown(socket_.get(), SHUT_RDWR); }
  bool WasKilled() {
    int status = 0;
    ended_ = waitpid(pid_, &status, 0) == pid_;
    return ended_ && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  }

 private:
  void SendWith(const Bytes& frame, bool attach) const {
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control = {};
    iovec piece{.iov_base = const_cast<char*>(frame.data()), .iov_len = frame.size()};
    msghdr message = {};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    if (attach) {
      message.msg_control = control.data();
      message.msg_controllen = control.size();
      cmsghdr* const header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(sizeof(int));
      const int descriptor = process_.get();
      std::memcpy(CMSG_DATA(header), &descriptor, sizeof(int));
    }
    EXPECT_EQ(sendmsg(socket_.get(), &message, MSG_NOSIGNAL), static_cast<ssize_t>(frame.size()));
  }

  FileDescriptor socket_;
  const pid_t pid_;
  FileDescriptor process_;
  bool ended_ = false;
};

Bytes Header(uint32_t length, uint8_t kind) {
  Bytes bytes;
  AppendBig32(bytes, length);
  bytes.push_back(static_cast<char>(kind));
  return bytes;
}

Bytes Call(uint64_t call, std::string operation = "echo", std::string arguments = "{}",
           uint64_t number = kFirst) {
  return Encode(HostCallMessage{.number = number,
                                .call = call,
                                .operation = std::move(operation),
                                .arguments = std::move(arguments)});
}
Bytes Done(uint64_t number = kFirst) {
  return Encode(RunResultMessage{.number = number, .result = "{}"});
}

class ChildLinkTest : public ::testing::Test {
 protected:
  ChildLinkTest() { loops_.Start(); }
  ~ChildLinkTest() override {
    links_.clear();
    loops_.Stop();
  }

  struct Conversation {
    std::unique_ptr<Hostile> child;
    std::shared_ptr<ChildLink> link;
    std::future<RunOutcome> outcome;
  };

  // A link whose child has been given an activation.
  Conversation Start() {
    std::array<int, 2> ends = {-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    Conversation made;
    made.child = std::make_unique<Hostile>(FileDescriptor(ends[1]));
    auto link = std::make_shared<std::promise<std::shared_ptr<ChildLink>>>();
    auto outcome = std::make_shared<std::promise<RunOutcome>>();
    made.outcome = outcome->get_future();
    loops_.at(0).Post([this, ours = ends[0], link, outcome] {
      auto made_link = std::make_shared<ChildLink>(
          loops_.at(0), clock_, ChildTimes{.grace = std::chrono::milliseconds(50)},
          FileDescriptor(ours), "t_test01");
      link->set_value(made_link);
      auto work = [](ChildLinkTest* test, std::shared_ptr<ChildLink> with,
                     std::shared_ptr<std::promise<RunOutcome>> into) -> awaitable<void> {
        const Result<void> ready = co_await with->AwaitReady();
        RunOutcome ended;
        if (ready.ok()) {
          RunRequest request = test->Request();
          ended = co_await with->Run(std::move(request), test->host_);
        } else {
          ended.error.message = ready.error().message;
        }
        into->set_value(std::move(ended));
      };
      boost::asio::co_spawn(loops_.at(0).io(), work(this, made_link, outcome),
                            boost::asio::detached);
    });
    made.link = link->get_future().get();
    links_.push_back(made.link);
    made.child->SayForked();
    made.child->AwaitWork();
    return made;
  }

  // Another activation for a child that is there.
  std::future<RunOutcome> RunOn(std::shared_ptr<ChildLink> link) {
    auto outcome = std::make_shared<std::promise<RunOutcome>>();
    loops_.at(0).Post([this, link = std::move(link), outcome] {
      auto work = [](ChildLinkTest* test, std::shared_ptr<ChildLink> with,
                     std::shared_ptr<std::promise<RunOutcome>> into) -> awaitable<void> {
        RunRequest request = test->Request();
        into->set_value(co_await with->Run(std::move(request), test->host_));
      };
      boost::asio::co_spawn(loops_.at(0).io(), work(this, link, outcome), boost::asio::detached);
    });
    return outcome->get_future();
  }

  RunRequest Request() const {
    auto program = std::make_shared<Program>();
    program->sha256 = "x";
    program->entry = "function.js";
    program->files = {{.path = "function.js", .text = "export default () => 1"}};
    RunRequest request;
    request.tenant = "t_test01";
    request.program = std::move(program);
    request.event = request.context = request.env = "{}";
    request.limits.wall_ms = wall_ms_;
    return request;
  }

  // What the child says costs it its life and its activation an error, while another child of the
  // same loop is heard.
  void ExpectEnded(std::string_view what, const std::function<void(Hostile&)>& say,
                   std::string_view why) {
    Conversation honest = Start();
    Conversation hostile = Start();
    std::jthread talk([&] { say(*hostile.child); });
    const RunOutcome outcome = hostile.outcome.get();
    hostile.child->HangUp();
    talk.join();
    EXPECT_EQ(outcome.status, RunStatus::kError) << what;
    EXPECT_EQ(outcome.limit_hit, "crash") << what;
    EXPECT_THAT(outcome.error.message, HasSubstr(std::string(why))) << what;
    EXPECT_TRUE(outcome.result.empty()) << what;
    EXPECT_TRUE(hostile.child->WasKilled()) << what;
    EXPECT_FALSE(Usable(hostile.link)) << what;
    honest.child->Say(Call(1));
    honest.child->Say(Done());
    EXPECT_EQ(honest.outcome.get().status, RunStatus::kSuccess) << what;
    EXPECT_TRUE(Usable(honest.link)) << what;
  }
  bool Usable(const std::shared_ptr<ChildLink>& link) {
    std::promise<bool> answer;
    loops_.at(0).Post([&] { answer.set_value(link->usable()); });
    return answer.get_future().get();
  }

  SystemClock clock_;
  net::LoopGroup loops_;
  TestHost host_;
  int64_t wall_ms_ = 60'000;
  std::vector<std::shared_ptr<ChildLink>> links_;
};

TEST_F(ChildLinkTest, WhatIsNoMessageEndsTheChild) {
  const auto bytes = [](Bytes text) {
    return [text = std::move(text)](Hostile& child) { child.Say(text); };
  };
  ExpectEnded("an unknown kind", bytes(Header(0, 99)), "unknown kind 99");
  ExpectEnded("a message to a child", bytes(Header(0, 1)), "unknown kind 1");
  ExpectEnded("an order to the zygote", bytes(Header(8, 48)), "unknown kind 48");
  ExpectEnded("the longest length", bytes(Header(UINT32_MAX, 18)), "too long");
  ExpectEnded("a call that is too long", bytes(Header(13 * kMiB, 16)), "too long");
  ExpectEnded("a line that is too long", bytes(Header(kMiB, 17)), "too long");
  ExpectEnded("fields that are cut", bytes(Header(3, 18) + "abc"), "malformed");
  ExpectEnded("fields with something behind", bytes([] {
                Bytes frame = Done();
                frame[3] = static_cast<char>(frame[3] + 1);
                return frame + "x";
              }()),
              "malformed");
  ExpectEnded("noise", bytes(Bytes(100'000, '\xFF')), "");
}

TEST_F(ChildLinkTest, WhatItMayNotSayNowEndsTheChild) {
  const auto bytes = [](Bytes text) {
    return [text = std::move(text)](Hostile& child) { child.Say(text); };
  };
  ExpectEnded("the result of a later one", bytes(Done(kFirst + 1)), "another activation");
  ExpectEnded("the result of an earlier one", bytes(Done(0)), "another activation");
  ExpectEnded("a log of another", bytes(Encode(LogMessage{.number = 7, .level = "info"})), "log");
  ExpectEnded("a call of another", bytes(Call(1, "echo", "{}", 7)), "not allowed");
  ExpectEnded("a call twice", bytes(Call(1, "never") + Call(1, "never")), "not allowed");
  ExpectEnded("a compiled program", bytes(Encode(CompiledMessage{.number = kFirst})), "");
  // A program that nobody asked for is not even taken in.
  ExpectEnded("a large compiled program", bytes(Header(90 * kMiB, 19)), "");
  ExpectEnded("its birth", bytes(Encode(ForkedMessage{.pid = 1, .sandbox = 255})), "wrong time");
  ExpectEnded("its death", bytes(Encode(ExitedMessage{.status = 0})), "exited with code 0");
  ExpectEnded("its death by a signal", bytes(Encode(ExitedMessage{.status = SIGSYS})),
              "system call that is not allowed");
  ExpectEnded(
      "the end of its socket", [](Hostile& child) { child.HangUp(); }, "ended before");
  ExpectEnded(
      "half a result",
      [](Hostile& child) {
        child.Say(Done().substr(0, 12));
        child.HangUp();
      },
      "ended before");
}

TEST_F(ChildLinkTest, FloodsEndTheChild) {
  ExpectEnded(
      "calls at once",
      [](Hostile& child) {
        for (uint64_t i = 1; i <= wire::kMaxHostCallsInFlight + 1; ++i) child.Say(Call(i, "never"));
      },
      "not allowed");
  EXPECT_GE(host_.cancelled, static_cast<int>(wire::kMaxHostCallsInFlight));
  ExpectEnded(
      "arguments under way",
      [](Hostile& child) {
        const std::string arguments(8 * kMiB, 'x');
        for (uint64_t i = 1; i <= 8 && child.Say(Call(i, "never", arguments)); ++i) continue;
      },
      "not allowed");
  ExpectEnded(
      "lines",
      [](Hostile& child) {
        Bytes lines;
        for (int i = 0; i < 1'000; ++i)
          lines += Encode(LogMessage{.number = kFirst, .level = "info"});
        while (child.Say(lines)) continue;
      },
      "log");
  ExpectEnded(
      "bytes of lines",
      [](Hostile& child) {
        const Bytes line =
            Encode(LogMessage{.number = kFirst, .level = "info", .text = std::string(60'000, 'x')});
        while (child.Say(line)) continue;
      },
      "log");
  EXPECT_LT(host_.log_bytes, 16 * kMiB);
}

TEST_F(ChildLinkTest, AChildThatDoesNotReadItsAnswersIsEnded) {
  ExpectEnded(
      "answers that are not read",
      [](Hostile& child) {
        for (uint64_t i = 1; i <= 20 && child.Say(Call(i, "large")); ++i) continue;
      },
      "");
}

TEST_F(ChildLinkTest, DescriptorsThatAChildSendsAreDropped) {
  const auto count = [] {
    int open = 0;
    for (int fd = 0; fd < 1'024; ++fd) open += fcntl(fd, F_GETFD) >= 0 ? 1 : 0;
    return open;
  };
  Conversation made = Start();
  const int before = count();
  for (uint64_t i = 1; i <= 100; ++i) made.child->SayWithDescriptor(Call(i));
  made.child->Say(Done());
  EXPECT_EQ(made.outcome.get().status, RunStatus::kSuccess);
  EXPECT_EQ(count(), before);
}

TEST_F(ChildLinkTest, AChildThatNeverAnswersIsKilledWhileOthersAreServed) {
  Conversation honest = Start();
  wall_ms_ = 200;
  Conversation silent = Start();
  Conversation chatty = Start();  // says much, but no result
  std::jthread talk([&] {
    uint64_t call = 0;
    while (chatty.child->Say(Call(++call))) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  for (Conversation* const one : {&silent, &chatty}) {
    const RunOutcome outcome = one->outcome.get();
    EXPECT_EQ(outcome.status, RunStatus::kTimeout);
    EXPECT_EQ(outcome.limit_hit, "wall");
    EXPECT_TRUE(one->child->WasKilled());
    one->child->HangUp();
  }
  honest.child->Say(Done());
  EXPECT_EQ(honest.outcome.get().status, RunStatus::kSuccess);
}

// A result that was sent in advance belongs to nobody.
TEST_F(ChildLinkTest, AResultBeforeItsActivationIsNotTaken) {
  Conversation made = Start();
  made.child->Say(Done() + Done(kFirst + 2));
  EXPECT_EQ(made.outcome.get().status, RunStatus::kSuccess);
  const RunOutcome outcome = RunOn(made.link).get();
  EXPECT_EQ(outcome.limit_hit, "crash");
  EXPECT_THAT(outcome.error.message, HasSubstr("another activation"));
}

}  // namespace
}  // namespace cairn::functions
