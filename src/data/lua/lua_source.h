#pragma once

#include <string>
#include <string_view>

namespace cairn::data {

// The function that ReturnsKept calls: it returns its arguments.
inline constexpr const char* kKeepFunction = "__keep";

// The source of a script in which no call of a library is a tail call:
//
//   return redis.call('get', KEYS[1])      →  return __keep(redis.call('get', KEYS[1]))
//
// LuaJIT forgets the caller of a tail call, so an error in the library could not say on which line
// of the script it happened, as it does in Redis. Lines stay where they are. Calls of the script's
// own functions stay tail calls, which scripts may rely on. `source` compiles.
std::string ReturnsKept(std::string_view source);

}  // namespace cairn::data
