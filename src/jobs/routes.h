#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "base/random.h"
#include "doors/principal.h"
#include "doors/route_store.h"
#include "doors/route_table.h"
#include "doors/waiters.h"
#include "jobs/event.h"
#include "jobs/webhook_targets.h"

namespace cairn::jobs {

// What the routes work with. All of it outlives the table's use.
struct RouteParts {
  doors::RouteStore& store;
  doors::Waiters& waiters;
  const Clock& clock;
  Random& random;
  std::string version;  // of the server, for GET /info
  WebhookTargets webhook_targets = {};
  std::shared_ptr<EventGaps> gaps = std::make_shared<EventGaps>();
  // Whom a call is for, in the copy that its handler is given; null: whoever, for all queues.
  std::shared_ptr<const doors::Principal> principal = {};

  const doors::QueueScope* queues() const {
    return principal == nullptr ? nullptr : principal->queues();
  }
  // Whether what goes on for the caller must stop.
  bool ended() const { return principal != nullptr && principal->ended(); }
};

// Adds the queue's routes under /api/v1, whose errors are {"error":text,"code":CODE}.
void AddJobRoutes(const RouteParts& parts, doors::RouteTable& table);

}  // namespace cairn::jobs
