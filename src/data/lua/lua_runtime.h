#pragma once

#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "data/lua/lua_state.h"
#include "data/value/limits.h"

struct lua_State;

// What the files of this folder share: the state behind LuaState, and the libraries that it opens.
//
// The interpreter reports errors by unwinding the C++ stack like an exception, so destructors run;
// but nothing here may be called outside a protected call.
namespace cairn::data {

struct LuaState::Runtime {
  lua_State* lua = nullptr;
  size_t used_bytes = 0;
  size_t watched_bytes = std::numeric_limits<size_t>::max();  // more than this: see OnGrowth
  bool healthy = true;
  size_t reserved_bytes = 0;  // what the script may use before its host is asked for more

  // Of the script that runs.
  ScriptHost* host = nullptr;
  int protocol = 2;      // that redis.call gets its replies in
  bool stopped = false;  // every call fails until all of the script is unwound
  std::string stopped_at;
  size_t begin_bytes = 0;            // used when it began
  size_t work = 0;                   // of functions, not yet counted as a step
  const char* stack_base = nullptr;  // of the thread, where the script began
  std::string reply;                 // of redis.call, kept for its memory

  void* cjson_defaults = nullptr;  // of the library's own instance, reset for each script

  std::map<std::string, int, std::less<>> scripts;    // by id; references
  std::map<std::string, int, std::less<>> functions;  // by name; references

  struct Registration {
    ScriptFunction function;
    int reference;
  };
  std::vector<Registration>* registering = nullptr;  // while a library is loaded
};

// Of any coroutine of the state.
LuaState::Runtime& RuntimeOf(lua_State* lua);

// Ends the script: raises what it cannot catch.
[[noreturn]] void StopScript(lua_State* lua);
// Counts work that a function does between two instructions, where nothing else looks at it; about
// as much as an instruction each. Ends the script if that was too much. Every function whose work
// is not bounded by the memory of the script, or costs much more per byte than copying, counts it.
void ChargeScript(lua_State* lua, size_t work);
// What copying or comparing so many bytes counts for.
inline constexpr size_t kBytesPerWork = 64;
// Raises an error if the functions that call back into the script have taken much of the thread's
// stack: there must be room for the refusal.
void CheckScriptStack(lua_State* lua);
// Raises the error {err = text}, as redis.call does.
[[noreturn]] void RaiseErrorTable(lua_State* lua, std::string_view text);
// Pushes {field = text}.
void PushFieldTable(lua_State* lua, const char* field, std::string_view text);

// Replaces the table on top of the stack by one that shows the same and cannot be changed.
void ProtectTable(lua_State* lua);
// If the value at `index` is such a table, pushes what it shows.
bool PushProtectedContent(lua_State* lua, int index);

// Makes the globals of scripts. Leaves nothing on the stack.
void OpenSandbox(lua_State* lua);
// What a library sees while it is loaded, and what scripts and functions see: each pushes its
// table.
void PushLoadGlobals(lua_State* lua);
void PushScriptGlobals(lua_State* lua);
// The table on top of the stack, which it pops, is what global names mean from now on.
void ShowGlobals(lua_State* lua);
// Sets the global `name` of scripts to the value on top of the stack, which it pops.
void SetScriptGlobal(lua_State* lua, const char* name);

struct LuaFunction {
  const char* name;
  int (*function)(lua_State*);
};
// Sets fields of the table on top of the stack.
void SetLuaFunctions(lua_State* lua, std::span<const LuaFunction> functions);

// Each pushes its library.
void PushRedisLibrary(lua_State* lua);
void PushRedisLoadLibrary(lua_State* lua);  // `redis` while a library is loaded
void PushJsonLibrary(lua_State* lua);
void PushMessagePackLibrary(lua_State* lua);
void PushStructLibrary(lua_State* lua);

// The options of cjson as a script finds them.
void ResetJsonOptions(LuaState::Runtime& runtime);

}  // namespace cairn::data
