#pragma once

#include <memory>

#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "doors/turn/route_store.h"
#include "functions/cadence/figures.h"
#include "functions/cadence/frontend.h"
#include "net/loop.h"

namespace cairn::functions {

// Polls Cadence for the enabled worker bindings, has each task run as an activation, and tells
// Cadence what came of it (tasks.h).
//
// Operation: coroutines of one loop. One watches the bindings: a commit that changes one, of any
// process, starts, changes or stops its pollers. Without a binding and without a task that waits
// for its answer it reads one range of keys when the server starts, and nothing else happens.
//
//   a poller    takes one of the binding's max_inflight_tasks, polls, has the task accepted, and
//               hands the place over with the task; without a task it gives it back
//   a task      waits for its activation's end to be durable, tells Cadence, again and again after
//               growing pauses until it is heard, and removes its record
//
// A task is given up only when the frontend says that it is gone, or after kCadenceTaskTtlMs.
//
// Crash: what the records say is taken up by the next start. Where processes share a store, each
// polls for all bindings, within their limits, and answers the tasks that it was given; those whose
// activation has ended a while ago and that nobody has answered, because their process is gone, are
// answered by whoever finds them. Two that answer the same task do no harm: Cadence takes the first
// answer.
//
// Start and Stop are called by one thread, while the loops run.
class Pollers {
 public:
  // What it works with outlives it.
  struct Parts {
    doors::RouteStore& routes;
    net::LoopGroup& loops;
    const Clock& clock;
    Random& random;
    Log log;
    Frontend& frontend;
    CadenceFigures& figures;
    bool shared_store = false;
  };
  explicit Pollers(Parts parts);
  ~Pollers();
  Pollers(const Pollers&) = delete;
  Pollers& operator=(const Pollers&) = delete;

  void Start();
  // Polls no more. Tasks that have not been answered stay in the store.
  void Stop();

 private:
  class State;

  const std::shared_ptr<State> state_;  // shared with the coroutines, which end with their loop
};

}  // namespace cairn::functions
