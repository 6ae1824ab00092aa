#pragma once

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

#include "base/log.h"
#include "doors/turn/route_store.h"
#include "functions/control/bundle_compiler.h"
#include "functions/invoker/program_cache.h"
#include "functions/pool/sandbox_pool.h"
#include "net/loop.h"

namespace cairn::functions {

// Compiles what is published. A few bundles at a time: the rest waits in line, so that functions
// that are invoked meanwhile find a processor and a process.
class Compiler final : public BundleCompiler {
 public:
  // What it works with outlives it.
  struct Parts {
    doors::RouteStore& routes;
    net::LoopGroup& loops;
    SandboxPool& pool;
    ProgramCache& programs;
    Log log;
  };
  explicit Compiler(Parts parts) : parts_(std::move(parts)) {}

  boost::asio::awaitable<Outcome> Compile(std::shared_ptr<const Package> package) override;
  void Begin(std::shared_ptr<const Package> package, store::Topic then,
             std::function<void(Outcome)> done) override;
  void CompileLater(FunctionName function, uint64_t version) override;

 private:
  struct Waiter;

  boost::asio::awaitable<Result<void>> TakeTurn();
  void EndTurn();
  boost::asio::awaitable<void> CompileAndWake(std::shared_ptr<const Package> package,
                                              store::Topic then, std::function<void(Outcome)> done);
  boost::asio::awaitable<void> CompileVersion(FunctionName function, uint64_t version);
  net::Loop& NextLoop();

  const Parts parts_;
  std::atomic<size_t> next_loop_ = 0;
  std::mutex mutex_;
  size_t running_ = 0;
  std::deque<std::shared_ptr<Waiter>> waiting_;
};

}  // namespace cairn::functions
