#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/function_ref.h"
#include "base/result.h"
#include "doors/turn/held_scopes.h"
#include "doors/turn/waiters.h"
#include "doors/turn/work.h"
#include "store/scopes.h"
#include "store/store.h"
#include "store/transaction.h"

namespace cairn::doors {

// Serves blocked clients in the transaction that has something for them: RPUSH, EXEC and a script
// run the BLPOP that waits for their key before they commit, so nobody ever sees the element that
// the BLPOP takes, wherever the waiting client's connection lives. What those who are served wake,
// a chain of BLMOVE, is served in turn.
//
//   Serving serving(waiters);
//   body:  serving.Begin();  …the body…;  return serving.Serve(transaction, …);
//   after: the body has succeeded → serving.Take(), to be told with the commit
//          it has failed          → nothing; and if serving.busy(), AwaitBusy where waiting is
//                                   allowed, then run the body again
//
// A waiter is claimed while a body serves it, so that no other does. Claims are given back by
// Begin, by Take and by the destructor. Used by one thread at a time.
class Serving {
 public:
  explicit Serving(Waiters& waiters) : waiters_(waiters) {}
  ~Serving() { Begin(); }
  Serving(const Serving&) = delete;
  Serving& operator=(const Serving&) = delete;

  // Forgets what an earlier run of the body has done.
  void Begin();

  // Looks again on behalf of the blocked client with this place: false if it has been served
  // meanwhile. Fails with kWouldBlock while another serves it.
  Result<bool> ClaimOwn(uint64_t place);

  // What the body has woken; may grow from call to call.
  using Woken = FunctionRef<std::span<const store::Topic>()>;
  // Serves those in line for the topics from number `from` on. The body runs under `scopes`; what a
  // waiter needs beyond them is added to held.wanted, for the body to be run again with it.
  Result<void> Serve(store::Transaction& transaction, const store::Scopes& scopes, HeldScopes& held,
                     Woken woken, size_t from);

  // After success: those who were served, who are in no line any more. `own_found` says whether the
  // one that ClaimOwn was called for has found something.
  struct Served {
    Waiters::Tell tell;
    std::shared_ptr<Work> work;
  };
  std::vector<Served> Take(bool own_found);

  bool busy() const { return busy_ != 0; }
  // Gives up its own claims first: the other may wait for one of them.
  void AwaitBusy();

 private:
  struct Claimed {
    uint64_t place;
    Served served;
  };

  Result<void> ServeLine(store::Topic topic, store::Transaction& transaction,
                         const store::Scopes& scopes, HeldScopes& held);
  bool IsMine(uint64_t place) const;
  Error Busy(uint64_t place);

  Waiters& waiters_;
  std::vector<Claimed> claimed_;
  uint64_t own_ = 0;   // the place that ClaimOwn has claimed
  uint64_t busy_ = 0;  // the place that somebody else has claimed
};

// Runs `work` and serves those who wait for what it wakes. `woken` tells what the transaction has
// woken, of which the first `from` are not its own.
Result<void> RunServing(Work& work, Serving& serving, store::Transaction& transaction,
                        Serving::Woken woken, size_t from);

// The same for a body of a transaction that does not tell what it has woken.
Result<void> RunServing(Work& work, Serving& serving, store::Transaction& transaction);

// Runs `work` in a transaction of its own, on a thread that may wait: again with more scopes where
// it asks for them, and once another transaction is done with a waiter of its own. Those whom it
// has served are told.
Result<store::Commit> RunWaiting(store::Store& store, Waiters& waiters, Work& work);

// After the commit of the transaction in which `serving` has served for `work`.
void TellServed(Serving& serving, const Work& work, store::Commit commit);

}  // namespace cairn::doors
