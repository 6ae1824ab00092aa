#include "functions/pool/child_link.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <set>
#include <span>
#include <utility>

#include "functions/pool/answer_link.h"
#include "functions/protocol/exit_codes.h"
#include "functions/protocol/limits.h"

namespace cairn::functions {

using boost::asio::awaitable;
using boost::asio::use_awaitable;
using boost::system::error_code;

namespace {

constexpr size_t kReadBytes = 65'536;
constexpr int64_t kNsPerUs = 1'000;
// Of answers to its calls that a child has not read yet.
constexpr size_t kMaxUnreadBytes = size_t{64} << 20U;
// An honest child stops at 1 MiB by itself.
constexpr size_t kMaxLogBytesOfChild = size_t{4} << 20U;
constexpr size_t kMaxLogLinesOfChild = 2 * wire::kMaxLogLines;
constexpr size_t kMaxCalls = 1'000'000;
constexpr std::chrono::milliseconds kCompileTime = std::chrono::seconds(30);

// Receives without waiting, together with a descriptor that came along. -1 with errno set.
ssize_t Receive(int socket, std::span<char> buffer, FileDescriptor* attached) {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control = {};
  iovec piece{.iov_base = buffer.data(), .iov_len = buffer.size()};
  msghdr message = {};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  if (attached != nullptr) {  // without room for it, what a child attaches is dropped
    message.msg_control = control.data();
    message.msg_controllen = control.size();
  }
  const ssize_t got = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (got < 0 || attached == nullptr) return got;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    int descriptor = -1;
    std::memcpy(&descriptor, CMSG_DATA(header), sizeof(int));
    *attached = FileDescriptor(descriptor);
  }
  return got;
}

HostReplyMessage ReplyTo(const HostCallMessage& call, Result<std::string> reply) {
  return {.number = call.number,
          .call = call.call,
          .ok = reply.ok(),
          .text = reply.ok() ? *std::move(reply) : std::string(reply.error().message)};
}

RunOutcome OutcomeOf(RunResultMessage result) {
  return {.status = result.status,
          .result = std::move(result.result),
          .result_truncated = result.result_truncated,
          .error = std::move(result.error),
          .usage = {.cpu_us = result.cpu_us,
                    .peak_memory_bytes = result.peak_memory_bytes,
                    .cold = result.cold},
          .limit_hit = std::move(result.limit_hit)};
}

RunOutcome Failed(std::string type, std::string message) {
  RunOutcome outcome;
  outcome.error = {.type = std::move(type), .message = std::move(message)};
  return outcome;
}

}  // namespace

// The calls that a run has made and that are not answered yet. Shared with their coroutines.
struct ChildLink::HostCalls {
  explicit HostCalls(net::Loop& loop) : settled(loop.io()) {
    settled.expires_at(boost::asio::steady_timer::time_point::max());
  }
  void CancelAll() {
    for (boost::asio::cancellation_signal& one : signals) {
      one.emit(boost::asio::cancellation_type::all);
    }
  }

  std::set<uint64_t> open;
  // Of those whose answer is not on its way yet: the child counts the same.
  size_t unanswered = 0;
  size_t unanswered_bytes = 0;  // of arguments
  std::list<boost::asio::cancellation_signal> signals;
  size_t total = 0;
  bool answers_wanted = true;
  boost::asio::steady_timer settled;  // cancelled when the last one ends
};

ChildLink::ChildLink(net::Loop& loop, const Clock& clock, const ChildTimes& times,
                     FileDescriptor socket, std::string tenant)
    : loop_(loop),
      clock_(clock),
      times_(times),
      tenant_(std::move(tenant)),
      socket_(loop.io(), boost::asio::local::stream_protocol(), socket.Release()) {}

ChildLink::~ChildLink() { Kill(); }

void ChildLink::Kill() {
  if (process_.get() >= 0) {
    (void)syscall(SYS_pidfd_send_signal, process_.get(), SIGKILL, nullptr, 0);
  }
}

bool ChildLink::Silent() {
  if (reader_.waiting() > 0) return false;
  char byte = 0;
  const ssize_t got = recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got < 0 && errno == EAGAIN;
}

void ChildLink::End() {
  ended_ = true;
  Kill();
}

awaitable<bool> ChildLink::Fill() {
  std::array<char, kReadBytes> buffer;
  while (true) {
    const ssize_t got = Receive(socket_.native_handle(), buffer, ready_ ? nullptr : &process_);
    if (got > 0) {
      reader_.Append({buffer.data(), static_cast<size_t>(got)});
      co_return true;
    }
    if (got == 0 || (errno != EAGAIN && errno != EINTR)) co_return false;
    error_code failure;
    co_await socket_.async_wait(boost::asio::socket_base::wait_read,
                                redirect_error(use_awaitable, failure));
    if (failure) co_return false;
  }
}

