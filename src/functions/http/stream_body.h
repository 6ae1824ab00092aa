#pragma once

#include <memory>
#include <string>

#include "base/random.h"
#include "doors/turn/route_store.h"
#include "functions/invoker/live_response.h"
#include "net/http/server.h"

namespace cairn::functions {

// The body of a response that a function makes bit by bit, from its run to the connection: each
// piece is a chunk. A client that reads slowly slows the function down; one that leaves ends it. A
// body that the function does not complete is broken off, so that the client knows; one of
// text/event-stream that stands between two events ends with an event `error`, whose data is the
// error body of the API.
//
// `routes` outlives the response.
std::shared_ptr<net::HttpBodyStream> StreamBody(doors::RouteStore& routes,
                                                std::shared_ptr<LiveResponses::Place> place,
                                                bool events, std::string request_id);

}  // namespace cairn::functions
