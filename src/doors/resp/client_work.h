#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "doors/turn/work.h"

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

// Work whose end is the reply to a client of the RESP door:
//
//   made on the loop ─ Run in a transaction, on the loop or on the pool ─ Finish on the loop
class ClientWork : public Work {
 public:
  // At Finish: the transaction it ran in has not ended, and holds its scopes.
  bool still_held = false;

  // What it keeps of its request, in bytes.
  size_t request_bytes = 0;

  // After Run succeeded and if the connection is still open: writes exactly one reply to
  // session.connection().out() if found(); else lets the connection wait.
  virtual void Finish(Dispatcher& dispatcher, Session& session) = 0;
  // Instead of Finish when it has failed on the pool; the error becomes the reply.
  virtual void GiveUp(Session& /*session*/) {}
};

}  // namespace cairn::doors
