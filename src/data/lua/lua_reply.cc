#include "data/lua/lua_reply.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <luajit-2.1/lua.hpp>
#include <string>

#include "base/check.h"
#include "data/lua/lua_runtime.h"
#include "data/value/limits.h"

namespace cairn::data {
namespace {

// Takes RESP values apart. What it reads was written by RespWriter.
class ReplyReader {
 public:
  ReplyReader(lua_State* lua, std::string_view resp) : lua_(lua), rest_(resp) {}

  void Push() {
    luaL_checkstack(lua_, 4, "reply too deep");
    const char type = rest_.front();
    rest_.remove_prefix(1);
    const std::string_view line = Line();
    switch (type) {
      case '+':
        return PushField("ok", line);
      case '-':
        return PushField("err", line);
      case ':':
        return lua_pushnumber(lua_, static_cast<lua_Number>(Number(line)));
      case '$':
        return PushBulk(Number(line));
      case '*':
      case '>':
        return PushArray(Number(line));
      case '%':
        return PushMap(Number(line));
      case '~':
        return PushSet(Number(line));
      case ',':
        return PushDouble(line);
      case '#':
        return lua_pushboolean(lua_, line == "t" ? 1 : 0);
      case '(':
        return PushField("big_number", line);
      case '=':
        return PushVerbatim(Bytes(Number(line)));
      case '|':
        return SkipAttribute(Number(line));
      default:
        return lua_pushnil(lua_);
    }
  }

 private:
  std::string_view Line() {
    const size_t end = rest_.find("\r\n");
    CAIRN_CHECK(end != std::string_view::npos);
    const std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(end + 2);
    return line;
  }

  static int64_t Number(std::string_view digits) {
    int64_t number = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return number;
  }

  std::string_view Bytes(int64_t size) {
    const std::string_view bytes = rest_.substr(0, static_cast<size_t>(size));
    rest_.remove_prefix(bytes.size() + 2);
    return bytes;
  }

  void PushString(std::string_view text) { lua_pushlstring(lua_, text.data(), text.size()); }

  void PushField(const char* field, std::string_view text) {
    lua_createtable(lua_, 0, 1);
    PushString(text);
    lua_setfield(lua_, -2, field);
  }

  void PushBulk(int64_t size) {
    if (size < 0) return lua_pushboolean(lua_, 0);
    PushString(Bytes(size));
  }

  void PushArray(int64_t count) {
    if (count < 0) return lua_pushboolean(lua_, 0);
    lua_createtable(lua_, static_cast<int>(count), 0);
    for (int64_t i = 1; i <= count; ++i) {
      Push();
      lua_rawseti(lua_, -2, static_cast<int>(i));
    }
  }

  void PushMap(int64_t pairs) {
    lua_createtable(lua_, 0, 1);
    lua_createtable(lua_, 0, static_cast<int>(pairs));
    for (int64_t i = 0; i < pairs; ++i) {
      Push();
      Push();
      lua_rawset(lua_, -3);
    }
    lua_setfield(lua_, -2, "map");
  }

  void PushSet(int64_t count) {
    lua_createtable(lua_, 0, 1);
    lua_createtable(lua_, 0, static_cast<int>(count));
    for (int64_t i = 0; i < count; ++i) {
      Push();
      lua_pushboolean(lua_, 1);
      lua_rawset(lua_, -3);
    }
    lua_setfield(lua_, -2, "set");
  }

  void PushDouble(std::string_view text) {
    lua_createtable(lua_, 0, 1);
    lua_pushnumber(lua_, std::strtod(std::string(text).c_str(), nullptr));
    lua_setfield(lua_, -2, "double");
  }

  void PushVerbatim(std::string_view text) {
    lua_createtable(lua_, 0, 1);
    lua_createtable(lua_, 0, 2);
    PushString(text.substr(0, 3));
    lua_setfield(lua_, -2, "format");
    PushString(text.substr(4));
    lua_setfield(lua_, -2, "string");
    lua_setfield(lua_, -2, "verbatim_string");
  }

  // Attributes are no part of the value behind them.
  void SkipAttribute(int64_t pairs) {
    for (int64_t i = 0; i < pairs * 2; ++i) {
      Push();
      lua_pop(lua_, 1);
    }
    Push();
  }

  lua_State* lua_;
  std::string_view rest_;
};

// As a cast to a 64-bit integer does it on the machines Redis runs on.
int64_t Truncated(double value) {
  if (std::isnan(value) || value >= 0x1p63 || value < -0x1p63) {
    return std::numeric_limits<int64_t>::min();
  }
  return static_cast<int64_t>(value);
}

class ReplyWriter {
 public:
  ReplyWriter(lua_State* lua, net::RespWriter& reply, bool resp3_values)
      : lua_(lua), reply_(reply), resp3_values_(resp3_values) {}

