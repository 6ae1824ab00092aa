#pragma once

struct lua_State;

namespace cairn::data {

// Sets find, match, gmatch, gfind and gsub of the table on top of the stack, the string library, to
// functions that mean the same as the interpreter's own but can be stopped: those never look up
// from a pattern that tries more ways than there is time for.
void SetPatternFunctions(lua_State* lua);

}  // namespace cairn::data
