#include "functions/invoker/warm_children.h"

#include <algorithm>
#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <utility>

#include "doors/turn/deadline.h"
#include "functions/control/warm.h"

namespace cairn::functions {
namespace {

using boost::asio::awaitable;
using SteadyTime = std::chrono::steady_clock::time_point;

// How often it looks for children that have ended, or that there was no room for.
constexpr std::chrono::seconds kLookEvery(5);
constexpr int64_t kMegabyte = 1024L * 1024;
constexpr int64_t kLoadMs = 20'000;

}  // namespace

struct WarmChildren::State {
  explicit State(Parts of) : parts(std::move(of)) {}

  awaitable<Result<std::vector<WarmVersion>>> Wanted() {
    std::vector<WarmVersion> found;
    const doors::RouteStore::Task read = [&](store::Transaction& transaction) -> Result<void> {
      CAIRN_ASSIGN_OR_RETURN(found, ListWarm(transaction));
      return {};
    };
    const store::Scopes none;
    const Result<void> done = co_await parts.routes.Peek(none, read);
    if (!done.ok()) co_return done.error();
    co_return found;
  }

  // nullptr if it cannot be loaded: whoever invokes it is told why.
  awaitable<std::shared_ptr<const Program>> ProgramOf(const WarmVersion& version) {
    ProgramCache::Wanted wanted{.function = version.function,
                                .version = version.version.version,
                                .sha256 = version.version.sha256,
                                .config = version.version.config};
    const Result<std::shared_ptr<const Program>> program =
        co_await parts.programs.Load(std::move(wanted));
    if (program.ok()) co_return *program;
    parts.log.Warn("a function cannot be kept ready", {{"function", ResourceName(version.function)},
                                                       {"error", program.error().message}});
    co_return nullptr;
  }

  awaitable<std::vector<SandboxPool::WarmTarget>> TargetsOf(
      const std::vector<WarmVersion>& versions) {
    const auto loops = static_cast<int64_t>(parts.loops.size());
    std::vector<SandboxPool::WarmTarget> targets;
    for (const WarmVersion& version : versions) {
      if (stopping) break;
      std::shared_ptr<const Program> program = co_await ProgramOf(version);
      if (program == nullptr) continue;
      const auto memory = static_cast<uint64_t>(version.version.config.memory_mb * kMegabyte);
      SandboxPool::WarmTarget target;
      target.tenant = version.function.tenant;
      target.program = std::move(program);
      target.limits = {.wall_ms = kLoadMs, .cpu_ms = kLoadMs, .memory_bytes = memory};
      target.children = static_cast<size_t>((version.children + loops - 1) / loops);
      // Two aliases of one version want the larger of the two.
      const auto same = std::ranges::find_if(targets, [&](const SandboxPool::WarmTarget& one) {
        return one.tenant == target.tenant && one.program->sha256 == target.program->sha256;
      });
      if (same == targets.end()) {
        targets.push_back(std::move(target));
      } else {
        same->children = std::max(same->children, target.children);
      }
    }
    co_return targets;
  }

  const Parts parts;
  std::atomic<bool> stopping = false;
  std::mutex mutex;
  std::vector<std::function<void()>> wakers;  // of the coroutines
};

namespace {

// On one loop, until the server stops.
template <typename State>
awaitable<void> Keep(std::shared_ptr<State> state) {
  // Before the first look, so that no change falls between.
  doors::RouteStore::Signal changed(state->parts.routes, WarmTopic());
  {
    const std::scoped_lock lock(state->mutex);
    if (state->stopping) co_return;  // nobody is woken any more
    state->wakers.push_back(changed.waker());
  }
  while (!state->stopping) {
    Result<std::vector<WarmVersion>> wanted = co_await state->Wanted();
    bool settled = false;
    if (wanted.ok()) {
      std::vector<SandboxPool::WarmTarget> targets = co_await state->TargetsOf(*wanted);
      settled = targets.empty() && wanted->empty();
      if (state->stopping) break;
      co_await state->parts.pool.KeepWarm(std::move(targets));
    }
    if (state->stopping) break;
    co_await changed.Wait(settled ? SteadyTime::max() : doors::DeadlineIn(kLookEvery));
  }
}

}  // namespace

WarmChildren::WarmChildren(Parts parts) : state_(std::make_shared<State>(std::move(parts))) {}

WarmChildren::~WarmChildren() = default;

void WarmChildren::Start() {
  for (size_t i = 0; i < state_->parts.loops.size(); ++i) {
    net::Loop* const loop = &state_->parts.loops.at(i);
    loop->Post([state = state_, loop] {
      boost::asio::co_spawn(loop->io(), Keep(state), boost::asio::detached);
    });
  }
}

void WarmChildren::Stop() {
  const std::scoped_lock lock(state_->mutex);
  state_->stopping = true;
  for (const std::function<void()>& wake : state_->wakers) wake();
  state_->wakers.clear();
}

}  // namespace cairn::functions
