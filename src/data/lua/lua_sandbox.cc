#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <ctime>
#include <luajit-2.1/lua.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "data/lua/lua_patterns.h"
#include "data/lua/lua_runtime.h"
#include "data/lua/lua_source.h"
#include "data/value/limits.h"

// The globals of scripts. A script sees them through a table that cannot be changed:
//
//   _G ──▶ {} with __newindex that refuses and __index ──▶ globals ──▶ __index that refuses
//                                                             │
//                               string, table, redis, …  ──▶ {} with __index ──▶ the library
//
// The interpreter itself has no read-only tables, so everything that would write past a metatable
// (rawset, table.insert, setmetatable …) is replaced by a function that looks first.
namespace cairn::data {
namespace {

constexpr const char* kReadOnly = "Attempt to modify a readonly table";
// Where metatables of protected tables keep what they protect, and the registry the globals. The
// addresses are the keys.
// Elements of a table that are moved as quickly as an instruction is run.
constexpr size_t kElementsPerWork = 4;

char content_key;
char globals_key;

int RefuseChange(lua_State* lua) { return luaL_error(lua, kReadOnly); }

int RefuseUnknownGlobal(lua_State* lua) {
  lua_settop(lua, 2);
  const char* name = lua_tostring(lua, 2);
  return luaL_error(lua, "Script attempted to access nonexistent global variable '%s'",
                    name == nullptr ? luaL_typename(lua, 2) : name);
}

bool IsProtected(lua_State* lua, int index) {
  if (!PushProtectedContent(lua, index)) return false;
  lua_pop(lua, 1);
  return true;
}

void RefuseIfProtected(lua_State* lua) {
  if (!IsProtected(lua, 1)) return;
  lua_pushstring(lua, kReadOnly);
  lua_error(lua);
}

// Calls the function that this one replaces, upvalue 1, with the same arguments.
int CallReplaced(lua_State* lua) {
  lua_pushvalue(lua, lua_upvalueindex(1));
  lua_insert(lua, 1);
  lua_call(lua, lua_gettop(lua) - 1, LUA_MULTRET);
  return lua_gettop(lua);
}

int ChangeUnlessProtected(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  RefuseIfProtected(lua);
  return CallReplaced(lua);
}

// table.insert and table.remove: what is behind the place moves.
int MoveUnlessProtected(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  RefuseIfProtected(lua);
  ChargeScript(lua, 1 + lua_objlen(lua, 1) / kElementsPerWork);
  return CallReplaced(lua);
}

int Concat(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  ChargeScript(lua, lua_objlen(lua, 1));
  return CallReplaced(lua);
}

int Rep(lua_State* lua) {
  const size_t size = lua_objlen(lua, 1);
  const lua_Number count = lua_tonumber(lua, 2);
  if (count > 0 && size > 0 && count * static_cast<lua_Number>(size) < kMaxScriptMemory) {
    ChargeScript(lua, static_cast<size_t>(count) * size / kBytesPerWork);
  }
  return CallReplaced(lua);
}

// For functions that call back, on a table.
int CallBackOnTable(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  RefuseIfProtected(lua);
  CheckScriptStack(lua);
  return CallReplaced(lua);
}

// --- table.sort ---------------------------------------------------------------------------------
// The interpreter's own looks up only when it calls a comparison of the script, and takes quadratic
// time for some orders.

// Sorts the table on top of the stack, which holds n values that `take` gives, in C++.
template <typename Value, typename Take, typename Push>
void SortValues(lua_State* lua, int n, Take take, Push push) {
  std::vector<Value> values;
  values.reserve(static_cast<size_t>(n));
  for (int i = 1; i <= n; ++i) {
    lua_rawgeti(lua, 1, i);
    values.push_back(take());
    lua_pop(lua, 1);
  }
  std::ranges::sort(values);
  for (int i = 1; i <= n; ++i) {
    push(values[static_cast<size_t>(i) - 1]);
    lua_rawseti(lua, 1, i);
  }
}

// The type that all elements 1 … n have; none if they differ, or are not a number among numbers.
int CommonType(lua_State* lua, int n) {
  int common = LUA_TNONE;
  for (int i = 1; i <= n; ++i) {
    lua_rawgeti(lua, 1, i);
    const int type = lua_type(lua, -1);
    const bool is_nan = type == LUA_TNUMBER && std::isnan(lua_tonumber(lua, -1));
    lua_pop(lua, 1);
    if (is_nan || (common != LUA_TNONE && type != common)) return LUA_TNONE;
    common = type;
  }
  return common;
}

// Compares by the function that is its upvalue, or as the operator < does.
int Less(lua_State* lua) {
  ChargeScript(lua, 10);
  if (lua_isnil(lua, lua_upvalueindex(1))) {
    lua_pushboolean(lua, lua_lessthan(lua, 1, 2));
    return 1;
  }
  lua_pushvalue(lua, lua_upvalueindex(1));
  lua_insert(lua, 1);
  lua_call(lua, 2, 1);
  return 1;
}

int Sort(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  RefuseIfProtected(lua);
  CheckScriptStack(lua);
  if (!lua_isnoneornil(lua, 2)) luaL_checktype(lua, 2, LUA_TFUNCTION);
  lua_settop(lua, 2);
  const auto n = static_cast<int>(lua_objlen(lua, 1));
  const int type = lua_isnil(lua, 2) ? CommonType(lua, n) : LUA_TNONE;
  if (n <= kMaxScriptSortElements && (type == LUA_TNUMBER || type == LUA_TSTRING)) {
    ChargeScript(lua, static_cast<size_t>(n) * std::bit_width(static_cast<size_t>(n)));
    if (type == LUA_TNUMBER) {
      SortValues<lua_Number>(
          lua, n, [lua] { return lua_tonumber(lua, -1); },
          [lua](lua_Number value) { lua_pushnumber(lua, value); });
    } else {
      // The strings stay where they are referred to: on the stack there is no room for them.
      lua_createtable(lua, n, 0);
      for (int i = 1; i <= n; ++i) {
        lua_rawgeti(lua, 1, i);
        lua_rawseti(lua, 3, i);
      }
      SortValues<std::string_view>(
          lua, n,
          [lua] {
            size_t size = 0;
            const char* text = lua_tolstring(lua, -1, &size);
            return std::string_view(text, size);
          },
          [lua](std::string_view value) { lua_pushlstring(lua, value.data(), value.size()); });
    }
    return 0;
  }
  // A function of the script is interrupted by itself.
  if (lua_isnil(lua, 2) || lua_iscfunction(lua, 2) != 0) {
    lua_pushcclosure(lua, Less, 1);
  }
  return CallReplaced(lua);
}

// Coroutines inside each other take the thread's stack as well.
int Resume(lua_State* lua) {
  CheckScriptStack(lua);
  return CallReplaced(lua);
}

int WrapperOf(lua_State* lua) {
  CheckScriptStack(lua);
  return CallReplaced(lua);
}

int Wrap(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TFUNCTION);
  CallReplaced(lua);
  lua_pushcclosure(lua, WrapperOf, 1);
  return 1;
}

int RawGet(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  luaL_checkany(lua, 2);
  lua_settop(lua, 2);
  if (PushProtectedContent(lua, 1)) lua_replace(lua, 1);
  lua_rawget(lua, 1);
  return 1;
}

int Next(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  lua_settop(lua, 2);
  if (PushProtectedContent(lua, 1)) lua_replace(lua, 1);
  if (lua_next(lua, 1) != 0) return 2;
  lua_pushnil(lua);
  return 1;
}

int Pairs(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  if (!IsProtected(lua, 1)) return CallReplaced(lua);
  lua_pushcfunction(lua, Next);
  lua_pushvalue(lua, 1);
  lua_pushnil(lua);
  return 3;
}

// An error of redis.call is caught as its text.
void UnwrapError(lua_State* lua) {
  if (!lua_istable(lua, -1)) return;
  lua_pushliteral(lua, "err");
  lua_rawget(lua, -2);
  if (lua_type(lua, -1) == LUA_TSTRING) {
    lua_replace(lua, -2);
  } else {
    lua_pop(lua, 1);
  }
}

// Like lua_pcall, but what stops the script goes on.
int CallCaught(lua_State* lua, int arguments) {
  CheckScriptStack(lua);
  const int status = lua_pcall(lua, arguments, LUA_MULTRET, 0);
  if (RuntimeOf(lua).stopped) StopScript(lua);
  return status;
}

int Pcall(lua_State* lua) {
  luaL_checkany(lua, 1);
  const int status = CallCaught(lua, lua_gettop(lua) - 1);
  if (status != 0) UnwrapError(lua);
  luaL_checkstack(lua, 1, "too many results");
  lua_pushboolean(lua, status == 0 ? 1 : 0);
  lua_insert(lua, 1);
  return lua_gettop(lua);
}

// The handler is called after the error was caught, not before, since nothing could interrupt it
// there. Without a debug library no script can tell.
int Xpcall(lua_State* lua) {
  luaL_checkany(lua, 2);
  lua_settop(lua, 2);
  lua_insert(lua, 1);
  if (CallCaught(lua, 0) == 0) {
    lua_pushboolean(lua, 1);
    lua_replace(lua, 1);
    return lua_gettop(lua);
  }
  CallCaught(lua, 1);
  lua_settop(lua, 1);
  lua_pushboolean(lua, 0);
  lua_insert(lua, 1);
  return 2;
}

int LoadText(lua_State* lua, std::string_view code, const char* name) {
  ChargeScript(lua, code.size());
  if (luaL_loadbufferx(lua, code.data(), code.size(), name, "t") == 0) return 1;
  lua_pushnil(lua);
  lua_insert(lua, -2);
  return 2;
}

int LoadString(lua_State* lua) {
  size_t size = 0;
  const char* code = luaL_checklstring(lua, 1, &size);
  return LoadText(lua, {code, size}, luaL_optstring(lua, 2, code));
}

// Hands the parser the next piece that the function on the stack's bottom returns.
const char* NextPiece(lua_State* lua, void* /*data*/, size_t* size) {
  lua_pushvalue(lua, 1);
  lua_call(lua, 0, 1);
  *size = 0;
  if (lua_isnil(lua, -1)) {
    lua_pop(lua, 1);
    return nullptr;
  }
  if (lua_type(lua, -1) != LUA_TSTRING) {
    luaL_error(lua, "reader function must return a string");
  }
  lua_replace(lua, 3);  // where it stays as long as the parser reads it
  const char* piece = lua_tolstring(lua, 3, size);
  ChargeScript(lua, *size);
  return piece;
}

int Load(lua_State* lua) {
  if (lua_type(lua, 1) == LUA_TSTRING) return LoadString(lua);
  luaL_checktype(lua, 1, LUA_TFUNCTION);
  const char* name = luaL_optstring(lua, 2, "=(load)");
  lua_settop(lua, 3);
  CheckScriptStack(lua);
  if (lua_loadx(lua, NextPiece, nullptr, name, "t") == 0) return 1;
  lua_pushnil(lua);
  lua_insert(lua, -2);
  return 2;
}

// What ReturnsKept calls.
int Keep(lua_State* lua) { return lua_gettop(lua); }

// What would change the collector for later scripts does nothing.
int CollectGarbage(lua_State* lua) {
  const std::string_view option = luaL_optstring(lua, 1, "collect");
  if (option == "count") {
    lua_pushnumber(lua, lua_gc(lua, LUA_GCCOUNT, 0) + lua_gc(lua, LUA_GCCOUNTB, 0) / 1024.0);
    return 1;
  }
  if (option == "collect" || option == "step") {
    ChargeScript(lua, 1 + RuntimeOf(lua).used_bytes / kBytesPerWork);
    lua_gc(lua, LUA_GCCOLLECT, 0);
  }
  lua_pushnumber(lua, 0);
  return 1;
}

int OsClock(lua_State* lua) {
  lua_pushnumber(lua, static_cast<lua_Number>(std::clock()) / CLOCKS_PER_SEC);
  return 1;
}

void OpenLibrary(lua_State* lua, const char* name, lua_CFunction open) {
  lua_pushcfunction(lua, open);
  lua_pushstring(lua, name);
  lua_call(lua, 1, 0);
}

// Replaces the field of the table at the top by `function`, with the old value as its upvalue.
void Replace(lua_State* lua, const char* name, lua_CFunction function) {
  lua_getfield(lua, -1, name);
  lua_pushcclosure(lua, function, 1);
  lua_setfield(lua, -2, name);
}

void Remove(lua_State* lua, const char* name) {
  lua_pushnil(lua);
  lua_setfield(lua, -2, name);
}

void Alias(lua_State* lua, const char* name, const char* present) {
  lua_getfield(lua, -1, present);
  lua_setfield(lua, -2, name);
}

void TrimStringLibrary(lua_State* lua) {
  lua_getglobal(lua, "string");
  Remove(lua, "dump");
  SetPatternFunctions(lua);
  Replace(lua, "rep", Rep);
  lua_pop(lua, 1);
}

void TrimTableLibrary(lua_State* lua) {
  lua_getglobal(lua, "table");
  Remove(lua, "move");
  Replace(lua, "concat", Concat);
  Replace(lua, "sort", Sort);
  for (const char* name : {"insert", "remove"}) Replace(lua, name, MoveUnlessProtected);
  for (const char* name : {"foreach", "foreachi"}) Replace(lua, name, CallBackOnTable);
  lua_pop(lua, 1);
}

void TrimCoroutineLibrary(lua_State* lua) {
  lua_getglobal(lua, "coroutine");
  Remove(lua, "isyieldable");
  Replace(lua, "resume", Resume);
  Replace(lua, "wrap", Wrap);
  lua_pop(lua, 1);
}

void TrimMathLibrary(lua_State* lua) {
  lua_getglobal(lua, "math");
  Alias(lua, "mod", "fmod");
  lua_pop(lua, 1);
}

// As Redis has it where LuaJIT writes nothing: for the smallest number of digits, which has no
// positive counterpart.
int ToHex(lua_State* lua) {
  constexpr lua_Number kSmallest = 2147483648.0;
  if (lua_isnumber(lua, 2) != 0 && std::abs(lua_tonumber(lua, 2)) == kSmallest) {
    lua_pushinteger(lua, -8);
    lua_replace(lua, 2);
  }
  lua_pushvalue(lua, lua_upvalueindex(1));
  lua_insert(lua, 1);
  lua_call(lua, lua_gettop(lua) - 1, 1);
  return 1;
}

void TrimBitLibrary(lua_State* lua) {
  lua_getglobal(lua, "bit");
  lua_getfield(lua, -1, "tohex");
  lua_pushcclosure(lua, ToHex, 1);
  lua_setfield(lua, -2, "tohex");
  lua_pop(lua, 1);
}

// The methods of strings, seen by getmetatable("") as a protected table.
void ProtectStringMethods(lua_State* lua) {
  lua_pushliteral(lua, "");
  lua_createtable(lua, 0, 2);
  lua_getglobal(lua, "string");
  lua_setfield(lua, -2, "__index");
  lua_createtable(lua, 0, 1);
  lua_getglobal(lua, "string");
  ProtectTable(lua);
  lua_setfield(lua, -2, "__index");
  ProtectTable(lua);
  lua_setfield(lua, -2, "__metatable");
  lua_setmetatable(lua, -2);
  lua_pop(lua, 1);
}

void PushOsLibrary(lua_State* lua) {
  lua_createtable(lua, 0, 1);
  lua_pushcfunction(lua, OsClock);
  lua_setfield(lua, -2, "clock");
}

// [globals] → [globals], with what Redis has of the base library.
void AddBaseFunctions(lua_State* lua) {
  for (const char* name : {"assert", "error", "gcinfo", "getmetatable", "ipairs", "rawequal",
                           "select", "tonumber", "tostring", "type", "unpack", "_VERSION"}) {
    lua_getglobal(lua, name);
    lua_setfield(lua, -2, name);
  }
  constexpr LuaFunction kReplaced[] = {
      {"rawset", ChangeUnlessProtected}, {"setmetatable", ChangeUnlessProtected}, {"pairs", Pairs}};
  for (const auto& [name, function] : kReplaced) {
    lua_getglobal(lua, name);
    lua_pushcclosure(lua, function, 1);
    lua_setfield(lua, -2, name);
  }
  constexpr LuaFunction kOwn[] = {{"rawget", RawGet},    {"next", Next},
                                  {"pcall", Pcall},      {"xpcall", Xpcall},
                                  {"load", Load},        {"loadstring", LoadString},
                                  {kKeepFunction, Keep}, {"collectgarbage", CollectGarbage}};
  SetLuaFunctions(lua, kOwn);
}

// [table, metatable] → [protected], see ProtectTable; `metatable` is what getmetatable shows.
void ProtectTableWith(lua_State* lua) {
  lua_createtable(lua, 0, 0);
  lua_createtable(lua, 0, 4);
  lua_pushvalue(lua, -4);
  lua_setfield(lua, -2, "__index");
  lua_pushcfunction(lua, RefuseChange);
  lua_setfield(lua, -2, "__newindex");
  lua_pushvalue(lua, -3);
  lua_setfield(lua, -2, "__metatable");
  lua_pushlightuserdata(lua, &content_key);
  lua_pushvalue(lua, -5);
  lua_rawset(lua, -3);
  lua_setmetatable(lua, -2);
  lua_replace(lua, -3);
  lua_pop(lua, 1);
}

void AddLibraries(lua_State* lua) {
  for (const char* name : {"string", "table", "math", "bit", "coroutine"}) {
    lua_getglobal(lua, name);
    ProtectTable(lua);
    lua_setfield(lua, -2, name);
  }
  struct Library {
    const char* name;
    void (*push)(lua_State*);
  };
  constexpr Library kLibraries[] = {{"redis", PushRedisLibrary},
                                    {"cjson", PushJsonLibrary},
                                    {"cmsgpack", PushMessagePackLibrary},
                                    {"struct", PushStructLibrary},
                                    {"os", PushOsLibrary}};
  for (const auto& [name, push] : kLibraries) {
    push(lua);
    ProtectTable(lua);
    lua_setfield(lua, -2, name);
  }
}

}  // namespace

