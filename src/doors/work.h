#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "base/result.h"
#include "doors/command.h"
#include "store/scopes.h"
#include "store/store.h"
#include "store/transaction.h"

namespace cairn::doors {

class Dispatcher;
class Session;

// Appends a reply, without a copy if it is the first.
inline void AppendReply(std::string& out, std::string&& reply) {
  if (out.empty() && reply.size() > out.capacity()) {
    out = std::move(reply);
  } else {
    out.append(reply);
  }
}

// The part of one request that happens in the store, kept apart from the connection so that it can
// go on elsewhere while the connection waits, or is gone:
//
//   made on the loop ─ Run in a transaction, on the loop or on the pool ─ Finish on the loop
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

  // It looks again for the blocked client with this place in the lines; 0: for nobody.
  uint64_t place = 0;
  // Whose client was served by another transaction before this could: nothing has run, and there is
  // nothing to finish.
  bool gone = false;
  // At Finish: the transaction it ran in has not ended, and holds its scopes.
  bool still_held = false;

  // After a Run that asked for more scopes than it had: whether to run it again, now with them.
  bool Widen() { return held.Widen(scopes); }

  // May run more than once, on any thread: overwrites what an earlier run has left.
  virtual Result<void> Run(store::Transaction& transaction) = 0;

  // After Run succeeded and if the connection is still open: writes exactly one reply to
  // session.connection().out(), unless it lets the connection wait.
  virtual void Finish(Dispatcher& dispatcher, Session& session) = 0;
  // Whether Finish writes a reply.
  virtual bool Replies() const { return true; }
  // Instead of Finish when it has failed on the pool; the error becomes the reply.
  virtual void GiveUp(Session& /*session*/) {}
};

}  // namespace cairn::doors
