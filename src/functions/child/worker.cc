#include "functions/child/worker.h"

#include <malloc.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <deque>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/utf8.h"
#include "functions/child/sandbox.h"
#include "functions/protocol/exit_codes.h"
#include "functions/protocol/limits.h"
#include "functions/protocol/messages.h"
#include "functions/protocol/recent.h"

// jemalloc's, where the program is linked with it.
extern "C" int mallctl(const char* name, void* old_value, size_t* old_size, void* new_value,
                       size_t new_size) __attribute__((weak));

namespace cairn::functions {
namespace {

constexpr int64_t kUsPerSecond = 1'000'000;
constexpr int64_t kUsPerMs = 1'000;
constexpr int64_t kNsPerMs = 1'000'000;
constexpr size_t kReadBytes = 65'536;
// Without work for this long, memory is given back.
constexpr int kIdleMs = 200;
// An interrupt that comes between a check and a wait is repeated.
constexpr int64_t kRepeatUs = 20 * kUsPerMs;
// What activations leave behind counts against the limit of the next one, which may be another
// function's. So garbage is collected once they have touched as much as this.
constexpr uint64_t kCollectBytes = uint64_t{8} << 20U;
// A new process is cheaper than to clean up after more than this.
constexpr uint64_t kRetireBytes = uint64_t{48} << 20U;
constexpr RunLimits kCompileLimits = {
    .wall_ms = 20'000, .cpu_ms = 20'000, .memory_bytes = uint64_t{1} << 30U};

// The engine that a signal interrupts. Signal handlers have no other way to know it.
Engine* g_engine = nullptr;

void OnTime(int signal) {
  const int failure = errno;
  if (g_engine != nullptr) {
    g_engine->Stop(signal == SIGALRM ? StopReason::kWall : StopReason::kCpu);
  }
  errno = failure;
}

// Memory that runs out where the engine cannot go on makes it crash. If it did, say so.
void OnCrash(int signal) {
  if (g_engine != nullptr && g_engine->out_of_memory()) _exit(kExitOutOfMemory);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

[[noreturn]] void OnNoMemory() { _exit(kExitOutOfMemory); }

void SetTimer(__itimer_which which, int64_t ms) {
  itimerval timer = {};
  timer.it_value.tv_sec = ms * kUsPerMs / kUsPerSecond;
  timer.it_value.tv_usec = ms * kUsPerMs % kUsPerSecond;
  timer.it_interval.tv_usec = ms > 0 ? kRepeatUs : 0;
  setitimer(which, &timer, nullptr);
}

int64_t UsOf(const timeval& time) { return int64_t{time.tv_sec} * kUsPerSecond + time.tv_usec; }

int64_t CpuUs() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return UsOf(usage.ru_utime) + UsOf(usage.ru_stime);
}

// Memory that the process has touched for the first time, so far: what it holds and what it has
// given back.
uint64_t TouchedBytes() {
  static const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_minflt) * page;
}

// What the engine writes before it crashes is nobody's to read, but tells why. Some of its
// allocations cannot fail in any other way.
ssize_t TakeLastWords(void* /*cookie*/, const char* text, size_t size) {
  if (std::string_view(text, size).find("[unhandlable oom]") != std::string_view::npos) {
    _exit(kExitOutOfMemory);
  }
  return static_cast<ssize_t>(size);
}

void HearLastWords() {
  FILE* const words = fopencookie(nullptr, "w", {.write = TakeLastWords});
  if (words == nullptr) return;
  (void)std::setvbuf(words, nullptr, _IONBF, 0);
  stderr = words;
}

uint64_t LargestBytes() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
}

void SetSoftLimit(__rlimit_resource resource, uint64_t value) {
  rlimit limit = {};
  getrlimit(resource, &limit);
  limit.rlim_cur = std::min<rlim_t>(value, limit.rlim_max);
  setrlimit(resource, &limit);
}

// The limits of one activation, in force while it exists.
class LimitsInForce {
 public:
  LimitsInForce(const RunLimits& limits, uint64_t baseline_bytes) : cpu_us_(CpuUs()) {
    SetSoftLimit(RLIMIT_DATA, baseline_bytes + limits.memory_bytes);
    // The kernel ends a process that the interrupt does not reach.
    const int64_t cpu_seconds = (cpu_us_ + limits.cpu_ms * kUsPerMs) / kUsPerSecond + 2;
    SetSoftLimit(RLIMIT_CPU, static_cast<uint64_t>(cpu_seconds));
    SetTimer(ITIMER_REAL, std::max<int64_t>(limits.wall_ms, 1));
    SetTimer(ITIMER_PROF, std::max<int64_t>(limits.cpu_ms, 1));
  }
  ~LimitsInForce() { End(); }
  LimitsInForce(const LimitsInForce&) = delete;
  LimitsInForce& operator=(const LimitsInForce&) = delete;

