#include "functions/pool/sandbox_pool.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <deque>
#include <utility>

#include "base/check.h"
#include "functions/pool/zygote_link.h"
#include "functions/protocol/limits.h"

namespace cairn::functions {

using boost::asio::awaitable;
using boost::asio::use_awaitable;

namespace {

constexpr std::chrono::milliseconds kSweepEvery = std::chrono::seconds(10);
constexpr uint64_t kNsPerMs = 1'000'000;

RunOutcome Refused(std::string type, std::string message) {
  RunOutcome outcome;
  outcome.error = {.type = std::move(type), .message = std::move(message)};
  return outcome;
}

// What the messages to a child can carry: the child would take a longer one for an attack.
Result<void> CheckSizes(const RunRequest& request) {
  if (request.event.size() > wire::kMaxEventBytes ||
      request.context.size() > wire::kMaxContextBytes || request.env.size() > wire::kMaxEnvBytes) {
    return Error{ErrorCode::kTooLarge, "the event, the context or the environment is too large"};
  }
  return {};
}

Result<void> CheckBundle(const std::vector<SourceFile>& files) {
  size_t bytes = 0;
  for (const SourceFile& file : files) {
    bytes += file.text.size();
    if (file.path.size() > wire::kMaxBundlePathBytes) {
      return Error{ErrorCode::kTooLarge, "the path of a file of the bundle is too long"};
    }
  }
  if (files.size() > wire::kMaxBundleFiles || bytes > wire::kMaxBundleBytes) {
    return Error{ErrorCode::kTooLarge, "the bundle is too large"};
  }
  return {};
}

}  // namespace

struct SandboxPool::State {
  State(SandboxPoolOptions of, const Clock& time, Random& random, const Log& log,
        net::LoopGroup& group)
      : options(std::move(of)),
        clock(time),
        loops(group),
        zygote(options.program, time, random, log) {}

  const SandboxPoolOptions options;
  const Clock& clock;
  net::LoopGroup& loops;
  ZygoteLink zygote;
  std::atomic<bool> stopped = false;
  std::atomic<int64_t> children = 0;
  std::atomic<int64_t> idle = 0;
  std::atomic<int64_t> waiting = 0;
  std::atomic<int64_t> forks = 0;
  std::atomic<int64_t> crashes = 0;
  std::atomic<uint32_t> sandbox = 0;
};

// The children of one loop. On that loop only.
class SandboxPool::LoopPool {
 public:
  LoopPool(std::shared_ptr<State> state, net::Loop& loop, size_t most)
      : state_(std::move(state)), loop_(loop), most_(most) {}

  net::Loop& loop() const { return loop_; }

  awaitable<RunOutcome> Run(RunRequest request, RunHost& host) {
    const Result<void> fits = CheckSizes(request);
    if (!fits.ok()) co_return Refused("TooLarge", fits.error().message);
    Result<std::shared_ptr<ChildLink>> child =
        co_await Acquire(request.tenant, request.program->sha256);
    if (!child.ok()) {
      co_return Refused(child.error().code == ErrorCode::kTooMany ? "Busy" : "Unavailable",
                        child.error().message);
    }
    RunOutcome outcome = co_await RunIn(*child, std::move(request), host);
    if (outcome.limit_hit == "crash") ++state_->crashes;
    Release(*std::move(child));
    co_return outcome;
  }

  awaitable<bool> KeepWarm(std::vector<WarmTarget> targets) {
    targets_ = std::move(targets);
    size_t wanted = 0;
    for (const WarmTarget& target : targets_) wanted += target.children;
    warm_wanted_ = static_cast<int64_t>(wanted);
    // By place: another call may have other targets while this one waits for a child.
    for (size_t at = 0; at < targets_.size(); ++at) {
      while (at < targets_.size() && Missing(targets_[at]) > 0 && count_ < most_) {
        const WarmTarget target = targets_[at];
        const bool started = co_await StartWarm(target);
        if (!started) break;
      }
    }
    size_t missing = 0;
    for (const WarmTarget& target : targets_) missing += Missing(target);
    warm_missing_ = static_cast<int64_t>(missing);
    co_return missing == 0;
  }
  int64_t warm_wanted() const { return warm_wanted_; }
  int64_t warm_missing() const { return warm_missing_; }

