#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <memory>

#include "base/random.h"
#include "base/result.h"
#include "doors/access/principal.h"
#include "doors/turn/route_store.h"
#include "functions/control/context.h"
#include "store/scopes.h"

// Operations in transactions of their own, for coroutines on a loop. What a coroutine borrows must
// live until it has ended.
namespace cairn::functions {

// The store, as one caller may use it.
struct StoreAccess {
  doors::RouteStore& store;
  std::shared_ptr<const doors::Principal> principal = nullptr;  // null: anybody, for everything
  const SecretKeys* secrets = nullptr;
  Random* random = nullptr;
};

// May run more than once (store::Body). Give it a name before the co_await
// (doors/turn/route_store.h).
using OperationBody = std::function<Result<void>(Context&)>;

enum class Where : uint8_t {
  kLoop,
  kPool,  // what reads or writes much
};

// Runs `body` under `scopes`, and under more if it asks for them.
boost::asio::awaitable<Result<void>> Change(StoreAccess access, store::Scopes scopes, Where where,
                                            const OperationBody& body);
boost::asio::awaitable<Result<void>> Look(StoreAccess access, Where where,
                                          const OperationBody& body);

}  // namespace cairn::functions