bool PushProtectedContent(lua_State* lua, int index) {
  if (lua_type(lua, index) != LUA_TTABLE || lua_getmetatable(lua, index) == 0) return false;
  lua_pushlightuserdata(lua, &content_key);
  lua_rawget(lua, -2);
  lua_remove(lua, -2);
  if (lua_istable(lua, -1)) return true;
  lua_pop(lua, 1);
  return false;
}

void ProtectTable(lua_State* lua) {
  // What is shown as its metatable is an empty table that cannot be changed either.
  lua_createtable(lua, 0, 0);
  lua_pushboolean(lua, 0);
  ProtectTableWith(lua);
  ProtectTableWith(lua);
}

void PushLoadGlobals(lua_State* lua) {
  lua_createtable(lua, 0, 2);
  PushRedisLoadLibrary(lua);
  lua_setfield(lua, -2, "redis");
  lua_pushcfunction(lua, Keep);
  lua_setfield(lua, -2, kKeepFunction);
  lua_createtable(lua, 0, 1);
  lua_pushcfunction(lua, RefuseUnknownGlobal);
  lua_setfield(lua, -2, "__index");
  lua_setmetatable(lua, -2);
}

void PushScriptGlobals(lua_State* lua) {
  lua_pushlightuserdata(lua, &globals_key);
  lua_rawget(lua, LUA_REGISTRYINDEX);
}