  awaitable<Result<std::string>> Compile(CompileMessage compile) {
    CAIRN_CHECK(loop_.InLoop());
    // Of nobody, so nobody gets it afterwards.
    Result<std::shared_ptr<ChildLink>> child = co_await Acquire("", "");
    if (!child.ok()) co_return child.error();
    Result<std::string> compiled = co_await (*child)->Compile(std::move(compile));
    Drop(*std::move(child));
    co_return compiled;
  }

  void EndIdle() {
    const uint64_t now_ns = state_->clock.MonotonicNs();
    const uint64_t time_ns = static_cast<uint64_t>(state_->options.idle_time.count()) * kNsPerMs;
    for (auto at = idle_.begin(); at != idle_.end() && now_ns - at->since_ns >= time_ns;) {
      if (IsKept(*at->child)) {
        ++at;
        continue;
      }
      at = RemoveIdle(at);
      WakeOne();
    }
  }

  // Nothing of the loop is left here then: the pool may outlive it.
  void Stop() {
    sweep_ = net::Timer();
    while (!idle_.empty()) EndOldest();
    for (Waiter* const waiter : waiters_) waiter->turn.cancel();
  }

 private:
  struct Idle {
    std::shared_ptr<ChildLink> child;
    uint64_t since_ns = 0;
  };
  // Nothing that is only loaded asks for anything.
  class NoHost final : public RunHost {
   public:
    awaitable<Result<std::string>> Call(std::string_view /*operation*/,
                                        std::string /*arguments*/) override {
      co_return Error{ErrorCode::kForbidden, "nothing is run"};
    }
    void Log(std::string_view /*level*/, std::string_view /*text*/) override {}
  };

  awaitable<RunOutcome> RunIn(std::shared_ptr<ChildLink> child, RunRequest request, RunHost& host) {
    busy_.push_back(child);
    RunOutcome outcome = co_await child->Run(std::move(request), host);
    std::erase_if(busy_, [&](const std::weak_ptr<ChildLink>& one) { return one.lock() == child; });
    co_return outcome;
  }

  // --- Targets of KeepWarm

  static bool Fits(const WarmTarget& target, const ChildLink& child) {
    return child.tenant() == target.tenant && child.Remembers(target.program->sha256);
  }
  size_t Present(const WarmTarget& target) const {
    size_t present = 0;
    for (const Idle& one : idle_) present += Fits(target, *one.child) ? 1 : 0;
    for (const std::weak_ptr<ChildLink>& weak : busy_) {
      const std::shared_ptr<ChildLink> child = weak.lock();
      present += child != nullptr && Fits(target, *child) ? 1 : 0;
    }
    return present;
  }
  size_t Missing(const WarmTarget& target) const {
    return target.children - std::min(target.children, Present(target));
  }
  // Whether a target would miss this child, which is neither idle nor busy now.
  bool IsMissed(const ChildLink& child) const {
    return std::ranges::any_of(targets_, [&](const WarmTarget& target) {
      return Fits(target, child) && Present(target) < target.children;
    });
  }
  // The same of one that is idle.
  bool IsKept(const ChildLink& child) const {
    return std::ranges::any_of(targets_, [&](const WarmTarget& target) {
      return Fits(target, child) && Present(target) <= target.children;
    });
  }

  awaitable<bool> StartWarm(WarmTarget target) {
    Result<std::shared_ptr<ChildLink>> child = co_await Fork(target.tenant);
    if (!child.ok()) co_return false;
    RunRequest request;
    request.tenant = target.tenant;
    request.program = target.program;
    request.limits = target.limits;
    request.only_load = true;
    NoHost host;
    const RunOutcome outcome = co_await RunIn(*child, std::move(request), host);
    const bool loaded = outcome.status == RunStatus::kSuccess;
    if (loaded) {
      Release(*std::move(child));
    } else {
      Drop(*child);
    }
    co_return loaded;
  }
  struct Waiter {
    explicit Waiter(net::Loop& loop) : turn(loop.io()) {}
    boost::asio::steady_timer turn;
    bool granted = false;  // a place is reserved for it
  };