  // Returns the processor time that was used.
  int64_t End() {
    SetTimer(ITIMER_REAL, 0);
    SetTimer(ITIMER_PROF, 0);
    return CpuUs() - cpu_us_;
  }

 private:
  int64_t cpu_us_;
};

void GiveMemoryBack() {
  if (mallctl != nullptr) {
    (void)mallctl("arena.0.purge", nullptr, nullptr, nullptr, 0);
  } else {
    malloc_trim(0);
  }
}

class Worker final : public EngineHost {
 public:
  Worker(Engine& engine, uint64_t baseline_bytes)
      : engine_(engine), baseline_bytes_(baseline_bytes), start_bytes_(LargestBytes()) {}

  [[noreturn]] void Loop() {
    while (true) {
      std::optional<ToChild> message = NextMessage();
      if (!message) message = WaitForWork();
      if (auto* const run = std::get_if<RunMessage>(&*message)) {
        Run(std::move(*run));
      } else if (auto* const compile = std::get_if<CompileMessage>(&*message)) {
        Compile(*compile);
      }  // what an activation was told after its end
    }
  }

  // --- EngineHost --------------------------------------------------------------------------------

  void Call(uint64_t call, std::string_view operation, std::string_view arguments) override {
    Send(Encode(HostCallMessage{.number = number_,
                                .call = call,
                                .operation = std::string(operation),
                                .arguments = std::string(arguments)}));
  }

  void Log(std::string_view level, std::string_view text) override {
    if (log_bytes_ > kMaxLogBytes || log_lines_ > wire::kMaxLogLines) return;
    if (++log_lines_ > wire::kMaxLogLines) {
      level = "warn";
      text = "the rest of the log is left out: it has too many lines";
    }
    log_bytes_ += text.size() + 1;
    Send(Encode(LogMessage{.number = number_,
                           .level = CleanText(level, wire::kMaxLogLevelBytes),
                           .text = CleanText(text, wire::kMaxLogLineBytes)}));
  }

  std::optional<HostReply> WaitForReply(std::optional<uint64_t> timeout_ns) override {
    while (true) {
      std::optional<ToChild> message = NextMessage();
      if (!message) {
        if (!WaitReadable(timeout_ns)) return std::nullopt;
        ReadSome();
        continue;
      }
      if (auto* const reply = std::get_if<HostReplyMessage>(&*message)) {
        if (reply->number != number_) continue;
        return HostReply{.call = reply->call, .ok = reply->ok, .text = std::move(reply->text)};
      }
      if (const auto* const room = std::get_if<StreamRoomMessage>(&*message)) {
        if (room->number != number_) continue;
        return HostReply{.text = {}, .kind = HostReply::Kind::kRoom, .bytes = room->bytes};
      }
      auto* const abort = std::get_if<AbortMessage>(&*message);
      if (abort == nullptr) _exit(kExitProtocol);  // the server sends one activation at a time
      if (abort->number != number_) continue;
      return HostReply{.text = std::move(abort->reason), .kind = HostReply::Kind::kAbort};
    }
  }

  void Answer(std::string_view result, bool truncated) override {
    Send(Encode(AnsweredMessage{
        .number = number_, .result = std::string(result), .result_truncated = truncated}));
  }
  void BeginStream(std::string_view head) override {
    Send(Encode(StreamBegunMessage{.number = number_, .head = std::string(head)}));
  }
  void StreamPiece(std::string_view bytes) override {
    Send(Encode(StreamPieceMessage{.number = number_, .bytes = std::string(bytes)}));
  }
  void EndStream() override { Send(Encode(StreamEndedMessage{.number = number_})); }

  bool connected() const override { return true; }

 private:
  std::optional<ToChild> NextMessage() {
    Result<std::optional<ToChild>> message = reader_.Next();
    if (!message.ok()) _exit(kExitProtocol);
    return *std::move(message);
  }

  // False if nothing came in time, or a signal did.
  static bool WaitReadable(std::optional<uint64_t> timeout_ns) {
    pollfd socket{.fd = kSandboxSocket, .events = POLLIN, .revents = 0};
    constexpr uint64_t kLongestMs = 1'000'000;
    const int timeout_ms =
        timeout_ns ? static_cast<int>(std::min((*timeout_ns + kNsPerMs - 1) / kNsPerMs, kLongestMs))
                   : -1;
    return poll(&socket, 1, timeout_ms) > 0;
  }

  void ReadSome() {
    const ssize_t got = recv(kSandboxSocket, buffer_.data(), buffer_.size(), 0);
    if (got == 0) _exit(0);  // the server has no more work for us
    if (got < 0 && errno != EINTR && errno != EAGAIN) _exit(kExitProtocol);
    if (got > 0) reader_.Append({buffer_.data(), static_cast<size_t>(got)});
  }

