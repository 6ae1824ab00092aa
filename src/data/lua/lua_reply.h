#pragma once

#include <string_view>

#include "net/resp/writer.h"

struct lua_State;

// Replies of commands as values of Lua, and back, as Redis converts them.
namespace cairn::data {

// Pushes the reply, which is one complete RESP value that this server has written. Of what RESP3
// adds, each type is a table with one field named for the type; null is nil and a boolean a
// boolean.
void PushReply(lua_State* lua, std::string_view resp);

// Whether the reply is an error; its text.
bool IsErrorReply(std::string_view resp);
std::string_view ErrorReplyText(std::string_view resp);

// Writes the value on top of the stack as a reply and pops it. With `resp3_values` (after
// redis.setresp(3)) booleans are booleans, else true is 1 and false is null.
void WriteReply(lua_State* lua, net::RespWriter& reply, bool resp3_values);

}  // namespace cairn::data
