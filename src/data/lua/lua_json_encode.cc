#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <luajit-2.1/lua.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "data/lua/lua_json.h"
#include "data/lua/lua_runtime.h"
#include "data/value/limits.h"

namespace cairn::data {
namespace {

class Encoder {
 public:
  Encoder(lua_State* lua, const JsonOptions& options) : lua_(lua), options_(options) {}

  // The value on top of the stack, which stays.
  void Value(int depth) {
    // A table that holds itself twice is written twice as often with each level.
    ChargeScript(lua_, 10);
    switch (lua_type(lua_, -1)) {
      case LUA_TSTRING:
        return String();
      case LUA_TNUMBER:
        return Number();
      case LUA_TBOOLEAN:
        out_ += lua_toboolean(lua_, -1) != 0 ? "true" : "false";
        return;
      case LUA_TTABLE:
        return Table(depth + 1);
      case LUA_TNIL:
        out_ += "null";
        return;
      case LUA_TLIGHTUSERDATA:
        if (lua_touserdata(lua_, -1) == nullptr) {
          out_ += "null";
          return;
        }
        [[fallthrough]];
      default:
        Refuse("type not supported");
    }
  }

  std::string Take() { return std::move(out_); }

 private:
  void Refuse(const char* why) {
    luaL_error(lua_, "Cannot serialise %s: %s", lua_typename(lua_, lua_type(lua_, -1)), why);
  }

  void String() {
    size_t size = 0;
    const char* text = lua_tolstring(lua_, -1, &size);
    ChargeScript(lua_, size);
    out_ += '"';
    for (const char c : std::string_view(text, size)) Character(c);
    out_ += '"';
  }

  void Character(char c) {
    switch (c) {
      case '"':
        out_ += "\\\"";
        return;
      case '\\':
        out_ += "\\\\";
        return;
      case '/':
        out_ += "\\/";
        return;
      case '\b':
        out_ += "\\b";
        return;
      case '\f':
        out_ += "\\f";
        return;
      case '\n':
        out_ += "\\n";
        return;
      case '\r':
        out_ += "\\r";
        return;
      case '\t':
        out_ += "\\t";
        return;
      default:
        break;
    }
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      out_ += fmt::format("\\u{:04x}", byte);
    } else {
      out_ += c;
    }
  }

  void Number() {
    const lua_Number number = lua_tonumber(lua_, -1);
    if (!std::isfinite(number)) {
      using Invalid = JsonOptions::InvalidNumbers;
      if (options_.encode_invalid_numbers == Invalid::kRefuse) {
        return Refuse("must not be NaN or Inf");
      }
      if (options_.encode_invalid_numbers == Invalid::kNull) {
        out_ += "null";
        return;
      }
    }
    std::array<char, 40> text;
    const int size =
        std::snprintf(text.data(), text.size(), "%.*g", options_.number_precision, number);
    out_.append(text.data(), static_cast<size_t>(size));
  }

  // How long the table is as an array; nullopt if it is an object.
  std::optional<int> ArrayLength() {
    int64_t highest = 0;
    int64_t items = 0;
    lua_pushnil(lua_);
    while (lua_next(lua_, -2) != 0) {
      lua_pop(lua_, 1);
      ChargeScript(lua_, 2);
      const lua_Number key = lua_type(lua_, -1) == LUA_TNUMBER ? lua_tonumber(lua_, -1) : 0;
      if (!(key >= 1 && key <= INT32_MAX && key == std::floor(key))) {
        lua_pop(lua_, 1);
        return std::nullopt;
      }
      highest = std::max(highest, static_cast<int64_t>(key));
      ++items;
    }
    if (highest == 0) return std::nullopt;
    const bool sparse = options_.sparse_ratio > 0 && highest > items * options_.sparse_ratio &&
                        highest > options_.sparse_safe;
    if (!sparse) return static_cast<int>(highest);
    if (!options_.convert_sparse) Refuse("excessively sparse array");
    return std::nullopt;
  }

  void Table(int depth) {
    const int limit = std::min(options_.encode_max_depth, kMaxScriptNesting);
    if (depth > limit || lua_checkstack(lua_, 4) == 0) {
      luaL_error(lua_, "Cannot serialise, excessive nesting (%d)", depth);
    }
    // A table that holds itself twice doubles with each level.
    if (out_.size() > kMaxScriptMemory) luaL_error(lua_, "not enough memory");
    if (const std::optional<int> length = ArrayLength()) {
      Array(*length, depth);
    } else {
      Object(depth);
    }
  }

  void Array(int length, int depth) {
    out_ += '[';
    for (int i = 1; i <= length; ++i) {
      if (i > 1) out_ += ',';
      lua_rawgeti(lua_, -1, i);
      Value(depth);
      lua_pop(lua_, 1);
    }
    out_ += ']';
  }

  void Object(int depth) {
    out_ += '{';
    bool first = true;
    lua_pushnil(lua_);
    while (lua_next(lua_, -2) != 0) {
      if (!first) out_ += ',';
      first = false;
      lua_pushvalue(lua_, -2);
      Key();
      lua_pop(lua_, 1);
      out_ += ':';
      Value(depth);
      lua_pop(lua_, 1);
    }
    out_ += '}';
  }

  void Key() {
    switch (lua_type(lua_, -1)) {
      case LUA_TSTRING:
        return String();
      case LUA_TNUMBER:
        out_ += '"';
        Number();
        out_ += '"';
        return;
      default:
        Refuse("table key must be a number or string");
    }
  }

  lua_State* lua_;
  const JsonOptions& options_;
  std::string out_;
};

}  // namespace

std::string EncodeJson(lua_State* lua, int index, const JsonOptions& options) {
  Encoder encoder(lua, options);
  lua_pushvalue(lua, index);
  encoder.Value(0);
  lua_pop(lua, 1);
  return encoder.Take();
}

}  // namespace cairn::data