  // An idle child of the tenant: best one that has the code.
  std::shared_ptr<ChildLink> TakeIdle(const std::string& tenant, const std::string& sha256) {
    auto best = idle_.end();
    for (auto at = idle_.begin(); at != idle_.end(); ++at) {
      if (at->child->tenant() != tenant || tenant.empty()) continue;
      if (best == idle_.end() || at->child->Remembers(sha256) || !best->child->Remembers(sha256)) {
        best = at;
      }
    }
    if (best == idle_.end()) return nullptr;
    std::shared_ptr<ChildLink> child = std::move(best->child);
    idle_.erase(best);
    --state_->idle;
    return child;
  }

  awaitable<Result<std::shared_ptr<ChildLink>>> Acquire(std::string tenant, std::string sha256) {
    if (state_->stopped) co_return Error{ErrorCode::kUnavailable, "the server is stopping"};
    while (true) {
      if (std::shared_ptr<ChildLink> child = TakeIdle(tenant, sha256)) co_return child;
      if (count_ < most_) break;
      if (!idle_.empty()) {
        RemoveLeastWanted();  // its place is ours: nobody else is woken for it
        break;
      }
      const Result<void> turn = co_await AwaitTurn();
      if (!turn.ok()) co_return turn.error();
    }
    Result<std::shared_ptr<ChildLink>> child = co_await Fork(std::move(tenant));
    co_return child;
  }

  awaitable<Result<void>> AwaitTurn() {
    if (waiters_.size() >= state_->options.max_waiting) {
      co_return Error{ErrorCode::kTooMany, "too many functions wait to be run; try again later"};
    }
    Waiter waiter(loop_);
    waiter.turn.expires_after(state_->options.max_wait);
    waiters_.push_back(&waiter);
    ++state_->waiting;
    boost::system::error_code ignored;
    co_await waiter.turn.async_wait(redirect_error(use_awaitable, ignored));
    --state_->waiting;
    std::erase(waiters_, &waiter);
    if (waiter.granted) co_return Result<void>();
    if (state_->stopped) co_return Error{ErrorCode::kUnavailable, "the server is stopping"};
    co_return Error{ErrorCode::kTooMany, "no process was free to run the function in time"};
  }

  awaitable<Result<std::shared_ptr<ChildLink>>> Fork(std::string tenant) {
    std::array<int, 2> ends = {-1, -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
      WakeOne();
      co_return Error{ErrorCode::kUnavailable, "cannot make a socket for a function's process"};
    }
    auto child = std::make_shared<ChildLink>(loop_, state_->clock, state_->options.times,
                                             FileDescriptor(ends[0]), std::move(tenant));
    ++count_;
    ++state_->children;
    ++state_->forks;
    state_->zygote.Fork(FileDescriptor(ends[1]), state_->options.max_memory_bytes);
    const Result<void> ready = co_await child->AwaitReady();
    if (!ready.ok()) {
      Drop(child);
      co_return ready.error();
    }
    state_->sandbox = child->sandbox();
    co_return child;
  }

  void Release(std::shared_ptr<ChildLink> child) {
    const auto same_tenant = std::ranges::count_if(
        idle_, [&](const Idle& one) { return one.child->tenant() == child->tenant(); });
    if (!child->usable() || state_->stopped || child->runs() >= state_->options.runs_per_child ||
        (static_cast<size_t>(same_tenant) >= state_->options.warm_children_per_tenant &&
         !IsMissed(*child))) {
      return Drop(child);
    }
    idle_.push_back({.child = std::move(child), .since_ns = state_->clock.MonotonicNs()});
    ++state_->idle;
    Sweep();
    WakeOne();
  }

  void Remove(const std::shared_ptr<ChildLink>& child) {
    child->Kill();
    --count_;
    --state_->children;
  }
  void Drop(const std::shared_ptr<ChildLink>& child) {
    Remove(child);
    WakeOne();
  }