void ShowGlobals(lua_State* lua) {
  lua_pushvalue(lua, LUA_GLOBALSINDEX);
  lua_getmetatable(lua, -1);
  lua_pushvalue(lua, -3);
  lua_setfield(lua, -2, "__index");
  lua_pop(lua, 3);
}

void SetScriptGlobal(lua_State* lua, const char* name) {
  PushScriptGlobals(lua);
  lua_pushstring(lua, name);
  lua_pushvalue(lua, -3);
  lua_rawset(lua, -3);
  lua_pop(lua, 2);
}

void OpenSandbox(lua_State* lua) {
  OpenLibrary(lua, "", luaopen_base);
  OpenLibrary(lua, LUA_TABLIBNAME, luaopen_table);
  OpenLibrary(lua, LUA_STRLIBNAME, luaopen_string);
  OpenLibrary(lua, LUA_MATHLIBNAME, luaopen_math);
  OpenLibrary(lua, LUA_BITLIBNAME, luaopen_bit);
  TrimStringLibrary(lua);
  TrimTableLibrary(lua);
  TrimCoroutineLibrary(lua);
  TrimMathLibrary(lua);
  TrimBitLibrary(lua);
  ProtectStringMethods(lua);

  lua_createtable(lua, 0, 64);
  lua_pushlightuserdata(lua, &globals_key);
  lua_pushvalue(lua, -2);
  lua_rawset(lua, LUA_REGISTRYINDEX);
  AddBaseFunctions(lua);
  AddLibraries(lua);
  lua_createtable(lua, 0, 1);
  lua_pushcfunction(lua, RefuseUnknownGlobal);
  lua_setfield(lua, -2, "__index");
  lua_setmetatable(lua, -2);

  lua_pushvalue(lua, -1);
  ProtectTable(lua);
  lua_pushliteral(lua, "_G");
  lua_pushvalue(lua, -2);
  lua_rawset(lua, -4);
  lua_replace(lua, LUA_GLOBALSINDEX);
  lua_pop(lua, 1);
}

}  // namespace cairn::data
