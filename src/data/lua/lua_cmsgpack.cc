#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <luajit-2.1/lua.hpp>
#include <string>
#include <string_view>

#include "data/lua/lua_runtime.h"
#include "data/value/limits.h"

// The library `cmsgpack`: values to and from MessagePack.
namespace cairn::data {
namespace {

void AppendBig(std::string& out, uint64_t value, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
    out += static_cast<char>(value >> shift);
}

class Packer {
 public:
  explicit Packer(lua_State* lua) : lua_(lua) {}

  // The value on top of the stack, which it pops.
  void Value(int depth) {
    ChargeScript(lua_, 10);
    const int type = lua_type(lua_, -1);
    if (type == LUA_TSTRING) {
      String();
    } else if (type == LUA_TBOOLEAN) {
      out_ += lua_toboolean(lua_, -1) != 0 ? '\xc3' : '\xc2';
    } else if (type == LUA_TNUMBER) {
      Number(lua_tonumber(lua_, -1));
    } else if (type == LUA_TTABLE && depth < kMaxPackedDepth) {
      Table(depth);
    } else {
      out_ += '\xc0';  // nil, for what has no form of its own or is too deep
    }
    lua_pop(lua_, 1);
  }

  const std::string& out() const { return out_; }

 private:
  void Code(int code, uint64_t value, int bytes) {
    out_ += static_cast<char>(code);
    AppendBig(out_, value, bytes);
  }

  void String() {
    size_t size = 0;
    const char* text = lua_tolstring(lua_, -1, &size);
    ChargeScript(lua_, size / kBytesPerWork);
    if (size < 32) {
      out_ += static_cast<char>(0xa0 | size);
    } else if (size <= 0xff) {
      Code(0xd9, size, 1);
    } else if (size <= 0xffff) {
      Code(0xda, size, 2);
    } else {
      Code(0xdb, size, 4);
    }
    out_.append(text, size);
  }

  void Number(double number) {
    if (number == std::trunc(number) && number >= -0x1p63 && number < 0x1p63) {
      return Integer(static_cast<int64_t>(number));
    }
    const auto narrow = static_cast<float>(number);
    if (static_cast<double>(narrow) == number) {
      Code(0xca, std::bit_cast<uint32_t>(narrow), 4);
    } else {
      Code(0xcb, std::bit_cast<uint64_t>(number), 8);
    }
  }

  void Integer(int64_t value) {
    const auto bits = static_cast<uint64_t>(value);
    if (value >= 0) {
      if (value <= 127) return AppendBig(out_, bits, 1);
      if (value <= 0xff) return Code(0xcc, bits, 1);
      if (value <= 0xffff) return Code(0xcd, bits, 2);
      if (value <= 0xffffffff) return Code(0xce, bits, 4);
      return Code(0xcf, bits, 8);
    }
    if (value >= -32) return AppendBig(out_, bits, 1);
    if (value >= -128) return Code(0xd0, bits, 1);
    if (value >= -32768) return Code(0xd1, bits, 2);
    if (value >= INT32_MIN) return Code(0xd2, bits, 4);
    return Code(0xd3, bits, 8);
  }

  struct Shape {
    uint64_t pairs = 0;
    bool is_array = false;
  };

  // An array has the keys 1 … n.
  Shape ShapeOf() {
    Shape shape;
    double highest = 0;
    bool all_indexes = true;
    lua_pushnil(lua_);
    while (lua_next(lua_, -2) != 0) {
      lua_pop(lua_, 1);
      ChargeScript(lua_, 2);
      ++shape.pairs;
      const double key = lua_type(lua_, -1) == LUA_TNUMBER ? lua_tonumber(lua_, -1) : 0;
      if (!(key >= 1 && key == std::floor(key))) all_indexes = false;
      highest = std::max(highest, key);
    }
    shape.is_array = all_indexes && highest == static_cast<double>(shape.pairs);
    return shape;
  }

