#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <luajit-2.1/lua.hpp>
#include <string>
#include <string_view>

#include "data/lua/lua_runtime.h"

// The library `struct`: values to and from fixed binary layouts.
//
//   < > =       little, big, native byte order       !n   align to at most n bytes
//   b B h H i In l L T   integers                    f d  floats
//   s           string up to a zero byte             cn   n bytes; c0: as many as the number before
//   x           one byte of padding                  space: nothing
namespace cairn::data {
namespace {

constexpr int kMaxIntegerBytes = 32;
constexpr int kDefaultAlignment = 8;

bool IsPowerOfTwo(int value) { return value > 0 && (value & (value - 1)) == 0; }

// One option of a format with its size.
struct Option {
  char code = 0;
  size_t size = 0;
  size_t padding = 0;  // before it
};

class Format {
 public:
  Format(lua_State* lua, const char* format) : lua_(lua), rest_(format) {}

  bool at_end() const { return *rest_ == '\0'; }
  bool little_endian() const { return little_endian_; }

  // The next option, to stand at `offset`. Code 0: it only changed how others are read.
  Option Next(size_t offset) {
    Option option{.code = *rest_++};
    option.size = SizeOf(option.code);
    option.padding = PaddingFor(option, offset);
    if (IsControl(option.code)) {
      Control(option.code);
      option.code = 0;
    }
    return option;
  }

 private:
  static bool IsControl(char code) {
    return code == ' ' || code == '<' || code == '>' || code == '!' || code == '=';
  }

  int Digits(int absent) {
    if (*rest_ < '0' || *rest_ > '9') return absent;
    int64_t number = 0;
    while (*rest_ >= '0' && *rest_ <= '9') {
      number = number * 10 + (*rest_++ - '0');
      if (number > INT32_MAX) luaL_error(lua_, "integral size overflow");
    }
    return static_cast<int>(number);
  }

  size_t SizeOf(char code) {
    switch (code) {
      case 'B':
      case 'b':
      case 'x':
        return 1;
      case 'H':
      case 'h':
        return sizeof(int16_t);
      case 'L':
      case 'l':
      case 'T':
      case 'd':
        return 8;
      case 'f':
        return sizeof(float);
      case 'c':
        return static_cast<size_t>(Digits(1));
      case 'i':
      case 'I':
        return IntegerSize();
      default:
        return 0;
    }
  }

  size_t IntegerSize() {
    const int size = Digits(sizeof(int));
    if (size > kMaxIntegerBytes) {
      luaL_error(lua_, "integral size %d is larger than limit of %d", size, kMaxIntegerBytes);
    }
    return static_cast<size_t>(size);
  }

  size_t PaddingFor(const Option& option, size_t offset) const {
    if (option.code == 'c' || option.code == 's' || option.size == 0) return 0;
    size_t align = option.size;
    if (align > static_cast<size_t>(alignment_)) align = static_cast<size_t>(alignment_);
    if (align <= 1) return 0;
    return (align - (offset & (align - 1))) & (align - 1);
  }

  void Control(char code) {
    if (code == '<' || code == '=') little_endian_ = true;
    if (code == '>') little_endian_ = false;
    if (code != '!') return;
    alignment_ = Digits(kDefaultAlignment);
    if (!IsPowerOfTwo(alignment_)) {
      luaL_error(lua_, "alignment %d is not a power of 2", alignment_);
    }
  }

  lua_State* lua_;
  const char* rest_;
  bool little_endian_ = true;
  int alignment_ = 1;
};

int RefuseOption(lua_State* lua, char code) {
  return luaL_argerror(lua, 1, lua_pushfstring(lua, "invalid format option '%c'", code));
}

void AppendInteger(std::string& out, uint64_t value, size_t size, bool little_endian) {
  for (size_t i = 0; i < size; ++i) {
    const size_t byte = little_endian ? i : size - 1 - i;
    out += byte < 8 ? static_cast<char>(value >> (8 * byte)) : '\0';
  }
}

uint64_t IntegerFrom(double number) {
  if (!(number >= -0x1p63 && number < 0x1p64)) return 0;
  if (number < 0) return static_cast<uint64_t>(static_cast<int64_t>(number));
  return static_cast<uint64_t>(number);
}

template <typename Float, typename Bits>
void AppendFloat(std::string& out, double number, bool little_endian) {
  AppendInteger(out, std::bit_cast<Bits>(static_cast<Float>(number)), sizeof(Bits), little_endian);
}

void PackString(lua_State* lua, std::string& out, const Option& option, int argument) {
  size_t length = 0;
  const char* text = luaL_checklstring(lua, argument, &length);
  const size_t size = option.code == 's' || option.size == 0 ? length : option.size;
  luaL_argcheck(lua, length >= size, argument + 1, "string too short");
  out.append(text, size);
  if (option.code == 's') out += '\0';
}

int Pack(lua_State* lua) {
  Format format(lua, luaL_checkstring(lua, 1));
  std::string out;
  int argument = 2;
  while (!format.at_end()) {
    const Option option = format.Next(out.size());
    out.append(option.padding, '\0');
    switch (option.code) {
      case 0:
        break;
      case 'b':
      case 'B':
      case 'h':
      case 'H':
      case 'l':
      case 'L':
      case 'T':
      case 'i':
      case 'I':
        AppendInteger(out, IntegerFrom(luaL_checknumber(lua, argument++)), option.size,
                      format.little_endian());
        break;
      case 'x':
        out += '\0';
        break;
      case 'f':
        AppendFloat<float, uint32_t>(out, luaL_checknumber(lua, argument++),
                                     format.little_endian());
        break;
      case 'd':
        AppendFloat<double, uint64_t>(out, luaL_checknumber(lua, argument++),
                                      format.little_endian());
        break;
      case 'c':
      case 's':
        PackString(lua, out, option, argument++);
        break;
      default:
        return RefuseOption(lua, option.code);
    }
  }
  lua_pushlstring(lua, out.data(), out.size());
  return 1;
}

uint64_t ReadInteger(std::string_view bytes, bool little_endian) {
  uint64_t value = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    const size_t at = little_endian ? bytes.size() - 1 - i : i;
    value = value << 8 | static_cast<unsigned char>(bytes[at]);
  }
  return value;
}

void PushInteger(lua_State* lua, std::string_view bytes, bool little_endian, bool is_signed) {
  const uint64_t value = ReadInteger(bytes, little_endian);
  if (!is_signed) return lua_pushnumber(lua, static_cast<lua_Number>(value));
  const size_t unused = bytes.size() >= 8 ? 0 : 64 - 8 * bytes.size();
  const auto extended = unused == 64 ? int64_t{0} : static_cast<int64_t>(value << unused) >> unused;
  lua_pushnumber(lua, static_cast<lua_Number>(extended));
}

// Takes values off a string, from its `offset`.
class Unpacker {
 public:
  Unpacker(lua_State* lua, std::string_view data, size_t offset)
      : lua_(lua), data_(data), offset_(offset) {}

