#include <climits>
#include <luajit-2.1/lua.hpp>
#include <new>
#include <string>

#include "data/lua/lua_json.h"
#include "data/lua/lua_runtime.h"

// The library `cjson`: encode, decode, and their options, which belong to an instance.
namespace cairn::data {
namespace {

JsonOptions& OptionsOf(lua_State* lua) {
  return *static_cast<JsonOptions*>(lua_touserdata(lua, lua_upvalueindex(1)));
}

int Encode(lua_State* lua) {
  luaL_argcheck(lua, lua_gettop(lua) == 1, 1, "expected 1 argument");
  const std::string text = EncodeJson(lua, 1, OptionsOf(lua));
  lua_pushlstring(lua, text.data(), text.size());
  return 1;
}

int Decode(lua_State* lua) {
  luaL_argcheck(lua, lua_gettop(lua) == 1, 1, "expected 1 argument");
  size_t size = 0;
  const char* text = luaL_checklstring(lua, 1, &size);
  DecodeJson(lua, text, size, OptionsOf(lua));
  return 1;
}

// The options tell their value; with an argument they set it first.

void SetInteger(lua_State* lua, int index, int& option, int low, int high) {
  if (lua_isnoneornil(lua, index)) return;
  const lua_Integer value = luaL_checkinteger(lua, index);
  const char* message = lua_pushfstring(lua, "expected integer between %d and %d", low, high);
  luaL_argcheck(lua, low <= value && value <= high, index, message);
  option = static_cast<int>(value);
  lua_pop(lua, 1);
}

void SetBoolean(lua_State* lua, int index, bool& option) {
  if (lua_isnoneornil(lua, index)) return;
  if (lua_isboolean(lua, index)) {
    option = lua_toboolean(lua, index) != 0;
    return;
  }
  constexpr const char* kNames[] = {"off", "on", nullptr};
  option = luaL_checkoption(lua, index, nullptr, kNames) == 1;
}

int EncodeSparseArray(lua_State* lua) {
  JsonOptions& options = OptionsOf(lua);
  luaL_argcheck(lua, lua_gettop(lua) <= 3, 4, "found too many arguments");
  SetBoolean(lua, 1, options.convert_sparse);
  SetInteger(lua, 2, options.sparse_ratio, 0, INT_MAX);
  SetInteger(lua, 3, options.sparse_safe, 0, INT_MAX);
  lua_pushboolean(lua, options.convert_sparse ? 1 : 0);
  lua_pushinteger(lua, options.sparse_ratio);
  lua_pushinteger(lua, options.sparse_safe);
  return 3;
}

template <int JsonOptions::*option, int low, int high>
int IntegerOption(lua_State* lua) {
  luaL_argcheck(lua, lua_gettop(lua) <= 1, 2, "found too many arguments");
  SetInteger(lua, 1, OptionsOf(lua).*option, low, high);
  lua_pushinteger(lua, OptionsOf(lua).*option);
  return 1;
}

template <bool JsonOptions::*option>
int BooleanOption(lua_State* lua) {
  luaL_argcheck(lua, lua_gettop(lua) <= 1, 2, "found too many arguments");
  SetBoolean(lua, 1, OptionsOf(lua).*option);
  lua_pushboolean(lua, OptionsOf(lua).*option ? 1 : 0);
  return 1;
}

int EncodeInvalidNumbers(lua_State* lua) {
  using Invalid = JsonOptions::InvalidNumbers;
  constexpr const char* kNames[] = {"off", "on", "null", nullptr};
  luaL_argcheck(lua, lua_gettop(lua) <= 1, 2, "found too many arguments");
  Invalid& option = OptionsOf(lua).encode_invalid_numbers;
  if (lua_isboolean(lua, 1)) {
    option = lua_toboolean(lua, 1) != 0 ? Invalid::kWrite : Invalid::kRefuse;
  } else if (!lua_isnoneornil(lua, 1)) {
    option = static_cast<Invalid>(luaL_checkoption(lua, 1, nullptr, kNames));
  }
  if (option == Invalid::kNull) {
    lua_pushliteral(lua, "null");
  } else {
    lua_pushboolean(lua, option == Invalid::kWrite ? 1 : 0);
  }
  return 1;
}

int New(lua_State* lua);

constexpr LuaFunction kFunctions[] = {
    {"encode", Encode},
    {"decode", Decode},
    {"encode_sparse_array", EncodeSparseArray},
    {"encode_max_depth", IntegerOption<&JsonOptions::encode_max_depth, 1, INT_MAX>},
    {"decode_max_depth", IntegerOption<&JsonOptions::decode_max_depth, 1, INT_MAX>},
    {"encode_number_precision", IntegerOption<&JsonOptions::number_precision, 1, 14>},
    {"encode_keep_buffer", BooleanOption<&JsonOptions::keep_buffer>},
    {"encode_invalid_numbers", EncodeInvalidNumbers},
    {"decode_invalid_numbers", BooleanOption<&JsonOptions::decode_invalid_numbers>},
    {"new", New},
};

// Pushes an instance and returns its options.
JsonOptions* PushInstance(lua_State* lua) {
  lua_createtable(lua, 0, 16);
  auto* options = new (lua_newuserdata(lua, sizeof(JsonOptions))) JsonOptions();
  for (const auto& [name, function] : kFunctions) {
    lua_pushvalue(lua, -1);
    lua_pushcclosure(lua, function, 1);
    lua_setfield(lua, -3, name);
  }
  lua_pop(lua, 1);
  lua_pushlightuserdata(lua, nullptr);
  lua_setfield(lua, -2, "null");
  lua_pushliteral(lua, "cjson");
  lua_setfield(lua, -2, "_NAME");
  lua_pushliteral(lua, "2.1.0");
  lua_setfield(lua, -2, "_VERSION");
  return options;
}

int New(lua_State* lua) {
  PushInstance(lua);
  return 1;
}

}  // namespace

void PushJsonLibrary(lua_State* lua) { RuntimeOf(lua).cjson_defaults = PushInstance(lua); }

void ResetJsonOptions(LuaState::Runtime& runtime) {
  *static_cast<JsonOptions*>(runtime.cjson_defaults) = JsonOptions();
}

}  // namespace cairn::data
