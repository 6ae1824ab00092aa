#include "functions/invoker/locked_change.h"

#include <utility>

namespace cairn::functions {

LockedWork::LockedWork(codeq::Locks locks, const jobs::ChangeBody& body)
    : locks_(std::move(locks)), body_(body) {
  scopes = locks_.ToScopes();
  access = store::Access::kWrite;
  held.exclusive = locks_.lanes.everything();
}

Result<void> LockedWork::Run(store::Transaction& transaction) {
  return jobs::RunUnder(locks_.lanes, held, transaction, /*queues=*/nullptr, body_);
}

boost::asio::awaitable<Result<void>> Change(doors::RouteStore& routes, codeq::Locks locks,
                                            const jobs::ChangeBody& body) {
  LockedWork work(std::move(locks), body);
  co_return co_await routes.Run(work);
}

}  // namespace cairn::functions
