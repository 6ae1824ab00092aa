#pragma once

#include <boost/asio/awaitable.hpp>

#include "base/result.h"
#include "doors/turn/route_store.h"
#include "doors/turn/work.h"
#include "functions/codeq/names.h"
#include "jobs/operations/store_access.h"

namespace cairn::functions {

// A body over jobs, as an operation of the invoker: under lanes of queues and keys of the data
// types together. Borrows the body.
class LockedWork final : public doors::Work {
 public:
  LockedWork(codeq::Locks locks, const jobs::ChangeBody& body);
  Result<void> Run(store::Transaction& transaction) override;

 private:
  const codeq::Locks locks_;
  const jobs::ChangeBody& body_;
};

// Runs `body` in a transaction, and returns when that is durable. Give the body a name before the
// co_await (doors/turn/route_store.h).
boost::asio::awaitable<Result<void>> Change(doors::RouteStore& routes, codeq::Locks locks,
                                            const jobs::ChangeBody& body);

}  // namespace cairn::functions