  void Header(uint64_t count, int fixed, int code16) {
    if (count <= 15) {
      out_ += static_cast<char>(static_cast<uint64_t>(fixed) | count);
    } else if (count <= 0xffff) {
      Code(code16, count, 2);
    } else {
      Code(code16 + 1, count, 4);
    }
  }

  void Table(int depth) {
    luaL_checkstack(lua_, 4, "too deep");
    // A table that holds itself many times grows with each level.
    if (out_.size() > kMaxScriptMemory) luaL_error(lua_, "not enough memory");
    const Shape shape = ShapeOf();
    if (shape.is_array) {
      Header(shape.pairs, 0x90, 0xdc);
      for (uint64_t i = 1; i <= shape.pairs; ++i) {
        lua_rawgeti(lua_, -1, static_cast<int>(i));
        Value(depth + 1);
      }
      return;
    }
    Header(shape.pairs, 0x80, 0xde);
    lua_pushnil(lua_);
    while (lua_next(lua_, -2) != 0) {
      lua_pushvalue(lua_, -2);
      Value(depth + 1);
      Value(depth + 1);
    }
  }

  lua_State* lua_;
  std::string out_;
};

int Pack(lua_State* lua) {
  const int count = lua_gettop(lua);
  if (count == 0) return luaL_argerror(lua, 0, "MessagePack pack needs input.");
  Packer packer(lua);
  for (int i = 1; i <= count; ++i) {
    lua_pushvalue(lua, i);
    packer.Value(0);
  }
  lua_pushlstring(lua, packer.out().data(), packer.out().size());
  return 1;
}

class Unpacker {
 public:
  Unpacker(lua_State* lua, std::string_view data) : lua_(lua), rest_(data) {}

  size_t remaining() const { return rest_.size(); }

  // Pushes the next value.
  void Value() {
    luaL_checkstack(lua_, 4, "too deep");
    const auto code = static_cast<uint8_t>(Take(1)[0]);
    if (code < 0x80) return lua_pushnumber(lua_, code);
    if (code < 0x90) return Map(code & 0x0f);
    if (code < 0xa0) return Array(code & 0x0f);
    if (code < 0xc0) return String(code & 0x1f);
    if (code >= 0xe0) return lua_pushnumber(lua_, static_cast<int8_t>(code));
    Coded(code);
  }

 private:
  void Coded(uint8_t code) {
    switch (code) {
      case 0xc0:
        return lua_pushnil(lua_);
      case 0xc2:
      case 0xc3:
        return lua_pushboolean(lua_, code & 1);
      case 0xc4:
      case 0xc5:
      case 0xc6:
        return String(Big(1 << (code - 0xc4)));
      case 0xca:
        return lua_pushnumber(lua_, std::bit_cast<float>(static_cast<uint32_t>(Big(4))));
      case 0xcb:
        return lua_pushnumber(lua_, std::bit_cast<double>(Big(8)));
      case 0xcc:
      case 0xcd:
      case 0xce:
      case 0xcf:
        return lua_pushnumber(lua_, static_cast<lua_Number>(Big(1 << (code - 0xcc))));
      case 0xd0:
      case 0xd1:
      case 0xd2:
      case 0xd3:
        return Signed(1 << (code - 0xd0));
      case 0xd9:
      case 0xda:
      case 0xdb:
        return String(Big(1 << (code - 0xd9)));
      case 0xdc:
      case 0xdd:
        return Array(Big(code == 0xdc ? 2 : 4));
      case 0xde:
      case 0xdf:
        return Map(Big(code == 0xde ? 2 : 4));
      default:
        luaL_error(lua_, "Bad data format in input.");
    }
  }

  std::string_view Take(uint64_t size) {
    if (size > rest_.size()) luaL_error(lua_, "Missing bytes in input.");
    const std::string_view bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return bytes;
  }

