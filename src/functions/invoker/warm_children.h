#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <mutex>
#include <vector>

#include "base/log.h"
#include "doors/turn/route_store.h"
#include "functions/invoker/program_cache.h"
#include "functions/pool/sandbox_pool.h"
#include "net/loop.h"

namespace cairn::functions {

// Keeps children ready for aliases that ask for it (min_warm): with the code of the version, or of
// both versions of a split alias, loaded. Each loop runs activations in children of its own, so it
// keeps its share of them, rounded up: an alias has at least as many as it asks for.
//
// A coroutine on each loop looks at the aliases when the server starts, when one of them is changed
// (by any process), and from time to time for children that have ended. Without such an alias it
// reads one key and starts nothing. A publish never waits for it.
class WarmChildren {
 public:
  // What it works with outlives it.
  struct Parts {
    doors::RouteStore& routes;
    net::LoopGroup& loops;
    ProgramCache& programs;
    SandboxPool& pool;
    Log log;
  };
  explicit WarmChildren(Parts parts);
  ~WarmChildren();
  WarmChildren(const WarmChildren&) = delete;
  WarmChildren& operator=(const WarmChildren&) = delete;

  // Once, on one thread; children are kept until Stop, which comes before the loops end.
  void Start();
  void Stop();

 private:
  struct State;

  const std::shared_ptr<State> state_;  // shared with the coroutines, which end with their loops
};

}  // namespace cairn::functions
