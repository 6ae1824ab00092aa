#include "functions/resp/caller.h"

#include "doors/resp/acl.h"
#include "functions/control/context.h"

namespace cairn::functions {

const doors::NamePatterns* NamesOf(const doors::CommandContext& command) {
  const doors::AclUser* const user = command.caller.user.get();
  return user == nullptr ? nullptr : doors::NamesOf(user->grants(), kFunctionKind);
}

Principal PrincipalOf(const doors::CommandContext& command) {
  const doors::AclUser* const user = command.caller.user.get();
  // Who may do everything may do it in functions too.
  if (user == nullptr) return {.sub = "anonymous", .roles = {"role:admin"}};
  if (user->unrestricted()) return {.sub = user->name(), .roles = {"role:admin"}};
  return {.sub = user->name(), .roles = {user->role(), "role:" + user->role()}};
}

}  // namespace cairn::functions