// The next thing that it says; nullopt if it says nothing more, or what it may not.
awaitable<std::optional<ToServer>> ChildLink::Next() {
  while (!ended_) {
    Result<std::optional<ToServer>> message = reader_.Next();
    if (!message.ok()) {
      broken_ = message.error().message;
      break;
    }
    if (*message) {
      if (const auto* const exit = std::get_if<ExitedMessage>(&**message)) {
        exit_ = *exit;
        break;
      }
      co_return std::move(**message);
    }
    const bool more = co_await Fill();
    if (!more) break;
  }
  End();
  co_return std::nullopt;
}

awaitable<void> ChildLink::Write() {
  const std::shared_ptr<ChildLink> self = shared_from_this();
  while (!out_.empty() && !ended_) {
    Bytes piece = std::move(out_);
    out_.clear();
    error_code failure;
    co_await boost::asio::async_write(socket_, boost::asio::buffer(piece),
                                      redirect_error(use_awaitable, failure));
    if (failure) break;
  }
  writing_ = false;
}

void ChildLink::Queue(Bytes frame) {
  if (ended_) return;
  if (out_.empty() && !writing_) {
    const ssize_t sent =
        send(socket_.native_handle(), frame.data(), frame.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent == static_cast<ssize_t>(frame.size())) return;
    if (sent > 0) frame.erase(0, static_cast<size_t>(sent));
  }
  out_ += frame;
  if (out_.size() > kMaxUnreadBytes && runs_ > 0 && writing_) return End();
  if (writing_) return;
  writing_ = true;
  boost::asio::co_spawn(loop_.io(), Write(), boost::asio::detached);
}

awaitable<Result<void>> ChildLink::AwaitReady() {
  const net::Timer timer = loop_.After(times_.start, [this] {
    error_code ignored;
    socket_.close(ignored);
  });
  const std::optional<ToServer> first = co_await Next();
  if (first) {
    if (const auto* const forked = std::get_if<ForkedMessage>(&*first)) {
      sandbox_ = forked->sandbox;
      ready_ = true;
      co_return Result<void>();
    }
  }
  End();
  co_return Error{ErrorCode::kUnavailable,
                  "the sandbox of functions did not start; `cairn doctor` says what it needs"};
}

bool ChildLink::StartCall(HostCallMessage call, RunHost& host,
                          const std::shared_ptr<HostCalls>& calls) {
  const size_t bytes = call.arguments.size();
  if (calls->unanswered >= wire::kMaxHostCallsInFlight || ++calls->total > kMaxCalls ||
      calls->unanswered_bytes + bytes > wire::kMaxHostCallBytes ||
      !calls->open.insert(call.call).second) {
    return false;
  }
  ++calls->unanswered;
  calls->unanswered_bytes += bytes;
  const auto signal = calls->signals.emplace(calls->signals.end());
  auto answer = [](std::shared_ptr<ChildLink> self, HostCallMessage asked, RunHost& asks,
                   std::shared_ptr<HostCalls> all) -> awaitable<void> {
    const size_t asked_bytes = asked.arguments.size();
    Result<std::string> reply = co_await asks.Call(asked.operation, std::move(asked.arguments));
    --all->unanswered;
    all->unanswered_bytes -= asked_bytes;
    if (reply.ok() && reply->size() > wire::kMaxHostReplyBytes) {
      reply = Error{ErrorCode::kTooLarge, "the answer is too large for a function"};
    }
    if (!all->answers_wanted) co_return;
    self->Queue(Encode(ReplyTo(asked, std::move(reply))));
  };
  const uint64_t id = call.call;
  auto done = [calls, id, signal](const std::exception_ptr& /*failure*/) {
    calls->open.erase(id);
    calls->signals.erase(signal);
    if (calls->open.empty()) calls->settled.cancel();
  };
  boost::asio::co_spawn(loop_.io(), answer(shared_from_this(), std::move(call), host, calls),
                        boost::asio::bind_cancellation_slot(signal->slot(), std::move(done)));
  return true;
}

RunOutcome ChildLink::Died(bool timed_out) const {
  RunOutcome outcome = Failed("Crash", "the function's process ended before it had a result");
  outcome.limit_hit = "crash";
  if (timed_out) {
    outcome.status = RunStatus::kTimeout;
    outcome.limit_hit = "wall";
    outcome.error = {.type = "Timeout", .message = "the function did not end in time"};
  } else if (!broken_.empty()) {
    outcome.error.message = "the function's process broke the protocol: " + broken_;
  } else if (exit_) {
    const int status = exit_->status;
    if (WIFEXITED(status) && WEXITSTATUS(status) == kExitOutOfMemory) {
      outcome.limit_hit = "memory";
      outcome.error = {.type = "MemoryLimit", .message = "the function used up its memory"};
    } else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU) {
      outcome.status = RunStatus::kTimeout;
      outcome.limit_hit = "cpu";
      outcome.error = {.type = "CpuLimit", .message = "the function used up its processor time"};
    } else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS) {
      outcome.error.message = "the function's process made a system call that is not allowed";
    } else if (WIFSIGNALED(status)) {
      outcome.error.message =
          fmt::format("the function's process was killed by signal {}", WTERMSIG(status));
    } else {
      outcome.error.message =
          fmt::format("the function's process exited with code {}", WEXITSTATUS(status));
    }
    outcome.usage.cpu_us = exit_->cpu_us;
  }
  return outcome;
}

