#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "base/random.h"
#include "doors/access/principal.h"
#include "doors/http/route_table.h"
#include "doors/turn/route_store.h"
#include "jobs/ledger/event.h"
#include "jobs/operations/store_access.h"
#include "jobs/webhook/webhook_targets.h"

namespace cairn::jobs {

// What the routes work with. All of it outlives the table's use.
struct RouteParts {
  doors::RouteStore& store;
  const Clock& clock;
  Random& random;
  std::string version;  // of the server, for GET /info
  WebhookTargets webhook_targets = {};
  std::shared_ptr<EventGaps> gaps = std::make_shared<EventGaps>();
  // Whom a call is for, in the copy that its handler is given; null: whoever, for all queues.
  std::shared_ptr<const doors::Principal> principal = {};

  // The store as the caller may use it; borrows from these parts.
  operator StoreAccess() const { return {store, principal.get()}; }
  const doors::NamePatterns* queues() const { return StoreAccess(*this).queues(); }
  // Whether what goes on for the caller must stop.
  bool ended() const { return StoreAccess(*this).ended(); }
};

// Adds the queue's routes under /api/v1, whose errors are {"error":text,"code":CODE}.
void AddJobRoutes(const RouteParts& parts, doors::RouteTable& table);

// How errors below /api/v1 are told: {"error":text,"code":CODE}. AddJobRoutes declares it.
doors::ErrorForm JobErrorForm();

}  // namespace cairn::jobs
