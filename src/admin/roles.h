#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "doors/acl_rules.h"
#include "doors/command_table.h"

// What a key may do goes by its role. One table says it for the routes, by their permission
// (doors/route.h); another for RESP, as rules of an ACL user (doors/acl_rules.h).
namespace cairn::admin {

enum class Role : uint8_t {
  kAdmin,     // everything
  kOperator,  // everything but making and removing keys, users and settings
  kWorker,    // adding jobs, working on them, looking at one
  kReadonly,  // looking at everything but keys and the audit log
};

std::optional<Role> ParseRole(std::string_view name);
std::string_view RoleName(Role role);

struct Permission {
  std::string_view name;  // as rows have it
  bool operators;
  bool workers;
  bool readers;
  // Why what is done with it is not put into the audit log; empty: it is.
  std::string_view unaudited = {};
};

// Every permission that a route asks for.
std::span<const Permission> Permissions();
const Permission* FindPermission(std::string_view name);

std::vector<std::string_view> PermissionsOf(Role role);

// The rights of the role at the RESP door. Who is `confined` to some queues may call nothing that
// is not about jobs: queues are checked where jobs are, keys of other kinds belong to no queue.
// Commands that the table does not have give nothing.
enum class Reach : uint8_t { kEverything, kSomeQueues };
doors::AclRules RulesOf(Role role, Reach reach, const doors::CommandTable& table);

}  // namespace cairn::admin