  // Writes the value on top of the stack and pops it.
  void Write(int depth) {
    luaL_checkstack(lua_, 6, "reached lua stack limit");
    ChargeScript(lua_, 10);
    // A table that holds itself twice doubles with each level.
    if (reply_.out().size() - start_ > kMaxScriptReplyBytes) luaL_error(lua_, "reply too large");
    switch (lua_type(lua_, -1)) {
      case LUA_TSTRING:
        reply_.Bulk(String());
        break;
      case LUA_TBOOLEAN:
        WriteBoolean(lua_toboolean(lua_, -1) != 0);
        break;
      case LUA_TNUMBER:
        reply_.Integer(Truncated(lua_tonumber(lua_, -1)));
        break;
      case LUA_TTABLE:
        if (depth >= kMaxScriptReplyDepth) {
          reply_.Error("ERR reached lua stack limit");
        } else {
          WriteTable(depth);
        }
        break;
      default:
        reply_.Null();
    }
    lua_pop(lua_, 1);
  }

 private:
  std::string_view String() const {
    size_t size = 0;
    const char* data = lua_tolstring(lua_, -1, &size);
    return {data, size};
  }

  // Pushes the field without asking metatables.
  int PushField(const char* name) {
    lua_pushstring(lua_, name);
    lua_rawget(lua_, -2);
    return lua_type(lua_, -1);
  }

  void WriteBoolean(bool value) {
    if (resp3_values_) return reply_.Boolean(value);
    if (value) return reply_.Integer(1);
    reply_.Null();
  }

  void WriteTable(int depth) {
    if (WriteTextField() || WriteNumberField() || WriteVerbatim() || WriteAggregate(depth)) return;
    WriteArray(depth);
  }

  static std::string OneLine(std::string_view text) {
    std::string line(text);
    for (char& c : line) {
      if (c == '\r' || c == '\n') c = ' ';
    }
    return line;
  }

  bool WriteTextField() {
    for (const char* name : {"err", "ok"}) {
      const bool found = PushField(name) == LUA_TSTRING;
      if (found) {
        const std::string line = OneLine(String());
        if (*name == 'e') {
          reply_.Error(line);
        } else {
          reply_.Simple(line);
        }
      }
      lua_pop(lua_, 1);
      if (found) return true;
    }
    return false;
  }

  bool WriteNumberField() {
    bool found = PushField("double") == LUA_TNUMBER;
    if (found) reply_.Double(lua_tonumber(lua_, -1));
    lua_pop(lua_, 1);
    if (found) return true;
    found = PushField("big_number") == LUA_TSTRING;
    if (found) reply_.BigNumber(OneLine(String()));
    lua_pop(lua_, 1);
    return found;
  }

  bool WriteVerbatim() {
    bool written = false;
    if (PushField("verbatim_string") == LUA_TTABLE) {
      const bool has_format = PushField("format") == LUA_TSTRING;
      std::string format(has_format ? String().substr(0, 3) : "");
      format.resize(3, ' ');
      lua_pop(lua_, 1);
      written = PushField("string") == LUA_TSTRING && has_format;
      if (written) reply_.Verbatim(format, String());
      lua_pop(lua_, 1);
    }
    lua_pop(lua_, 1);
    return written;
  }

  size_t CountPairs() {
    size_t pairs = 0;
    lua_pushnil(lua_);
    while (lua_next(lua_, -2) != 0) {
      lua_pop(lua_, 1);
      ++pairs;
    }
    return pairs;
  }

  bool WriteAggregate(int depth) {
    for (const bool is_map : {true, false}) {
      const bool found = PushField(is_map ? "map" : "set") == LUA_TTABLE;
      if (found) {
        if (is_map) {
          reply_.MapHeader(CountPairs());
        } else {
          reply_.SetHeader(CountPairs());
        }
        lua_pushnil(lua_);
        while (lua_next(lua_, -2) != 0) WritePair(is_map, depth);
      }
      lua_pop(lua_, 1);
      if (found) return true;
    }
    return false;
  }

  // [key value] → [key]
  void WritePair(bool is_map, int depth) {
    lua_pushvalue(lua_, -2);
    Write(depth + 1);
    if (is_map) return Write(depth + 1);
    lua_pop(lua_, 1);
  }

  void WriteArray(int depth) {
    int count = 0;
    for (;; ++count) {
      lua_rawgeti(lua_, -1, count + 1);
      const bool end = lua_isnil(lua_, -1);
      lua_pop(lua_, 1);
      if (end) break;
    }
    reply_.ArrayHeader(static_cast<size_t>(count));
    for (int i = 1; i <= count; ++i) {
      lua_rawgeti(lua_, -1, i);
      Write(depth + 1);
    }
  }

  lua_State* lua_;
  net::RespWriter& reply_;
  const bool resp3_values_;
  const size_t start_ = reply_.out().size();
};

}  // namespace

void PushReply(lua_State* lua, std::string_view resp) { ReplyReader(lua, resp).Push(); }

bool IsErrorReply(std::string_view resp) { return resp.starts_with('-'); }

std::string_view ErrorReplyText(std::string_view resp) {
  return resp.substr(1, resp.find("\r\n") - 1);
}

void WriteReply(lua_State* lua, net::RespWriter& reply, bool resp3_values) {
  ReplyWriter(lua, reply, resp3_values).Write(0);
}

}  // namespace cairn::data