  std::deque<Idle>::iterator RemoveIdle(std::deque<Idle>::iterator at) {
    const std::shared_ptr<ChildLink> child = std::move(at->child);
    at = idle_.erase(at);
    --state_->idle;
    Remove(child);
    return at;
  }
  // The one that is idle for longest; one of a target only if there is no other.
  void RemoveLeastWanted() {
    const auto other =
        std::ranges::find_if(idle_, [&](const Idle& one) { return !IsKept(*one.child); });
    RemoveIdle(other == idle_.end() ? idle_.begin() : other);
  }
  void EndOldest() {
    RemoveIdle(idle_.begin());
    WakeOne();
  }

  void WakeOne() {
    for (Waiter* const waiter : waiters_) {
      if (waiter->granted) continue;
      waiter->granted = true;
      waiter->turn.cancel();
      return;
    }
  }

  void Sweep() {
    if (sweeping_ || state_->stopped) return;
    sweeping_ = true;
    sweep_ = loop_.After(kSweepEvery, [this] {
      sweeping_ = false;
      EndIdle();
      if (!idle_.empty()) Sweep();
    });
  }

  const std::shared_ptr<State> state_;
  net::Loop& loop_;
  const size_t most_;
  size_t count_ = 0;
  std::deque<Idle> idle_;  // the one idle for longest first
  std::deque<Waiter*> waiters_;
  std::vector<std::weak_ptr<ChildLink>> busy_;
  std::vector<WarmTarget> targets_;
  std::atomic<int64_t> warm_wanted_ = 0;
  std::atomic<int64_t> warm_missing_ = 0;
  bool sweeping_ = false;
  net::Timer sweep_;
};

SandboxPool::SandboxPool(SandboxPoolOptions options, const Clock& clock, Random& random,
                         const Log& log, net::LoopGroup& loops)
    : state_(std::make_shared<State>(std::move(options), clock, random, log, loops)) {
  const size_t most = std::max<size_t>(1, state_->options.max_children / loops.size());
  for (size_t i = 0; i < loops.size(); ++i) {
    pools_.push_back(std::make_unique<LoopPool>(state_, loops.at(i), most));
  }
}

SandboxPool::~SandboxPool() { Stop(); }

SandboxPool::LoopPool& SandboxPool::Here() const {
  for (const std::unique_ptr<LoopPool>& pool : pools_) {
    if (pool->loop().InLoop()) return *pool;
  }
  CAIRN_CHECK(false, "not on a loop of the pool");
}

awaitable<RunOutcome> SandboxPool::Run(RunRequest request, RunHost& host) {
  return Here().Run(std::move(request), host);
}

awaitable<Result<std::string>> SandboxPool::Compile(std::vector<SourceFile> files,
                                                    std::string entry) {
  const Result<void> fits = CheckBundle(files);
  if (!fits.ok()) co_return fits.error();
  CompileMessage compile;
  compile.files = std::move(files);
  compile.entry = std::move(entry);
  Result<std::string> compiled = co_await Here().Compile(std::move(compile));
  co_return compiled;
}

awaitable<bool> SandboxPool::KeepWarm(std::vector<WarmTarget> targets) {
  return Here().KeepWarm(std::move(targets));
}

void SandboxPool::EndIdle() { Here().EndIdle(); }

SandboxStats SandboxPool::stats() const {
  int64_t warm_wanted = 0;
  int64_t warm_missing = 0;
  for (const std::unique_ptr<LoopPool>& pool : pools_) {
    warm_wanted += pool->warm_wanted();
    warm_missing += pool->warm_missing();
  }
  return {.children = state_->children,
          .idle = state_->idle,
          .waiting = state_->waiting,
          .forks = state_->forks,
          .crashes = state_->crashes,
          .zygotes = state_->zygote.starts(),
          .warm_wanted = warm_wanted,
          .warm_missing = warm_missing,
          .sandbox = state_->sandbox};
}

void SandboxPool::Stop() {
  if (state_->stopped.exchange(true)) return;
  state_->zygote.Stop();
  state_->loops.RunOnEach([this](net::Loop& loop) {
    for (const std::unique_ptr<LoopPool>& pool : pools_) {
      if (&pool->loop() == &loop) pool->Stop();
    }
  });
}

}  // namespace cairn::functions
