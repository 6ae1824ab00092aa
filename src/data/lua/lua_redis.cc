#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <luajit-2.1/lua.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "data/lua/lua_reply.h"
#include "data/lua/lua_runtime.h"

// The table `redis` of scripts, and the one that a library finds while it is loaded.
namespace cairn::data {
namespace {

using Runtime = LuaState::Runtime;

std::string_view StringAt(lua_State* lua, int index) {
  size_t size = 0;
  const char* data = lua_tolstring(lua, index, &size);
  return {data, size};
}

// --- redis.call ---------------------------------------------------------------------------------

// Numbers as Redis writes them for commands: integers without exponent, others with 17 digits.
std::string NumberArgument(double number) {
  if (number >= -0x1p63 && number < 0x1p63 && number == std::trunc(number)) {
    return fmt::to_string(static_cast<int64_t>(number));
  }
  std::array<char, 40> text;
  const int size = std::snprintf(text.data(), text.size(), "%.17g", number);
  return {text.data(), static_cast<size_t>(size)};
}

// The arguments of a command, taken from the stack; numbers become strings in place, so that the
// views stay good.
std::vector<std::string_view> Arguments(lua_State* lua) {
  const int count = lua_gettop(lua);
  if (count == 0) {
    RaiseErrorTable(lua, "ERR Please specify at least one argument for this redis lib call");
  }
  std::vector<std::string_view> args;
  args.reserve(static_cast<size_t>(count));
  for (int i = 1; i <= count; ++i) {
    const int type = lua_type(lua, i);
    if (type == LUA_TNUMBER) {
      const std::string text = NumberArgument(lua_tonumber(lua, i));
      lua_pushlstring(lua, text.data(), text.size());
      lua_replace(lua, i);
    } else if (type != LUA_TSTRING) {
      RaiseErrorTable(lua, "ERR Lua redis lib command arguments must be strings or integers");
    }
    args.push_back(StringAt(lua, i));
  }
  return args;
}

// Pushes the reply, or an error as {err = …}.
void CallCommand(lua_State* lua) {
  Runtime& runtime = RuntimeOf(lua);
  if (runtime.stopped) StopScript(lua);
  const std::vector<std::string_view> args = Arguments(lua);
  runtime.reply.clear();
  if (!runtime.host->Call(args, runtime.protocol, runtime.reply)) StopScript(lua);
  lua_settop(lua, 0);  // thousands of arguments leave little room
  PushReply(lua, runtime.reply);
}

int Call(lua_State* lua) {
  CallCommand(lua);
  if (IsErrorReply(RuntimeOf(lua).reply)) return lua_error(lua);
  return 1;
}

// Takes the mistakes of its own arguments for a reply, too.
int CallForPcall(lua_State* lua) {
  CallCommand(lua);
  return 1;
}

int Pcall(lua_State* lua) {
  lua_pushcfunction(lua, CallForPcall);
  lua_insert(lua, 1);
  const int status = lua_pcall(lua, lua_gettop(lua) - 1, 1, 0);
  if (RuntimeOf(lua).stopped) StopScript(lua);
  if (status != 0 && !lua_istable(lua, -1)) return lua_error(lua);
  return 1;
}

int AclCheckCmd(lua_State* lua) {
  const std::vector<std::string_view> args = Arguments(lua);
  const std::optional<bool> allowed = RuntimeOf(lua).host->MayCall(args);
  if (!allowed) RaiseErrorTable(lua, "ERR Invalid command passed to redis.acl_check_cmd()");
  lua_pushboolean(lua, *allowed ? 1 : 0);
  return 1;
}

// --- Replies ------------------------------------------------------------------------------------

int ReplyTable(lua_State* lua, const char* field) {
  if (lua_gettop(lua) != 1 || lua_type(lua, 1) != LUA_TSTRING) {
    PushFieldTable(lua, "err", "ERR wrong number or type of arguments");
    return 1;
  }
  PushFieldTable(lua, field, StringAt(lua, 1));
  return 1;
}

int StatusReply(lua_State* lua) { return ReplyTable(lua, "ok"); }

// An error without a code gets one.
int ErrorReply(lua_State* lua) {
  if (lua_gettop(lua) != 1 || lua_type(lua, 1) != LUA_TSTRING) return ReplyTable(lua, "err");
  std::string_view text = StringAt(lua, 1);
  if (text.starts_with('-')) text.remove_prefix(1);
  const bool has_code = text.find(' ') != std::string_view::npos;
  PushFieldTable(lua, "err", has_code ? std::string(text) : fmt::format("ERR {}", text));
  return 1;
}

int SetResp(lua_State* lua) {
  if (lua_gettop(lua) != 1) RaiseErrorTable(lua, "ERR redis.setresp() requires one argument.");
  const auto version = static_cast<int>(lua_tonumber(lua, 1));
  if (version != 2 && version != 3) RaiseErrorTable(lua, "ERR RESP version must be 2 or 3.");
  RuntimeOf(lua).protocol = version;
  return 0;
}

// --- The rest -----------------------------------------------------------------------------------

int Sha1Hex(lua_State* lua) {
  if (lua_gettop(lua) != 1) RaiseErrorTable(lua, "ERR wrong number of arguments");
  const std::string_view text = lua_isstring(lua, 1) != 0 ? StringAt(lua, 1) : "";
  ChargeScript(lua, text.size());
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned size = 0;
  EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha1(), nullptr);
  const std::string hex =
      HexEncode({reinterpret_cast<const char*>(digest.data()), static_cast<size_t>(size)});
  lua_pushlstring(lua, hex.data(), hex.size());
  return 1;
}

int Log(lua_State* lua) {
  const int count = lua_gettop(lua);
  if (count < 2) RaiseErrorTable(lua, "ERR redis.log() requires two arguments or more.");
  if (lua_isnumber(lua, 1) == 0) {
    RaiseErrorTable(lua, "ERR First argument must be a number (log level).");
  }
  const lua_Number level = lua_tonumber(lua, 1);
  if (!(level >= 0 && level <= 3)) RaiseErrorTable(lua, "ERR Invalid debug level.");
  std::string text;
  for (int i = 2; i <= count; ++i) {
    if (lua_isstring(lua, i) == 0) continue;
    if (i > 2) text += ' ';
    text += StringAt(lua, i);
  }
  ChargeScript(lua, text.size());
  RuntimeOf(lua).host->Log(static_cast<int>(level), text);
  return 0;
}

// Effects are what is stored: there is nothing to choose.
int ReplicateCommands(lua_State* lua) {
  lua_pushboolean(lua, 1);
  return 1;
}

int SetRepl(lua_State* lua) {
  if (lua_gettop(lua) != 1) RaiseErrorTable(lua, "ERR redis.set_repl() requires two arguments.");
  const lua_Number flags = lua_tonumber(lua, 1);
  if (!(flags >= 0 && flags <= 3)) {
    RaiseErrorTable(lua,
                    "ERR Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or "
                    "REPL_NONE.");
  }
  return 0;
}

int Breakpoint(lua_State* lua) {
  lua_pushboolean(lua, 0);
  return 1;
}

int Debug(lua_State* /*lua*/) { return 0; }

// --- redis.register_function --------------------------------------------------------------------

[[noreturn]] void FailRegistration(lua_State* lua, std::string_view text) {
  RaiseErrorTable(lua, fmt::format("ERR {}", text));
}

bool IsFunctionName(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !name.empty() && std::ranges::all_of(name, allowed);
}

// The table of names on top of the stack.
uint8_t ReadFlags(lua_State* lua) {
  if (!lua_istable(lua, -1)) {
    FailRegistration(lua,
                     "flags argument to redis.register_function must be a table representing "
                     "function flags");
  }
  uint8_t flags = 0;
  for (int i = 1;; ++i) {
    lua_rawgeti(lua, -1, i);
    if (lua_isnil(lua, -1)) break;
    const uint8_t flag =
        lua_type(lua, -1) == LUA_TSTRING ? ScriptFlagByName(StringAt(lua, -1)) : uint8_t{0};
    if (flag == 0) FailRegistration(lua, "unknown flag given");
    flags |= flag;
    lua_pop(lua, 1);
  }
  lua_pop(lua, 1);
  return flags;
}

std::string ReadText(lua_State* lua, const char* name) {
  if (lua_isstring(lua, -1) == 0) {
    FailRegistration(
        lua, fmt::format("{} argument given to redis.register_function must be a string", name));
  }
  return std::string(StringAt(lua, -1));
}

// [table] → [table callback]
ScriptFunction ReadNamedArguments(lua_State* lua) {
  if (!lua_istable(lua, 1)) {
    FailRegistration(lua,
                     "calling redis.register_function with a single argument is only applicable to "
                     "Lua table (representing named arguments).");
  }
  ScriptFunction function;
  bool named = false;
  lua_pushnil(lua);  // becomes the callback
  lua_pushnil(lua);
  while (lua_next(lua, 1) != 0) {
    const std::string key =
        lua_type(lua, -2) == LUA_TSTRING ? std::string(StringAt(lua, -2)) : std::string();
    if (key == "function_name") {
      function.name = ReadText(lua, "function_name");
      named = true;
    } else if (key == "description") {
      function.description = ReadText(lua, "description");
    } else if (key == "callback") {
      if (!lua_isfunction(lua, -1)) {
        FailRegistration(lua,
                         "callback argument given to redis.register_function must be a function");
      }
      lua_pushvalue(lua, -1);
      lua_replace(lua, 2);
    } else if (key == "flags") {
      function.flags = ReadFlags(lua);
    } else {
      FailRegistration(lua, "unknown argument given to redis.register_function");
    }
    lua_pop(lua, 1);
  }
  if (!named) FailRegistration(lua, "redis.register_function must get a function name argument");
  if (lua_isnil(lua, 2)) {
    FailRegistration(lua, "redis.register_function must get a callback argument");
  }
  return function;
}

ScriptFunction ReadPlainArguments(lua_State* lua) {
  if (lua_isstring(lua, 1) == 0) {
    FailRegistration(lua, "first argument to redis.register_function must be a string");
  }
  if (!lua_isfunction(lua, 2)) {
    FailRegistration(lua, "second argument to redis.register_function must be a function");
  }
  return {.name = std::string(StringAt(lua, 1))};
}

int RegisterFunction(lua_State* lua) {
  std::vector<Runtime::Registration>* registering = RuntimeOf(lua).registering;
  if (registering == nullptr) {
    FailRegistration(lua, "redis.register_function can only be called on FUNCTION LOAD command");
  }
  const int count = lua_gettop(lua);
  if (count < 1 || count > 2) {
    FailRegistration(lua, "wrong number of arguments to redis.register_function");
  }
  ScriptFunction function = count == 1 ? ReadNamedArguments(lua) : ReadPlainArguments(lua);
  if (!IsFunctionName(function.name)) {
    FailRegistration(lua,
                     "Library names can only contain letters, numbers, or underscores(_) and must "
                     "be at least one character long");
  }
  for (const Runtime::Registration& other : *registering) {
    if (other.function.name == function.name) {
      FailRegistration(lua, "Function already exists in the library");
    }
  }
  lua_settop(lua, 2);
  registering->push_back({std::move(function), luaL_ref(lua, LUA_REGISTRYINDEX)});
  return 0;
}

int RefuseUnknownField(lua_State* lua) {
  lua_settop(lua, 2);
  const char* name = lua_tostring(lua, 2);
  return luaL_error(lua, "Script attempted to access nonexistent global variable '%s'",
                    name == nullptr ? luaL_typename(lua, 2) : name);
}

void SetConstants(lua_State* lua) {
  constexpr std::pair<const char*, int> kNumbers[] = {
      {"LOG_DEBUG", 0},    {"LOG_VERBOSE", 1},
      {"LOG_NOTICE", 2},   {"LOG_WARNING", 3},
      {"REPL_NONE", 0},    {"REPL_AOF", 1},
      {"REPL_REPLICA", 2}, {"REPL_SLAVE", 2},
      {"REPL_ALL", 3},     {"REDIS_VERSION_NUM", 0x0007000f},
  };
  for (const auto& [name, number] : kNumbers) {
    lua_pushinteger(lua, number);
    lua_setfield(lua, -2, name);
  }
  lua_pushliteral(lua, "7.0.15");
  lua_setfield(lua, -2, "REDIS_VERSION");
}

}  // namespace

