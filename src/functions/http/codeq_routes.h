#pragma once

#include "base/clock.h"
#include "base/random.h"
#include "doors/http/route_table.h"
#include "doors/turn/route_store.h"
#include "functions/http/api_figures.h"
#include "house/declarations.h"
#include "jobs/operations/store_access.h"

namespace cairn::functions {

// What the routes of codeQ work with. All of it outlives the table's use.
struct CodeqParts {
  doors::RouteStore& store;
  const Clock& clock;
  Random& random;
  ApiFigures* figures = nullptr;  // counts requests; null: nobody does
  // Whom a call is for, in the copy that its handler is given; null: whoever, for all topics.
  std::shared_ptr<const doors::Principal> principal = {};

  operator jobs::StoreAccess() const { return {store, principal.get()}; }
};

// The permissions of codeQ's routes, and who may call its commands. Topics are queues: grants of
// kind "queue", which the jobs layer declares, bound them.
void DeclareCodeq(house::Declarations& declarations);

// Topics, messages, dead letters and results under /v1/codeq, with errors in the form of
// functions/model/errors.h; and codeQ's own API (codeq_task_routes.cc), with errors as it has them.
void AddCodeqRoutes(const CodeqParts& parts, doors::RouteTable& table);

}  // namespace cairn::functions
