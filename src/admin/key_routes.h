#pragma once

#include "admin/keyring.h"
#include "base/random.h"
#include "doors/access/audit_log.h"
#include "doors/http/route_table.h"
#include "doors/turn/route_store.h"

namespace cairn::admin {

// What the routes work with. All of it outlives the table's use.
struct KeyParts {
  doors::Instance& instance;
  doors::RouteStore& store;
  Keyring& keyring;
  const house::Permissions& permissions;
  const std::vector<std::string_view>& resource_kinds;  // that grants can name
  Random& random;
};

// Adds /api/v1/auth/… and /api/v1/audit-logs.
void AddKeyRoutes(const KeyParts& parts, doors::RouteTable& table);

// Whether calls of the route go into the audit log.
bool IsAudited(const house::Permissions& permissions, const doors::Route& route);
// Writes entries in transactions of their own. What it is given outlives it.
doors::AuditSink MakeAuditSink(doors::RouteStore& store, doors::AuditLog& log);

}  // namespace cairn::admin
