#pragma once

#include "functions/http/control_routes.h"

namespace cairn::functions {

// What may create, change and delete schedules: cs:schedule:create and cs:schedule:delete.
inline constexpr std::string_view kSchedulePermission = "functions.schedule";

// Adds the routes of schedules under /v1/tenants/{tenant}/namespaces/{namespace}/schedules.
void AddScheduleRoutes(const ControlParts& parts, doors::RouteTable& table);

}  // namespace cairn::functions
