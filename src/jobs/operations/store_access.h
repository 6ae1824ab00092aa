#pragma once

#include <functional>

#include "base/result.h"
#include "doors/access/principal.h"
#include "doors/turn/held_scopes.h"
#include "doors/turn/route_store.h"
#include "jobs/ledger/context.h"
#include "jobs/model/ids.h"
#include "store/transaction.h"

// Operations in transactions of their own, for coroutines on a loop. What a coroutine borrows must
// live until it has ended.
namespace cairn::jobs {

// The queues that `principal` may use; null: all.
inline const doors::NamePatterns* QueuesOf(const doors::Principal* principal) {
  return principal == nullptr ? nullptr : QueuesOf(principal->grants());
}

// The store, as one caller may use it. Borrows both.
struct StoreAccess {
  doors::RouteStore& store;
  const doors::Principal* principal = nullptr;  // null: anybody, for all queues

  const doors::NamePatterns* queues() const { return QueuesOf(principal); }
  // Whether what goes on for the caller must stop; nothing is begun for it any more.
  bool ended() const { return principal != nullptr && principal->ended(); }
};

// May run more than once (store::Body). Give it a name before the co_await
// (doors/turn/route_store.h).
using ChangeBody = std::function<Result<void>(Context&)>;
// Runs `body` in a transaction of whoever has `held`; asks there for everything if the body finds
// that `lanes` are not enough.
Result<void> RunUnder(Held lanes, doors::HeldScopes& held, store::Transaction& transaction,
                      const doors::NamePatterns* queues, const ChangeBody& body);
// The key was valid when the request came, and is not any more: a fetch may have waited since.
Error KeyEnded();

// Runs `body` under the scopes of `held`; under all, if it finds that it needs them.
boost::asio::awaitable<Result<void>> Change(StoreAccess access, Held held, const ChangeBody& body);
// The same for work that takes long.
boost::asio::awaitable<Result<void>> ChangeOnPool(StoreAccess access, Held held,
                                                  const ChangeBody& body);

using LookBody = std::function<Result<void>(store::Transaction&)>;
boost::asio::awaitable<Result<void>> Look(StoreAccess access, const Held& held,
                                          const LookBody& body);

}  // namespace cairn::jobs
