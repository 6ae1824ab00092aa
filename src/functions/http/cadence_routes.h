#pragma once

#include "functions/http/control_routes.h"

namespace cairn::functions {

// What may create, change and delete worker bindings: cs:cadence:worker:create and
// cs:cadence:worker:delete.
inline constexpr std::string_view kCadencePermission = "functions.cadence";

// Adds the routes of worker bindings under
// /v1/tenants/{tenant}/namespaces/{namespace}/cadence/workers.
void AddCadenceRoutes(const ControlParts& parts, doors::RouteTable& table);

}  // namespace cairn::functions
