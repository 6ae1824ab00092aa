#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "doors/resp/client_work.h"
#include "doors/turn/waiters.h"
#include "store/store.h"

namespace cairn::doors {

// The requests of one connection whose work is with the pool, in their order: one, or what it sent
// in one turn where the store shares transactions.
struct Deferred {
  uint64_t connection_id = 0;
  std::vector<std::unique_ptr<ClientWork>> works;
  std::vector<Result<store::Commit>> results = {};  // as many, once they have run

  store::Access access() const;
};

// Requests of one or more connections that run on the pool as one transaction, each with a result
// of its own.
//
// One that turns out to need more scopes, or more time, is run again by itself behind the others,
// and so is what its connection sent after it: a connection sees its requests happen in order.
// Blocked clients are served by the transaction that has something for them.
//
// Made on a loop, run on any thread, then read on the loop again.
class Batch {
 public:
  // A transaction takes a lock for each scope, and others wait for all of them.
  static constexpr size_t kMostRequests = 256;

  void Add(std::unique_ptr<Deferred> deferred);
  bool empty() const { return deferred_.empty(); }
  bool HasRoomFor(const Deferred& deferred) const;
  size_t request_bytes() const;

  void Run(store::Store& store, Waiters& waiters);
  // Instead of Run: all fail.
  void FailAll(const Error& error);

  std::vector<std::unique_ptr<Deferred>>& deferred() { return deferred_; }

  bool gathered = false;  // one of those of which there are only a few at a time

 private:
  void RunTogether(store::Store& store, Waiters& waiters);

  std::vector<std::unique_ptr<Deferred>> deferred_;
  size_t requests_ = 0;
};

}  // namespace cairn::doors
