#include "functions/pool/loop_pool.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <limits>
#include <utility>

#include "base/check.h"
#include "functions/protocol/limits.h"

namespace cairn::functions {

using boost::asio::awaitable;
using boost::asio::use_awaitable;

namespace {

constexpr std::chrono::milliseconds kSweepEvery = std::chrono::seconds(5);
constexpr uint64_t kNsPerMs = 1'000'000;
// A line that nobody was served from for this long has too few children. Longer than a process may
// have to wait for its processor on a busy machine: more of them would only make that worse.
constexpr std::chrono::milliseconds kStandstill(10);
// A line whose first has waited for this long has too few children too, though it moves.
constexpr std::chrono::milliseconds kLongWait(100);
constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();

uint64_t NsOf(std::chrono::milliseconds time) {
  return static_cast<uint64_t>(time.count()) * kNsPerMs;
}

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

}  // namespace

// --- what runs ask for ---------------------------------------------------------------------------

awaitable<RunOutcome> SandboxPool::LoopPool::Run(RunRequest request, RunHost& host) {
  const Result<void> fits = CheckSizes(request);
  if (!fits.ok()) co_return Refused("TooLarge", fits.error().message);
  Result<Child> child = co_await Acquire(request.tenant, request.program->sha256);
  if (!child.ok()) {
    co_return Refused(child.error().code == ErrorCode::kTooMany ? "Busy" : "Unavailable",
                      child.error().message);
  }
  RunOutcome outcome = co_await RunIn(*child, std::move(request), host);
  if (outcome.limit_hit == "crash") ++state_->crashes;
  state_->contained.Note((*child)->tenant(), outcome);
  Release(*std::move(child));
  co_return outcome;
}

awaitable<RunOutcome> SandboxPool::LoopPool::RunIn(Child child, RunRequest request, RunHost& host) {
  busy_.push_back(child);
  RunOutcome outcome = co_await child->Run(std::move(request), host);
  std::erase_if(busy_, [&](const std::weak_ptr<ChildLink>& one) { return one.lock() == child; });
  co_return outcome;
}

awaitable<Result<std::string>> SandboxPool::LoopPool::Compile(CompileMessage compile) {
  CAIRN_CHECK(loop_.InLoop());
  // Of nobody, so nobody gets it afterwards.
  const std::string nobody;
  Result<Child> child = co_await Acquire(nobody, nobody);
  if (!child.ok()) co_return child.error();
  ++state_->compiles;
  Result<std::string> compiled = co_await (*child)->Compile(std::move(compile));
  Drop(*std::move(child));
  co_return compiled;
}

// The arguments outlive the call: they are the caller's, who waits.
awaitable<Result<SandboxPool::LoopPool::Child>> SandboxPool::LoopPool::Acquire(
    const std::string& name, const std::string& sha256) {
  if (state_->stopped) co_return Error{ErrorCode::kUnavailable, "the server is stopping"};
  while (tenants_[name].waiters.empty()) {
    Child child = TakeIdle(name, sha256);
    if (child == nullptr) break;
    if (child->Silent()) co_return child;
    Drop(child);  // it has ended while nobody looked
  }
  Tenant& tenant = tenants_[name];
  if (in_line_ >= state_->options.max_waiting + starting_ + (most_ - std::min(most_, count_))) {
    ForgetIfUnused(name);
    co_return Error{ErrorCode::kTooMany, "too many functions wait to be run; try again later"};
  }
  Waiter waiter(loop_);
  waiter.since_ns = state_->clock.MonotonicNs();
  if (tenant.waiters.empty()) tenant.served_ns = waiter.since_ns;
  tenant.waiters.push_back(&waiter);
  ++in_line_;
  ++state_->waiting;
  // One for each in line, up to those that a tenant gets at once.
  const size_t coming = tenant.starting + tenant.wanted;
  if (name.empty() || (coming < tenant.waiters.size() &&
                       tenant.children + tenant.wanted < state_->options.first_children)) {
    Want(name);
  }
  Watch(name);
  while (!waiter.got && !state_->stopped) {
    boost::system::error_code ignored;
    waiter.turn.expires_after(state_->options.max_wait);
    co_await waiter.turn.async_wait(redirect_error(use_awaitable, ignored));
    if (!waiter.got && tenant.starting == 0) break;  // one that is being started comes, or fails
  }
  --state_->waiting;
  if (waiter.got) co_return *std::move(waiter.got);
  std::erase(tenant.waiters, &waiter);
  --in_line_;
  tenant.wanted = std::min(tenant.wanted, tenant.waiters.size());
  ForgetIfUnused(name);
  if (state_->stopped) co_return Error{ErrorCode::kUnavailable, "the server is stopping"};
  co_return Error{ErrorCode::kTooMany, "no process was free to run the function in time"};
}

// An idle child of the tenant: the last one used that has the code, or else the last one used.
SandboxPool::LoopPool::Child SandboxPool::LoopPool::TakeIdle(const std::string& name,
                                                             const std::string& sha256) {
  auto best = idle_.end();
  for (auto at = idle_.end(); at != idle_.begin();) {
    --at;
    if (at->child->tenant() != name) continue;
    if (best == idle_.end()) best = at;
    if (!at->child->Remembers(sha256)) continue;
    best = at;
    break;
  }
  if (best == idle_.end()) return nullptr;
  Child child = std::move(best->child);
  idle_.erase(best);
  --state_->idle;
  return child;
}

void SandboxPool::LoopPool::Serve(Tenant& tenant, Result<Child> got) {
  CAIRN_CHECK(!tenant.waiters.empty());
  Waiter* const first = tenant.waiters.front();
  tenant.waiters.pop_front();
  --in_line_;
  tenant.served_ns = state_->clock.MonotonicNs();
  tenant.wanted = std::min(tenant.wanted, tenant.waiters.size());
  first->got = std::move(got);
  first->turn.cancel();
}

void SandboxPool::LoopPool::Release(Child child) {
  if (!child->usable() || state_->stopped || child->runs() >= state_->options.runs_per_child) {
    return Drop(child);
  }
  Tenant& tenant = tenants_[child->tenant()];
  const uint64_t oldest_ns = tenant.waiters.empty() ? kNever : tenant.waiters.front()->since_ns;
  const std::optional<std::string> hungriest = Hungriest(oldest_ns);
  if (hungriest && *hungriest != child->tenant()) return Drop(child);
  if (!tenant.waiters.empty()) return Serve(tenant, std::move(child));
  idle_.push_back({.child = std::move(child), .since_ns = state_->clock.MonotonicNs()});
  ++state_->idle;
  Sweep();
}

void SandboxPool::LoopPool::Drop(const Child& child) {
  child->Kill();
  const std::string name = child->tenant();
  Uncount(name);
  // Who waits for it gets another one.
  Tenant& tenant = tenants_[name];
  if (!tenant.waiters.empty() && tenant.children == 0 && tenant.wanted == 0) ++tenant.wanted;
  FillPlaces();
  ForgetIfUnused(name);
}

// --- more children -------------------------------------------------------------------------------

void SandboxPool::LoopPool::Want(const std::string& name) {
  if (MakePlace(name)) return StartChild(name);
  ++tenants_[name].wanted;
}

// A place for one more child: there is one, or an idle child of somebody else leaves; one that is
// kept warm only if there is no other.
bool SandboxPool::LoopPool::MakePlace(const std::string& name) {
  if (count_ < most_) return true;
  const auto of_others = [&](const Idle& one) { return one.child->tenant() != name; };
  auto other = std::ranges::find_if(
      idle_, [&](const Idle& one) { return of_others(one) && !IsKept(*one.child); });
  if (other == idle_.end()) other = std::ranges::find_if(idle_, of_others);
  if (other == idle_.end()) return false;
  RemoveIdle(other);
  return true;
}

void SandboxPool::LoopPool::StartChild(const std::string& name) {
  CAIRN_CHECK(count_ < most_);
  ++count_;
  ++starting_;
  ++tenants_[name].children;
  ++tenants_[name].starting;
  ++state_->children;
  boost::asio::co_spawn(loop_.io(), Start(name), boost::asio::detached);
}

awaitable<Result<SandboxPool::LoopPool::Child>> SandboxPool::LoopPool::Fork(std::string name) {
  std::array<int, 2> ends = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    co_return Error{ErrorCode::kUnavailable, "cannot make a socket for a function's process"};
  }
  auto child = std::make_shared<ChildLink>(loop_, state_->clock, state_->options.times,
                                           FileDescriptor(ends[0]), std::move(name));
  ++state_->forks;
  state_->zygote.Fork(FileDescriptor(ends[1]), state_->options.max_memory_bytes);
  const Result<void> ready = co_await child->AwaitReady();
  if (!ready.ok()) {
    child->Kill();
    co_return ready.error();
  }
  state_->sandbox = child->sandbox();
  co_return child;
}

