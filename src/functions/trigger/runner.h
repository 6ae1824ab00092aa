#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "base/result.h"
#include "doors/resp/key_log.h"
#include "doors/turn/route_store.h"
#include "net/loop.h"
#include "store/store.h"

namespace cairn::functions {

// What triggers have done in this process.
struct TriggerFigures {
  int64_t batches = 0;
  int64_t paused = 0;  // looks at a trigger that had something to do and could not
  size_t running = 0;  // triggers
};

// Has enabled triggers do what they do (batches.h).
//
// A coroutine on the first loop knows which triggers there are: it reads them when the server
// starts and when one is changed, by any process. Each of them has a coroutine of its own, which
// sleeps until a commit brings something for it, a batch of its has ended, or a window is over.
// Without triggers one key is read at the start, and nothing else happens.
//
// Where processes share a store, each of them runs all triggers: whose transaction comes first has
// the batch.
//
// It also keeps the rules of the log of keys, before the server takes its first request; between a
// change of a trigger of keys and the next look at them, everything is recorded. Another process of
// the same store hears of the change a moment later, and records from then on.
class TriggerRunner {
 public:
  // What it works with outlives it.
  struct Parts {
    store::Store& store;
    doors::RouteStore& routes;
    net::LoopGroup& loops;
    const Clock& clock;
    Random& random;
    Log log;
    doors::KeyLog& key_log;
    std::string seats_prefix;
  };
  explicit TriggerRunner(Parts parts);
  ~TriggerRunner();
  TriggerRunner(const TriggerRunner&) = delete;
  TriggerRunner& operator=(const TriggerRunner&) = delete;

  // Once, on one thread that may wait; triggers run until Stop.
  Result<void> Start();
  void Stop();

  TriggerFigures figures() const;

  struct State;

 private:
  const std::shared_ptr<State> state_;  // shared with the coroutines, which end with their loops
};

}  // namespace cairn::functions