  ToChild WaitForWork() {
    bool idle = false;
    while (true) {
      // The next global is made when there is no work yet, memory is given back when there is none
      // for longer.
      if (!WaitReadable(0)) {
        if (!idle && last_ != nullptr) engine_.Prepare(last_);
        if (!WaitReadable(idle ? std::nullopt : std::optional<uint64_t>(kIdleMs * kNsPerMs))) {
          if (!idle && last_ != nullptr) CollectGarbage();
          idle = true;
          continue;
        }
      }
      ReadSome();
      if (std::optional<ToChild> message = NextMessage()) return *std::move(message);
    }
  }

  void Send(const Bytes& frame) {
    size_t sent = 0;
    while (sent < frame.size()) {
      const ssize_t some =
          send(kSandboxSocket, frame.data() + sent, frame.size() - sent, MSG_NOSIGNAL);
      if (some < 0 && errno != EINTR) _exit(0);
      if (some > 0) sent += static_cast<size_t>(some);
    }
  }

  // The program of a run, which the server has sent along if we do not have it.
  std::shared_ptr<const Program> ProgramOf(RunMessage& run) {
    if (run.program) {
      programs_[run.sha256] = std::make_shared<const Program>(*std::move(run.program));
    }
    if (const std::optional<std::string> oldest = recent_.Use(run.sha256)) {
      engine_.Forget(*oldest);
      programs_.erase(*oldest);
    }
    const auto found = programs_.find(run.sha256);
    if (found == programs_.end()) _exit(kExitProtocol);
    return found->second;
  }

  void Run(RunMessage run) {
    last_ = ProgramOf(run);
    number_ = run.number;
    log_bytes_ = 0;
    log_lines_ = 0;
    RunResultMessage result{.number = run.number};
    if (run.only_load) {
      Load(run, result);
    } else {
      LimitsInForce limits(run.limits, baseline_bytes_);
      EngineOutcome outcome = engine_.Run({.program = last_,
                                           .event = run.event,
                                           .context = run.context,
                                           .env = run.env,
                                           .answer = run.answer},
                                          *this);
      result.cpu_us = std::max<int64_t>(limits.End(), 0);
      result.status = outcome.status;
      result.result = std::move(outcome.result);
      result.result_truncated = outcome.result_truncated;
      result.error = std::move(outcome.error);
      result.limit_hit = std::move(outcome.limit_hit);
      result.cold = outcome.cold;
    }
    result.peak_memory_bytes = LargestBytes() - std::min(LargestBytes(), start_bytes_);
    const uint64_t touched = TouchedBytes() - collected_at_bytes_;
    result.retire = engine_.out_of_memory() || touched > kRetireBytes;
    Send(Encode(result));
    if (result.retire) _exit(0);
    if (touched > kCollectBytes) CollectGarbage();
  }

  void CollectGarbage() {
    engine_.Shrink();
    GiveMemoryBack();
    collected_at_bytes_ = TouchedBytes();
  }

  void Load(const RunMessage& run, RunResultMessage& result) {
    LimitsInForce limits(run.limits, baseline_bytes_);
    const Result<void> loaded = engine_.Load(last_);
    if (loaded.ok()) engine_.Prepare(last_);
    result.cpu_us = std::max<int64_t>(limits.End(), 0);
    if (loaded.ok()) return;
    result.status = RunStatus::kError;
    result.error = {.type = "SyntaxError",
                    .message = CleanText(loaded.error().message, wire::kMaxErrorMessageBytes)};
  }

  void Compile(const CompileMessage& compile) {
    CompiledMessage compiled{.number = compile.number};
    {
      const LimitsInForce limits(kCompileLimits, baseline_bytes_);
      Result<std::string> code = engine_.Compile(compile.files, compile.entry);
      compiled.ok = code.ok();
      compiled.text = code.ok() ? *code : code.error().message;
    }
    Send(Encode(compiled));
  }

  Engine& engine_;
  const uint64_t baseline_bytes_;
  const uint64_t start_bytes_;
  MessageReader<ToChild> reader_;
  std::array<char, kReadBytes> buffer_;
  RecentPrograms recent_;
  std::map<std::string, std::shared_ptr<const Program>> programs_;
  std::shared_ptr<const Program> last_;
  uint64_t collected_at_bytes_ = TouchedBytes();
  uint64_t number_ = 0;
  size_t log_bytes_ = 0;
  size_t log_lines_ = 0;
};

}  // namespace

void PrepareWorkerSignals() {
  struct sigaction on_time = {};
  on_time.sa_handler = OnTime;
  sigaction(SIGALRM, &on_time, nullptr);
  sigaction(SIGPROF, &on_time, nullptr);
  struct sigaction on_crash = {};
  on_crash.sa_handler = OnCrash;
  for (const int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGTRAP}) {
    sigaction(signal, &on_crash, nullptr);
  }
  std::set_new_handler(OnNoMemory);
}

void RunWorker(Engine& engine, uint64_t baseline_bytes) {
  g_engine = &engine;
  HearLastWords();
  auto worker = std::make_unique<Worker>(engine, baseline_bytes);
  worker->Loop();
}

}  // namespace cairn::functions
