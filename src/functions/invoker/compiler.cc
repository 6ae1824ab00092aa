#include "functions/invoker/compiler.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <optional>
#include <utility>

#include "functions/model/errors.h"

namespace cairn::functions {
namespace {

using boost::asio::awaitable;

constexpr size_t kCompilesAtOnce = 2;
// Bundles that wait are in memory.
constexpr size_t kMaxWaiting = 64;

}  // namespace

struct Compiler::Waiter {
  explicit Waiter(doors::RouteStore& routes) : signal(routes) {}
  doors::RouteStore::Signal signal;
  bool granted = false;  // under the mutex
};

awaitable<Result<void>> Compiler::TakeTurn() {
  std::shared_ptr<Waiter> waiter;
  {
    const std::scoped_lock lock(mutex_);
    if (running_ < kCompilesAtOnce) {
      ++running_;
      co_return Result<void>();
    }
    if (waiting_.size() >= kMaxWaiting) {
      co_return Refuse(Code::kRateLimited,
                       "too many bundles wait to be compiled; publish this one again later");
    }
    waiter = std::make_shared<Waiter>(parts_.routes);
    waiting_.push_back(waiter);
  }
  for (;;) {
    const bool woken = co_await waiter->signal.Wait();
    const std::scoped_lock lock(mutex_);
    if (waiter->granted) co_return Result<void>();
    if (woken) continue;
    std::erase(waiting_, waiter);
    co_return Error{ErrorCode::kUnavailable, "the server is stopping"};
  }
}

void Compiler::EndTurn() {
  const std::scoped_lock lock(mutex_);
  if (waiting_.empty()) {
    --running_;
    return;
  }
  // The turn is handed on.
  const std::shared_ptr<Waiter> next = std::move(waiting_.front());
  waiting_.pop_front();
  next->granted = true;
  next->signal.waker()();
}

awaitable<Compiler::Outcome> Compiler::Compile(std::shared_ptr<const Package> package) {
  const Result<void> turn = co_await TakeTurn();
  if (!turn.ok()) co_return turn.error();
  std::vector<SourceFile> files;
  for (const auto& [path, text] : package->files) files.push_back({path, std::string(text)});
  Result<std::string> code = co_await parts_.pool.Compile(std::move(files), package->entry);
  EndTurn();
  if (!code.ok() && code.error().code == ErrorCode::kInvalid) {
    co_return Refuse(Code::kValidation, code.error().message);
  }
  if (!code.ok()) co_return code.error();
  auto compiled = std::make_shared<CompiledCode>();
  compiled->sha256 = package->sha256;
  compiled->code = *std::move(code);
  co_return SharedCode(std::move(compiled));
}

net::Loop& Compiler::NextLoop() {
  return parts_.loops.at(next_loop_.fetch_add(1, std::memory_order_relaxed) % parts_.loops.size());
}

void Compiler::Begin(std::shared_ptr<const Package> package, store::Topic then,
                     std::function<void(Outcome)> done) {
  net::Loop& loop = NextLoop();
  loop.Post([this, &loop, package = std::move(package), then, done = std::move(done)]() mutable {
    boost::asio::co_spawn(loop.io(), CompileAndWake(std::move(package), then, std::move(done)),
                          boost::asio::detached);
  });
}

awaitable<void> Compiler::CompileAndWake(std::shared_ptr<const Package> package, store::Topic then,
                                         std::function<void(Outcome)> done) {
  Outcome outcome = co_await Compile(std::move(package));
  done(std::move(outcome));
  // Who waits in a line of the store is woken by commits; by one on the pool, because what it does
  // then takes long too.
  const doors::RouteStore::Task wake = [&](store::Transaction& transaction) -> Result<void> {
    transaction.Wake(then);
    return {};
  };
  const store::Scopes none;
  const Result<void> woken = co_await parts_.routes.WriteOnPool(none, wake);
  if (!woken.ok()) {
    parts_.log.Warn("a publish was not told that its files are compiled",
                    {{"error", woken.error().message}});
  }
}

void Compiler::CompileLater(FunctionName function, uint64_t version) {
  net::Loop& loop = NextLoop();
  loop.Post([this, &loop, function = std::move(function), version]() mutable {
    boost::asio::co_spawn(loop.io(), CompileVersion(std::move(function), version),
                          boost::asio::detached);
  });
}

awaitable<void> Compiler::CompileVersion(FunctionName function, uint64_t version) {
  const Result<void> turn = co_await TakeTurn();
  if (!turn.ok()) co_return;  // who invokes it first compiles it
  std::optional<VersionMeta> meta;
  const doors::RouteStore::Task read = [&](store::Transaction& transaction) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(meta, LoadVersionMeta(transaction, function, version));
    return {};
  };
  const store::Scopes none;
  Result<void> done = co_await parts_.routes.Read(none, read);
  if (done.ok()) {
    ProgramCache::Wanted wanted{
        .function = function, .version = version, .sha256 = meta->sha256, .config = meta->config};
    const Result<std::shared_ptr<const Program>> program =
        co_await parts_.programs.Load(std::move(wanted));
    if (!program.ok()) done = program.error();
  }
  EndTurn();
  if (!done.ok()) {
    parts_.log.Warn("a version that was published does not compile",
                    {{"function", ResourceName(function)},
                     {"version", fmt::to_string(version)},
                     {"error", done.error().message}});
  }
}

}  // namespace cairn::functions
