#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "doors/access/grants.h"
#include "doors/resp/acl_rules.h"
#include "doors/resp/command_table.h"

namespace cairn::house {

// What a key may do depends on its role.
enum class Role : uint8_t {
  kAdmin,     // everything
  kOperator,  // everything except making and removing keys, users and settings
  kWorker,    // what programs do all day: adding jobs, working on them, looking at one
  kReadonly,  // looking at everything except keys and the audit log
};

std::optional<Role> ParseRole(std::string_view name);
std::string_view RoleName(Role role);

// What a route asks for (doors::Route::permission), and which roles have it. Admins have all.
struct Permission {
  std::string_view name;
  bool operators = false;
  bool workers = false;
  bool readers = false;
  // Why its use is not written to the audit log; empty: it is.
  std::string_view unaudited = {};
};

// Why a permission that changes nothing is not audited.
inline constexpr std::string_view kOnlyReads = "only reads";

// How a command is used. It decides which roles may call it at the RESP door, where a role is not
// given all commands anyway.
enum class CommandUse : uint8_t {
  kLook,    // shows one thing whose name the caller knows: every role
  kList,    // shows what there is: every role except workers
  kWork,    // what programs do all day: every role except readers
  kManage,  // admins and operators
};

// The permissions of all layers, and the commands that bounded roles may call. Filled while layers
// declare (declarations.h); a constant after that, safe to use from any thread.
class Permissions {
 public:
  void Add(const Permission& permission);
  // Names of commands; a subcommand is "container|name". Names that the command table turns out
  // not to have give nothing. Commands that are not named here are closed to callers with grants.
  void AllowCommands(CommandUse use, doors::Touches touches,
                     std::initializer_list<std::string_view> commands);

  std::span<const Permission> all() const { return permissions_; }
  const Permission* Find(std::string_view name) const;
  std::vector<std::string_view> Of(Role role) const;

  // The role's rights at the RESP door. With grants (null: everything) only commands that layers
  // have allowed and that touch nothing else: those check names themselves.
  doors::AclRules RulesOf(Role role, const doors::Grants* grants,
                          const doors::CommandTable& table) const;

 private:
  struct AllowedCommand {
    CommandUse use;
    doors::Touches touches;
    std::string rule;  // of the ACL: "+job.get"
  };

  std::vector<Permission> permissions_;
  std::vector<AllowedCommand> commands_;
};

}  // namespace cairn::house
