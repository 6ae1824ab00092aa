#pragma once

#include <boost/asio/awaitable.hpp>

#include "base/result.h"
#include "outside/http_service.h"

namespace cairn::functions {

// Sends a request from a coroutine, and returns its answer on the coroutine's loop, however long it
// takes: the service ends it in time. Cancelling the coroutine ends the request. The loop outlives
// the service.
boost::asio::awaitable<Result<outside::HttpAnswer>> Send(outside::HttpService& http,
                                                         outside::HttpCall call);

}  // namespace cairn::functions