void SandboxPool::LoopPool::Uncount(const std::string& name) {
  --count_;
  --state_->children;
  --tenants_[name].children;
}

awaitable<void> SandboxPool::LoopPool::Start(std::string name) {
  // Not inside of who wants it: lines are changed here.
  co_await boost::asio::post(use_awaitable);
  Result<Child> started = co_await Fork(name);
  --starting_;
  Tenant& tenant = tenants_[name];
  --tenant.starting;
  if (started.ok() && (!name.empty() || !tenant.waiters.empty())) {
    Release(*std::move(started));
    co_return;
  }
  if (started.ok()) (*started)->Kill();
  Uncount(name);
  if (!started.ok() && !tenant.waiters.empty()) Serve(tenant, started.error());
  FillPlaces();
  ForgetIfUnused(name);
}

std::optional<std::string> SandboxPool::LoopPool::Hungriest(uint64_t before_ns) const {
  const std::string* oldest = nullptr;
  for (const auto& [name, tenant] : tenants_) {
    if (tenant.wanted == 0 || tenant.waiters.empty()) continue;
    if (tenant.waiters.front()->since_ns >= before_ns) continue;
    before_ns = tenant.waiters.front()->since_ns;
    oldest = &name;
  }
  return oldest == nullptr ? std::nullopt : std::optional(*oldest);
}

