#pragma once

#include "functions/http/control_routes.h"

namespace cairn::functions {

// What may create, change and delete triggers: cs:trigger:create and cs:trigger:delete.
inline constexpr std::string_view kTriggerPermission = "functions.trigger";

// Adds the routes of triggers under /v1/tenants/{tenant}/namespaces/{namespace}/triggers.
void AddTriggerRoutes(const ControlParts& parts, doors::RouteTable& table);

}  // namespace cairn::functions