awaitable<RunOutcome> ChildLink::Converse(const RunMessage& run, RunHost& host) {
  bool timed_out = false;
  net::Timer gone;
  const net::Timer deadline =
      loop_.After(std::chrono::milliseconds(run.limits.wall_ms) + times_.grace, [&] {
        timed_out = true;
        Kill();
        // The zygote tells its end; should it not, nobody waits for it.
        gone = loop_.After(times_.grace, [this] {
          error_code ignored;
          socket_.shutdown(boost::asio::socket_base::shutdown_receive, ignored);
        });
      });
  const auto calls = std::make_shared<HostCalls>(loop_);
  AnswerLink answer(run.number, run.answer, host, [this](Bytes frame) { Queue(std::move(frame)); });
  size_t log_bytes = 0;
  size_t log_lines = 0;
  std::optional<RunOutcome> outcome;
  while (!outcome) {
    std::optional<ToServer> message = co_await Next();
    if (!message) {
      outcome = Died(timed_out);
    } else if (auto* const call = std::get_if<HostCallMessage>(&*message)) {
      if (call->number != run.number || !StartCall(std::move(*call), host, calls)) {
        broken_ = "a call to the server that is not allowed";
        End();
        outcome = Died(timed_out);
      }
    } else if (const auto* const log = std::get_if<LogMessage>(&*message)) {
      log_bytes += log->text.size();
      if (log->number != run.number || log_bytes > kMaxLogBytesOfChild ||
          ++log_lines > kMaxLogLinesOfChild) {
        broken_ = "too many lines of log";
        End();
        outcome = Died(timed_out);
      } else {
        host.Log(log->level, log->text);
      }
    } else if (auto* const result = std::get_if<RunResultMessage>(&*message)) {
      if (result->number != run.number) {
        broken_ = "a result of another activation";
        End();
        outcome = Died(timed_out);
        continue;
      }
      const bool retire = result->retire;
      outcome = OutcomeOf(std::move(*result));
      if (retire) End();
    } else if (AnswerLink::Knows(*message)) {
      if (!answer.Take(*std::move(message))) {
        broken_ = "a part of an answer at the wrong time";
        End();
        outcome = Died(timed_out);
      }
    } else {
      broken_ = "a message at the wrong time";
      End();
      outcome = Died(timed_out);
    }
  }
  calls->answers_wanted = false;
  if (outcome->status != RunStatus::kSuccess) calls->CancelAll();
  while (!calls->open.empty()) {
    error_code ignored;
    co_await calls->settled.async_wait(redirect_error(use_awaitable, ignored));
  }
  co_return *std::move(outcome);
}

// Takes what it can from the request. Apart from the coroutine, because g++ 12 destroys twice what
// an aggregate's initialiser there is made of.
RunMessage ChildLink::MessageOf(RunRequest& request) {
  RunMessage run{.number = ++last_number_,
                 .sha256 = request.program->sha256,
                 .event = std::move(request.event),
                 .context = std::move(request.context),
                 .env = std::move(request.env),
                 .limits = request.limits,
                 .only_load = request.only_load,
                 .answer = request.answer};
  if (!recent_.Has(run.sha256)) run.program = *request.program;
  (void)recent_.Use(run.sha256);
  return run;
}

awaitable<RunOutcome> ChildLink::Run(RunRequest request, RunHost& host) {
  const std::shared_ptr<ChildLink> self = shared_from_this();
  const uint64_t started_ns = clock_.MonotonicNs();
  RunMessage run = MessageOf(request);
  const bool first = !warm_ && runs_ == 0;
  warm_ |= request.only_load;
  if (!request.only_load) ++runs_;
  reader_.set_max_bytes(wire::kMaxRunMessageBytes);
  Queue(Encode(run));
  run.program.reset();
  RunOutcome outcome = co_await Converse(run, host);
  outcome.usage.cold |= first;
  outcome.usage.wall_us = static_cast<int64_t>(clock_.MonotonicNs() - started_ns) / kNsPerUs;
  co_return outcome;
}

awaitable<Result<std::string>> ChildLink::Compile(CompileMessage compile) {
  const std::shared_ptr<ChildLink> self = shared_from_this();
  bool timed_out = false;
  const net::Timer deadline = loop_.After(kCompileTime, [&] {
    timed_out = true;
    Kill();
  });
  compile.number = ++last_number_;
  reader_.set_max_bytes(SIZE_MAX);
  Queue(Encode(compile));
  const std::optional<ToServer> message = co_await Next();
  const auto* const compiled = message ? std::get_if<CompiledMessage>(&*message) : nullptr;
  if (compiled == nullptr || compiled->number != compile.number) {
    End();
    const std::string why = Died(timed_out).error.message;
    co_return Error{ErrorCode::kInvalid, "the bundle could not be compiled: " + why};
  }
  if (!compiled->ok) co_return Error{ErrorCode::kInvalid, compiled->text};
  co_return compiled->text;
}

}  // namespace cairn::functions
