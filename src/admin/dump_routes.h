#pragma once

#include <memory>

#include "admin/routes.h"
#include "doors/route_table.h"

namespace cairn::admin {

// Adds /api/v1/admin/backup and /api/v1/admin/restore: the job queue as text (jobs/dump.h).
void AddDumpRoutes(const std::shared_ptr<const AdminParts>& parts, doors::RouteTable& table);

}  // namespace cairn::admin
