#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <vector>

#include "base/result.h"
#include "functions/codeq/names.h"
#include "functions/codeq/topics.h"
#include "jobs/operations/handing_out.h"
#include "jobs/operations/store_access.h"

// Operations in transactions of their own, for coroutines on a loop. What a coroutine borrows must
// live until it has ended.
namespace cairn::functions::codeq {

// Runs `body` under the locks; under all, if it finds that it needs them. Give it a name before the
// co_await (doors/turn/route_store.h).
boost::asio::awaitable<Result<void>> Change(jobs::StoreAccess access, Locks locks,
                                            const jobs::ChangeBody& body);

// Claims what there is, none if there is nothing, and returns when that is durable.
boost::asio::awaitable<Result<std::vector<Message>>> TakeMessages(const jobs::Fetcher& fetcher,
                                                                  const ClaimRequest& request);
// Stands in line until there is something, beside the workers that fetch jobs. None at the
// deadline, and when the coroutine is cancelled.
boost::asio::awaitable<Result<std::vector<Message>>> AwaitMessages(
    const jobs::Fetcher& fetcher, const ClaimRequest& request,
    std::chrono::steady_clock::time_point deadline);
// Puts back what nobody will work on, its attempt uncounted.
boost::asio::awaitable<void> GiveBack(jobs::StoreAccess access,
                                      const std::vector<Message>& messages);

}  // namespace cairn::functions::codeq
