#pragma once

#include <cstdint>

#include "base/result.h"
#include "doors/turn/held_scopes.h"
#include "store/scopes.h"
#include "store/store.h"
#include "store/transaction.h"

namespace cairn::doors {

// What a request does in the store, kept apart from the connection so that it can go on elsewhere
// while the connection waits, or is gone: it runs in the group of a turn (turn.h), on the pool
// (RunWaiting), or inside the transaction of somebody who has something for it (serving.h).
class Work {
 public:
  Work() = default;
  virtual ~Work() = default;
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  store::Scopes scopes;
  store::Access access = store::Access::kRead;
  HeldScopes held;
  bool on_loop = false;  // an event loop runs it and others wait for that

  // It looks again for the waiter with this place in the lines; 0: for nobody.
  uint64_t place = 0;
  // That waiter was served by another transaction before this could: nothing has run.
  bool gone = false;

  // After a Run that asked for more scopes than it had: whether to run it again, now with them.
  bool Widen() { return held.Widen(scopes); }

  // May run more than once, on any thread: overwrites what an earlier run has left.
  virtual Result<void> Run(store::Transaction& transaction) = 0;
  // After Run: whether it has what it was made for. False if it has to wait for that.
  virtual bool found() const { return true; }
};

}  // namespace cairn::doors
