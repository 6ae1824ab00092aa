#pragma once

#include <memory>

#include "base/clock.h"
#include "base/thread_pool.h"
#include "doors/access/principal.h"
#include "doors/http/route_table.h"
#include "doors/turn/route_store.h"
#include "jobs/ledger/context.h"
#include "view/bulk.h"
#include "view/view.h"

namespace cairn::view {

// What the routes work with. All of it outlives the table's use.
struct RouteParts {
  View& view;
  Bulk& bulk;
  doors::RouteStore& store;
  // Searches have threads of their own: a slow one keeps nobody but searches waiting. Stopped
  // before the loops are destroyed (doors/turn/on_pool.h).
  ThreadPool& pool;
  const Clock& clock;  // for how long an answer took
  // Whom a call is for, in the copy that its handler is given; null: whoever, for all queues.
  std::shared_ptr<const doors::Principal> principal = {};

  const doors::NamePatterns* queues() const {
    return principal == nullptr ? nullptr : jobs::QueuesOf(principal->grants());
  }
  // Whether what goes on for the caller must stop.
  bool ended() const { return principal != nullptr && principal->ended(); }
};

// Adds what asks about jobs by what they are: lists, search, full text, bulk actions. A request may
// say in X-Cairn-Commit how new the answer has to be: the number of an event (as /api/v1/events has
// it), or `latest` for all that was committed before the request. Without it the view is given two
// seconds to catch up and then answers as it is. Each answer says in X-Cairn-Commit how new it is.
void AddViewRoutes(const RouteParts& parts, doors::RouteTable& table);

}  // namespace cairn::view