  uint64_t Big(int bytes) {
    uint64_t value = 0;
    for (const char c : Take(static_cast<uint64_t>(bytes))) {
      value = value << 8 | static_cast<unsigned char>(c);
    }
    return value;
  }

  void Signed(int bytes) {
    const int unused = 64 - 8 * bytes;
    const int64_t value = static_cast<int64_t>(Big(bytes) << unused) >> unused;
    lua_pushnumber(lua_, static_cast<lua_Number>(value));
  }

  void String(uint64_t size) {
    const std::string_view text = Take(size);
    lua_pushlstring(lua_, text.data(), text.size());
  }

  void Descend() {
    if (++depth_ > kMaxScriptNesting) luaL_error(lua_, "Bad data format in input.");
    lua_createtable(lua_, 0, 0);
  }

  void Array(uint64_t count) {
    Descend();
    for (uint64_t i = 1; i <= count; ++i) {
      Value();
      lua_rawseti(lua_, -2, static_cast<int>(i));
    }
    --depth_;
  }

  void Map(uint64_t pairs) {
    Descend();
    for (uint64_t i = 0; i < pairs; ++i) {
      Value();
      Value();
      const bool is_key = !lua_isnil(lua_, -2) && !(lua_type(lua_, -2) == LUA_TNUMBER &&
                                                    std::isnan(lua_tonumber(lua_, -2)));
      if (!is_key) luaL_error(lua_, "Bad data format in input.");
      lua_rawset(lua_, -3);
    }
    --depth_;
  }

  lua_State* lua_;
  std::string_view rest_;
  int depth_ = 0;
};

// Pushes up to `limit` values from `offset`. With a limit the first result is where the next value
// begins, -1 at the end.
int UnpackFrom(lua_State* lua, lua_Number limit, lua_Number offset, bool tells_offset) {
  size_t size = 0;
  const char* data = luaL_checklstring(lua, 1, &size);
  if (offset < 0 || limit < 0) {
    return luaL_error(lua, "Invalid request to unpack with offset of %d and limit of %d.",
                      static_cast<int>(offset), static_cast<int>(size));
  }
  if (offset > static_cast<lua_Number>(size)) {
    return luaL_error(lua, "Start offset %d greater than input length %d.",
                      static_cast<int>(offset), static_cast<int>(size));
  }
  lua_settop(lua, 1);
  if (tells_offset) lua_pushnil(lua);
  Unpacker unpacker(lua, std::string_view(data, size).substr(static_cast<size_t>(offset)));
  lua_Number count = 0;
  while (unpacker.remaining() > 0 && (limit == 0 || count < limit)) {
    unpacker.Value();
    ++count;
  }
  if (tells_offset) {
    const size_t next = size - unpacker.remaining();
    lua_pushnumber(lua, next == size ? -1 : static_cast<lua_Number>(next));
    lua_replace(lua, 2);
  }
  return lua_gettop(lua) - 1;
}

int Unpack(lua_State* lua) { return UnpackFrom(lua, 0, 0, false); }

int UnpackOne(lua_State* lua) { return UnpackFrom(lua, 1, luaL_optnumber(lua, 2, 0), true); }

int UnpackLimit(lua_State* lua) {
  const lua_Number limit = luaL_checknumber(lua, 2);
  return UnpackFrom(lua, limit, luaL_optnumber(lua, 3, 0), limit != 0);
}

}  // namespace

void PushMessagePackLibrary(lua_State* lua) {
  lua_createtable(lua, 0, 8);
  constexpr LuaFunction kFunctions[] = {
      {"pack", Pack}, {"unpack", Unpack}, {"unpack_one", UnpackOne}, {"unpack_limit", UnpackLimit}};
  SetLuaFunctions(lua, kFunctions);
  lua_pushliteral(lua, "cmsgpack");
  lua_setfield(lua, -2, "_NAME");
  lua_pushliteral(lua, "lua-cmsgpack 0.4.0");
  lua_setfield(lua, -2, "_VERSION");
}

}  // namespace cairn::data