void SandboxPool::LoopPool::FillPlaces() {
  while (!state_->stopped) {
    const std::optional<std::string> name = Hungriest(kNever);
    if (!name || !MakePlace(*name)) return;
    --tenants_[*name].wanted;
    StartChild(*name);
  }
}

// Looks after the line of a tenant while somebody stands in it.
void SandboxPool::LoopPool::Watch(const std::string& name) {
  Tenant& tenant = tenants_[name];
  if (tenant.watched || name.empty() || state_->stopped) return;
  tenant.watched = true;
  tenant.watch = loop_.After(kStandstill, [this, name] {
    Tenant& same = tenants_[name];
    same.watched = false;
    if (same.waiters.empty()) return ForgetIfUnused(name);
    Grow(name);
    Watch(name);
  });
}

void SandboxPool::LoopPool::Grow(const std::string& name) {
  Tenant& tenant = tenants_[name];
  const uint64_t now_ns = state_->clock.MonotonicNs();
  const bool stands = now_ns - tenant.served_ns >= NsOf(kStandstill);
  const uint64_t waited_ns = now_ns - tenant.waiters.front()->since_ns;
  if (!stands && waited_ns < NsOf(kLongWait)) return;
  const size_t coming = tenant.starting + tenant.wanted;
  const size_t in_line = tenant.waiters.size();
  size_t more = stands ? std::max<size_t>(1, tenant.children) : 1;
  more = std::min(more, in_line);
  for (size_t i = coming; i < more; ++i) Want(name);
  tenant.served_ns = now_ns;
}

void SandboxPool::LoopPool::ForgetIfUnused(const std::string& name) {
  const auto found = tenants_.find(name);
  if (found == tenants_.end()) return;
  const Tenant& tenant = found->second;
  if (tenant.children == 0 && tenant.waiters.empty() && !tenant.watched) tenants_.erase(found);
}

// --- children that are kept warm -----------------------------------------------------------------

namespace {

// Nothing that is only loaded asks for anything.
class NoHost final : public RunHost {
 public:
  awaitable<Result<std::string>> Call(std::string_view /*operation*/,
                                      std::string /*arguments*/) override {
    co_return Error{ErrorCode::kForbidden, "nothing is run"};
  }
  void Log(std::string_view /*level*/, std::string_view /*text*/) override {}
};

bool Fits(const SandboxPool::WarmTarget& target, const ChildLink& child) {
  return child.tenant() == target.tenant && child.Remembers(target.program->sha256);
}

}  // namespace