  int Run(Format& format) {
    while (!format.at_end()) {
      const Option option = format.Next(offset_);
      Need(option.padding, option.size);
      offset_ += option.padding;
      luaL_checkstack(lua_, 2, "too many results");
      Push(option, format);
    }
    lua_pushnumber(lua_, static_cast<lua_Number>(offset_ + 1));
    return count_ + 1;
  }

 private:
  void Need(size_t padding, size_t size) const {
    luaL_argcheck(lua_, offset_ + padding + size <= data_.size(), 2, "data string too short");
  }

  void Push(const Option& option, const Format& format) {
    const std::string_view bytes = data_.substr(std::min(offset_, data_.size()), option.size);
    switch (option.code) {
      case 0:
        return;
      case 'x':
        ++offset_;
        return;
      case 'b':
      case 'h':
      case 'l':
      case 'i':
        PushInteger(lua_, bytes, format.little_endian(), true);
        break;
      case 'B':
      case 'H':
      case 'L':
      case 'T':
      case 'I':
        PushInteger(lua_, bytes, format.little_endian(), false);
        break;
      case 'f':
        lua_pushnumber(lua_, std::bit_cast<float>(static_cast<uint32_t>(
                                 ReadInteger(bytes, format.little_endian()))));
        break;
      case 'd':
        lua_pushnumber(lua_, std::bit_cast<double>(ReadInteger(bytes, format.little_endian())));
        break;
      case 'c':
        return PushCounted(option.size);
      case 's':
        return PushTerminated();
      default:
        RefuseOption(lua_, option.code);
    }
    offset_ += option.size;
    ++count_;
  }

  // c0 takes the number that was read before it as the size, in its place.
  void PushCounted(size_t size) {
    if (size == 0) {
      if (count_ == 0 || lua_isnumber(lua_, -1) == 0) {
        luaL_error(lua_, "format 'c0' needs a previous size");
      }
      const lua_Number given = lua_tonumber(lua_, -1);
      lua_pop(lua_, 1);
      --count_;
      luaL_argcheck(lua_, given >= 0 && given <= static_cast<lua_Number>(data_.size() - offset_), 2,
                    "data string too short");
      size = static_cast<size_t>(given);
    }
    lua_pushlstring(lua_, data_.data() + offset_, size);
    offset_ += size;
    ++count_;
  }

  void PushTerminated() {
    const size_t end = data_.find('\0', offset_);
    if (end == std::string_view::npos) luaL_error(lua_, "unfinished string in data");
    lua_pushlstring(lua_, data_.data() + offset_, end - offset_);
    offset_ = end + 1;
    ++count_;
  }

  lua_State* lua_;
  const std::string_view data_;
  size_t offset_;
  int count_ = 0;
};

int Unpack(lua_State* lua) {
  Format format(lua, luaL_checkstring(lua, 1));
  size_t size = 0;
  const char* data = luaL_checklstring(lua, 2, &size);
  const lua_Number from = luaL_optnumber(lua, 3, 1);
  luaL_argcheck(lua, from >= 1, 3, "offset must be 1 or greater");
  const size_t offset = from > static_cast<lua_Number>(size) ? size + 1 : static_cast<size_t>(from);
  lua_settop(lua, 2);
  return Unpacker(lua, {data, size}, offset - 1).Run(format);
}

int Size(lua_State* lua) {
  Format format(lua, luaL_checkstring(lua, 1));
  size_t size = 0;
  while (!format.at_end()) {
    const Option option = format.Next(size);
    if (option.code == 's') return luaL_argerror(lua, 1, "option 's' has no fixed size");
    if (option.code == 'c' && option.size == 0) {
      return luaL_argerror(lua, 1, "option 'c0' has no fixed size");
    }
    if (option.code != 0 && option.size == 0 && option.code != 'i' && option.code != 'I') {
      return RefuseOption(lua, option.code);
    }
    size += option.padding + option.size;
  }
  lua_pushnumber(lua, static_cast<lua_Number>(size));
  return 1;
}

}  // namespace

void PushStructLibrary(lua_State* lua) {
  lua_createtable(lua, 0, 3);
  constexpr LuaFunction kFunctions[] = {{"pack", Pack}, {"unpack", Unpack}, {"size", Size}};
  SetLuaFunctions(lua, kFunctions);
}

}  // namespace cairn::data
