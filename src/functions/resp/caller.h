#pragma once

#include "doors/access/grants.h"
#include "doors/resp/command.h"
#include "functions/model/message.h"

// Who calls a command, in the words of functions.
namespace cairn::functions {

// The functions that the caller may use; null: all.
const doors::NamePatterns* NamesOf(const doors::CommandContext& command);
// Whom a version's roles are held against.
Principal PrincipalOf(const doors::CommandContext& command);

}  // namespace cairn::functions
