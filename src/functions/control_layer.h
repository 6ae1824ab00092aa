#pragma once

#include "functions/control/aliases.h"
#include "functions/control/verify.h"
#include "functions/http/control_routes.h"
#include "functions/resp/control_commands.h"
#include "house/declarations.h"

namespace cairn::functions {

// What the control plane declares: the kind "function" of grants, its permissions, and which roles
// may use its commands. AddControlRoutes, AddControlCommands and a ShiftTimers for kTimerShift are
// its other parts; VerifyFunctions is its check.
//
//   permission          the actions of the API that it stands for
//   functions.manage    cs:function:create, cs:function:delete, enable, disable, purge
//   functions.publish   cs:function:draft:upload, cs:function:publish, cs:function:alias:set
//   functions.schedule  cs:schedule:create, cs:schedule:delete
//   functions.trigger   cs:trigger:create, cs:trigger:delete
//   functions.read      cs:function:read, cs:schedule:read, cs:trigger:read
void DeclareControl(house::Declarations& declarations);

}  // namespace cairn::functions