void PushRedisLibrary(lua_State* lua) {
  lua_createtable(lua, 0, 32);
  constexpr LuaFunction kFunctions[] = {{"call", Call},
                                        {"pcall", Pcall},
                                        {"acl_check_cmd", AclCheckCmd},
                                        {"status_reply", StatusReply},
                                        {"error_reply", ErrorReply},
                                        {"setresp", SetResp},
                                        {"sha1hex", Sha1Hex},
                                        {"log", Log},
                                        {"replicate_commands", ReplicateCommands},
                                        {"set_repl", SetRepl},
                                        {"breakpoint", Breakpoint},
                                        {"debug", Debug}};
  SetLuaFunctions(lua, kFunctions);
  SetConstants(lua);
}

void PushRedisLoadLibrary(lua_State* lua) {
  lua_createtable(lua, 0, 16);
  constexpr LuaFunction kFunctions[] = {{"register_function", RegisterFunction}, {"log", Log}};
  SetLuaFunctions(lua, kFunctions);
  SetConstants(lua);
  lua_createtable(lua, 0, 1);
  lua_pushcfunction(lua, RefuseUnknownField);
  lua_setfield(lua, -2, "__index");
  lua_setmetatable(lua, -2);
  ProtectTable(lua);
}

}  // namespace cairn::data
