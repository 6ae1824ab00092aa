#include "admin/roles.h"

#include <algorithm>
#include <array>
#include <utility>

namespace cairn::admin {
namespace {

constexpr std::array<std::pair<std::string_view, Role>, 4> kRoles = {{
    {"admin", Role::kAdmin},
    {"operator", Role::kOperator},
    {"worker", Role::kWorker},
    {"readonly", Role::kReadonly},
}};

constexpr std::string_view kReads = "only reads";
constexpr std::string_view kJobsTell = "is done all day: the jobs tell it";
constexpr std::string_view kBookingsTell = "is what buyers do all day: the bookings tell it";

//                    name               operators workers readers unaudited
constexpr std::array kPermissions = {
    Permission{"server.info", true, true, true, kReads},
    Permission{"metrics.read", true, false, true, kReads},
    Permission{"jobs.enqueue", true, true, false, kJobsTell},
    Permission{"jobs.work", true, true, false, kJobsTell},
    Permission{"jobs.get", true, true, true, kReads},
    Permission{"jobs.read", true, false, true, kReads},
    Permission{"jobs.manage", true, false, false},
    Permission{"queues.manage", true, false, false},
    Permission{"schedules.manage", true, false, false},
    Permission{"webhooks.read", true, false, true, kReads},
    Permission{"webhooks.manage", true, false, false},
    Permission{"seats.read", true, false, true, kReads},
    Permission{"seats.book", true, false, false, kBookingsTell},
    Permission{"seats.manage", true, false, false},
    Permission{"admin", true, false, false},
    Permission{"admin.backup", true, false, false},
    // It changes nothing, but takes everything along, secrets too.
    Permission{"jobs.backup", false, false, false},
    Permission{"jobs.restore", false, false, false},
    Permission{"keys.read", true, false, false, kReads},
    Permission{"keys.manage", false, false, false},
    Permission{"audit.read", true, false, false, kReads},
};

bool HasPermission(Role role, const Permission& permission) {
  switch (role) {
    case Role::kAdmin:
      return true;
    case Role::kOperator:
      return permission.operators;
    case Role::kWorker:
      return permission.workers;
    case Role::kReadonly:
      return permission.readers;
  }
  return false;
}

using Rules = std::span<const std::string_view>;

// What clients say to be connected, and transactions.
constexpr std::string_view kConnection[] = {
    "on",       "-@all",           "+ping",           "+echo",     "+select",
    "+command", "+client|setname", "+client|getname", "+info",     "+client|setinfo",
    "+multi",   "+exec",           "+discard",        "+client|id"};
constexpr std::string_view kLooking[] = {"+job.get", "+job.batch"};
constexpr std::string_view kReading[] = {"+queue.list", "+queue.get", "+queue.workers"};
constexpr std::string_view kWorking[] = {"+job.enqueue",   "+job.enqueuem",  "+job.batchopen",
                                         "+job.batchseal", "+job.fetch",     "+job.ack",
                                         "+job.ackm",      "+job.fail",      "+job.heartbeat",
                                         "+job.snooze",    "+job.subscribe", "+job.unsubscribe"};
// Scripts call what their caller may call.
constexpr std::string_view kManaging[] = {
    "+job.cancel",     "+job.hold",         "+job.approve",       "+job.reject",   "+job.move",
    "+job.retry",      "+job.replay",       "+job.delete",        "+job.priority", "+queue.pause",
    "+queue.resume",   "+queue.drain",      "+queue.clear",       "+queue.delete", "+queue.config",
    "+queue.throttle", "+queue.unthrottle", "+queue.concurrency", "+eval",         "+evalsha",
    "+eval_ro",        "+evalsha_ro",       "+script|load"};
constexpr std::string_view kAllOfIt[] = {"on", "+@all", "~*", "&*"};
// CONFIG shows and sets the password, ACL makes users.
constexpr std::string_view kButNotUsers[] = {"-config", "-acl", "+acl|whoami", "+acl|cat"};
constexpr std::string_view kAllThatReads[] = {"+@read", "%R~*"};

// A rule about a command that the table does not have is left out.
void Apply(doors::AclRules& to, Rules rules, const doors::CommandTable& table) {
  for (const std::string_view& rule : rules) {
    (void)to.Apply(doors::Args(&rule, 1), table);
  }
}

std::vector<Rules> RulesFor(Role role, Reach reach) {
  if (reach == Reach::kEverything) {
    if (role == Role::kAdmin) return {kAllOfIt};
    if (role == Role::kOperator) return {kAllOfIt, kButNotUsers};
    if (role == Role::kReadonly) return {kConnection, kAllThatReads};
  }
  if (role == Role::kWorker) return {kConnection, kLooking, kWorking};
  if (role == Role::kReadonly) return {kConnection, kLooking, kReading};
  return {kConnection, kLooking, kReading, kWorking, kManaging};
}

}  // namespace

std::optional<Role> ParseRole(std::string_view name) {
  const auto* const found =
      std::ranges::find(kRoles, name, &std::pair<std::string_view, Role>::first);
  if (found == kRoles.end()) return std::nullopt;
  return found->second;
}

std::string_view RoleName(Role role) {
  return std::ranges::find(kRoles, role, &std::pair<std::string_view, Role>::second)->first;
}

std::span<const Permission> Permissions() { return kPermissions; }

const Permission* FindPermission(std::string_view name) {
  const auto* const found = std::ranges::find(kPermissions, name, &Permission::name);
  return found == kPermissions.end() ? nullptr : found;
}

std::vector<std::string_view> PermissionsOf(Role role) {
  std::vector<std::string_view> names;
  for (const Permission& permission : kPermissions) {
    if (HasPermission(role, permission)) names.push_back(permission.name);
  }
  return names;
}

doors::AclRules RulesOf(Role role, Reach reach, const doors::CommandTable& table) {
  doors::AclRules rules;
  for (const Rules part : RulesFor(role, reach)) Apply(rules, part, table);
  return rules;
}

}  // namespace cairn::admin
