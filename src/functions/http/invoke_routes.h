#pragma once

#include "base/random.h"
#include "doors/http/route_table.h"
#include "doors/turn/route_store.h"
#include "functions/invoker/invoker.h"

namespace cairn::functions {

// What the routes work with. All of it outlives the table's use.
struct InvokeParts {
  doors::RouteStore& store;
  Invoker& invoker;
  Random& random;
};

inline constexpr std::string_view kInvokePermission = "functions.invoke";

// POST …/functions/{name}:invoke, activations and their logs, and the gateway:
//
//   /v1/web/TENANT/NAMESPACE/FUNCTION/REF/…      any method, path and query
//
// runs the function with the request as its event, and answers with what the function returns, also
// while it makes it. REF is an alias or a version.
void AddInvokeRoutes(const InvokeParts& parts, doors::RouteTable& table);

}  // namespace cairn::functions
