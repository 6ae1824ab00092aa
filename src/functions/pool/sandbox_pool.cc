#include "functions/pool/sandbox_pool.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "functions/pool/loop_pool.h"
#include "functions/protocol/limits.h"

namespace cairn::functions {

using boost::asio::awaitable;

namespace {

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
          .compiles = state_->compiles,
          .warm_loads = state_->warm_loads,
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
