#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <string>

#include "doors/turn/route_store.h"
#include "functions/cadence/figures.h"
#include "functions/cadence/frontend.h"
#include "functions/invoker/activity_heart.h"
#include "functions/model/records.h"

namespace cairn::functions {

// What hearts work with; outlives them.
struct HeartParts {
  doors::RouteStore& routes;
  Frontend& frontend;
  CadenceFigures& figures;
};

// The heart of an activation that Cadence has started; null for any other. Its heartbeats go
// straight to the frontend, from whichever process runs the activation: the token is in the store.
//
//   heartbeat             sent at once, and answered for, unless one was sent just before
//   heartbeats soon after the newest of them is sent kHeartbeatPause after the last, if the
//                         function still runs then
//   the frontend is away  the function goes on; its next heartbeat may come through
//   cancel requested, or the task is gone    the function is told by each heartbeat from then on
std::shared_ptr<ActivityHeart> MakeHeart(const HeartParts& parts, const Activation& activation);

}  // namespace cairn::functions
