#include "house/permissions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace cairn::house {
namespace {

constexpr std::array<std::pair<std::string_view, Role>, 4> kRoles = {{
    {"admin", Role::kAdmin},
    {"operator", Role::kOperator},
    {"worker", Role::kWorker},
    {"readonly", Role::kReadonly},
}};

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

bool MayUse(Role role, CommandUse use) {
  switch (use) {
    case CommandUse::kLook:
      return true;
    case CommandUse::kList:
      return role != Role::kWorker;
    case CommandUse::kWork:
      return role != Role::kReadonly;
    case CommandUse::kManage:
      return role == Role::kAdmin || role == Role::kOperator;
  }
  return false;
}

using Rules = std::span<const std::string_view>;

// What clients need to be connected, and transactions.
constexpr std::string_view kConnection[] = {
    "on",       "-@all",           "+ping",           "+echo",     "+select",
    "+command", "+client|setname", "+client|getname", "+info",     "+client|setinfo",
    "+multi",   "+exec",           "+discard",        "+client|id"};
constexpr std::string_view kEverything[] = {"on", "+@all", "~*", "&*"};
// CONFIG shows and sets the password, ACL makes users.
constexpr std::string_view kExceptUsers[] = {"-config", "-acl", "+acl|whoami", "+acl|cat"};
constexpr std::string_view kAllThatReads[] = {"+@read", "%R~*"};

// A rule about a command that the table does not have is left out.
void Apply(doors::AclRules& to, std::string_view rule, const doors::CommandTable& table) {
  (void)to.Apply(doors::Args(&rule, 1), table);
}

void Apply(doors::AclRules& to, Rules rules, const doors::CommandTable& table) {
  for (const std::string_view rule : rules) Apply(to, rule, table);
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

void Permissions::Add(const Permission& permission) { permissions_.push_back(permission); }

void Permissions::AllowCommands(CommandUse use, doors::Touches touches,
                                std::initializer_list<std::string_view> commands) {
  for (const std::string_view name : commands) {
    commands_.push_back({use, touches, fmt::format("+{}", name)});
  }
}

const Permission* Permissions::Find(std::string_view name) const {
  const auto found = std::ranges::find(permissions_, name, &Permission::name);
  return found == permissions_.end() ? nullptr : &*found;
}

std::vector<std::string_view> Permissions::Of(Role role) const {
  std::vector<std::string_view> names;
  for (const Permission& permission : permissions_) {
    if (HasPermission(role, permission)) names.push_back(permission.name);
  }
  return names;
}

doors::AclRules Permissions::RulesOf(Role role, const doors::Grants* grants,
                                     const doors::CommandTable& table) const {
  doors::AclRules rules;
  if (grants == nullptr && role != Role::kWorker) {
    Apply(rules, role == Role::kReadonly ? Rules(kConnection) : Rules(kEverything), table);
    if (role == Role::kOperator) Apply(rules, kExceptUsers, table);
    if (role == Role::kReadonly) Apply(rules, kAllThatReads, table);
    return rules;
  }
  Apply(rules, kConnection, table);
  for (const AllowedCommand& command : commands_) {
    if (MayUse(role, command.use) && command.touches.OpenTo(grants)) {
      Apply(rules, command.rule, table);
    }
  }
  return rules;
}

}  // namespace cairn::house
