#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "base/result.h"
#include "functions/pool/child_link.h"
#include "functions/pool/run.h"
#include "net/loop.h"

namespace cairn::functions {

struct SandboxPoolOptions {
  std::string program = "/proc/self/exe";  // this program, or another build of it
  size_t max_children = 64;                // of all loops together
  size_t first_children = 2;  // that a tenant gets without having to wait for them, per loop
  // Children that have nothing to do are ended after `idle_time`, and after `spare_time` if their
  // tenant has more of them on their loop than these.
  size_t warm_children_per_tenant = 4;
  std::chrono::milliseconds idle_time = std::chrono::minutes(5);
  std::chrono::milliseconds spare_time = std::chrono::seconds(10);
  // Runs that wait for a child, per loop, and for how long.
  size_t max_waiting = 1'024;
  std::chrono::milliseconds max_wait = std::chrono::seconds(10);
  // What the memory limit of a program can be at most.
  uint64_t max_memory_bytes = uint64_t{4} << 30U;
  // Runs after which a child is replaced: what leaks does not leak for ever.
  int64_t runs_per_child = 100'000;
  ChildTimes times = {};
};

struct SandboxStats {
  int64_t children = 0;      // now
  int64_t idle = 0;          // of these
  int64_t waiting = 0;       // runs
  int64_t forks = 0;         // since the start
  int64_t crashes = 0;       // children that ended in the middle of a run
  int64_t zygotes = 0;       // started
  int64_t compiles = 0;      // bundles compiled, or found not to compile
  int64_t warm_loads = 0;    // children that KeepWarm has made ready, since the start
  int64_t warm_wanted = 0;   // children of KeepWarm
  int64_t warm_missing = 0;  // of these, at the last look
  uint32_t sandbox = 0;      // parts in force, SandboxPart; 0 before the first child
};

// The processes that functions run in. One per server.
//
// Operation: a run takes an idle child of its tenant, or waits until one is given back or a new one
// was forked (loop_pool.h says when). A child is only ever used by one tenant. The first run of the
// server starts the zygote; a server that runs no function has neither process nor thread for it.
//
// Concurrency: Run and Compile on the loops of the group; the rest from any thread. A child belongs
// to the loop that asked for it.
class SandboxPool {
 public:
  // `clock`, `random` and `loops` outlive it.
  SandboxPool(SandboxPoolOptions options, const Clock& clock, Random& random, const Log& log,
              net::LoopGroup& loops);
  ~SandboxPool();
  SandboxPool(const SandboxPool&) = delete;
  SandboxPool& operator=(const SandboxPool&) = delete;

  // Always has an outcome. `host` outlives the call; of a run that failed, its calls are cancelled,
  // and waited for. kError with type "Busy" if no child was free in time.
  boost::asio::awaitable<RunOutcome> Run(RunRequest request, RunHost& host);
  // Code for Program::compiled. kInvalid names file and line. Each compilation has a process of its
  // own.
  boost::asio::awaitable<Result<std::string>> Compile(std::vector<SourceFile> files,
                                                      std::string entry);
  // Children that are to be there with a program loaded, whether or not anybody runs it.
  struct WarmTarget {
    std::string tenant;
    std::shared_ptr<const Program> program;
    RunLimits limits = {};  // of loading it
    size_t children = 0;
  };
  // On a loop, for its own children: starts those that are missing as far as there is room, without
  // ending any for it. From then on they stay, however long they are idle, until other targets are
  // set; only work that needs the room ends them. Call it again for what has been lost since.
  // Returns whether all are there.
  boost::asio::awaitable<bool> KeepWarm(std::vector<WarmTarget> targets);
  // Ends children that have been idle for longer than the options say. The pool does so by itself;
  // for tests that have moved the clock. Call it on each loop.
  void EndIdle();
  SandboxStats stats() const;
  // Ends all processes. Runs under way fail. Stopping twice is not an error.
  void Stop();

 private:
  struct State;
  class LoopPool;

  LoopPool& Here() const;

  std::shared_ptr<State> state_;
  std::vector<std::unique_ptr<LoopPool>> pools_;  // one per loop
};

}  // namespace cairn::functions
