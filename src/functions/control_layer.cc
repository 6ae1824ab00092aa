#include "functions/control_layer.h"

#include "functions/control/context.h"
#include "functions/http/schedule_routes.h"
#include "functions/http/trigger_routes.h"

namespace cairn::functions {

void DeclareControl(house::Declarations& declarations) {
  using house::CommandUse;
  declarations.AddResourceKind(kFunctionKind);
  declarations.AddPermission({.name = "functions.manage", .operators = true});
  declarations.AddPermission({.name = "functions.publish", .operators = true});
  declarations.AddPermission({.name = kSchedulePermission, .operators = true});
  declarations.AddPermission({.name = kTriggerPermission, .operators = true});
  declarations.AddPermission({.name = "functions.read",
                              .operators = true,
                              .workers = true,
                              .readers = true,
                              .unaudited = house::kOnlyReads});
  const auto functions = doors::Touches::Only(kFunctionKind);
  declarations.AllowCommands(
      CommandUse::kLook, functions,
      {"fn.get", "fn.aliases", "fn.schedule|get", "fn.trigger|get", "fn.activation", "fn.logs"});
  declarations.AllowCommands(CommandUse::kList, functions,
                             {"fn.list", "fn.versions", "fn.schedule|list", "fn.trigger|list"});
  declarations.AllowCommands(CommandUse::kWork, functions, {"fn.invoke"});
  declarations.AllowCommands(CommandUse::kManage, functions,
                             {"fn.create",          "fn.delete",          "fn.purge",
                              "fn.enable",          "fn.disable",         "fn.draft",
                              "fn.publish",         "fn.alias",           "fn.rollback",
                              "fn.delalias",        "fn.shift",           "fn.schedule|create",
                              "fn.schedule|set",    "fn.schedule|enable", "fn.schedule|disable",
                              "fn.schedule|delete", "fn.trigger|create",  "fn.trigger|set",
                              "fn.trigger|enable",  "fn.trigger|disable", "fn.trigger|delete"});
}

}  // namespace cairn::functions