awaitable<bool> SandboxPool::LoopPool::KeepWarm(std::vector<WarmTarget> targets) {
  targets_ = std::move(targets);
  size_t wanted = 0;
  for (const WarmTarget& target : targets_) wanted += target.children;
  warm_wanted_ = static_cast<int64_t>(wanted);
  // By place: another call may have other targets while this one waits for a child.
  for (size_t at = 0; at < targets_.size(); ++at) {
    while (at < targets_.size() && Missing(targets_[at]) > 0 && count_ < most_) {
      const bool started = co_await StartWarm(targets_[at]);
      if (!started) break;
    }
  }
  size_t missing = 0;
  for (const WarmTarget& target : targets_) missing += Missing(target);
  warm_missing_ = static_cast<int64_t>(missing);
  co_return missing == 0;
}

size_t SandboxPool::LoopPool::Present(const WarmTarget& target) const {
  size_t present = 0;
  for (const Idle& one : idle_) present += Fits(target, *one.child) ? 1 : 0;
  for (const std::weak_ptr<ChildLink>& weak : busy_) {
    const Child child = weak.lock();
    present += child != nullptr && Fits(target, *child) ? 1 : 0;
  }
  return present;
}

size_t SandboxPool::LoopPool::Missing(const WarmTarget& target) const {
  return target.children - std::min(target.children, Present(target));
}

bool SandboxPool::LoopPool::IsKept(const ChildLink& child) const {
  return std::ranges::any_of(targets_, [&](const WarmTarget& target) {
    return Fits(target, child) && Present(target) <= target.children;
  });
}

awaitable<bool> SandboxPool::LoopPool::StartWarm(WarmTarget target) {
  ++count_;
  ++state_->children;
  ++tenants_[target.tenant].children;
  Result<Child> child = co_await Fork(target.tenant);
  if (!child.ok()) {
    Uncount(target.tenant);
    FillPlaces();
    ForgetIfUnused(target.tenant);
    co_return false;
  }
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
    ++state_->warm_loads;
  } else {
    Drop(*child);
  }
  co_return loaded;
}

// --- fewer children ------------------------------------------------------------------------------

void SandboxPool::LoopPool::RemoveIdle(const std::deque<Idle>::iterator& at) {
  const Child child = std::move(at->child);
  idle_.erase(at);
  --state_->idle;
  child->Kill();
  Uncount(child->tenant());
  ForgetIfUnused(child->tenant());
}

void SandboxPool::LoopPool::EndIdle() {
  const uint64_t now_ns = state_->clock.MonotonicNs();
  const SandboxPoolOptions& options = state_->options;
  std::map<std::string, size_t> left;
  for (const Idle& one : idle_) ++left[one.child->tenant()];
  for (size_t i = 0; i < idle_.size();) {
    const uint64_t idle_ns = now_ns - idle_[i].since_ns;
    size_t& of_tenant = left[idle_[i].child->tenant()];
    const bool spare = of_tenant > options.warm_children_per_tenant;
    if (idle_ns < NsOf(spare ? options.spare_time : options.idle_time) || IsKept(*idle_[i].child)) {
      ++i;
      continue;
    }
    --of_tenant;
    RemoveIdle(idle_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  FillPlaces();
}

void SandboxPool::LoopPool::Sweep() {
  if (sweeping_ || state_->stopped) return;
  sweeping_ = true;
  sweep_ = loop_.After(kSweepEvery, [this] {
    sweeping_ = false;
    EndIdle();
    if (!idle_.empty()) Sweep();
  });
}

void SandboxPool::LoopPool::Stop() {
  sweep_ = net::Timer();
  while (!idle_.empty()) RemoveIdle(idle_.begin());
  for (auto& [name, tenant] : tenants_) {
    tenant.watch = net::Timer();
    tenant.watched = false;
    for (Waiter* const waiter : tenant.waiters) waiter->turn.cancel();
  }
}

}  // namespace cairn::functions
